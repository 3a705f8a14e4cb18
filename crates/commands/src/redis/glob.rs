//! Glob patterns as Redis matches them (KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET).
//!
//! ```text
//!   *        any bytes          [abc] [^abc] [a-z]   one byte of a set, or not of it
//!   ?        one byte           \x                   x itself
//! ```
//! Odd corners are Redis' own: a set without its end reaches to the end of the pattern, and a
//! range may be written backwards. The empty text matches the empty pattern alone, and not a star. A
//! pattern of very many stars matches nothing, whatever the text.

use crate::limits::GLOB_STARS_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Sensitive,
    Ignored,
}

/// Does all of `text` match?
///
/// A star tries the shortest stretch first. When what follows it fails, only the last star seen
/// is tried with more: an earlier star could not help, since the later one can take any bytes
/// that the earlier one would leave. So the time is at most the product of the two lengths.
pub fn matches(pattern: &[u8], text: &[u8], case: Case) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut p, mut t) = (0, 0);
    // Where to go on when the rest fails: after the star, and one byte further in the text.
    let mut retry: Option<(usize, usize)> = None;
    let mut stars = 0;
    loop {
        if p < pattern.len() && pattern[p] == b'*' {
            while p < pattern.len() && pattern[p] == b'*' {
                p += 1;
            }
            if p == pattern.len() {
                return true;
            }
            stars += 1;
            if stars > GLOB_STARS_MAX {
                return false;
            }
            retry = Some((p, t));
            continue;
        }
        if t == text.len() {
            // Nothing is left for a star to give up, so trying again cannot help.
            return p == pattern.len();
        }
        let step = if p < pattern.len() { one(&pattern[p..], text[t], case) } else { None };
        match (step, retry) {
            (Some(used), _) => {
                p += used;
                t += 1;
            }
            (None, Some((after_star, from))) => {
                retry = Some((after_star, from + 1));
                (p, t) = (after_star, from + 1);
            }
            (None, None) => return false,
        }
    }
}

/// Has it nothing but bytes that stand for themselves?
pub fn is_literal(pattern: &[u8]) -> bool {
    !pattern.iter().any(|b| matches!(b, b'*' | b'?' | b'[' | b'\\'))
}

/// Matches one byte with the first element of a pattern; how long that element is.
fn one(pattern: &[u8], byte: u8, case: Case) -> Option<usize> {
    match pattern[0] {
        b'?' => Some(1),
        b'[' => set(pattern, byte, case),
        b'\\' if pattern.len() >= 2 => same(pattern[1], byte, case).then_some(2),
        literal => same(literal, byte, case).then_some(1),
    }
}

fn same(a: u8, b: u8, case: Case) -> bool {
    match case {
        Case::Sensitive => a == b,
        Case::Ignored => a.eq_ignore_ascii_case(&b),
    }
}

fn set(pattern: &[u8], byte: u8, case: Case) -> Option<usize> {
    let mut p = 1;
    let negated = pattern.get(p) == Some(&b'^');
    if negated {
        p += 1;
    }
    let mut found = false;
    loop {
        match pattern.get(p..).unwrap_or_default() {
            // The set has no end: all of the pattern was it.
            [] => break,
            [b'\\', escaped, ..] => {
                found |= same(*escaped, byte, Case::Sensitive);
                p += 2;
            }
            [b']', ..] => {
                p += 1;
                break;
            }
            [from, b'-', to, ..] => {
                let fold = |b: u8| if case == Case::Ignored { b.to_ascii_lowercase() } else { b };
                let (low, high) = (fold(*from.min(to)), fold(*from.max(to)));
                found |= (low..=high).contains(&fold(byte));
                p += 3;
            }
            [literal, ..] => {
                found |= same(*literal, byte, case);
                p += 1;
            }
        }
    }
    (found != negated).then_some(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        for (texts, expected) in [(yes, true), (no, false)] {
            for text in texts {
                let found = matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive);
                assert_eq!(found, expected, "{pattern} {text}");
            }
        }
    }

    #[test]
    fn stars_questions_and_literals() {
        check("*", &["a", "abc"], &[""]);
        check("**", &["a"], &[""]);
        check("", &[""], &["a"]);
        check("h?llo", &["hello", "hxllo"], &["hllo", "heello"]);
        check("h*llo", &["hllo", "heeeello"], &["hell"]);
        check("a*b*c", &["abc", "axxbyyc", "abcbc"], &["ab", "acb"]);
        check("foo*", &["foo", "foobar"], &["fo", "xfoo"]);
        check("a**", &["a", "ab"], &["b"]);
        check("*?", &["a", "ab"], &[""]);
    }

    #[test]
    fn sets_ranges_and_escapes() {
        check("h[ae]llo", &["hello", "hallo"], &["hillo"]);
        check("h[^e]llo", &["hallo"], &["hello"]);
        check("h[a-c]llo", &["hbllo"], &["hdllo"]);
        check("h[c-a]llo", &["hbllo"], &["hdllo"]);
        check("h\\*llo", &["h*llo"], &["hello"]);
        check("[\\]]", &["]"], &["\\"]);
        check("[abc", &["a", "c"], &["d", "ab"]);
        check("a\\", &["a\\"], &["a"]);
        check("[]", &[], &["", "a"]);
        check("[^]", &["a"], &[""]);
    }

    #[test]
    fn case_may_be_ignored() {
        assert!(matches(b"MAX*", b"maxmemory", Case::Ignored));
        assert!(matches(b"[A-C]x", b"bX", Case::Ignored));
        assert!(!matches(b"MAX*", b"maxmemory", Case::Sensitive));
    }

    #[test]
    fn many_stars_end_in_time() {
        let pattern = "a*".repeat(200) + "b";
        let text = "a".repeat(20_000);
        assert!(!matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive));
    }

    #[test]
    fn a_pattern_of_too_many_stars_matches_nothing() {
        let text = "a".repeat(50_000);
        for (stars, expected) in
            [(GLOB_STARS_MAX, true), (GLOB_STARS_MAX + 1, false), (50_000, false)]
        {
            let pattern = "*?".repeat(stars);
            let found = matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive);
            assert_eq!(found, expected, "{stars} stars");
        }
        // The last star needs nothing after it and does not count, nor do stars side by side.
        let pattern = "*?".repeat(GLOB_STARS_MAX) + "**";
        assert!(matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive));
    }
}
