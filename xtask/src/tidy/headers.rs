//! Every Rust file begins with a `//!` header that says what it is.

use super::Source;

pub fn check(sources: &[Source]) -> Vec<String> {
    let rust = sources.iter().filter(|source| source.path.ends_with(".rs"));
    rust.filter(|source| !source.text.starts_with("//! "))
        .map(|source| format!("{}: begin with a `//!` header that says what and why", source.path))
        .collect()
}
