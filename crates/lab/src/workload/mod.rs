//! What is asked of a store: which keys in which order, which operation, and the bytes of both
//! sides of the talk.

pub mod distribution;
pub mod pool;
pub mod value;
pub mod wire;

use std::str::FromStr;

use serde::Serialize;

pub use distribution::Distribution;
pub use pool::RequestPool;
pub use wire::Protocol;

use crate::LabError;

/// What one request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Get,
    Set,
}

/// Which operations a run is made of.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    Get,
    Set,
    /// This many requests of a thousand are GET, the rest SET.
    GetPerMille(u32),
}

impl Mix {
    /// The name of it in a table.
    pub fn name(self) -> String {
        match self {
            Self::Get => "GET".into(),
            Self::Set => "SET".into(),
            Self::GetPerMille(share) => format!("{:.0}% GET", f64::from(share) / 10.0),
        }
    }
}

impl FromStr for Mix {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        match text {
            "get" => Ok(Self::Get),
            "set" => Ok(Self::Set),
            other => match other.strip_prefix("mixed:").map(str::parse::<f64>) {
                Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => {
                    Ok(Self::GetPerMille((percent * 10.0).round() as u32))
                }
                _ => Err(LabError::Options(format!(
                    "unknown operation {other:?}: use get, set or mixed:PERCENT-OF-GET"
                ))),
            },
        }
    }
}

/// A stream of requests, fully described.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    pub protocol: Protocol,
    pub mix: Mix,
    pub keys: u32,
    pub key_bytes: usize,
    pub value_bytes: usize,
    pub distribution: Distribution,
    pub seed: u64,
}

impl Workload {
    /// Refuses what cannot be asked.
    pub fn check(&self) -> Result<(), LabError> {
        let digits = self.keys.saturating_sub(1).to_string().len();
        if self.keys == 0 {
            return Err(LabError::Options("a workload needs at least one key".into()));
        }
        if self.keys > wire::KEY_IDS {
            return Err(LabError::Options(format!("at most {} keys", wire::KEY_IDS)));
        }
        if self.key_bytes < digits || self.key_bytes > 250 {
            return Err(LabError::Options(format!(
                "{} keys need between {digits} and 250 bytes a key, not {}",
                self.keys, self.key_bytes
            )));
        }
        if self.value_bytes == 0 || self.value_bytes > 512 << 20 {
            return Err(LabError::Options("a value has from 1 byte to 512 MB".into()));
        }
        self.distribution.check(self.keys)
    }
}
