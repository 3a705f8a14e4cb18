//! The command line, word by word.
//!
//! ```text
//!   -p 11212   -p11212   -vv   --port 11212   --port=11212
//! ```

use super::Refused;
use super::options::Options;

/// What the words ask for.
pub enum Asked {
    Serve(Box<Options>),
    Show(String),
}

/// Long names, their letters, and whether a value follows.
const LONG: [(&str, char); 37] = [
    ("unix-mask", 'a'),
    ("enable-shutdown", 'A'),
    ("enable-ssl", 'Z'),
    ("port", 'p'),
    ("unix-socket", 's'),
    ("udp-port", 'U'),
    ("memory-limit", 'm'),
    ("disable-evictions", 'M'),
    ("conn-limit", 'c'),
    ("lock-memory", 'k'),
    ("help", 'h'),
    ("license", 'i'),
    ("version", 'V'),
    ("enable-coredumps", 'r'),
    ("verbose", 'v'),
    ("daemon", 'd'),
    ("listen", 'l'),
    ("user", 'u'),
    ("pidfile", 'P'),
    ("slab-growth-factor", 'f'),
    ("slab-min-size", 'n'),
    ("threads", 't'),
    ("enable-largepages", 'L'),
    ("max-reqs-per-event", 'R'),
    ("disable-cas", 'C'),
    ("listen-backlog", 'b'),
    ("protocol", 'B'),
    ("max-item-size", 'I'),
    ("enable-sasl", 'S'),
    ("disable-flush-all", 'F'),
    ("disable-dumping", 'X'),
    ("disable-watch", 'W'),
    ("auth-file", 'Y'),
    ("memory-file", 'e'),
    ("napi-ids", 'N'),
    ("extended", 'o'),
    ("delimiter", 'D'),
];
const WITHOUT_VALUE: &str = "AZkhirvdMLCSFXWV";
const WITH_VALUE: &str = "apsUmcluPfntRbBIYeoDN";

pub fn parse(words: &[String]) -> Result<Asked, Refused> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (long, None),
            };
            let known = LONG.iter().find(|(known, _)| *known == name);
            let Some((_, letter)) = known else {
                return Err(Refused::plain(format!("unrecognized option '--{name}'; see -h")));
            };
            let value = match (WITH_VALUE.contains(*letter), value) {
                (true, None) => Some(next(&mut words, name)?),
                (false, Some(_)) => {
                    return Err(Refused::plain(format!("option '--{name}' takes no value")));
                }
                (_, value) => value,
            };
            if let Some(shown) = options.take(*letter, value.as_deref().unwrap_or(""))? {
                return Ok(Asked::Show(shown));
            }
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            // As getopt: a word that belongs to no option is passed over.
            continue;
        };
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            if WITHOUT_VALUE.contains(letter) {
                if let Some(shown) = options.take(letter, "")? {
                    return Ok(Asked::Show(shown));
                }
                continue;
            }
            if !WITH_VALUE.contains(letter) {
                return Err(Refused::plain(format!("Illegal argument \"{letter}\"")));
            }
            let value = match rest {
                "" => next(&mut words, &letter.to_string())?,
                rest => rest.to_string(),
            };
            options.take(letter, &value)?;
            break;
        }
    }
    options.check()?;
    Ok(Asked::Serve(Box::new(options)))
}

fn next<'a>(words: &mut impl Iterator<Item = &'a String>, name: &str) -> Result<String, Refused> {
    let value = words.next().cloned();
    value.ok_or_else(|| Refused::plain(format!("option requires an argument -- '{name}'")))
}
