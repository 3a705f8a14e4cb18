//! Places of Unix sockets: a path is taken by one server at a time, and given up by the one that has it.
//!
//! The file of a socket outlives a server that was killed. Who comes next tells it from one where somebody
//! listens, removes it and binds its own socket to the path:
//!
//! ```text
//!   is there a file?  connect to it: refused  ->  remove it  ->  bind  ->  mode  ->  listen
//! ```
//! Two servers that do so at once both find the old file, and the second removes the file of the first. So
//! all of it is done under a lock on the folder, which, other than a lock file, leaves nothing behind.
//!
//! A server that stops removes the file that it made and no other, and does so while it still listens:
//! until then the path is in use to everybody else, so that no successor's file can be there already.

use crate::folder;
use crate::limits::SOCKET_PATH_BYTES_MAX;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the folder's lock is waited for. Who has it needs it for less than a millisecond, unless it
/// is another program's, which may have it for ever.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// The file of a socket of ours. It is removed when this is dropped, which has to be before the
/// socket is closed.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    file: (u64, u64),
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        let file = identity(&path.symlink_metadata()?);
        // From the root, as the working directory may be another by the end.
        let path = std::path::absolute(path)?;
        Ok(Place { path, file })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The socket keeps its file's number from being given to another file.
        let is_ours = |there: Metadata| identity(&there) == self.file;
        let path = self.path.display();
        if !self.path.symlink_metadata().is_ok_and(is_ours) {
            tracing::debug!(%path, "the socket's file is gone or another's, and is left alone");
        } else if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%path, %error, "the socket's file cannot be removed");
        }
    }
}

/// What tells a file from any other.
fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// A socket that listens at a path. One left by a server that is gone is replaced; one that answers is
/// not, nor a file that is none: connecting to that is refused as well, and it may be somebody's work.
pub fn take(path: &Path, mode: u32, backlog: i32) -> io::Result<(Place, OwnedFd)> {
    let address = address_of(path)?;
    let _lock = lock_folder(path);
    vacate(path, &address)?;
    let socket = new_socket()?;
    rustix::net::bind(&socket, &address).map_err(|error| {
        let error = io::Error::from(error);
        match folder::why_not_made(path, &error) {
            Some(why) => io::Error::new(error.kind(), why),
            None => error,
        }
    })?;
    let place = Place::of(path)?;
    // Before anybody can connect.
    if mode != 0 {
        rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
    }
    rustix::net::listen(&socket, backlog)?;
    Ok((place, socket))
}

fn address_of(path: &Path) -> io::Result<SocketAddrUnix> {
    match path.as_os_str().len() {
        len if len > SOCKET_PATH_BYTES_MAX => Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            format!(
                "the path has {len} bytes, and a socket's may have {SOCKET_PATH_BYTES_MAX} at most: \
                 choose a shorter one"
            ),
        )),
        _ => Ok(SocketAddrUnix::new(path)?),
    }
}

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

fn vacate(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    // What keeps a path from being looked at keeps a socket from being bound to it, and says so then.
    let Ok(there) = path.symlink_metadata() else { return Ok(()) };
    if !there.file_type().is_socket() {
        return Err(io::Error::other(
            "what is there is no socket, and is left alone: choose another path",
        ));
    }
    match rustix::net::connect(new_socket()?, address) {
        Err(Errno::CONNREFUSED) => folder::vacate(path),
        // Its server has stopped just now.
        Err(Errno::NOENT) => Ok(()),
        Ok(()) | Err(Errno::AGAIN) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) => Err(error.into()),
    }
}

