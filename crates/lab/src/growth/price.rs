//! What a byte of index costs, and what it makes of windows in which the index grew by other amounts.
//!
//! ```text
//!                   sum of (bytes a key - bytes a key) * (ns a key - ns a key)      of neighbours among
//! price of a byte = ──────────────────────────────────────────────────────────      twenty pairs of windows
//!                   sum of (bytes a key - bytes a key)²
//! ```
//! Windows are of as many keys each, not of as much time: in one that the machine cut short there are fewer keys,
//! of which each took longer, and most likely no split. Of two neighbours chance decides which has more splits, so
//! what the machine does to them widens the interval and moves the price to no side. The price is the median of
//! all groups' (least squares, without a constant), and the interval that median's (`statistics/bootstrap.rs`).

use serde::Serialize;

use super::window::{Cell, Figure, Length, Pair};
use crate::statistics::{Estimate, median};

/// Pairs of a group: few, so that a bad moment of the machine spoils few groups.
const GROUP: usize = 20;
/// Keys of a window, at least. Of so many, two segments are split, or none, or five.
pub const KEYS: f64 = 500.0;

/// What growth costs in windows of a length, for a figure in nanoseconds a key.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Price {
    /// Nanoseconds for a KiB of index.
    pub kib_ns: Estimate,
    /// By how many bytes a key windows differ from their neighbours, on the median.
    pub step: f64,
    /// What the one with more takes, as a multiple of the other: by the price of its bytes.
    pub ratio: Estimate,
}

impl Price {
    /// None of loads that were over before a group of pairs was seen.
    pub fn of(cell: &Cell, seconds: f64, figure: Figure) -> Option<Price> {
        let pairs = cell.pairs(Length::Keys(KEYS));
        let groups = pairs.iter().flat_map(|load| load.as_chunks::<GROUP>().0);
        let prices: Vec<f64> = groups.map(|group| price(group, figure)).collect();
        if prices.is_empty() {
            return None;
        }
        let byte = Estimate::of(&prices);
        let step = median(cell.pairs(Length::Seconds(seconds)).concat().iter().map(Pair::step));
        let usual = median(pairs.concat().iter().map(|pair| figure(&pair.less)));
        let times = |by: f64, add: f64| Estimate {
            value: add + byte.value * by,
            low: add + byte.low * by,
            high: add + byte.high * by,
        };
        Some(Price { kib_ns: times(1024.0, 0.0), step, ratio: times(step / usual, 1.0) })
    }
}

/// Nanoseconds for a byte of index, by one group of pairs.
fn price(group: &[Pair], figure: Figure) -> f64 {
    let products = group.iter().map(|pair| pair.step() * (figure(&pair.more) - figure(&pair.less)));
    let squares = group.iter().map(|pair| pair.step() * pair.step());
    products.sum::<f64>() / squares.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::window::{Look, Window};
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn a_price_is_found_in_noise_that_hides_it_from_windows() {
        // 3,000 ns a key and 4 ns for a byte of index, of which a key needs 8 to 14, on a machine that is up to
        // a thirtieth slower, and now and then by far.
        let mut random = SmallRng::seed_from_u64(7);
        let mut looks =
            vec![Look { seconds: 0.0, commands: 0.0, index_bytes: 0.0, cpu_ns: 0.0, looks: 0.0 }];
        for _ in 0..20_000 {
            let last = *looks.last().unwrap();
            let bytes = random.random_range(8.0..14.0);
            let slower =
                if random.random_range(0..50) == 0 { 3.0 } else { random.random_range(1.0..1.03) };
            let seconds = last.seconds + 1000.0 * (3_000.0 * slower + 4.0 * bytes) / 1e9;
            let commands = last.commands + 1000.0;
            looks.push(Look {
                seconds,
                commands,
                index_bytes: last.index_bytes + 1000.0 * bytes,
                ..last
            });
        }
        let cell = Cell { pipeline: 1, loads: vec![looks] };
        let found = Price::of(&cell, 0.2, Window::time).unwrap();
        assert!(found.kib_ns.low < 4096.0 && 4096.0 < found.kib_ns.high, "{found:?}");
        assert!(found.kib_ns.high - found.kib_ns.low < 2000.0, "{found:?}");
        // Of 66 looks' worth two windows differ by little; the ratio is as far from 1 as that costs.
        assert!(found.step > 0.1 && found.step < 0.5, "{found:?}");
        assert!(found.ratio.low > 1.0 && found.ratio.high < 1.001, "{found:?}");
        assert!(Price::of(&Cell { pipeline: 1, loads: vec![] }, 0.2, Window::time).is_none());
    }
}
