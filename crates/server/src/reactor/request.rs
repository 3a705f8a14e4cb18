//! One parsed request of any protocol, as a batch keeps it.

use dolium_commands::dispatch::Prepared;
use dolium_protocol::resp::ParseError;

#[derive(Clone, Copy)]
pub enum Request {
    Redis(Prepared),
    /// What came is not the protocol: answered in its turn, then the connection is closed.
    Broken(ParseError),
    /// The peer speaks something that no door understands.
    Unsupported,
}