/// The lock goes with the descriptor. A folder that cannot be locked (it may not be read, its file
/// system has no locks, another program keeps it) is no reason not to serve: all that is lost is that
/// two servers may not start there at the same moment.
fn lock_folder(path: &Path) -> Option<OwnedFd> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let locked = rustix::fs::open(folder, flags, Mode::empty()).and_then(|opened| {
        let limit = Instant::now() + LOCK_WAIT;
        loop {
            match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(opened),
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() < limit => {
                    std::thread::sleep(LOCK_RETRY);
                }
                Err(error) => return Err(error),
            }
        }
    });
    locked
        .inspect_err(|error| {
            tracing::debug!(folder = %folder.display(), %error, "a socket's folder is not locked");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::sync::Barrier;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    fn listen(path: &Path) -> io::Result<(Place, OwnedFd)> {
        take(path, 0o600, 16)
    }

    /// It was a file name that was too long, by how much was not said.
    #[test]
    fn a_path_that_is_too_long_is_told_the_longest() {
        let folder = folder("longest");
        let rest = SOCKET_PATH_BYTES_MAX - folder.as_os_str().len() - 1;
        drop(listen(&folder.join("s".repeat(rest))).expect("the longest is one"));
        let refused = listen(&folder.join("s".repeat(rest + 1))).expect_err("too long");
        assert!(refused.to_string().contains("has 108 bytes"), "{refused}");
        assert!(refused.to_string().contains("107 at most"), "{refused}");
        std::fs::remove_dir(&folder).expect("nothing is left in it");
    }

    /// There was no such file, which would have been made.
    #[test]
    fn a_path_without_its_folder_is_told_that() {
        let folder = folder("absent").join("none");
        let refused = listen(&folder.join("socket")).expect_err("no folder");
        let told = format!("there is no folder {}: make it", folder.display());
        assert!(refused.to_string().contains(&told), "{refused}");
        std::fs::remove_dir(folder.parent().expect("it")).expect("nothing is left in it");
    }

    /// A server that stopped deleted whatever had its path by then: that of its successor.
    #[test]
    fn who_leaves_removes_its_own_file_and_no_other() {
        let folder = folder("leaves");
        let path = folder.join("socket");
        drop(listen(&path).expect("a socket"));
        assert!(!path.exists());
        let first = listen(&path).expect("a socket");
        // As `dolium memcached -s` and Memcached itself do.
        std::fs::remove_file(&path).expect("it is there");
        let second = listen(&path).expect("another socket");
        drop(first);
        assert!(path.exists(), "the successor's file is gone");
        drop(second);
        assert!(!path.exists());
        std::fs::remove_dir(&folder).expect("nothing is left in it");
    }

    /// Both found the file of a server that was gone, and the second removed the first one's.
    #[test]
    fn a_stale_path_is_taken_by_one() {
        const RIVALS: usize = 4;
        let folder = folder("rivals");
        let path = folder.join("socket");
        for round in 0..200 {
            drop(UnixListener::bind(&path).expect("a stale socket"));
            let start = Barrier::new(RIVALS);
            let taken: Vec<_> = std::thread::scope(|scope| {
                let rivals = [(); RIVALS].map(|()| {
                    scope.spawn(|| {
                        start.wait();
                        listen(&path)
                    })
                });
                rivals.into_iter().map(|rival| rival.join().expect("no panic")).collect()
            });
            let refused = |one: &io::Result<_>| {
                one.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
            };
            let others = taken.iter().filter(|one| refused(one)).count();
            assert_eq!(others, RIVALS - 1, "round {round}: {taken:?}");
            drop(taken);
            assert!(!path.exists());
        }
        std::fs::remove_dir(&folder).expect("nothing is left in it");
    }

    #[test]
    fn a_folder_that_stays_locked_is_no_reason_not_to_listen() {
        let folder = folder("locked");
        let path = folder.join("socket");
        let held = lock_folder(&path).expect("the lock");
        let begun = Instant::now();
        let _listening = listen(&path).expect("a socket");
        assert!(begun.elapsed() >= LOCK_WAIT, "it did not wait for who has the lock");
        drop(held);
        drop(_listening);
        std::fs::remove_dir(&folder).expect("nothing is left in it");
    }
}
