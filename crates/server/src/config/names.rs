//! Directives found by their names, aliases included: tools ask for one or two of them, and often.
//!
//! ```text
//!   length   name            place in the table
//!   2        hz              91
//!   3        dir             60     "DIR": so long, then letter by letter, in any case
//!   4        bind            0
//!   ...
//! ```
//! Nearly all comparisons of a search are of two lengths.

use super::Config;
use super::table::DIRECTIVES;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// One name of a directive. In the order of places and of what [`Config::visit`] shows first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// In the table.
    pub place: usize,
    /// Its own name, and not its alias.
    is_own: bool,
}

impl Named {
    pub fn name(self) -> &'static str {
        let directive = &DIRECTIVES[self.place];
        if self.is_own { directive.name } else { directive.alias }
    }
}

/// All names, the shortest first.
static BY_LENGTH: LazyLock<Vec<(&'static str, Named)>> = LazyLock::new(|| {
    let places = DIRECTIVES.iter().enumerate();
    let named = places.flat_map(|(place, directive)| {
        let alias = (directive.alias, Named { place, is_own: false });
        [alias, (directive.name, Named { place, is_own: true })]
    });
    let mut names: Vec<_> = named.filter(|(name, _)| !name.is_empty()).collect();
    names.sort_unstable_by(|(a, _), (b, _)| order(a.as_bytes(), b.as_bytes()));
    names
});

/// Which directive has this name or alias, in any case.
pub fn find(name: &[u8]) -> Option<Named> {
    let at = BY_LENGTH.binary_search_by(|(known, _)| order(known.as_bytes(), name)).ok()?;
    Some(BY_LENGTH[at].1)
}

impl Config {
    /// Shows every directive with its value, aliases included (tools ask for either name). They do not change
    /// meanwhile.
    pub fn visit(&self, visit: &mut dyn FnMut(&'static str, &str)) {
        for (directive, value) in DIRECTIVES.iter().zip(self.lock().iter()) {
            if !directive.alias.is_empty() {
                visit(directive.alias, value);
            }
            visit(directive.name, value);
        }
    }

    /// As `visit`, of these names alone, whatever their case, each once and in the same order.
    pub fn visit_named(
        &self,
        asked: &mut dyn Iterator<Item = &[u8]>,
        visit: &mut dyn FnMut(&'static str, &str),
    ) {
        let mut named: Vec<_> = asked.filter_map(find).collect();
        named.sort_unstable();
        named.dedup();
        let values = self.lock();
        named.iter().for_each(|named| visit(named.name(), &values[named.place]));
    }
}

fn order(a: &[u8], b: &[u8]) -> Ordering {
    let lower = u8::to_ascii_lowercase;
    a.len().cmp(&b.len()).then_with(|| a.iter().map(lower).cmp(b.iter().map(lower)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_and_alias_is_found_in_any_case_and_nothing_else_is() {
        for (place, directive) in DIRECTIVES.iter().enumerate() {
            for name in [directive.name, directive.alias].into_iter().filter(|n| !n.is_empty()) {
                for name in [name.to_owned(), name.to_uppercase()] {
                    let found = find(name.as_bytes());
                    assert_eq!(found.map(|named| named.place), Some(place), "{name}");
                    assert!(found.is_some_and(|n| n.name().eq_ignore_ascii_case(&name)));
                }
            }
        }
        for none in [&b""[..], b"max", b"maxmemory ", b"maxmemorz", b"\xff\xff"] {
            assert_eq!(find(none), None);
        }
    }
}
