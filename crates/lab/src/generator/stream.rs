//! Walks through a reply of any protocol without holding it: reads heads, passes over bodies.
//!
//! ```text
//! RESP    *2 CRLF | $3 CRLF abc CRLF | $-1 CRLF      2 more to come, then 1, then done
//! text    VALUE k 0 3 CRLF abc CRLF | END CRLF       done at END
//! meta    VA 3 CRLF abc CRLF                         done after the value
//!         VA 3 kKEY CRLF abc CRLF | MN CRLF          many at once: done at MN
//! binary  24 bytes of head, then the body            done after the body; many at once: at NOOP's
//! HTTP    head to the empty line, then the body      done after the body
//! ```
//!
//! Used for replies whose length is not known beforehand: misses, errors, scans, data types,
//! values of many sizes.

use super::reply::Verdict;
use crate::LabError;
use crate::error::excerpt;
use crate::workload::Protocol;
use crate::workload::wire::{BINARY_GETKQ, BINARY_NOOP};

/// A head longer than this belongs to no reply that the generator asks for.
const HEAD_MAX: usize = 8 << 10;
pub(super) const BINARY_HEAD: usize = 24;

/// How far the reply now arriving has been read.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    protocol: Protocol,
    /// RESP: values still to come.
    pending: u64,
    /// Whether any value has come.
    found: bool,
}

/// What the head at the start of the bytes means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// Bytes of the head and of the body that it announces.
    pub len: usize,
    /// The verdict, if the reply ends with these bytes.
    pub done: Option<Verdict>,
}

impl Stream {
    pub fn new(protocol: Protocol) -> Self {
        Self { protocol, pending: 1, found: false }
    }

    /// Reads the head at the start of `bytes`; `None` if it is not all there.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Option<Step>, LabError> {
        let step = match self.protocol {
            Protocol::Resp | Protocol::Resp3 => self.resp(bytes),
            Protocol::Memcached => self.text(bytes),
            Protocol::Meta => self.meta(bytes),
            Protocol::Binary => self.binary(bytes),
            Protocol::Http => http(bytes),
        }?;
        match step {
            Some(Step { done: Some(_), .. }) => *self = Self::new(self.protocol),
            None if bytes.len() > HEAD_MAX => return Err(unexpected(bytes)),
            _ => {}
        }
        Ok(step)
    }

    fn resp(&mut self, bytes: &[u8]) -> Result<Option<Step>, LabError> {
        let Some((line, head)) = line(bytes)? else { return Ok(None) };
        let (kind, rest) = line.split_first().ok_or_else(|| unexpected(bytes))?;
        let mut len = head;
        self.pending -= 1;
        match kind {
            b'-' | b'!' => return Err(LabError::Refused { reply: excerpt(rest) }),
            b'+' | b':' | b'#' | b',' | b'(' => self.found = true,
            b'_' => {}
            b'$' | b'=' => {
                if rest != b"-1" {
                    len += number(rest, bytes)? + 2;
                    self.found = true;
                }
            }
            b'*' | b'~' | b'>' => {
                if rest != b"-1" {
                    // An empty collection is an answer and no miss.
                    self.found = true;
                    self.pending += number(rest, bytes)? as u64;
                }
            }
            b'%' => {
                self.found = true;
                self.pending += 2 * number(rest, bytes)? as u64;
            }
            _ => return Err(unexpected(bytes)),
        }
        let done = (self.pending == 0).then_some(verdict(self.found));
        Ok(Some(Step { len, done }))
    }

    fn text(&mut self, bytes: &[u8]) -> Result<Option<Step>, LabError> {
        let Some((line, head)) = line(bytes)? else { return Ok(None) };
        if line.starts_with(b"VALUE ") {
            let size = line.split(|&byte| byte == b' ').nth(3).unwrap_or_default();
            self.found = true;
            return Ok(Some(Step { len: head + number(size, bytes)? + 2, done: None }));
        }
        let done = match line {
            b"END" => verdict(self.found),
            b"STORED" | b"DELETED" | b"TOUCHED" | b"OK" => Verdict::Good,
            b"NOT_FOUND" | b"NOT_STORED" => Verdict::Miss,
            _ => return Err(LabError::Refused { reply: excerpt(line) }),
        };
        Ok(Some(Step { len: head, done: Some(done) }))
    }

    fn meta(&mut self, bytes: &[u8]) -> Result<Option<Step>, LabError> {
        let Some((line, head)) = line(bytes)? else { return Ok(None) };
        let mut words = line.split(|&byte| byte == b' ');
        let (len, done) = match words.next().unwrap_or_default() {
            b"VA" => {
                let len = head + number(words.next().unwrap_or_default(), bytes)? + 2;
                // Values that name their keys are those of a request for many.
                if words.next().is_some_and(|flag| flag.starts_with(b"k")) {
                    self.found = true;
                    return Ok(Some(Step { len, done: None }));
                }
                (len, Verdict::Good)
            }
            b"HD" => (head, Verdict::Good),
            b"MN" => (head, verdict(self.found)),
            b"EN" | b"NF" | b"NS" | b"EX" => (head, Verdict::Miss),
            _ => return Err(LabError::Refused { reply: excerpt(line) }),
        };
        Ok(Some(Step { len, done: Some(done) }))
    }

    fn binary(&mut self, bytes: &[u8]) -> Result<Option<Step>, LabError> {
        let Some(head) = bytes.get(..BINARY_HEAD) else { return Ok(None) };
        if head[0] != 0x81 {
            return Err(unexpected(bytes));
        }
        let status = u16::from_be_bytes([head[6], head[7]]);
        let body = u32::from_be_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let len = BINARY_HEAD + body;
        let done = match (status, head[1]) {
            (0, BINARY_GETKQ) => {
                self.found = true;
                return Ok(Some(Step { len, done: None }));
            }
            (0, BINARY_NOOP) => verdict(self.found),
            (0, _) => Verdict::Good,
            (1, _) => Verdict::Miss,
            (other, _) => {
                let reply = format!("binary status {other:#06x}");
                return Err(LabError::Refused { reply });
            }
        };
        Ok(Some(Step { len, done: Some(done) }))
    }
}

