//! Why a command was refused; the only place where that becomes an error line.

use dolium_engine::StoreError;
use std::fmt::{self, Display, Formatter};

/// The words of each refusal are Redis' own: clients and their tests compare them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    Syntax,
    NotInteger,
    /// A number outside of the 32 bits that Redis allows for it.
    NotInt32,
    NotFloat,
    NotFinite,
    Overflow,
    DecrementOverflow,
    OffsetOutOfRange,
    StringTooLong,
    NoSuchKey,
    /// The key is there, but not of the type that the command is for.
    WrongType,
    SameObject,
    DbIndex,
    /// Of the command whose name this is.
    InvalidExpire(&'static str),
    Arity(&'static str),
    Store(StoreError),
    /// Nothing could go to make room: to try again would not help.
    NoRoom,
    /// A sentence that only one place says; `ERR ` goes before it.
    Sentence(&'static str),
    /// The same, with words of the client in it.
    Quoting(String),
    /// A whole line with a code of its own, such as `NOAUTH ...`.
    Coded(&'static str),
    /// EXEC was refused for this, and the transaction is over.
    Aborted(Box<CommandError>),
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        CommandError::Store(error)
    }
}

impl Display for CommandError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use CommandError as E;
        match self {
            E::Syntax => f.write_str("ERR syntax error"),
            E::NotInteger => f.write_str("ERR value is not an integer or out of range"),
            E::NotInt32 => write!(
                f,
                "ERR value is out of range, value must between {} and {}",
                i32::MIN,
                i32::MAX
            ),
            E::NotFloat => f.write_str("ERR value is not a valid float"),
            E::NotFinite => f.write_str("ERR increment would produce NaN or Infinity"),
            E::Overflow => f.write_str("ERR increment or decrement would overflow"),
            E::DecrementOverflow => f.write_str("ERR decrement would overflow"),
            E::OffsetOutOfRange => f.write_str("ERR offset is out of range"),
            E::StringTooLong => {
                f.write_str("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
            }
            E::WrongType => {
                f.write_str("WRONGTYPE Operation against a key holding the wrong kind of value")
            }
            E::NoSuchKey => f.write_str("ERR no such key"),
            E::SameObject => f.write_str("ERR source and destination objects are the same"),
            E::DbIndex => f.write_str("ERR DB index is out of range"),
            E::InvalidExpire(name) => write!(f, "ERR invalid expire time in '{name}' command"),
            E::Arity(name) => write!(f, "ERR wrong number of arguments for '{name}' command"),
            E::NoRoom => write!(f, "OOM {}", StoreError::Full),
            E::Store(error @ StoreError::Full) => write!(f, "OOM {error}"),
            E::Store(error) => write!(f, "ERR {error}"),
            E::Sentence(sentence) => write!(f, "ERR {sentence}"),
            E::Quoting(sentence) => write!(f, "ERR {sentence}"),
            E::Coded(line) => f.write_str(line),
            E::Aborted(why) => {
                let why = why.to_string();
                // A plain ERR is left out there; another code is not.
                let why = why.strip_prefix("ERR ").unwrap_or(&why);
                write!(f, "EXECABORT Transaction discarded because of: {why}")
            }
        }
    }
}

impl std::error::Error for CommandError {}

/// Words of a client inside an error: what is not UTF-8 is replaced.
pub(crate) fn quoted(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
