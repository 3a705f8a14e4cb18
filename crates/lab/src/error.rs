//! What can go wrong in a measurement, as sentences that a user can act on.

use std::fmt;
use std::io;
use std::time::Duration;

/// Why a measurement could not be made.
#[derive(Debug)]
pub enum LabError {
    /// An operating system call failed while doing what the text says.
    System { doing: String, error: io::Error },
    /// The store answered something that is neither a success nor a miss.
    Refused { reply: String },
    /// Bytes came that no request had asked for, or that are no reply of the protocol.
    Unexpected { bytes: String },
    /// A value came back different from the one that was stored.
    WrongValue { key: String },
    /// The store closed a connection in the middle of the run.
    Closed,
    /// The kernel ended a store whose memory was limited.
    KilledAtLimit { bytes: f64 },
    /// Nothing came back for a long time.
    Silent { seconds: u64 },
    /// More requests were due than could ever be answered.
    Overload { due: usize },
    /// A store did not come up.
    NotReady { store: String, waited: Duration, said: String },
    /// A store is not installed.
    Missing { program: String, how: String },
    /// The two sides did not agree on TLS, or broke it.
    Tls { place: String, why: String },
    /// A store that is installed has no TLS.
    NoTls { program: String },
    /// The user asked to stop.
    Interrupted,
    /// The options make no experiment.
    Options(String),
}

impl LabError {
    /// Wraps an operating system error with what was being done.
    pub fn system(doing: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System { doing: doing.into(), error: error.into() }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { doing, error } => write!(f, "could not {doing}: {error}"),
            Self::Refused { reply } => write!(f, "the store refused a request: {reply}"),
            Self::Unexpected { bytes } => {
                write!(f, "the store sent what nobody had asked for: {bytes}")
            }
            Self::WrongValue { key } => {
                write!(f, "the value of {key} came back different from what was stored")
            }
            Self::Closed => write!(f, "the store closed a connection during the run"),
            Self::KilledAtLimit { bytes } => write!(
                f,
                "the kernel ended the store: at its limit of {:.0} MB pages were not swapped out as \
                 fast as it needed new ones",
                bytes / 1e6
            ),
            Self::Silent { seconds } => {
                write!(f, "the store has answered nothing for {seconds} seconds")
            }
            Self::Overload { due } => write!(
                f,
                "{due} requests are due and unanswered; offer a rate that the store can serve"
            ),
            Self::NotReady { store, waited, said } => write!(
                f,
                "{store} accepted no connection within {} seconds; it said: {said}",
                waited.as_secs()
            ),
            Self::Missing { program, how } => {
                write!(f, "{program} is not installed: {how} (or leave it out with --stores)")
            }
            Self::Tls { place, why } => write!(f, "no TLS with {place}: {why}"),
            Self::NoTls { program } => {
                write!(f, "{program} as it is installed was built without TLS")
            }
            Self::Interrupted => write!(f, "stopped before the end, as asked"),
            Self::Options(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for LabError {}

/// The first bytes of `bytes` in a form that fits in a message.
pub fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 80;
    let mut text = bytes[..bytes.len().min(SHOWN)].escape_ascii().to_string();
    if bytes.len() > SHOWN {
        text.push_str("...");
    }
    text
}
