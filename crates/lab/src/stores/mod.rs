//! Stores under test as child processes: started on given cores, awaited, and always ended.

mod process;

use std::str::FromStr;

use serde::Serialize;

pub use process::{Running, Surroundings};

use crate::LabError;
use crate::workload::{Operation, Protocol};

/// A store that the lab knows how to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    Dolium,
    /// Dolium through its Memcached door.
    DoliumMemcached,
    Redis,
    Memcached,
    /// A server that parses nothing, on epoll: the floor of every network figure.
    Null,
    /// The same on io_uring.
    NullUring,
}

impl Store {
    /// The name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dolium => "dolium",
            Self::DoliumMemcached => "dolium-memcached",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
            Self::Null => "null",
            Self::NullUring => "null-uring",
        }
    }

    /// What the generator speaks to it.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Memcached | Self::DoliumMemcached => Protocol::Memcached,
            _ => Protocol::Resp,
        }
    }

    /// Whether it keeps nothing, so that there is nothing to load or to verify.
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null | Self::NullUring)
    }
}

impl FromStr for Store {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let all = [
            Self::Dolium,
            Self::DoliumMemcached,
            Self::Redis,
            Self::Memcached,
            Self::Null,
            Self::NullUring,
        ];
        all.into_iter().find(|store| store.name() == text).ok_or_else(|| {
            let names = all.map(Self::name).join(", ");
            LabError::Options(format!("unknown store {text:?}: the lab knows {names}"))
        })
    }
}

/// What one process must be able to do. A null server answers one operation only.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    pub store: Store,
    pub operation: Operation,
    pub key_bytes: usize,
    pub value_bytes: usize,
}
