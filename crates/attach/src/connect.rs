//! Introduction to a server: a hello over its attach socket, and two descriptors back.

use crate::error::Error;
use crate::limits::HELLO_WAIT;
use dolium_engine::ring::hello::{self, WELCOME_BYTES, Welcome};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags};
use std::io::{IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Where a server of this user listens if nobody says otherwise.
pub fn default_path() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR");
    hello::default_path(folder.as_deref(), rustix::process::getuid().as_raw())
}

/// What a server hands over.
pub struct Handed {
    pub socket: UnixStream,
    pub arena: OwnedFd,
    pub ring: OwnedFd,
    pub server_pid: u64,
}

/// Connects, says hello and waits for the answer.
pub fn connect(path: &Path) -> Result<Handed, Error> {
    let failed = |error| Error::Connect { path: path.into(), error };
    let stranger = || Error::NotDolium { path: path.into() };
    let mut socket = UnixStream::connect(path).map_err(failed)?;
    socket.set_read_timeout(Some(HELLO_WAIT)).map_err(failed)?;
    socket.set_write_timeout(Some(HELLO_WAIT)).map_err(failed)?;
    socket.write_all(&hello::hello()).map_err(|_| stranger())?;
    let mut welcome = [0; WELCOME_BYTES];
    let mut descriptors = Vec::new();
    let mut filled = 0;
    while filled < WELCOME_BYTES {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut welcome[filled..])];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = match rustix::net::recvmsg(&socket, &mut into, &mut control, flags) {
            Ok(got) => got,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Err(stranger()),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                descriptors.extend(fds);
            }
        }
        if got.bytes == 0 || got.flags.contains(ReturnFlags::CTRUNC) {
            return Err(stranger());
        }
        filled += got.bytes;
    }
    match Welcome::decode(&welcome).ok_or_else(stranger)? {
        Welcome::Refused(why) => Err(Error::Refused(why)),
        Welcome::Come { server_pid } => {
            let [arena, ring] = descriptors.try_into().map_err(|_| stranger())?;
            socket.set_read_timeout(None).map_err(failed)?;
            socket.set_write_timeout(None).map_err(failed)?;
            Ok(Handed { socket, arena, ring, server_pid })
        }
    }
}
