//! What it costs that memory is looked up by pages: the same number of lines, out of the same cache, side by side
//! and each in 4 KiB of its own.
//!
//! ```text
//! beside    |line|line|line|line| ...                     64 pages of 4 KiB, whose translations stay at hand
//! apart     |line ...        |... line ...     | ...      4,096 of them, which do not
//! ```
//! On huge pages both are a few translations, and cost the same. Where they do not, this machine is a guest whose
//! host has in small pages what the guest takes for huge ones: the processor keeps translations of both, and so of
//! the smaller. No setting of the guest changes that, and every random access of a store pays it.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

use super::memory::Memory;
use super::{LINE, Pages, READS, REPETITIONS, place, word};
use crate::LabError;
use crate::workload::value::mix;

/// A quarter of a megabyte of lines: less than a second cache, more than a first. More pages of 4 KiB than a
/// processor of today keeps translations of.
const LINES: usize = 4096;
const SMALL_PAGE: usize = 4096;
/// From so many times on, translations are what makes the difference.
const DIFFERS: f64 = 1.5;

/// Nanoseconds of a load that waits for the one before it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Translations {
    pub pages: Pages,
    /// Lines side by side.
    pub beside_ns: f64,
    /// Each line in 4 KiB of its own.
    pub apart_ns: f64,
}

impl Translations {
    /// Measures both. With `Pages::Huge`, fails if the machine refuses them.
    pub fn measure(pages: Pages) -> Result<Self, LabError> {
        let mut memory = Memory::new(LINES * SMALL_PAGE, pages == Pages::Huge)?;
        let mut walk = |place_of: fn(usize) -> usize| {
            lay_round(memory.bytes_mut(), place_of);
            let times = (0..REPETITIONS).map(|_| walk_round(memory.bytes(), place_of(0)));
            times.fold(f64::INFINITY, f64::min)
        };
        Ok(Self { pages, beside_ns: walk(beside), apart_ns: walk(apart) })
    }

    /// What that means, in a sentence.
    pub fn says(&self) -> &'static str {
        match (self.pages, self.apart_ns > DIFFERS * self.beside_ns) {
            (Pages::Small, true) => "That is what small pages cost (--huge: on huge ones).",
            (Pages::Huge, true) => "The host has this machine's huge pages in small ones.",
            (_, false) => "So many pages cost nothing here.",
        }
    }
}

fn beside(number: usize) -> usize {
    number * LINE
}

/// Every page has its line at another place: at the same one, few sets of a cache would have to hold them all.
fn apart(number: usize) -> usize {
    number * SMALL_PAGE + number * LINE % SMALL_PAGE
}

/// Each line names the next one, in an order that no processor foresees, and the last one the first.
fn lay_round(bytes: &mut [u8], place_of: fn(usize) -> usize) {
    let mut order: Vec<usize> = (0..LINES).collect();
    for last in (1..LINES).rev() {
        order.swap(last, place(mix(last as u64), last + 1));
    }
    for (from, to) in order.iter().zip(order.iter().cycle().skip(1)) {
        let to = place_of(*to) as u64;
        bytes[place_of(*from)..][..8].copy_from_slice(&to.to_le_bytes());
    }
}

fn walk_round(bytes: &[u8], first: usize) -> f64 {
    let mut at = first;
    let begun = Instant::now();
    for _ in 0..READS {
        at = word(bytes, at) as usize;
    }
    black_box(at);
    begun.elapsed().as_nanos() as f64 / READS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_meets_every_line_once() {
        for place_of in [beside, apart] {
            let mut bytes = vec![0; LINES * SMALL_PAGE];
            lay_round(&mut bytes, place_of);
            let (mut at, mut met) = (place_of(0), std::collections::HashSet::new());
            while met.insert(at) {
                at = word(&bytes, at) as usize;
            }
            assert_eq!((at, met.len()), (place_of(0), LINES));
            let pages: std::collections::HashSet<_> =
                met.iter().map(|at| at / SMALL_PAGE).collect();
            assert_eq!(pages.len(), if place_of(1) == LINE { 64 } else { LINES });
            let sets: std::collections::HashSet<_> = met.iter().map(|at| at % SMALL_PAGE).collect();
            assert_eq!(sets.len(), 64, "lines are at all places of a page");
        }
    }

    #[test]
    fn both_figures_are_measured() {
        let found = Translations::measure(Pages::Small).unwrap();
        assert!(found.beside_ns > 0.0 && found.apart_ns > 0.0, "{found:?}");
    }
}
