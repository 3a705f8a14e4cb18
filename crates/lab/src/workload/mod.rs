//! What is asked of a store: which keys in which order, which operation, and the bytes of both
//! sides of the talk.

pub mod distribution;
pub mod expected;
pub mod pool;
pub mod protocol;
pub mod recipe;
pub mod sizes;
pub mod value;
pub mod walk;
pub mod wire;

use std::str::FromStr;

use serde::Serialize;

pub use distribution::Distribution;
pub use pool::RequestPool;
pub use protocol::Protocol;
pub use recipe::{Action, Part, Recipe, Template};
pub use sizes::Sizes;

use crate::LabError;

/// What one request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Get,
    Set,
    /// Something whose reply is read and not compared: a scan or a command of a recipe.
    Other,
}

impl FromStr for Operation {
    type Err = LabError;

    /// One that a user can ask for by itself.
    fn from_str(text: &str) -> Result<Self, LabError> {
        match text {
            "get" => Ok(Self::Get),
            "set" => Ok(Self::Set),
            other => Err(LabError::Options(format!("unknown operation {other:?}: use get or set"))),
        }
    }
}

/// Which operations a run is made of.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    Get,
    Set,
    /// This many requests of a thousand are GET, the rest SET.
    GetPerMille(u32),
    /// Anything else, by weight.
    Recipe(Recipe),
}

impl Mix {
    /// The name of it in a table.
    pub fn name(&self) -> String {
        match self {
            Self::Get => "GET".into(),
            Self::Set => "SET".into(),
            Self::GetPerMille(share) => format!("{:.0}% GET", f64::from(*share) / 10.0),
            Self::Recipe(recipe) => recipe.name.clone(),
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
    pub key_bytes: Sizes,
    pub value_bytes: Sizes,
    pub distribution: Distribution,
    /// Seconds after which what is set expires; 0 for never.
    pub ttl: u32,
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
        let (least, most) = self.key_bytes.bounds();
        if least < digits || most > 250 {
            return Err(LabError::Options(format!(
                "{} keys need between {digits} and 250 bytes a key, not {}",
                self.keys, self.key_bytes
            )));
        }
        let (least, most) = self.value_bytes.bounds();
        if least == 0 || most > 512 << 20 {
            return Err(LabError::Options("a value has from 1 byte to 512 MB".into()));
        }
        if let Mix::Recipe(recipe) = &self.mix {
            recipe.check()?;
            let redis = matches!(self.protocol, Protocol::Resp | Protocol::Resp3);
            let commands =
                |part: &Part| matches!(part.action, Action::Command(_) | Action::Pair(..));
            if !redis && recipe.parts.iter().any(commands) {
                return Err(LabError::Options(format!(
                    "{}: commands of data types are Redis' own",
                    recipe.name
                )));
            }
        }
        self.distribution.check(self.keys)
    }

    /// Whether all requests of one operation have one length, and all good replies to it.
    pub fn one_shape(&self) -> bool {
        let constant = self.key_bytes.constant().is_some() && self.value_bytes.constant().is_some();
        constant && self.protocol.has_fixed_replies()
    }
}
