//! Commands about the server as a whole.

pub mod command;
pub mod command_docs;
pub mod command_list;
pub mod config;
pub mod flush;
pub mod function;
pub mod info;
pub mod latency;
pub mod lolwut;
pub mod memory;
pub mod misuse;
pub mod slowlog;
pub(in crate::redis) mod syntax;
