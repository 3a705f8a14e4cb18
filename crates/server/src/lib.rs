//! Threads, sockets, configuration and statistics live here and nowhere else.
