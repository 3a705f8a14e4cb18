//! Commands about the connection itself.

pub mod client;
pub mod client_filter;
pub mod client_kill;
pub mod client_list;
pub mod login;
pub mod session;
