//! Help with a directive that the table does not have: the one that was probably meant.

use super::absent;
use super::table::DIRECTIVES;

/// Most letters that a mistyped name is away from the one that was meant.
const EDITS_MAX: usize = 2;

/// The sentence for a name that is no directive.
pub fn unknown(name: &str) -> String {
    if let Some(sentence) = absent::sentence(name) {
        return sentence;
    }
    match nearest(name) {
        Some(near) => format!(
            "'{name}' is no directive of Dolium. Is it '{near}'? docs/configuration.md has them all"
        ),
        None => format!("'{name}' is no directive of Dolium; docs/configuration.md has them all"),
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let given = letters(name);
    // Of a name of four letters, two others are another name: `host` is not `port`.
    let most = EDITS_MAX.min(given.len() / 3);
    let names = DIRECTIVES.iter().flat_map(|d| [d.name, d.alias]).filter(|name| !name.is_empty());
    let near = names.map(|known| (edits(&given, &letters(known)), known));
    let near = near.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits);
    near.map(|(_, known)| known)
}

/// In small letters and without what joins words: `max_memory` is `maxmemory`.
fn letters(name: &str) -> Vec<u8> {
    let letters = name.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
    letters.map(|byte| byte.to_ascii_lowercase()).collect()
}

/// How many letters are to be put in, left out, exchanged, or swapped with the next one, to make one name
/// of the other (optimal string alignment).
fn edits(from: &[u8], to: &[u8]) -> usize {
    // The edits that lead from each beginning of `from` to each of `to`.
    let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            let mut fewest = if i == 0 || j == 0 { i + j } else { usize::MAX };
            if i > 0 && j > 0 {
                let exchanged = table[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
                fewest = exchanged.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            }
            if i > 1 && j > 1 && from[i - 2..i] == [to[j - 1], to[j - 2]] {
                fewest = fewest.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = fewest;
        }
    }
    table[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_directive_names_the_one_that_was_meant() {
        for (given, meant) in [
            ("prot", "port"),
            ("maxmemroy", "maxmemory"),
            ("max-memory", "maxmemory"),
            ("MAX_CLIENTS", "maxclients"),
            ("memcache-port", "memcached-port"),
            ("hash-max-ziplist-valu", "hash-max-ziplist-value"),
            ("h", ""),
            ("xy", ""),
            ("host", ""),
            ("loadmodule", ""),
            ("rename-command", ""),
            ("", ""),
        ] {
            assert_eq!(nearest(given).unwrap_or_default(), meant, "{given}");
        }
        assert_eq!(
            unknown("prot"),
            "'prot' is no directive of Dolium. Is it 'port'? docs/configuration.md has them all"
        );
        assert!(unknown("backups").ends_with("; docs/configuration.md has them all"));
        let said = "Redis has 'loadmodule', Dolium does not: leave it out (there are no modules)";
        assert_eq!(unknown("LoadModule"), said);
    }

    #[test]
    fn edits_are_the_fewest() {
        for (a, b, n) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1)] {
            assert_eq!(edits(a.as_bytes(), b.as_bytes()), n, "{a} {b}");
            assert_eq!(edits(b.as_bytes(), a.as_bytes()), n, "{b} {a}");
        }
    }
}
