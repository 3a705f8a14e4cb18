//! Replies to bytes, in either version of the protocol.
//!
//! ```text
//!              version 2                   version 3
//!   null       $-1\r\n or *-1\r\n          _\r\n
//!   map of 2   *4\r\n                      %2\r\n
//!   double     $3\r\n1.5\r\n               ,1.5\r\n
//! ```
//! A writer only appends to the connection's output; a value may be appended by whoever holds it
//! (the engine copies straight from shared memory): [`bulk_header`](RespWriter::bulk_header), the
//! bytes, [`bulk_end`](RespWriter::bulk_end).

use super::double;
use super::header::{BULK_END, SHORT_HEADERS, short_header};
use crate::number::Decimal;

/// Which version a connection speaks: 2 until `HELLO 3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    #[default]
    V2,
    V3,
}

/// Appends replies to a connection's output.
#[derive(Debug)]
pub struct RespWriter<'a> {
    out: &'a mut Vec<u8>,
    version: Version,
}

/// An array whose length is not known yet; see [`RespWriter::open_array`].
#[derive(Debug)]
#[must_use = "an open array must be closed, or its header is missing"]
pub struct OpenArray {
    at: usize,
}

impl<'a> RespWriter<'a> {
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, version: Version) -> Self {
        Self { out, version }
    }

    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// For `HELLO`, whose own reply already is in the new version.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// The output, for a value that is appended by its holder.
    #[inline]
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Bytes that already are a reply, or part of one.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    #[inline]
    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    /// `+text`. The text must hold no line end.
    #[inline]
    pub fn simple(&mut self, text: &str) {
        debug_assert!(!text.contains(['\r', '\n']), "a simple string is one line");
        self.out.push(b'+');
        self.raw(text.as_bytes());
        self.raw(b"\r\n");
    }

    /// `-text`, which begins with its code (`ERR`, `WRONGTYPE` ...). Line ends become blanks: the
    /// text may quote the client.
    pub fn error(&mut self, text: &str) {
        self.error_bytes(text.as_bytes());
    }

    /// As [`error`](Self::error), for a text that quotes bytes that may not be UTF-8.
    pub fn error_bytes(&mut self, text: &[u8]) {
        self.out.push(b'-');
        self.out.extend(text.iter().map(|byte| match byte {
            b'\r' | b'\n' => b' ',
            other => *other,
        }));
        self.raw(b"\r\n");
    }

    #[inline]
    pub fn int(&mut self, value: i64) {
        if let Ok(value @ 0..SHORT_HEADERS) = usize::try_from(value) {
            return self.short_header(b':', value);
        }
        self.out.push(b':');
        self.raw(Decimal::signed(value).as_bytes());
        self.raw(b"\r\n");
    }

    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.bulk_header(bytes.len());
        self.raw(bytes);
        self.bulk_end();
    }

    /// A number as a bulk string.
    pub fn bulk_int(&mut self, value: i64) {
        self.bulk(Decimal::signed(value).as_bytes());
    }

    /// `$len`; `len` bytes and [`bulk_end`](Self::bulk_end) must follow.
    #[inline]
    pub fn bulk_header(&mut self, len: usize) {
        self.header(b'$', len);
    }

    #[inline]
    pub fn bulk_end(&mut self) {
        self.raw(&BULK_END);
    }

    /// No value.
    #[inline]
    pub fn null(&mut self) {
        match self.version {
            Version::V2 => self.raw(b"$-1\r\n"),
            Version::V3 => self.raw(b"_\r\n"),
        }
    }

    /// No array: an aborted EXEC, a blocking command whose time is over.
    pub fn null_array(&mut self) {
        match self.version {
            Version::V2 => self.raw(b"*-1\r\n"),
            Version::V3 => self.raw(b"_\r\n"),
        }
    }

    #[inline]
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// `len` pairs follow: a map in version 3, an array of twice as many in version 2.
    pub fn map(&mut self, len: usize) {
        match self.version {
            Version::V2 => self.header(b'*', len * 2),
            Version::V3 => self.header(b'%', len),
        }
    }

    pub fn set(&mut self, len: usize) {
        match self.version {
            Version::V2 => self.header(b'*', len),
            Version::V3 => self.header(b'~', len),
        }
    }

    /// A message outside of request and reply. Version 2 knows it only as an array, and only while
    /// the connection is subscribed.
    pub fn push(&mut self, len: usize) {
        match self.version {
            Version::V2 => self.header(b'*', len),
            Version::V3 => self.header(b'>', len),
        }
    }

    /// `len` pairs about the next reply. Version 3 only; the caller must not send its pairs either
    /// when this answers false.
    #[must_use]
    pub fn attribute(&mut self, len: usize) -> bool {
        if self.version == Version::V3 {
            self.header(b'|', len);
        }
        self.version == Version::V3
    }

    pub fn bool(&mut self, value: bool) {
        match (self.version, value) {
            (Version::V2, value) => self.int(i64::from(value)),
            (Version::V3, true) => self.raw(b"#t\r\n"),
            (Version::V3, false) => self.raw(b"#f\r\n"),
        }
    }

    /// With 17 significant digits, as Redis 7.0 writes it.
    pub fn double(&mut self, value: f64) {
        let text = double::Text::of(value);
        self.double_text(text.as_bytes());
    }

    /// A double that is already text, for commands with a notation of their own.
    pub fn double_text(&mut self, text: &[u8]) {
        match self.version {
            Version::V2 => self.bulk(text),
            Version::V3 => {
                self.out.push(b',');
                self.raw(text);
                self.raw(b"\r\n");
            }
        }
    }

    /// A whole number of any size, as decimal text.
    pub fn big_number(&mut self, digits: &str) {
        match self.version {
            Version::V2 => self.bulk(digits.as_bytes()),
            Version::V3 => {
                self.out.push(b'(');
                self.raw(digits.as_bytes());
                self.raw(b"\r\n");
            }
        }
    }

    /// Text to be shown as it is; `format` has three letters: `txt`, `mkd`.
    pub fn verbatim(&mut self, format: &[u8; 3], text: &[u8]) {
        match self.version {
            Version::V2 => self.bulk(text),
            Version::V3 => {
                self.header(b'=', text.len() + 4);
                self.raw(format);
                self.out.push(b':');
                self.raw(text);
                self.raw(b"\r\n");
            }
        }
    }

    /// Begins an array whose length will be known only when its elements are written. Its header
    /// is put in by [`close_array`](Self::close_array), which moves the elements by a few bytes.
    pub fn open_array(&mut self) -> OpenArray {
        OpenArray { at: self.out.len() }
    }

    pub fn close_array(&mut self, array: OpenArray, len: usize) {
        let digits = Decimal::unsigned(len as u64);
        let digits = digits.as_bytes();
        let mut header = [0; 24];
        header[0] = b'*';
        header[1..=digits.len()].copy_from_slice(digits);
        header[digits.len() + 1..digits.len() + 3].copy_from_slice(b"\r\n");
        let header = &header[..digits.len() + 3];
        self.out.splice(array.at..array.at, header.iter().copied());
    }

    #[inline(always)]
    fn header(&mut self, kind: u8, len: usize) {
        if len < SHORT_HEADERS { self.short_header(kind, len) } else { self.long_header(kind, len) }
    }

    #[cold]
    fn long_header(&mut self, kind: u8, len: usize) {
        self.out.push(kind);
        self.raw(Decimal::unsigned(len as u64).as_bytes());
        self.raw(b"\r\n");
    }

    /// Eight bytes at once and then the surplus off again: a copy of known size is two moves, one
    /// of unknown size is a call.
    #[inline(always)]
    fn short_header(&mut self, kind: u8, value: usize) {
        let (bytes, len) = short_header(kind, value);
        let end = self.out.len() + len;
        self.out.extend_from_slice(&bytes);
        self.out.truncate(end);
    }
}
