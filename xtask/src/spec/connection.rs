//! A connection of a case, and what the three protocols send and read on it.

use super::expect::{self, like, matches, unescape};
use super::reply;
use crate::Result;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
/// How long silence must last where a case says that nothing may come.
const SILENCE: Duration = Duration::from_millis(50);

/// How a case writes an empty line of a Memcached answer: a truly empty one ends the exchange.
const EMPTY_LINE: &str = "(empty)";

pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(port: u16) -> Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|why| format!("{why}"))?;
        let set = stream.set_nodelay(true).and(stream.set_read_timeout(Some(PATIENCE)));
        set.map_err(|why| format!("{why}"))?;
        Ok(Connection { stream: BufReader::new(stream) })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes).map_err(|why| format!("cannot send: {why}"))
    }

    fn lost(&self, why: std::io::Error) -> String {
        format!("no answer: {why}")
    }

    /// Redis: each line is one command, quoted as redis-cli does; `raw BYTES` is sent as it is.
    pub fn redis(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        let mut bytes = Vec::new();
        for line in send {
            match line.strip_prefix("raw ") {
                Some(raw) => bytes.extend(unescape(raw)),
                None => encode(&words(line)?, &mut bytes),
            }
        }
        self.write(&bytes)?;
        if expected == ["closed"] {
            return self.is_closed();
        }
        if expected == ["silence"] {
            return self.is_silent();
        }
        for expected in expect::parse(expected)? {
            let found = reply::read(&mut self.stream).map_err(|why| self.lost(why))?;
            if !matches(&expected, &found) {
                return Err(format!("expected {expected:?}\n   found {found}"));
            }
        }
        Ok(())
    }

    /// Memcached: lines out, lines back, with `*` as a wildcard. `raw BYTES` goes without a newline.
    pub fn memcache(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        let mut bytes = Vec::new();
        for line in send {
            match line.strip_prefix("raw ") {
                Some(raw) => bytes.extend(unescape(raw)),
                None => bytes.extend(unescape(line).into_iter().chain(*b"\r\n")),
            }
        }
        self.write(&bytes)?;
        if expected == ["closed"] {
            return self.is_closed();
        }
        if expected == ["silence"] {
            return self.is_silent();
        }
        for expected in expected {
            let mut line = Vec::new();
            self.stream.read_until(b'\n', &mut line).map_err(|why| self.lost(why))?;
            let found = line.strip_suffix(b"\r\n").ok_or("the connection was closed")?;
            let found = found.escape_ascii().to_string();
            let expected = if expected == EMPTY_LINE { "" } else { expected };
            if !like(expected, &found) {
                return Err(format!("expected {expected}\n   found {found}"));
            }
        }
        Ok(())
    }

    /// HTTP: `METHOD PATH` then `name: value` lines and `| BODY`; the answer is read to its end.
    /// Expected are the status first, then headers and the body in the same form.
    pub fn http(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        let (first, rest) = send.split_first().ok_or("an empty request")?;
        let mut headers = String::new();
        let mut body = Vec::new();
        for line in rest {
            match line.strip_prefix("| ") {
                Some(text) => body.extend(unescape(text)),
                None => headers.push_str(&format!("{line}\r\n")),
            }
        }
        if !body.is_empty() {
            headers.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let head = format!("{first} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.write(&[head.as_bytes(), &body].concat())?;
        let (found, body) = self.http_answer(first.starts_with("HEAD"))?;
        for line in expected {
            let agrees = match line.strip_prefix("| ") {
                Some(text) => like(text, &body.escape_ascii().to_string()),
                None => found.iter().any(|found| like(&line.to_lowercase(), &found.to_lowercase())),
            };
            if !agrees {
                let body = body.escape_ascii();
                return Err(format!("expected {line}\n   found {}\n| {body}", found.join("\n")));
            }
        }
        Ok(())
    }

    /// The status and the headers as lines, then the body.
    fn http_answer(&mut self, without_body: bool) -> Result<(Vec<String>, Vec<u8>)> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).map_err(|why| self.lost(why))?;
            match line.trim_end() {
                "" => break,
                text => lines.push(text.trim_start_matches("HTTP/1.1 ").to_string()),
            }
        }
        let length = lines.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; if without_body { 0 } else { length.unwrap_or(0) }];
        self.stream.read_exact(&mut body).map_err(|why| self.lost(why))?;
        Ok((lines, body))
    }

    fn is_closed(&mut self) -> Result<()> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(0) => Ok(()),
            Ok(_) => Err(format!("expected a closed connection, found {}", rest.escape_ascii())),
            Err(why) if why.kind() == std::io::ErrorKind::ConnectionReset => Ok(()),
            Err(why) => Err(self.lost(why)),
        }
    }

    /// Nothing may come: neither now nor left over from an answer that was longer than expected.
    pub fn is_silent(&mut self) -> Result<()> {
        let limit = |time| self.stream.get_ref().set_read_timeout(Some(time));
        limit(SILENCE).map_err(|why| format!("{why}"))?;
        let more = match self.stream.fill_buf() {
            Ok(bytes) => bytes.escape_ascii().to_string(),
            Err(_) => String::new(),
        };
        let limit = self.stream.get_ref().set_read_timeout(Some(PATIENCE));
        limit.map_err(|why| format!("{why}"))?;
        if more.is_empty() { Ok(()) } else { Err(format!("expected no more, found {more}")) }
    }

    /// Whether bytes wait unread: a cheap check without waiting.
    pub fn left_over(&self) -> Option<String> {
        let bytes = self.stream.buffer();
        (!bytes.is_empty()).then(|| bytes.escape_ascii().to_string())
    }
}

/// Splits a line at spaces; a quoted word may hold spaces and escapes. `word*1000` repeats nothing:
/// `"x"*1000` is the quoted text a thousand times.
fn words(line: &str) -> Result<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find(' ').unwrap_or(rest.len());
            words.push(rest.as_bytes()[..end].to_vec());
            rest = rest[end..].trim_start();
            continue;
        };
        let mut escaped = false;
        let end = quoted.find(|character| {
            let ends = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        });
        let end = end.ok_or("a quote is not closed")?;
        let mut word = unescape(&quoted[..end]);
        rest = &quoted[end + 1..];
        if let Some(times) = rest.strip_prefix('*') {
            let end = times.find(' ').unwrap_or(times.len());
            let count: usize = times[..end].parse().map_err(|_| "a count is expected after *")?;
            word = word.repeat(count);
            rest = &times[end..];
        }
        words.push(word);
        rest = rest.trim_start();
    }
    Ok(words)
}

fn encode(words: &[Vec<u8>], bytes: &mut Vec<u8>) {
    bytes.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend(word.iter().copied().chain(*b"\r\n"));
    }
}
