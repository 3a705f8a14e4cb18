//! FILE.meta: that there are saved items, and what has to be known of all of them together.
//!
//! ```text
//!   dolium-items 2 ITEMS BYTES HASH-POWER UNIQUE      BYTES: the length of FILE
//!   dolium-items 1 ITEMS BYTES HASH-POWER             by earlier versions
//! ```
//! It is written last and removed before items are served: it tells that FILE is whole and new.

use super::record::Version;
use std::io;
use std::path::{Path, PathBuf};

const WORD: &str = "dolium-items";
/// Above what version 1 has given out, which did not write it down: it began at 0, and made less than one
/// a microsecond. Below what a double holds exactly, which is what some clients keep numbers in.
const UNIQUES_OF_VERSION_1: u64 = 1 << 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    pub version: Version,
    pub items: u64,
    pub bytes: u64,
    pub hash_power: u32,
    /// No CAS unique that a client was told is greater.
    pub highest_unique: u64,
}

pub fn path(of: &Path) -> PathBuf {
    let mut name = of.as_os_str().to_owned();
    name.push(".meta");
    name.into()
}

impl Meta {
    /// Looks whether there is something to restore. An error: there is a FILE.meta that is not ours.
    pub fn look(file: &Path) -> Result<Option<Meta>, String> {
        let path = path(file);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Meta::parse(&text).map(Some).ok_or_else(|| {
            format!(
                "{} is no description of saved items that this version can read: remove it to start \
                 with an empty cache",
                path.display()
            )
        })
    }

    fn parse(text: &str) -> Option<Meta> {
        let mut words = text.split_whitespace();
        let (WORD, version) = (words.next()?, words.next()?) else { return None };
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        let (version, items, bytes, power, highest_unique) = match (version, numbers.as_slice()) {
            ("1", &[items, bytes, power]) => {
                (Version::One, items, bytes, power, UNIQUES_OF_VERSION_1)
            }
            ("2", &[items, bytes, power, unique]) => (Version::Two, items, bytes, power, unique),
            _ => return None,
        };
        let hash_power = u32::try_from(power).ok()?;
        Some(Meta { version, items, bytes, hash_power, highest_unique })
    }

    /// The line that says it, for a FILE of the newest version.
    pub fn line(&self) -> String {
        let Meta { items, bytes, hash_power, highest_unique, .. } = self;
        format!("{WORD} 2 {items} {bytes} {hash_power} {highest_unique}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_was_made_of_and_others_say_nothing() {
        let meta = Meta {
            version: Version::Two,
            items: 3,
            bytes: 700,
            hash_power: 16,
            highest_unique: 16_383,
        };
        assert_eq!(Meta::parse(&meta.line()), Some(meta));
        let old = Meta::parse("dolium-items 1 3 700 16\n").expect("an earlier version's");
        assert_eq!((old.version, old.items, old.bytes), (Version::One, 3, 700));
        assert!(old.highest_unique > meta.highest_unique);
        for other in ["", "Tmain", "dolium-items 3 3 700 16 1", "dolium-items 2 3 700 16"] {
            assert_eq!(Meta::parse(other), None, "{other}");
        }
    }
}
