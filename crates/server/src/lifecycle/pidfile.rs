//! The file that names the server's process, for scripts and supervisors.
//!
//! It is written in place, as Redis does: whoever starts the server may have made it, in a folder where
//! the server may make none. So a successor's file is the same file as ours, and only what it says
//! tells whose it is. Who writes and who removes it both lock it, so that neither comes between the
//! other's look and deed.

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the lock of another server is asked for, which has it for less than a millisecond.
const LOCK_TRIES: usize = 50;
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// A pidfile that was written. It is removed when this is dropped, unless it names another process.
pub struct Pidfile {
    path: PathBuf,
    text: String,
}

impl Pidfile {
    pub fn write(path: &Path) -> io::Result<Pidfile> {
        // From the root, as the working directory may be another by the end.
        let path = std::path::absolute(path)?;
        let text = format!("{}\n", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let mut file = open(&path, flags)?;
        // It may have been removed between being opened and being locked.
        if !is_at(&file, &path) {
            file = open(&path, flags)?;
        }
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(text.as_bytes())?;
        Ok(Pidfile { path, text })
    }

    fn remove(&self) -> io::Result<()> {
        // A pipe or a device is not ours to take away, and to open one may wait for its other end, or do
        // what nobody asked for.
        let other = || io::Error::other("it is no regular file, and is left alone");
        if !self.path.metadata()?.is_file() {
            return Err(other());
        }
        // Without waiting: it may have been exchanged since.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = open(&self.path, flags)?;
        if !file.metadata()?.is_file() {
            return Err(other());
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        if text != self.text || !is_at(&file, &self.path) {
            return Err(io::Error::other("it names another process, and is left alone"));
        }
        std::fs::remove_file(&self.path)
    }
}

impl Drop for Pidfile {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::debug!(path = %self.path.display(), %error, "the pidfile is not removed");
        }
    }
}

/// Opened and locked. One that cannot be locked (another program keeps it, its file system has no
/// locks) is used all the same.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    // Less what the umask takes away.
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))?;
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(LOCK_RETRY),
            _ => break,
        }
    }
    Ok(File::from(file))
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = |opened: std::fs::Metadata, there: std::fs::Metadata| {
        (opened.dev(), opened.ino()) == (there.dev(), there.ino())
    };
    file.metadata().is_ok_and(|opened| path.metadata().is_ok_and(|there| same(opened, there)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::sync::mpsc::channel;

    /// A server whose pidfile was a pipe that nobody wrote to did not end.
    #[test]
    fn what_is_no_regular_file_is_left_alone() {
        let name = format!("dolium-pidfile-pipe-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
        let reader = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut reader = File::from(rustix::fs::open(&path, reader, Mode::empty()).expect("it"));
        let pidfile = Pidfile::write(&path).expect("it is written");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("its text");
        assert_eq!(text, pidfile.text);
        let (done, ends) = channel();
        std::thread::spawn(move || {
            drop(pidfile);
            done.send(()).expect("the test waits");
        });
        ends.recv_timeout(Duration::from_secs(20)).expect("the end waits for a writer");
        assert!(path.exists());
        std::fs::remove_file(&path).expect("the pipe");
    }

    /// A server that stopped removed the file into which its successor had written.
    #[test]
    fn only_a_file_that_names_this_process_is_removed() {
        let folder = std::env::temp_dir().join(format!("dolium-pidfile-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("pid");
        let own = format!("{}\n", std::process::id());
        std::fs::write(&path, "something longer, of a process before\n").expect("a file");
        let pidfile = Pidfile::write(&path).expect("it is written");
        assert_eq!(std::fs::read_to_string(&path).expect("a pidfile"), own);
        drop(pidfile);
        assert!(!path.exists());
        let pidfile = Pidfile::write(&path).expect("it is written");
        std::fs::write(&path, "1\n").expect("the successor's");
        drop(pidfile);
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "1\n");
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}
