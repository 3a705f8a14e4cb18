//! Help with a directive that the table does not have: the one that was probably meant.

use super::table::DIRECTIVES;

/// Most letters that a mistyped name is away from the one that was meant.
const EDITS_MAX: usize = 2;

/// The sentence for a name that is no directive.
pub fn unknown(name: &str) -> String {
    match nearest(name) {
        Some(near) => format!(
            "'{name}' is no directive of Dolium. Is it '{near}'? docs/configuration.md has them all"
        ),
        None => format!("'{name}' is no directive of Dolium; docs/configuration.md has them all"),
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let given = letters(name);
    // Of a name of two letters, two others are another name.
    let most = EDITS_MAX.min(given.len() / 2);
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

/// How many letters are to be put in, left out or exchanged to make one name of the other.
fn edits(from: &[u8], to: &[u8]) -> usize {
    // For the letters of `from` so far: the edits that lead to each beginning of `to`.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
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
        assert!(unknown("loadmodule").ends_with("; docs/configuration.md has them all"));
    }

    #[test]
    fn edits_are_the_fewest() {
        for (a, b, n) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(edits(a.as_bytes(), b.as_bytes()), n, "{a} {b}");
            assert_eq!(edits(b.as_bytes(), a.as_bytes()), n, "{b} {a}");
        }
    }
}
