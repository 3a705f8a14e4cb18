//! A reply as a value of its own, for programs that look at one: command line, lab, tests.

/// One reply. Version 2 knows the first six kinds, version 3 all.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Simple(Vec<u8>),
    /// An error's text, code first, of either notation (`-` or `!`).
    Error(Vec<u8>),
    Int(i64),
    Bulk(Vec<u8>),
    Array(Vec<Value>),
    /// No value: `_`, or version 2's `$-1` and `*-1`.
    Null,
    Double(f64),
    Bool(bool),
    /// A whole number of any size, as its decimal text.
    BigNumber(Vec<u8>),
    /// Text to be shown as it is, and its format's three letters.
    Verbatim([u8; 3], Vec<u8>),
    Map(Vec<(Value, Value)>),
    Set(Vec<Value>),
    /// A message that answers no request.
    Push(Vec<Value>),
    /// A reply with pairs about it.
    Attributed(Vec<(Value, Value)>, Box<Value>),
}

impl Value {
    /// The bytes of a string of any kind; `None` for anything else.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Simple(bytes) | Self::Bulk(bytes) | Self::BigNumber(bytes) => Some(bytes),
            Self::Verbatim(_, bytes) => Some(bytes),
            Self::Attributed(_, value) => value.as_bytes(),
            _ => None,
        }
    }

    /// A number, whether the server sent it as one or as text.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Attributed(_, value) => value.as_int(),
            other => crate::number::parse_i64(other.as_bytes()?),
        }
    }

    /// The elements of an array, set or push message.
    pub fn as_slice(&self) -> Option<&[Value]> {
        match self {
            Self::Array(values) | Self::Set(values) | Self::Push(values) => Some(values),
            Self::Attributed(_, value) => value.as_slice(),
            _ => None,
        }
    }

    /// The text of an error.
    pub fn as_error(&self) -> Option<&[u8]> {
        match self {
            Self::Error(text) => Some(text),
            Self::Attributed(_, value) => value.as_error(),
            _ => None,
        }
    }
}
