//! Bytes to requests, and replies to bytes. Knows no engine and does no I/O.
