//! A connection of a case: what the three protocols send and read on it, and that nothing else came.

use super::expect::{self, like, matches, unescape};
use super::reply::{self, Reply};
use super::words::{encode, words};
use crate::Result;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
/// How long silence must last where a case says that nothing may come.
const SILENCE: Duration = Duration::from_millis(50);

/// How a case writes an empty line of a Memcached answer: a truly empty one ends the exchange.
const EMPTY_LINE: &str = "(empty)";

/// What is asked when a case is over. No case has this word.
const LAST_WORD: &str = "the-case-is-over";
/// What begins the lines after which a connection is not asked so: its replies may be off, or it hears
/// of what others do. Of Redis, and of Memcached.
const LISTENS_ON: [&[&str]; 2] = [&["client reply ", "monitor"], &["watch"]];

/// What can be done with a connection when its case is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Its last exchange was answered, so it is not in the middle of one: it can be asked once more.
    Answered,
    /// It may wait for something or have sent half a request: it is only listened to.
    Unsure,
    /// The case has seen its end.
    Closed,
}

pub struct Connection {
    pub(super) stream: BufReader<TcpStream>,
    standing: Standing,
    listens_on: bool,
}

impl Connection {
    pub fn open(port: u16) -> Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|why| format!("{why}"))?;
        let set = stream.set_nodelay(true).and(stream.set_read_timeout(Some(PATIENCE)));
        set.map_err(|why| format!("{why}"))?;
        let stream = BufReader::new(stream);
        Ok(Connection { stream, standing: Standing::Unsure, listens_on: false })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes).map_err(|why| format!("cannot send: {why}"))
    }

    pub(super) fn lost(&self, why: std::io::Error) -> String {
        match why.kind() {
            ErrorKind::UnexpectedEof => "the connection was closed".to_string(),
            _ => format!("no answer: {why}"),
        }
    }

    /// Remembers how an exchange leaves the connection that has come out as expected.
    fn note(&mut self, send: &[String], expected: &[String]) {
        self.standing = match expected.last().map(String::as_str) {
            Some("closed") => Standing::Closed,
            Some("silence") | None => Standing::Unsure,
            // Half a request may lie behind the ones that were answered.
            _ if self.listens_on || has_line_with(send, &["raw "]) => Standing::Unsure,
            _ => Standing::Answered,
        };
    }

    /// Nothing but what the case says may have come. What the server sends too much it may send a
    /// moment later: so it is asked something more, where that is understood, and this must be
    /// answered next.
    pub fn finish(&mut self, protocol: &str) -> Result<()> {
        match (self.standing, protocol) {
            (Standing::Closed, _) => return Ok(()),
            (Standing::Answered, "redis") => self.finish_redis()?,
            (Standing::Answered, "memcache") => {
                self.memcache(&["mn".to_string()], &["MN".to_string()])?;
            }
            // A server of the web may hang up after any answer.
            (_, "http") => match self.listen()? {
                Some(more) if !more.is_empty() => return Err(format!("found {more}")),
                _ => {}
            },
            _ => self.is_silent()?,
        }
        let more = self.stream.buffer();
        if more.is_empty() { Ok(()) } else { Err(format!("found {}", more.escape_ascii())) }
    }

    fn finish_redis(&mut self) -> Result<()> {
        self.write(
            format!("*2\r\n$4\r\nPING\r\n${}\r\n{LAST_WORD}\r\n", LAST_WORD.len()).as_bytes(),
        )?;
        let found = reply::read(&mut self.stream).map_err(|why| self.lost(why))?;
        let word = |reply: &Reply| *reply == Reply::Bulk(LAST_WORD.into());
        match &found {
            found if word(found) => Ok(()),
            // A subscriber's.
            Reply::Array(items) if items.last().is_some_and(word) => Ok(()),
            // The case ends within a transaction. Were this one reply too many, the next would be that
            // to PING.
            Reply::Simple(text) if text == "QUEUED" => {
                self.redis(&["DISCARD".to_string()], &["+OK".to_string()])
            }
            // The case ends before a password was told.
            Reply::Error(text) if text.starts_with("NOAUTH ") => Ok(()),
            found => Err(format!("found {found}")),
        }
    }

    /// Redis: each line is one command, quoted as redis-cli does; `raw BYTES` is sent as it is.
    pub fn redis(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        self.listens_on |= has_line_with(send, LISTENS_ON[0]);
        let mut bytes = Vec::new();
        for line in send {
            match line.strip_prefix("raw ") {
                Some(raw) => bytes.extend(unescape(raw)),
                None => encode(&words(line)?, &mut bytes),
            }
        }
        self.write(&bytes)?;
        for expected in expect::parse(replies(expected))? {
            let found = reply::read(&mut self.stream).map_err(|why| self.lost(why))?;
            if !matches(&expected, &found) {
                return Err(format!("expected {expected:?}\n   found {found}"));
            }
        }
        self.conclude(send, expected)
    }

    /// Memcached: lines out, lines back, with `*` as a wildcard. `raw BYTES` goes without a newline.
    pub fn memcache(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        self.listens_on |= has_line_with(send, LISTENS_ON[1]);
        let mut bytes = Vec::new();
        for line in send {
            match line.strip_prefix("raw ") {
                Some(raw) => bytes.extend(unescape(raw)),
                None => bytes.extend(unescape(line).into_iter().chain(*b"\r\n")),
            }
        }
        self.write(&bytes)?;
        for expected in replies(expected) {
            let mut line = Vec::new();
            self.stream.read_until(b'\n', &mut line).map_err(|why| self.lost(why))?;
            let found = line.strip_suffix(b"\r\n").ok_or("the connection was closed")?;
            let found = found.escape_ascii().to_string();
            let expected = if expected == EMPTY_LINE { "" } else { expected };
            if !like(expected, &found) {
                return Err(format!("expected {expected}\n   found {found}"));
            }
        }
        self.conclude(send, expected)
    }

    /// What is expected behind the replies, if it is something else than the next request.
    fn conclude(&mut self, send: &[String], expected: &[String]) -> Result<()> {
        match expected.last().map(String::as_str) {
            Some("closed") => self.is_closed()?,
            Some("silence") => self.is_silent()?,
            _ => {}
        }
        self.note(send, expected);
        Ok(())
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

    /// Nothing may come: neither now nor left over from an answer that was longer than expected, nor
    /// the end of the connection.
    fn is_silent(&mut self) -> Result<()> {
        match self.listen()?.as_deref() {
            None => Ok(()),
            Some("") => Err("expected silence, but the connection was closed".to_string()),
            Some(more) => Err(format!("expected no more, found {more}")),
        }
    }

    /// What comes within a moment, if anything does; nothing at all is the connection's end.
    fn listen(&mut self) -> Result<Option<String>> {
        let limit = |time| self.stream.get_ref().set_read_timeout(Some(time));
        limit(SILENCE).map_err(|why| format!("{why}"))?;
        let heard = match self.stream.fill_buf() {
            Ok(bytes) => Ok(Some(bytes.escape_ascii().to_string())),
            Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(why) => Err(format!("expected silence: {why}")),
        };
        let limit = self.stream.get_ref().set_read_timeout(Some(PATIENCE));
        limit.map_err(|why| format!("{why}"))?;
        heard
    }
}

