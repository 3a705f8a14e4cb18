//! Why a command was refused; the only place where that becomes an error line.

/// The words of each refusal are Redis' own: clients and their tests compare them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    Syntax,
    NotInteger,
    WrongType,
    NoSuchKey,
    /// A whole line, code first: `ERR ...`.
    Line(String),
}
