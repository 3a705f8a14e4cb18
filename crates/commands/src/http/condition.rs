//! Conditional requests: entity tags are the CAS uniques that Memcached clients see.
//!
//! ```text
//!   ETag: "1f4"                 in responses: the unique number in hexadecimal
//!   If-Match: "1f4" | *         only if the key has (one of) these | any value
//!   If-None-Match: "1f4" | *    only if it has not
//! ```
//! Either header may come several times: its lines are one list. A tag with `W/` in front is a weak
//! one, of values that are alike: `If-None-Match` takes it for ours, `If-Match` never does.

use dolium_protocol::http::Request;

const IF_MATCH: &str = "if-match";
const IF_NONE_MATCH: &str = "if-none-match";

/// The conditions of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'r> {
    request: &'r Request<'r>,
    has_match: bool,
    has_none_match: bool,
}

impl<'r> Condition<'r> {
    pub(super) fn of(request: &'r Request<'r>) -> Condition<'r> {
        Condition {
            request,
            has_match: request.header(IF_MATCH).is_some(),
            has_none_match: request.header(IF_NONE_MATCH).is_some(),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        !self.has_match && !self.has_none_match
    }

    /// Whether `If-Match` allows it. `unique`: `None` without a key, 0 if nobody asked for it yet.
    pub(super) fn match_holds(&self, unique: Option<u64>) -> bool {
        let mut lists = self.request.headers_of(IF_MATCH);
        !self.has_match || lists.any(|tags| names(tags, unique, Comparison::Strong))
    }

    /// Whether `If-None-Match` allows it.
    pub(super) fn none_match_holds(&self, unique: Option<u64>) -> bool {
        let mut lists = self.request.headers_of(IF_NONE_MATCH);
        !self.has_none_match || !lists.any(|tags| names(tags, unique, Comparison::Weak))
    }

    pub(super) fn holds(&self, unique: Option<u64>) -> bool {
        self.match_holds(unique) && self.none_match_holds(unique)
    }
}

/// The tag of a unique number.
pub(super) fn tag(unique: u64) -> String {
    format!("\"{unique:x}\"")
}

/// Whether a weak tag counts as the one that it is weak for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// Whether a list of tags names the value that a key has.
fn names(tags: &[u8], unique: Option<u64>, comparison: Comparison) -> bool {
    let Some(unique) = unique else { return false };
    let tag = tag(unique);
    members(tags).any(|one| {
        let opaque = match comparison {
            Comparison::Strong => one,
            Comparison::Weak => one.strip_prefix(b"W/").unwrap_or(one),
        };
        one == b"*" || unique != 0 && opaque == tag.as_bytes()
    })
}

/// The members of a list. A comma between quotes is a part of its tag, in which nothing is escaped.
fn members(tags: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    let members = tags.split(move |byte| {
        is_quoted ^= *byte == b'"';
        *byte == b',' && !is_quoted
    });
    members.map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::Comparison::{Strong, Weak};
    use super::*;

    #[test]
    fn tags_name_values() {
        for comparison in [Strong, Weak] {
            assert!(names(b"*", Some(0), comparison));
            assert!(!names(b"*", None, comparison));
            assert!(names(b"\"1\", \"1f4\"", Some(500), comparison));
            assert!(!names(b"\"1f5\"", Some(500), comparison));
            let asked_for_never = names(b"\"0\"", Some(0), comparison);
            assert!(!asked_for_never, "a number that nobody asked for matches nothing");
        }
        assert!(names(b"W/\"1f4\"", Some(500), Weak));
        assert!(!names(b"W/\"1f4\"", Some(500), Strong));
    }
    /// A PUT with this `If-Match` replaced a value of any tag.
    #[test]
    fn commas_within_a_tag_end_nothing() {
        for comparison in [Strong, Weak] {
            assert!(!names(b"\"a,*,b\"", Some(500), comparison));
            assert!(!names(b"\"a,*", Some(500), comparison), "quotes that do not close");
            assert!(names(b"\"a,b\\\",\"1f4\"", Some(500), comparison));
            assert!(names(b"\"a,b\" , *", Some(500), comparison));
        }
    }
}
