//! Which protocol the generator speaks: its name in tables and on the command line, and what it
//! allows. How a request looks in each is in `wire.rs`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::LabError;

/// Which protocol the generator speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RESP2, as Redis speaks it.
    Resp,
    /// RESP3: the same requests after `HELLO 3`.
    Resp3,
    /// Memcached's text protocol.
    Memcached,
    /// Memcached's meta commands.
    Meta,
    /// Memcached's binary protocol.
    Binary,
    /// HTTP/1.1 with one key a path, as Dolium serves it.
    Http,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Resp, Self::Resp3, Self::Memcached, Self::Meta, Self::Binary, Self::Http];

    /// The name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resp => "resp",
            Self::Resp3 => "resp3",
            Self::Memcached => "memcached",
            Self::Meta => "meta",
            Self::Binary => "binary",
            Self::Http => "http",
        }
    }

    /// Whether a good reply can be known by its first bytes and its length.
    pub fn has_fixed_replies(self) -> bool {
        !matches!(self, Self::Binary | Self::Http)
    }

    /// Whether Redis' commands can be asked over it.
    pub fn is_redis(self) -> bool {
        matches!(self, Self::Resp | Self::Resp3)
    }
}

impl FromStr for Protocol {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        match text {
            "redis" => Ok(Self::Resp),
            "text" => Ok(Self::Memcached),
            other => {
                Self::ALL.into_iter().find(|protocol| protocol.name() == other).ok_or_else(|| {
                    let names = Self::ALL.map(Self::name).join(", ");
                    LabError::Options(format!("unknown protocol {other:?}: use one of {names}"))
                })
            }
        }
    }
}
