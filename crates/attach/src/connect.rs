//! Introduction to a server: a hello over its attach socket, and two descriptors back.

use crate::error::Error;
use crate::limits::{HANG_UP_WAIT, HELLO_WAIT, SOCKET_PATH_BYTES_MAX};
use dolium_engine::ring::hello::{self, WELCOME_BYTES, Welcome};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Connects. Everybody may put a socket into /tmp under the name that this user's server would
/// have there, and would then be told passwords and believed what he answers. So the file must be
/// this user's or root's, and the same before and after: nobody else can take such a file out of a
/// sticky folder, but its server may have removed it in between.
fn knock(path: &Path) -> io::Result<UnixStream> {
    let user = rustix::process::getuid().as_raw();
    if path != hello::default_path(None, user) {
        return dial(path);
    }
    let before = trusted_file(path, user)?;
    let socket = dial(path)?;
    if trusted_file(path, user)? != before {
        return Err(io::Error::other("another socket has just taken its place; try again"));
    }
    Ok(socket)
}

/// Connects within the time that a server has. One that is stopped accepts nobody, and when as many wait
/// as it allows, the next would do so for ever.
fn dial(path: &Path) -> io::Result<UnixStream> {
    let len = path.as_os_str().len();
    if len > SOCKET_PATH_BYTES_MAX {
        let most = SOCKET_PATH_BYTES_MAX;
        let why = format!("the path has {len} bytes, and a socket's may have {most} at most");
        return Err(io::Error::new(ErrorKind::InvalidFilename, why));
    }
    let address = SocketAddrUnix::new(path)?;
    let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(HELLO_WAIT))?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Err(Errno::INTR) => {}
            connected => break connected?,
        }
    }
    Ok(UnixStream::from(socket))
}

/// What tells a file of this user or of root from any other file. Of a link, the link itself.
fn trusted_file(path: &Path, user: u32) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    let owner = file.uid();
    if owner != user && owner != 0 {
        let why = format!("it belongs to user {owner}, and there only yours or root's is trusted");
        // Not a denial, which the file's mode could change.
        return Err(io::Error::other(why));
    }
    Ok((file.dev(), file.ino()))
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
    let silent = || Error::Silent { path: path.into() };
    // Who has not said a word may be anybody, a server that has just been told to stop as well.
    let ended = |filled: usize| match filled {
        0 => Error::HungUp { path: path.into() },
        _ => stranger(),
    };
    let mut socket = knock(path).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => silent(),
        _ => failed(error),
    })?;
    socket.set_read_timeout(Some(HELLO_WAIT)).map_err(failed)?;
    socket.write_all(&hello::hello()).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => silent(),
        _ => ended(0),
    })?;
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
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if filled == 0 && !hangs_up(&socket) => return Err(silent()),
            Err(Errno::CONNRESET) => return Err(ended(filled)),
            Err(_) => return Err(stranger()),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                descriptors.extend(fds);
            }
        }
        if got.bytes == 0 {
            return Err(ended(filled));
        }
        if got.flags.contains(ReturnFlags::CTRUNC) {
            return Err(Error::NoDescriptors);
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

/// Does what has been silent hang up on us, who hang up now? A server of another protocol may take the
/// hello for the beginning of a request, of which it awaits the rest, and there is no rest that would have
/// all of them speak. But all that run notice the end. One that is stopped does not.
fn hangs_up(mut socket: &UnixStream) -> bool {
    // They fail if the other side is gone, which the receive tells.
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.set_read_timeout(Some(HANG_UP_WAIT));
    // Whatever it says now is too late, and is no end.
    matches!(socket.read(&mut [0; WELCOME_BYTES]), Ok(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    /// An id that no server of this machine runs as.
    const NOBODY: u32 = 65534;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// It was a file name that was too long, by how much was not said.
    #[test]
    fn a_path_that_no_socket_can_have_is_told_the_longest() {
        let path = PathBuf::from(format!("/{}", "s".repeat(SOCKET_PATH_BYTES_MAX)));
        let refused = connect(&path).map(|_| ()).unwrap_err().to_string();
        assert!(
            refused.contains("has 108 bytes, and a socket's may have 107 at most"),
            "{refused}"
        );
    }

    /// A server that was being stopped closed the connection, and was called no Dolium server, with advice
    /// about a socket that was the right one.
    #[test]
    fn who_hangs_up_without_a_word_is_not_called_a_stranger() {
        let folder = folder("hangs-up");
        let path = folder.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        for said in ["", "-ERR what is that?\r\n"] {
            let (answer, reads) = std::thread::scope(|scope| {
                let answer = scope.spawn(|| connect(&path).map(|_| ()).unwrap_err());
                let (mut socket, _) = listener.accept().unwrap();
                // Closed with the hello unread, it is a reset that the other side gets.
                let reads = !said.is_empty();
                if reads {
                    socket.read_exact(&mut [0; hello::HELLO_BYTES]).unwrap();
                }
                socket.write_all(said.as_bytes()).unwrap();
                drop(socket);
                (answer.join().unwrap(), reads)
            });
            match reads {
                true => assert!(matches!(answer, Error::NotDolium { .. }), "{answer:?}"),
                false => assert!(matches!(answer, Error::HungUp { .. }), "{answer:?}"),
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn in_tmp_only_this_users_and_roots_sockets_count() {
        let folder = folder("trusted");
        let path = folder.join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let own = rustix::process::getuid();
        assert!(trusted_file(&path, own.as_raw()).is_ok());
        // Root may have it belong to somebody else; anybody else may look at it as somebody else.
        let owner = if own.is_root() {
            std::os::unix::fs::chown(&path, Some(NOBODY), None).unwrap();
            NOBODY
        } else {
            own.as_raw()
        };
        let first = trusted_file(&path, owner).unwrap();
        let strange = trusted_file(&path, owner + 1).unwrap_err();
        assert!(strange.to_string().contains("only yours or root's is trusted"), "{strange}");
        // One that was put in its place is another.
        let _other = UnixListener::bind(folder.join("other")).unwrap();
        std::fs::rename(folder.join("other"), &path).unwrap();
        assert_ne!(trusted_file(&path, own.as_raw()).unwrap(), first);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
