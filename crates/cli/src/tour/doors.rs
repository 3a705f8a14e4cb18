//! The doors of the tour: how each reads a key, and how long that takes.

use super::VALUE_BYTES;
use super::server::Private;
use dolium_attach::Socket;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Attached,
    Batch,
    Ring,
    Unix,
    Tcp,
    Memcached,
    Http,
}

pub const ALL: [Door; 7] =
    [Door::Attached, Door::Batch, Door::Ring, Door::Unix, Door::Tcp, Door::Memcached, Door::Http];

/// What became of timing a door.
#[derive(Debug)]
pub enum Outcome {
    /// Nanoseconds a read.
    Took(f64),
    Failed(String),
}

impl Door {
    pub fn name(self) -> &'static str {
        match self {
            Door::Attached => "attached memory",
            Door::Batch => "attached, 32 at once",
            Door::Ring => "ring to the server",
            Door::Unix => "Unix socket, Redis",
            Door::Tcp => "TCP, Redis",
            Door::Memcached => "TCP, Memcached",
            Door::Http => "TCP, HTTP",
        }
    }

    /// How a program says it.
    pub fn words(self) -> &'static str {
        match self {
            Door::Attached => "store.get(b\"greeting\")",
            Door::Batch => "store.get_many(&[\"greeting\", ...])",
            Door::Ring => "store.execute(&[b\"GET\", b\"greeting\"])",
            Door::Unix => "redis-cli -s PATH get greeting",
            Door::Tcp => "redis-cli get greeting",
            Door::Memcached => "printf 'get greeting\\r\\n' | nc ...",
            Door::Http => "curl .../keys/greeting",
        }
    }
}

/// Reads a key through a door.
pub fn read(door: Door, private: &Private, key: &str) -> Result<Vec<u8>, String> {
    let mut reader = Reader::open(door, private)?;
    let mut value = Vec::new();
    reader.read(&[key.to_owned()], &mut value)?;
    Ok(value)
}

/// Reads random keys one after the other for a while, and says what one took.
pub fn time(door: Door, private: &Private, keys: &[String], wanted: Duration) -> Outcome {
    let timed = || -> Result<f64, String> {
        let mut reader = Reader::open(door, private)?;
        let step = if door == Door::Batch { 32 } else { 1 };
        let mut value = Vec::with_capacity(step * VALUE_BYTES);
        let (mut reads, started) = (0u64, Instant::now());
        // The clock is looked at once in a while: it would be a good part of an attached read.
        for some in keys.chunks_exact(32).cycle() {
            for few in some.chunks_exact(step) {
                value.clear();
                reader.read(few, &mut value)?;
                if value.len() != step * VALUE_BYTES {
                    return Err("a value is not what was written".into());
                }
            }
            reads += 32;
            if started.elapsed() >= wanted {
                break;
            }
        }
        Ok(started.elapsed().as_nanos() as f64 / reads as f64)
    };
    timed().map_or_else(Outcome::Failed, Outcome::Took)
}

enum Reader<'a> {
    Attached(&'a dolium_attach::Store),
    Batch(&'a dolium_attach::Store),
    Ring(&'a dolium_attach::Store),
    Unix(Socket<std::os::unix::net::UnixStream>),
    Tcp(Socket<TcpStream>),
    Memcached(BufReader<TcpStream>),
    Http(BufReader<TcpStream>),
}

impl<'a> Reader<'a> {
    fn open(door: Door, private: &'a Private) -> Result<Reader<'a>, String> {
        let said = |error: std::io::Error| error.to_string();
        Ok(match door {
            Door::Attached => Reader::Attached(&private.store),
            Door::Batch => Reader::Batch(&private.store),
            Door::Ring => Reader::Ring(&private.store),
            Door::Unix => Reader::Unix(Socket::unix(private.unix_path()).map_err(said)?),
            Door::Tcp => Reader::Tcp(Socket::tcp(private.redis).map_err(said)?),
            Door::Memcached => Reader::Memcached(stream(private.memcached).map_err(said)?),
            Door::Http => Reader::Http(stream(private.http).map_err(said)?),
        })
    }

    /// Appends the values of the keys to `out`.
    fn read(&mut self, keys: &[String], out: &mut Vec<u8>) -> Result<(), String> {
        let key = keys.first().map_or("", String::as_str);
        match self {
            Reader::Attached(store) => {
                store.get_into(key.as_bytes(), out).map_err(|e| e.to_string())?;
            }
            Reader::Batch(store) => store
                .get_many_with(keys, |_, value| out.extend_from_slice(value.unwrap_or_default()))
                .map_err(|e| e.to_string())?,
            Reader::Ring(store) => {
                let reply = store.execute(&[b"GET", key.as_bytes()]).map_err(|e| e.to_string())?;
                out.extend_from_slice(reply.as_bytes().unwrap_or_default());
            }
            Reader::Unix(socket) => {
                let reply = socket.execute(&[b"GET", key.as_bytes()]).map_err(|e| e.to_string())?;
                out.extend_from_slice(reply.as_bytes().unwrap_or_default());
            }
            Reader::Tcp(socket) => {
                let reply = socket.execute(&[b"GET", key.as_bytes()]).map_err(|e| e.to_string())?;
                out.extend_from_slice(reply.as_bytes().unwrap_or_default());
            }
            Reader::Memcached(stream) => memcached(stream, key, out).map_err(|e| e.to_string())?,
            Reader::Http(stream) => http(stream, key, out).map_err(|e| e.to_string())?,
        }
        Ok(())
    }
}

fn stream(address: SocketAddr) -> std::io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(BufReader::new(stream))
}

/// `get KEY` -> `VALUE KEY FLAGS LENGTH`, the value, `END`.
fn memcached(
    stream: &mut BufReader<TcpStream>,
    key: &str,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    stream.get_mut().write_all(format!("get {key}\r\n").as_bytes())?;
    let line = line(stream)?;
    if line == "END" {
        return Ok(());
    }
    let length = line.rsplit(' ').next().and_then(|n| n.parse().ok());
    let Some(length) = length.filter(|_| line.starts_with("VALUE ")) else {
        return Err(std::io::Error::other(format!("the reply began with {line:?}")));
    };
    append(stream, length, out)?;
    self::line(stream)?;
    self::line(stream)?;
    Ok(())
}

/// `GET /keys/KEY` on a connection that stays open.
fn http(stream: &mut BufReader<TcpStream>, key: &str, out: &mut Vec<u8>) -> std::io::Result<()> {
    let request = format!("GET /keys/{key} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    let status = line(stream)?;
    let mut length = 0;
    loop {
        let line = line(stream)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    append(stream, length, out)?;
    if !status.contains(" 200") {
        return Err(std::io::Error::other(format!("the reply began with {status:?}")));
    }
    Ok(())
}

fn append(stream: &mut impl Read, length: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    let start = out.len();
    out.resize(start + length, 0);
    stream.read_exact(&mut out[start..])
}

fn line(stream: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}
