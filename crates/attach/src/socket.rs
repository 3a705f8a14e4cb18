//! The same commands over a socket, for who cannot attach: another machine, another user.

use crate::error::Error;
use crate::pairs::name_of_one_that_answers;
use dolium_protocol::Parse;
use dolium_protocol::resp::reply::{self, SkipState};
use dolium_protocol::resp::{RespWriter, Value, Version};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const CONNECT_WAIT: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 64 << 10;

/// A connection to a server's Redis door.
#[derive(Debug)]
pub struct Socket<S> {
    stream: S,
    request: Vec<u8>,
    input: Vec<u8>,
}

impl Socket<TcpStream> {
    pub fn tcp(address: impl ToSocketAddrs) -> io::Result<Socket<TcpStream>> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_WAIT) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Socket::over(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Socket<UnixStream> {
    pub fn unix(path: impl AsRef<Path>) -> io::Result<Socket<UnixStream>> {
        Ok(Socket::over(UnixStream::connect(path)?))
    }
}

impl<S: Read + Write> Socket<S> {
    fn over(stream: S) -> Socket<S> {
        Socket { stream, request: Vec::new(), input: Vec::new() }
    }

    /// Has the server execute a command that answers once.
    pub fn execute(&mut self, args: &[&[u8]]) -> Result<Value, Error> {
        name_of_one_that_answers(args)?;
        self.request.clear();
        self.queue(args);
        self.flush()?;
        self.reply()
    }

    /// Adds a command to those that [`Socket::flush`] sends. One without a word gets no reply.
    pub fn queue(&mut self, args: &[&[u8]]) {
        let mut writer = RespWriter::new(&mut self.request, Version::V2);
        writer.array(args.len());
        for arg in args {
            writer.bulk(arg);
        }
    }

    pub fn flush(&mut self) -> Result<(), Error> {
        self.stream.write_all(&self.request).map_err(|_| Error::ServerGone)?;
        self.request.clear();
        Ok(())
    }

    /// The next reply.
    pub fn reply(&mut self) -> Result<Value, Error> {
        let mut state = SkipState::default();
        loop {
            match reply::skip(&self.input, &mut state) {
                Parse::Error(error) => return Err(Error::Reply(error)),
                Parse::Complete { consumed } => {
                    let decoded = reply::decode(&self.input[..consumed]).map_err(Error::Reply)?;
                    self.input.drain(..consumed);
                    if let Some((value, _)) = decoded {
                        return Ok(value);
                    }
                }
                Parse::Incomplete { .. } => {
                    let start = self.input.len();
                    self.input.resize(start + READ_BYTES, 0);
                    let got = self.stream.read(&mut self.input[start..]);
                    self.input.truncate(start + *got.as_ref().unwrap_or(&0));
                    match got {
                        Ok(0) => return Err(Error::ServerGone),
                        Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                            return Err(Error::ServerGone);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}