fn http(bytes: &[u8]) -> Result<Option<Step>, LabError> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(end) = memchr::memmem::find(bytes, END) else { return Ok(None) };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let body = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    let done = match status.split(' ').nth(1) {
        Some("200" | "201" | "204") => Verdict::Good,
        Some("404") => Verdict::Miss,
        _ => return Err(LabError::Refused { reply: excerpt(status.as_bytes()) }),
    };
    Ok(Some(Step { len: end + END.len() + body, done: Some(done) }))
}

fn verdict(found: bool) -> Verdict {
    if found { Verdict::Good } else { Verdict::Miss }
}

/// The first line without its end, and its length with it.
fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, LabError> {
    let Some(end) = memchr::memchr(b'\n', bytes) else { return Ok(None) };
    let line = bytes[..end].strip_suffix(b"\r").ok_or_else(|| unexpected(bytes))?;
    Ok(Some((line, end + 1)))
}

fn number(digits: &[u8], bytes: &[u8]) -> Result<usize, LabError> {
    let text = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    text.ok_or_else(|| unexpected(bytes))
}

fn unexpected(bytes: &[u8]) -> LabError {
    LabError::Unexpected { bytes: excerpt(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts of all replies in `bytes`, and that exactly all bytes were used.
    fn walk(protocol: Protocol, bytes: &[u8]) -> Vec<Verdict> {
        let mut stream = Stream::new(protocol);
        let (mut at, mut verdicts) = (0, Vec::new());
        while at < bytes.len() {
            let step = stream.step(&bytes[at..]).unwrap().expect("all of it is there");
            at += step.len;
            verdicts.extend(step.done);
        }
        assert_eq!(at, bytes.len());
        verdicts
    }

    #[test]
    fn replies_of_every_protocol_end_where_they_end() {
        use Verdict::{Good, Miss};
        let resp = b"*3\r\n$3\r\nabc\r\n$-1\r\n*2\r\n:1\r\n+x\r\n$-1\r\n*0\r\n:5\r\n";
        assert_eq!(walk(Protocol::Resp, resp), [Good, Miss, Good, Good]);
        assert_eq!(walk(Protocol::Resp3, b"%1\r\n+a\r\n_\r\n_\r\n"), [Good, Miss]);
        let text = b"VALUE a 0 3\r\nabc\r\nVALUE b 0 1\r\nx\r\nEND\r\nEND\r\nSTORED\r\n";
        assert_eq!(walk(Protocol::Memcached, text), [Good, Miss, Good]);
        assert_eq!(walk(Protocol::Meta, b"VA 3\r\nabc\r\nEN\r\nHD\r\n"), [Good, Miss, Good]);
        let mut binary = vec![0x81, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 7];
        binary.resize(24 + 7, 0);
        assert_eq!(walk(Protocol::Binary, &binary), [Good]);
        let many = b"VA 3 ka\r\nabc\r\nVA 1 kb\r\nx\r\nMN\r\nMN\r\nVA 1\r\ny\r\n";
        assert_eq!(walk(Protocol::Meta, many), [Good, Miss, Good]);
        let mut quiet = binary.clone();
        quiet[1] = BINARY_GETKQ;
        let mut noop = vec![0x81, BINARY_NOOP];
        noop.resize(24, 0);
        let many = [&quiet[..], &quiet, &noop, &noop, &binary].concat();
        assert_eq!(walk(Protocol::Binary, &many), [Good, Miss, Good]);
        let http = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcHTTP/1.1 404 x\r\n\r\n";
        assert_eq!(walk(Protocol::Http, http), [Good, Miss]);
    }

    #[test]
    fn half_a_head_is_waited_for_and_nonsense_is_not() {
        for (protocol, bytes) in [
            (Protocol::Resp, &b"$10"[..]),
            (Protocol::Memcached, b"VALUE a"),
            (Protocol::Binary, &[0x81; 20]),
            (Protocol::Http, b"HTTP/1.1 200 OK\r\ncontent-le"),
        ] {
            assert_eq!(Stream::new(protocol).step(bytes).unwrap(), None, "{protocol:?}");
        }
        assert!(Stream::new(Protocol::Resp).step(b"hello\r\n").is_err());
        assert!(Stream::new(Protocol::Resp).step(b"-OOM\r\n").is_err());
        assert!(Stream::new(Protocol::Meta).step(b"CLIENT_ERROR x\r\n").is_err());
    }
}
