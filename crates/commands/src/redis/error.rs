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
    /// There was no memory for a collection of so many bytes, its key included, and nothing was changed.
    NoRoomFor(usize),
    /// Nothing could go to make room: to try again would not help.
    NoRoom,
    /// A sentence that only one place says; `ERR ` goes before it.
    Sentence(&'static str),
    /// The same, with words of the client in it, which need not be UTF-8.
    Quoting(Vec<u8>),
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

impl CommandError {
    /// A sentence from its pieces, those of a client through [`quoted`].
    pub(crate) fn quoting(pieces: &[&[u8]]) -> Self {
        CommandError::Quoting(pieces.concat())
    }

    /// The error line without its dash and its end, byte for byte what the client sent in it.
    pub fn line(&self) -> Vec<u8> {
        match self {
            CommandError::Quoting(sentence) => {
                // Line ends become blanks in the reply, but not those at its end, which go.
                let end = sentence.iter().rposition(|b| !matches!(b, b'\r' | b'\n'));
                [b"ERR ", &sentence[..end.map_or(0, |last| last + 1)]].concat()
            }
            CommandError::Aborted(why) => {
                let why = why.line();
                // A plain ERR is left out there; another code is not.
                let why = why.strip_prefix(b"ERR ").unwrap_or(&why);
                [b"EXECABORT Transaction discarded because of: ", why].concat()
            }
            other => other.to_string().into_bytes(),
        }
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
            E::NoRoom | E::NoRoomFor(_) => write!(f, "OOM {}", StoreError::Full),
            E::Store(error @ StoreError::Full) => write!(f, "OOM {error}"),
            E::Store(error) => write!(f, "ERR {error}"),
            E::Sentence(sentence) => write!(f, "ERR {sentence}"),
            E::Coded(line) => f.write_str(line),
            E::Quoting(_) | E::Aborted(_) => f.write_str(&String::from_utf8_lossy(&self.line())),
        }
    }
}

impl std::error::Error for CommandError {}

/// Words of a client inside an error: as they came, but to Redis a text ends before a NUL.
pub(crate) fn quoted(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_client_are_repeated_byte_for_byte_up_to_a_nul() {
        let error = CommandError::quoting(&[b"unknown '", quoted(b"\xff\xfe\0x"), b"'"]);
        assert_eq!(error.line(), b"ERR unknown '\xff\xfe'");
        let aborted = CommandError::Aborted(Box::new(error));
        let line = b"EXECABORT Transaction discarded because of: unknown '\xff\xfe'";
        assert_eq!(aborted.line(), line);
        assert_eq!(CommandError::quoting(&[b"no \r\n", quoted(b"a\r\n")]).line(), b"ERR no \r\na");
        assert_eq!(CommandError::Syntax.line(), b"ERR syntax error");
    }
}
