//! Which stores take part: a name, or a name with a tag for one store in two versions.

use std::path::PathBuf;
use std::str::FromStr;

use crate::LabError;
use crate::stores::Store;

/// A store under a label of its own.
#[derive(Clone, Debug)]
pub struct Choice {
    pub label: String,
    pub player: Player,
    /// Another binary of it.
    pub binary: Option<PathBuf>,
}

/// What can be measured: a server that the generator asks, or a program of another kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Player {
    Store(Store),
    /// Processes that are attached to Dolium's memory.
    Attached,
    /// EMS, through Node.
    Ems,
    /// Spark in local mode, through Python.
    Spark,
    /// Redis that computes PageRank itself, by a script.
    RedisLua,
}

impl FromStr for Choice {
    type Err = LabError;

    /// `redis`, `redis#two`, `dolium=/path/to/dolium`, `old#dolium=/path`.
    fn from_str(text: &str) -> Result<Self, LabError> {
        let (name, binary) = match text.split_once('=') {
            Some((name, path)) => (name, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let (store, _) = name.split_once('#').unwrap_or((name, ""));
        let player = match store {
            "dolium-attached" => Player::Attached,
            "ems" => Player::Ems,
            "spark" => Player::Spark,
            "redis-lua" => Player::RedisLua,
            other => Player::Store(other.parse()?),
        };
        let dolium = matches!(
            player,
            Player::Attached | Player::Store(Store::Dolium | Store::DoliumMemcached)
        );
        if binary.is_some() && !dolium {
            return Err(LabError::Options(format!("{text}: only dolium=FILE takes a file")));
        }
        Ok(Self { label: name.to_string(), player, binary })
    }
}

impl Choice {
    /// The server, if it is one.
    pub fn store(&self) -> Option<Store> {
        match self.player {
            Player::Store(store) => Some(store),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_store_can_take_part_twice() {
        let again: Choice = "redis#again".parse().unwrap();
        assert_eq!((again.store(), again.label.as_str()), (Some(Store::Redis), "redis#again"));
        let old: Choice = "dolium#old=/tmp/dolium".parse().unwrap();
        assert_eq!(old.binary, Some(PathBuf::from("/tmp/dolium")));
        assert!("redis=/tmp/redis".parse::<Choice>().is_err());
        assert!("cassandra".parse::<Choice>().is_err());
    }
}
