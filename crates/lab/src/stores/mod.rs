//! Stores under test as child processes: started on given cores, awaited, and always ended.

pub mod account;
mod command;
pub mod guard;
pub mod namespace;
mod ports;
mod process;
mod surroundings;
pub mod talk;
pub mod tls;

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use serde::Serialize;

pub use command::{has_tls, version};
pub use ports::free_port;
pub use process::Running;
pub(crate) use process::tie;
pub use surroundings::Surroundings;

use crate::LabError;
use crate::workload::{Operation, Protocol};

/// A store that the lab knows how to start, or one that runs already.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    Dolium,
    /// Dolium through its Memcached door.
    DoliumMemcached,
    Redis,
    Valkey,
    Memcached,
    /// A server that parses nothing, on epoll: the floor of every network figure.
    Null,
    /// The same on io_uring.
    NullUring,
    /// A store that somebody else started.
    External {
        address: SocketAddr,
        protocol: Protocol,
    },
}

/// Those that have a fixed name.
const NAMED: [Store; 7] = [
    Store::Dolium,
    Store::DoliumMemcached,
    Store::Redis,
    Store::Valkey,
    Store::Memcached,
    Store::Null,
    Store::NullUring,
];

/// The names that a user can give, for help and errors; who asks may know `others` besides.
pub fn names(others: &[&str]) -> String {
    let named = NAMED.map(Store::name);
    let all = [&named[..], others].concat();
    format!("{} and external:HOST:PORT[:PROTOCOL]", all.join(", "))
}

impl Store {
    /// The store of that name. An error names the `others` too, which are not for this function.
    pub fn named(text: &str, others: &[&str]) -> Result<Self, LabError> {
        if let Some(place) = text.strip_prefix("external:") {
            return external(place);
        }
        NAMED.into_iter().find(|store| store.name() == text).ok_or_else(|| {
            let known = names(others);
            LabError::Options(format!("unknown store {text:?}: the lab knows {known}"))
        })
    }

    /// It runs already, on whatever cores.
    pub fn is_external(self) -> bool {
        matches!(self, Self::External { .. })
    }

    /// The name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dolium => "dolium",
            Self::DoliumMemcached => "dolium-memcached",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Memcached => "memcached",
            Self::Null => "null",
            Self::NullUring => "null-uring",
            Self::External { .. } => "external",
        }
    }

    /// What the generator speaks to it.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Memcached | Self::DoliumMemcached => Protocol::Memcached,
            Self::External { protocol, .. } => protocol,
            _ => Protocol::Resp,
        }
    }

    /// Whether it keeps nothing, so that there is nothing to load or to verify.
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null | Self::NullUring)
    }

    /// How to get it, if it is a program of its own.
    pub fn install(self) -> Option<&'static str> {
        match self {
            Self::Redis => Some("apt-get install redis-server"),
            Self::Valkey => Some("apt-get install valkey-server (Debian 13 and later)"),
            Self::Memcached => Some("apt-get install memcached"),
            _ => None,
        }
    }

    /// The protocols that it can be asked in.
    pub fn speaks(self, protocol: Protocol) -> bool {
        match self {
            Self::Dolium => protocol.is_redis() || protocol == Protocol::Http,
            Self::Redis | Self::Valkey => protocol.is_redis(),
            Self::Memcached | Self::DoliumMemcached => {
                matches!(protocol, Protocol::Memcached | Protocol::Meta | Protocol::Binary)
            }
            Self::Null | Self::NullUring => protocol == Protocol::Resp,
            Self::External { protocol: spoken, .. } => spoken == protocol,
        }
    }
}

impl FromStr for Store {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        Self::named(text, &[])
    }
}

/// `HOST:PORT` or `HOST:PORT:PROTOCOL`.
fn external(place: &str) -> Result<Store, LabError> {
    let last = place.rsplit_once(':').unwrap_or((place, ""));
    let (address, protocol) = match last.1.parse::<Protocol>() {
        Ok(protocol) => (last.0, protocol),
        Err(_) => (place, Protocol::Resp),
    };
    let found = address.to_socket_addrs().ok().and_then(|mut found| found.next());
    match found {
        Some(address) => Ok(Store::External { address, protocol }),
        None => Err(LabError::Options(format!("no store at {place}: use external:HOST:PORT"))),
    }
}

/// What one process must be able to do. A null server answers one operation only.
#[derive(Clone, Debug)]
pub struct Role {
    pub store: Store,
    pub operation: Operation,
    pub key_bytes: usize,
    pub value_bytes: usize,
    /// Directives of the store beyond the usual ones, in Redis' language.
    pub settings: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_elsewhere_is_named_by_place_and_protocol() {
        let store: Store = "external:127.0.0.1:7000".parse().unwrap();
        assert_eq!(store.protocol(), Protocol::Resp);
        let store: Store = "external:127.0.0.1:7000:meta".parse().unwrap();
        assert_eq!(store.protocol(), Protocol::Meta);
        assert!("external:nowhere".parse::<Store>().is_err());
        assert!("rediss".parse::<Store>().unwrap_err().to_string().contains("valkey"));
    }
}
