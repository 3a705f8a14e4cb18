//! FILE.meta: that there are saved items, and what has to be known of all of them together.
//!
//! ```text
//!   dolium-items 2 ITEMS BYTES HASH-POWER UNIQUE SUM LINE-SUM
//!   dolium-items 1 ITEMS BYTES HASH-POWER                       by earlier versions
//! ```
//! BYTES is the length of FILE, SUM the checksum of its bytes, LINE-SUM that of what stands before it here.
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
    /// Of FILE; version 1 had none.
    pub sum: Option<u32>,
}

/// What a look at FILE.meta finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing was saved.
    Nothing,
    Saved(Meta),
    /// It was written by this version, and is not as it was written.
    Damaged,
}

pub fn path(of: &Path) -> PathBuf {
    let mut name = of.as_os_str().to_owned();
    name.push(".meta");
    name.into()
}

impl Meta {
    /// Looks whether there is something to restore. An error: there is a FILE.meta that is not ours.
    pub fn look(file: &Path) -> Result<Look, String> {
        let path = path(file);
        let text = match std::fs::read(&path) {
            // What is no text is no line of ours, as is nothing.
            Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Look::Nothing),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Meta::parse(&text).ok_or_else(|| {
            format!(
                "{} is no description of saved items that this version can read: remove it to start \
                 with an empty cache",
                path.display()
            )
        })
    }

    /// `None`: it is of another program, or of a later version.
    fn parse(text: &str) -> Option<Look> {
        let mut words = text.split_whitespace();
        let (WORD, version) = (words.next()?, words.next()?) else { return None };
        let words: Vec<&str> = words.collect();
        match version {
            "1" => Some(Look::Saved(Meta::parse_version_1(&words)?)),
            // Written by us as it is read: what differs in any way was changed since.
            "2" => Some(match Meta::parse_version_2(&words) {
                Some(meta) if meta.line() == text => Look::Saved(meta),
                _ => Look::Damaged,
            }),
            _ => None,
        }
    }

    fn parse_version_1(words: &[&str]) -> Option<Meta> {
        let &[items, bytes, power] = words else { return None };
        Some(Meta {
            version: Version::One,
            items: items.parse().ok()?,
            bytes: bytes.parse().ok()?,
            hash_power: power.parse().ok()?,
            highest_unique: UNIQUES_OF_VERSION_1,
            sum: None,
        })
    }

    fn parse_version_2(words: &[&str]) -> Option<Meta> {
        let &[items, bytes, power, unique, sum, _] = words else { return None };
        Some(Meta {
            version: Version::Two,
            items: items.parse().ok()?,
            bytes: bytes.parse().ok()?,
            hash_power: power.parse().ok()?,
            highest_unique: unique.parse().ok()?,
            sum: Some(u32::from_str_radix(sum, 16).ok()?),
        })
    }

    /// The line that says it, for a FILE of the newest version.
    pub fn line(&self) -> String {
        let Meta { items, bytes, hash_power, highest_unique, .. } = self;
        let sum = self.sum.unwrap_or_default();
        let facts = format!("{WORD} 2 {items} {bytes} {hash_power} {highest_unique} {sum:08x}");
        let line_sum = crc32fast::hash(facts.as_bytes());
        format!("{facts} {line_sum:08x}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream was said not to contain valid UTF-8, and not what to do.
    #[test]
    fn what_is_no_text_may_be_removed_as_well() {
        let file = std::env::temp_dir().join(format!("dolium-no-text-{}", std::process::id()));
        std::fs::write(path(&file), b"dolium-items 2 \xff\n").expect("a file");
        let refused = Meta::look(&file).expect_err("it is not ours");
        std::fs::remove_file(path(&file)).expect("our file");
        assert!(
            refused.ends_with(
                ".meta is no description of saved items that this version can \
            read: remove it to start with an empty cache"
            ),
            "{refused}"
        );
    }

    #[test]
    fn a_line_says_what_it_was_made_of_and_no_other_does() {
        let meta = Meta {
            version: Version::Two,
            items: 3,
            bytes: 700,
            hash_power: 16,
            highest_unique: 16_383,
            sum: Some(0x0bad_cafe),
        };
        let line = meta.line();
        assert_eq!(Meta::parse(&line), Some(Look::Saved(meta)));
        for at in "dolium-items 2 ".len()..line.len() {
            for bit in 0..7 {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let text = String::from_utf8(bytes).expect("ASCII stays ASCII");
                assert_eq!(Meta::parse(&text), Some(Look::Damaged), "{text}");
            }
            assert_eq!(Meta::parse(&line[..at]), Some(Look::Damaged));
        }
        let Some(Look::Saved(old)) = Meta::parse("dolium-items 1 3 700 16\n") else {
            panic!("an earlier version's is not understood")
        };
        assert_eq!((old.version, old.items, old.bytes), (Version::One, 3, 700));
        assert!(old.highest_unique > meta.highest_unique);
        for other in ["", "Tmain", "dolium-items 3 3 700 16 1", "dolium-items 1 3"] {
            assert_eq!(Meta::parse(other), None, "{other}");
        }
    }
}
