//! Intervals of a median by the bootstrap: draw as many rounds as there were from them, with
//! repetition, many times, and see where the medians fall.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::median;

/// Draws of an interval. More change its ends by less than a round does.
const DRAWS: usize = 2_000;
/// Share of the medians that the interval leaves out at each end.
const TAIL: f64 = 0.025;
/// Any constant: the same rounds give the same interval.
const SEED: u64 = 0x000D_011A;

/// A median and the interval that holds it with 95 percent confidence.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// Of one or more rounds; of nothing, it is not a number.
    pub fn of(values: &[f64]) -> Self {
        let value = median(values.iter().copied());
        if values.len() < 2 {
            return Self { value, low: value, high: value };
        }
        let mut random = SmallRng::seed_from_u64(SEED);
        let mut medians: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let draw = (0..values.len()).map(|_| values[random.random_range(0..values.len())]);
                median(draw.collect::<Vec<_>>())
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let at = |share: f64| medians[(share * (DRAWS - 1) as f64).round() as usize];
        Self { value, low: at(TAIL), high: at(1.0 - TAIL) }
    }

    /// Median of the ratios of paired rounds; a pair that lacks one is left out.
    pub fn of_ratio(above: &[f64], below: &[f64]) -> Self {
        let ratios = above.iter().zip(below).map(|(a, b)| a / b);
        Self::of(&ratios.filter(|ratio| !ratio.is_nan()).collect::<Vec<_>>())
    }

    /// Ratio of the medians of rounds that were not paired.
    pub fn of_unpaired(above: &[f64], below: &[f64]) -> Self {
        let value = median(above.iter().copied()) / median(below.iter().copied());
        if above.len() < 2 || below.len() < 2 {
            return Self { value, low: value, high: value };
        }
        let mut random = SmallRng::seed_from_u64(SEED);
        let mut drawn = |values: &[f64]| {
            let draw = (0..values.len()).map(|_| values[random.random_range(0..values.len())]);
            median(draw.collect::<Vec<_>>())
        };
        let mut ratios: Vec<f64> = (0..DRAWS).map(|_| drawn(above) / drawn(below)).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| ratios[(share * (DRAWS - 1) as f64).round() as usize];
        Self { value, low: at(TAIL), high: at(1.0 - TAIL) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_narrows_with_rounds() {
        let mut random = SmallRng::seed_from_u64(5);
        let mut draw = |count: usize| -> Vec<f64> {
            (0..count).map(|_| 100.0 + random.random_range(-5.0..5.0)).collect()
        };
        let (few, many) = (Estimate::of(&draw(6)), Estimate::of(&draw(200)));
        assert!(few.low <= few.value && few.value <= few.high);
        assert!(many.high - many.low < few.high - few.low);
        assert!((many.value - 100.0).abs() < 1.5);
    }

    #[test]
    fn a_pair_cancels_what_both_rounds_share() {
        let below: Vec<f64> = (0..10).map(|n| 100.0 * (1.0 + f64::from(n) / 5.0)).collect();
        let above: Vec<f64> = below.iter().map(|value| value * 1.03).collect();
        let paired = Estimate::of_ratio(&above, &below);
        assert!((paired.value - 1.03).abs() < 1e-9 && paired.high - paired.low < 1e-9);
        let unpaired = Estimate::of_unpaired(&above, &below);
        assert!(unpaired.low < 1.0 && unpaired.high > 1.1);
    }
}
