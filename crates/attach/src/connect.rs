//! Introduction to a server: a hello over its attach socket, and two descriptors back.
//!
//! Where nobody says where that socket is, there are two places to look at. A server that was
//! started without a session (by systemd, by cron) knows of no runtime folder and listens in /tmp,
//! while the shell of the same user has such a folder; or the other way round.

use crate::error::Error;
use crate::limits::{HANG_UP_WAIT, HELLO_WAIT};
use crate::store::Store;
use dolium_engine::ring::hello::{self, WELCOME_BYTES, Welcome};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::ffi::OsStr;
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Where a server of this user listens if nobody says otherwise.
pub fn default_path() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR");
    hello::default_path(folder.as_deref(), rustix::process::getuid().as_raw())
}

impl Store {
    /// Attaches where a server of this user listens if nobody says otherwise: in the runtime
    /// folder, or else in /tmp; without a runtime folder in /tmp, or else in the folder that a
    /// session of this user would have.
    pub fn attach_usual() -> Result<Store, Error> {
        let folder = std::env::var_os("XDG_RUNTIME_DIR");
        let user = rustix::process::getuid().as_raw();
        first_that_listens(usual_places(folder.as_deref(), user), Store::attach)
    }
}

/// The first is [`default_path`].
fn usual_places(folder: Option<&OsStr>, user: u32) -> [PathBuf; 2] {
    let shared = hello::default_path(None, user);
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => [hello::default_path(Some(folder), user), shared],
        None => {
            let folder = format!("/run/user/{user}");
            [shared, hello::default_path(Some(OsStr::new(&folder)), user)]
        }
    }
}

/// Only where nobody listens the other place is tried: a server that says no has answered.
fn first_that_listens<T>(
    places: [PathBuf; 2],
    attach: impl Fn(PathBuf) -> Result<T, Error>,
) -> Result<T, Error> {
    let [usual, other] = places;
    let (path, error) = match attach(usual) {
        Err(Error::Connect { path, error }) => (path, error),
        answer => return answer,
    };
    match attach(other) {
        Err(Error::Connect { path: other, error: why }) => {
            let both = format!("{error}, nor at {}: {why}", other.display());
            // Where nobody is, there is less to be told of than where one may not go.
            let is_absent = |error: &io::Error| {
                matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
            };
            let kind = if is_absent(&error) { why.kind() } else { error.kind() };
            Err(Error::Connect { path, error: io::Error::new(kind, both) })
        }
        answer => answer,
    }
}

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
    let mut socket = knock(path).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => silent(),
        _ => failed(error),
    })?;
    socket.set_read_timeout(Some(HELLO_WAIT)).map_err(failed)?;
    socket.write_all(&hello::hello()).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => silent(),
        _ => stranger(),
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
            Err(_) => return Err(stranger()),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                descriptors.extend(fds);
            }
        }
        if got.bytes == 0 {
            return Err(stranger());
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
    use dolium_engine::ring::hello::Refusal;
    use std::os::unix::net::UnixListener;

    /// An id that no server of this machine runs as.
    const NOBODY: u32 = 65534;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_runtime_folder_and_tmp_are_looked_at_in_the_order_of_the_server() {
        let (own, shared) = ("/run/user/7/dolium.attach", "/tmp/dolium-7.attach");
        let places = |folder: Option<&str>| usual_places(folder.map(OsStr::new), 7);
        assert_eq!(places(Some("/run/user/7")), [own, shared].map(PathBuf::from));
        assert_eq!(places(None), [shared, own].map(PathBuf::from));
        assert_eq!(places(Some("")), [shared, own].map(PathBuf::from));
    }

    /// A server that systemd had started listened in /tmp, and a login shell looked for it in its
    /// runtime folder only.
    #[test]
    fn a_server_at_the_other_place_is_found() {
        let folder = folder("other-place");
        let places = [folder.join("runtime"), folder.join("shared")];
        let attach = |path: PathBuf| match UnixStream::connect(&path) {
            Ok(_) => Ok(path),
            Err(error) => Err(Error::Connect { path, error }),
        };
        let nowhere = first_that_listens(places.clone(), attach).unwrap_err().to_string();
        for place in &places {
            assert!(nowhere.contains(&place.display().to_string()), "{nowhere}");
        }
        assert!(
            nowhere.contains("; no server listens there: start one with `dolium`"),
            "{nowhere}"
        );
        let denied = |path: PathBuf| -> Result<PathBuf, Error> {
            let kind = match path.ends_with("shared") {
                true => ErrorKind::PermissionDenied,
                false => ErrorKind::NotFound,
            };
            Err(Error::Connect { path, error: kind.into() })
        };
        let denied = first_that_listens(places.clone(), denied).unwrap_err().to_string();
        assert!(
            denied.ends_with(
                "; the file system does not let this user connect: attach-socket-perm says who may"
            ),
            "{denied}"
        );
        let shared = UnixListener::bind(&places[1]).unwrap();
        assert_eq!(first_that_listens(places.clone(), attach).unwrap(), places[1]);
        // The socket of a server that was killed is there, and nobody listens.
        drop(UnixListener::bind(&places[0]).unwrap());
        assert_eq!(first_that_listens(places.clone(), attach).unwrap(), places[1]);
        drop(shared);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_server_that_refuses_has_answered() {
        let refused = |path: PathBuf| match path.ends_with("first") {
            true => Err(Error::Refused(Refusal::Permission)),
            false => Ok(path),
        };
        let places = ["first", "second"].map(PathBuf::from);
        let answer = first_that_listens(places, refused);
        assert!(matches!(answer, Err(Error::Refused(Refusal::Permission))), "{answer:?}");
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
