//! Publish and subscribe: the commands, and the form of the messages.

pub mod message;
pub mod publish;
pub mod subscribe;
