//! Why a configuration was refused at the start, or a change of it later, in sentences that a user can act on.

use std::fmt::Display;

/// Why a configuration was refused: where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFailure {
    pub place: String,
    pub reason: String,
}

impl ConfigFailure {
    pub fn new(place: impl Display, reason: String) -> Self {
        ConfigFailure { place: place.to_string(), reason }
    }
}

impl Display for ConfigFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for ConfigFailure {}

/// Why a change of parameters was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetFailure {
    Unknown(String),
    Refused { name: String, reason: String },
}
