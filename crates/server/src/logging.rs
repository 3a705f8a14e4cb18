//! Logs: structured, quiet by default, under Redis' four levels.
//!
//! Whoever rotates a log file renames or deletes it, and may send SIGHUP or nothing at all, as
//! Debian's /etc/logrotate.d/redis-server does. So the file is opened anew at SIGHUP, and as soon
//! as housekeeping finds that its path names another one.

use crate::config::{Config, ConfigFailure};
use crate::folder;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();
static LOG_FILE: OnceLock<Arc<LogFile>> = OnceLock::new();

/// Redis' `notice` is what an operator wants to see, which here is a warning or worse plus what
/// the server itself prints at its start.
fn filter(level: &str) -> LevelFilter {
    match level {
        "debug" => LevelFilter::TRACE,
        "verbose" => LevelFilter::DEBUG,
        "notice" => LevelFilter::INFO,
        "warning" => LevelFilter::WARN,
        _ => LevelFilter::OFF,
    }
}

/// Begins to log as the configuration says. Does nothing when somebody else logs already.
pub fn start(config: &Config) -> Result<(), ConfigFailure> {
    let (level, handle) = reload::Layer::new(filter(&config.get("loglevel")));
    let path = config.get("logfile");
    let file = if path.is_empty() {
        None
    } else {
        let opened = LogFile::open(Path::new(&path));
        let failed = |error| ConfigFailure::new("logfile", folder::named(Path::new(&path), &error));
        Some(Arc::new(opened.map_err(failed)?))
    };
    let writer: Box<dyn Write + Send> = match &file {
        None => Box::new(io::stderr()),
        Some(file) => Box::new(Appender(file.clone())),
    };
    let lines = fmt::layer().with_target(false).with_ansi(false).with_writer(Mutex::new(writer));
    let started = if config.get("log-format") == "json" {
        tracing_subscriber::registry().with(level).with(lines.json()).try_init()
    } else {
        tracing_subscriber::registry().with(level).with(lines).try_init()
    };
    if started.is_ok() {
        // Only the first start of a process gets here.
        let _ = LEVEL.set(handle);
        if let Some(file) = file {
            let _ = LOG_FILE.set(file);
        }
    }
    Ok(())
}

pub fn set_level(level: &str) {
    if let Some(Err(error)) = LEVEL.get().map(|handle| handle.reload(filter(level))) {
        tracing::warn!(%error, "the log level could not be changed");
    }
}

/// At SIGHUP: opens the log file anew, if there is one.
pub fn reopen() {
    let Some(log) = LOG_FILE.get() else { return };
    match log.reopen() {
        Ok(()) => tracing::info!("the log file was opened anew"),
        Err(error) => log.warn(&error),
    }
}

/// Once a second: opens the log file anew if its path names another file by now, or none.
pub fn follow() {
    let Some(log) = LOG_FILE.get() else { return };
    if log.is_in_place() {
        log.is_told.store(false, Relaxed);
    } else if let Err(error) = log.reopen()
        && !log.is_told.swap(true, Relaxed)
    {
        log.warn(&error);
    }
}

struct LogFile {
    /// From the root, as the working directory may be another later.
    path: PathBuf,
    open: Mutex<File>,
    /// That it cannot be opened anew was said: once is enough, though it is tried every second.
    is_told: AtomicBool,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<LogFile> {
        let path = std::path::absolute(path)?;
        let open = Mutex::new(append_to(&path)?);
        Ok(LogFile { path, open, is_told: AtomicBool::new(false) })
    }

    /// Does the path still name the file that is written to?
    fn is_in_place(&self) -> bool {
        let open = self.lock().metadata();
        match (open, std::fs::metadata(&self.path)) {
            (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
            _ => false,
        }
    }

    /// After a failure the old file is written on. A pipe is no file that is rotated, and to open one that
    /// nobody reads would take until somebody does.
    fn reopen(&self) -> io::Result<()> {
        if std::fs::metadata(&self.path).is_ok_and(|named| !named.is_file()) {
            return Ok(());
        }
        let file = append_to(&self.path)?;
        *self.lock() = file;
        Ok(())
    }

    /// Must not be called with the file locked: the warning itself is written to it.
    fn warn(&self, error: &io::Error) {
        let path = self.path.display();
        tracing::warn!(%path, %error, "the log file cannot be opened anew: the old one is kept");
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Writes to whichever file is open.
struct Appender(Arc<LogFile>);

impl Write for Appender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file was opened once: after a rotation the log went on in the renamed file, and with
    /// that file it was deleted.
    #[test]
    fn a_file_that_was_renamed_is_opened_anew_and_a_failure_keeps_the_old_one() {
        let dir = std::env::temp_dir().join(format!("dolium-logging-{}", std::process::id()));
        let path = dir.join("logs/log");
        std::fs::create_dir_all(dir.join("logs")).unwrap();
        let file = Arc::new(LogFile::open(&path).unwrap());
        let mut appender = Appender(file.clone());
        appender.write_all(b"one\n").unwrap();
        assert!(file.is_in_place());
        std::fs::rename(&path, dir.join("logs/log.1")).unwrap();
        assert!(!file.is_in_place());
        file.reopen().unwrap();
        assert!(file.is_in_place());
        appender.write_all(b"two\n").unwrap();
        std::fs::rename(dir.join("logs"), dir.join("away")).unwrap();
        assert!(!file.is_in_place());
        assert!(file.reopen().is_err());
        appender.write_all(b"three\n").unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.join("away").join(name)).unwrap();
        let texts = [read("log.1"), read("log")];
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(texts, ["one\n", "two\nthree\n"]);
    }
}