/// The expected lines without the word at their end that is no reply.
fn replies(expected: &[String]) -> &[String] {
    match expected {
        [replies @ .., last] if last == "closed" || last == "silence" => replies,
        replies => replies,
    }
}

fn has_line_with(lines: &[String], beginnings: &[&str]) -> bool {
    let begins = |line: &String| {
        let line = line.to_ascii_lowercase();
        beginnings.iter().any(|beginning| line.starts_with(beginning))
    };
    lines.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::Connection;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server that answers with these bytes by turns, and then hangs up.
    fn answering(answers: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let connection = Connection::open(listener.local_addr().expect("a port").port());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            for answer in answers {
                let _ = stream.read(&mut [0; 1000]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        connection.expect("it listens")
    }

    fn set(connection: &mut Connection, expected: &str) -> crate::Result<()> {
        connection.redis(&["SET k v".to_string()], &[expected.to_string()])
    }

    #[test]
    fn a_reply_too_many_is_noticed_though_it_comes_late() {
        let finished = |answers| {
            let mut connection = answering(answers);
            set(&mut connection, "+OK").expect("what it answers");
            connection.finish("redis")
        };
        finished(&["+OK\r\n", "$16\r\nthe-case-is-over\r\n"]).expect("no more");
        assert!(finished(&["+OK\r\n", ":1\r\n$16\r\nthe-case-is-over\r\n"]).is_err());
        assert!(finished(&["+OK\r\n", "$16\r\nthe-case-is-over\r\n:1\r\n"]).is_err());
        assert!(finished(&["+OK\r\n"]).is_err(), "it hung up");
    }

    #[test]
    fn the_end_of_a_connection_is_no_silence() {
        assert!(set(&mut answering(&[""]), "silence").is_err());
    }
}
