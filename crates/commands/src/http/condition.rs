//! Conditional requests: entity tags are the CAS uniques that Memcached clients see.
//!
//! ```text
//!   ETag: "1f4"                 in responses: the unique number in hexadecimal
//!   If-Match: "1f4" | *         only if the key has (one of) these | any value
//!   If-None-Match: "1f4" | *    only if it has not
//! ```

use dolium_protocol::http::Request;

/// The conditions of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'a> {
    pub matches: Option<&'a [u8]>,
    pub none_matches: Option<&'a [u8]>,
}

impl<'a> Condition<'a> {
    pub(super) fn of(request: &Request<'a>) -> Condition<'a> {
        Condition {
            matches: request.header("if-match"),
            none_matches: request.header("if-none-match"),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.matches.is_none() && self.none_matches.is_none()
    }

    /// Whether `If-Match` allows it. `unique`: `None` without a key, 0 if nobody asked for it yet.
    pub(super) fn match_holds(&self, unique: Option<u64>) -> bool {
        self.matches.is_none_or(|tags| names(tags, unique))
    }

    /// Whether `If-None-Match` allows it.
    pub(super) fn none_match_holds(&self, unique: Option<u64>) -> bool {
        !self.none_matches.is_some_and(|tags| names(tags, unique))
    }

    pub(super) fn holds(&self, unique: Option<u64>) -> bool {
        self.match_holds(unique) && self.none_match_holds(unique)
    }
}

/// The tag of a unique number.
pub(super) fn tag(unique: u64) -> String {
    format!("\"{unique:x}\"")
}

/// Whether a list of tags names the value that a key has.
fn names(tags: &[u8], unique: Option<u64>) -> bool {
    let Some(unique) = unique else { return false };
    let tag = tag(unique);
    tags.split(|byte| *byte == b',').map(|one| one.trim_ascii()).any(|one| {
        one == b"*" || unique != 0 && one.strip_prefix(b"W/").unwrap_or(one) == tag.as_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_values() {
        assert!(names(b"*", Some(0)));
        assert!(!names(b"*", None));
        assert!(names(b"\"1\", \"1f4\"", Some(500)));
        assert!(names(b"W/\"1f4\"", Some(500)));
        assert!(!names(b"\"1f5\"", Some(500)));
        assert!(!names(b"\"0\"", Some(0)), "a number that nobody asked for matches nothing");
    }
}
