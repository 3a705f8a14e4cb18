//! A local process on the arena: the same verbs, without the server.
