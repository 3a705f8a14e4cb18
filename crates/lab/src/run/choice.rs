//! Which stores take part: a name, or a name with a tag for one store in two versions.

use std::path::PathBuf;
use std::str::FromStr;

use crate::LabError;
use crate::stores::{self, Store};

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

/// Those that are no servers.
const PROGRAMS: [(&str, Player); 4] = [
    ("dolium-attached", Player::Attached),
    ("ems", Player::Ems),
    ("spark", Player::Spark),
    ("redis-lua", Player::RedisLua),
];

/// All names that an experiment takes, for help and errors.
pub fn names() -> String {
    stores::names(&PROGRAMS.map(|(name, _)| name))
}

/// Whether what stands under a label is a program of its own and no server: it runs after the servers
/// and takes no turns with them. A second column of one has its name before what tells it apart.
pub fn is_program(label: &str) -> bool {
    let name = label.split(['#', ' ']).next().unwrap_or_default();
    PROGRAMS.iter().any(|(program, _)| *program == name)
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
        let player = match PROGRAMS.into_iter().find(|(name, _)| *name == store) {
            Some((_, player)) => player,
            None => Player::Store(Store::named(store, &PROGRAMS.map(|(name, _)| name))?),
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
    }

    #[test]
    fn programs_and_their_second_columns_are_no_servers() {
        let programs = ["ems", "dolium-attached#old", "spark without index", "redis-lua"];
        assert!(programs.into_iter().all(is_program));
        assert!(!["dolium", "redis#again", "memcached"].into_iter().any(is_program));
    }

    /// The help of `lab run` and the error say the same names, and the page on the lab has them all.
    #[test]
    fn every_name_that_is_offered_is_taken_and_documented() {
        let error = "cassandra".parse::<Choice>().unwrap_err().to_string();
        assert!(error.contains(&names()), "{error}");
        let page = include_str!("../../../../docs/lab.md");
        let offered = names();
        let (named, place) = offered.split_once(" and ").unwrap();
        assert_eq!(place, "external:HOST:PORT[:PROTOCOL]");
        for name in named.split(", ") {
            assert!(name.parse::<Choice>().is_ok(), "{name} is offered and not taken");
            assert!(page.contains(&format!("`{name}`")), "docs/lab.md does not know {name}");
        }
        for name in ["dolium-memcached", "null-uring", "dolium-attached", "ems", "redis-lua"] {
            assert!(named.split(", ").any(|one| one == name), "{name} is not offered: {named}");
        }
    }
}
