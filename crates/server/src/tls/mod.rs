//! TLS listeners: what a connection's bytes go through before the reactor sees them.
//!
//! ```text
//!   settings   files, versions, ciphers, whom to believe -> rustls' configuration
//!   ciphers    OpenSSL's names of cipher suites
//!   stream     one connection: a socket with a session of rustls over it
//! ```
//! The configuration is read again when somebody asks for it (`refresh_certs`, or CONFIG SET of a
//! `tls-*` directive); connections keep the one with which they began.

mod ciphers;
mod settings;
mod stream;

pub use settings::{Names, Settings, Verify};
pub use stream::TlsStream;

use crate::clock::Stopwatch;
use rustls::ServerConfig;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The TLS of a server: all its listeners share it.
#[derive(Debug)]
pub struct Tls {
    current: RwLock<Current>,
    pub counts: Arc<Counts>,
}

/// What new connections begin with.
#[derive(Debug)]
pub struct Current {
    settings: Settings,
    config: Arc<ServerConfig>,
    read: Stopwatch,
}

impl Current {
    /// Reads the files; the error is a sentence.
    pub fn read(settings: Settings) -> Result<Current, String> {
        Ok(Current { config: settings.load()?, settings, read: Stopwatch::start() })
    }
}

#[derive(Debug, Default)]
pub struct Counts {
    /// Sessions that were made anew, not resumed.
    pub new_sessions: AtomicU64,
    pub handshake_errors: AtomicU64,
}

impl Tls {
    /// Reads the files; the error is a sentence.
    pub fn new(settings: Settings) -> Result<Tls, String> {
        let current = RwLock::new(Current::read(settings)?);
        Ok(Tls { current, counts: Arc::default() })
    }

    /// Reads the files again. When that fails, what was read before stays.
    pub fn refresh(&self) -> Result<(), String> {
        let settings = self.current().settings.clone();
        self.change(Current::read(settings)?);
        Ok(())
    }

    /// New connections begin with this.
    pub fn change(&self, read: Current) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = read;
    }

    /// Seconds since the files were read.
    pub fn age_s(&self) -> u64 {
        self.current().read.ms() / 1000
    }

    /// Sessions are resumed, and those that are not are counted.
    pub fn caches_sessions(&self) -> bool {
        self.current().settings.sessions != 0
    }

    pub fn new_sessions(&self) -> u64 {
        self.counts.new_sessions.load(Relaxed)
    }

    /// A session over a connection that came in.
    pub fn accept(&self, socket: OwnedFd) -> Result<TlsStream, rustls::Error> {
        let (config, buffer_bytes) = {
            let current = self.current();
            (current.config.clone(), current.settings.buffer_bytes)
        };
        TlsStream::new(socket, config, buffer_bytes, self.counts.clone())
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }
}
