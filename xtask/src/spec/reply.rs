//! Redis replies (RESP2 and RESP3) from bytes, for the runner alone. It is written apart from the
//! server's own code so that one mistake cannot hide in both.

use std::io::{BufRead, Error, ErrorKind, Result};

/// The three ways to say that there is nothing. A client hands out the same for all of them, but takes
/// one in another's place for a mistake of the protocol if it was promised an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nil {
    /// `$-1`
    Bulk,
    /// `*-1`
    Array,
    /// `_`, RESP3's only one.
    Null,
}

impl Nil {
    pub const ALL: [Nil; 3] = [Nil::Bulk, Nil::Array, Nil::Null];

    /// As cases write it.
    pub fn word(self) -> &'static str {
        match self {
            Nil::Bulk => "nil",
            Nil::Array => "nil*",
            Nil::Null => "null",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Nil(Nil),
    Array(Vec<Reply>),
    Set(Vec<Reply>),
    Push(Vec<Reply>),
    Map(Vec<Reply>),
    Double(String),
    Boolean(bool),
    Verbatim(Vec<u8>),
    BigNumber(String),
}

/// Reads one reply. The first byte names the kind, the line carries a value or a length:
/// ```text
/// +OK  -ERR x  :1  $3 abc  *2 ..  ~2 ..  >2 ..  %1 ..  ,1.5  #t  _  =7 txt:abc  (123
/// ```
pub fn read(input: &mut impl BufRead) -> Result<Reply> {
    let line = read_line(input)?;
    let kind = line.chars().next().ok_or_else(|| broken("an empty line"))?;
    let rest = line[kind.len_utf8()..].to_string();
    let number = || rest.parse::<i64>().map_err(|_| broken(&line));
    Ok(match kind {
        '+' => Reply::Simple(rest),
        '-' => Reply::Error(rest),
        ':' => Reply::Integer(number()?),
        ',' => Reply::Double(rest),
        '(' => Reply::BigNumber(rest),
        '#' => Reply::Boolean(rest == "t"),
        '_' => Reply::Nil(Nil::Null),
        '$' if number()? == -1 => Reply::Nil(Nil::Bulk),
        '*' if number()? == -1 => Reply::Nil(Nil::Array),
        '$' | '=' | '!' | '*' | '~' | '>' | '%' if number()? < 0 => return Err(broken(&line)),
        '$' => Reply::Bulk(read_bulk(input, number()?)?),
        '=' => Reply::Verbatim(read_bulk(input, number()?)?),
        '!' => Reply::Error(String::from_utf8_lossy(&read_bulk(input, number()?)?).into_owned()),
        '*' => Reply::Array(read_many(input, number()?)?),
        '~' => Reply::Set(read_many(input, number()?)?),
        '>' => Reply::Push(read_many(input, number()?)?),
        '%' => Reply::Map(read_many(input, number()? * 2)?),
        _ => return Err(broken(&line)),
    })
}

fn read_line(input: &mut impl BufRead) -> Result<String> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let line = line.strip_suffix(b"\r\n").ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?;
    Ok(String::from_utf8_lossy(line).into_owned())
}

fn read_bulk(input: &mut impl BufRead, length: i64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize + 2];
    input.read_exact(&mut bytes)?;
    bytes.truncate(length as usize);
    Ok(bytes)
}

fn read_many(input: &mut impl BufRead, count: i64) -> Result<Vec<Reply>> {
    (0..count).map(|_| read(input)).collect()
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not a reply: {what}"))
}

/// As a case writes it, so that a failure can be pasted into the file.
impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let many = |f: &mut std::fmt::Formatter<'_>, sign: &str, items: &[Reply]| {
            let items: Vec<String> = items.iter().map(Reply::to_string).collect();
            write!(f, "{sign}[{}]", items.join(" "))
        };
        match self {
            Reply::Simple(text) if text.contains(' ') => write!(f, "+\"{text}\""),
            Reply::Simple(text) => write!(f, "+{text}"),
            Reply::Error(text) => write!(f, "-{text}"),
            Reply::Integer(number) => write!(f, ":{number}"),
            Reply::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Reply::Verbatim(bytes) => write!(f, "=\"{}\"", bytes.escape_ascii()),
            Reply::Nil(nil) => f.write_str(nil.word()),
            Reply::Array(items) => many(f, "", items),
            Reply::Set(items) => many(f, "~", items),
            Reply::Push(items) => many(f, "push", items),
            Reply::Map(items) => many(f, "%", items),
            Reply::Double(text) => write!(f, ",{text}"),
            Reply::BigNumber(text) => write!(f, "({text}"),
            Reply::Boolean(value) => write!(f, "#{}", if *value { 't' } else { 'f' }),
        }
    }
}
