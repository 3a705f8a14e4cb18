//! TLS listeners: what a connection's bytes go through before the reactor sees them.
//!
//! ```text
//!   settings   files, versions, ciphers, whom to believe -> rustls' configuration
//!   ciphers    OpenSSL's names of cipher suites
//!   stream     one connection: a socket with a session of rustls over it
//! ```
//! The configuration is read again when somebody asks for it (`refresh_certs`); connections keep the
//! one with which they began.

mod ciphers;
mod settings;
mod stream;

pub use settings::{Settings, Verify};
pub use stream::TlsStream;

use crate::clock::Stopwatch;
use rustls::ServerConfig;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// The TLS of a server: all its listeners share it.
#[derive(Debug)]
pub struct Tls {
    settings: Settings,
    current: RwLock<(Arc<ServerConfig>, Stopwatch)>,
    pub counts: Arc<Counts>,
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
        let current = RwLock::new((settings.load()?, Stopwatch::start()));
        Ok(Tls { settings, current, counts: Arc::default() })
    }

    /// Reads the files again. When that fails, what was read before stays.
    pub fn refresh(&self) -> Result<(), String> {
        let read = self.settings.load()?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (read, Stopwatch::start());
        Ok(())
    }

    /// Seconds since the files were read.
    pub fn age_s(&self) -> u64 {
        self.current.read().unwrap_or_else(PoisonError::into_inner).1.ms() / 1000
    }

    /// Sessions are resumed, and those that are not are counted.
    pub fn caches_sessions(&self) -> bool {
        self.settings.sessions != 0
    }

    pub fn new_sessions(&self) -> u64 {
        self.counts.new_sessions.load(Relaxed)
    }

    /// A session over a connection that came in.
    pub fn accept(&self, socket: OwnedFd) -> Result<TlsStream, rustls::Error> {
        let config = self.current.read().unwrap_or_else(PoisonError::into_inner).0.clone();
        TlsStream::new(socket, config, self.settings.buffer_bytes, self.counts.clone())
    }
}
