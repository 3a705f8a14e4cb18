//! The search of `dolium lab qos` and of `kind = "quality"` for the highest rate that is kept: down from
//! above, in two passes.
//!
//! ```text
//! first    0 ---|---|---|---|---|---|---|--- top      in eighths, from the top until one is kept; if
//!                                                     that is the top, up from there until one is not
//! second                    |||||||                   between that and the one above it, likewise
//! ```
//!
//! Halving would be fewer steps, but one wrong answer sends it away for good, and on a shared machine
//! a rate that a store can keep is now and then said to be broken: what stops the store for ten
//! milliseconds in a second takes its 99th percentile away. The opposite is rarer, since what
//! a store is asked beyond its means waits longer and longer. So a rate that was kept once counts, and
//! everything above is tried first.

/// Rungs of the first pass.
const RUNGS: usize = 8;

/// A search between zero and a rate that is probably too high.
pub(crate) struct Descent {
    /// Rates that are to be tried, the highest last.
    ahead: Vec<f64>,
    /// How far apart those of this pass are.
    width: f64,
    /// Rungs of a second pass that has not begun.
    second: Option<usize>,
    /// The highest rate that was kept; zero always is.
    kept: f64,
    /// Whether any was not.
    has_broken: bool,
}

impl Descent {
    /// `rungs` are those of the second pass. Of who answers nothing at all there is no rate to be tried.
    pub fn from(top: f64, rungs: usize) -> Self {
        let is_rate = top.is_finite() && top > 0.0;
        let width = top / RUNGS as f64;
        let ahead = (1..=RUNGS).filter(|_| is_rate).map(|rung| rung as f64 * width).collect();
        Self { ahead, width, second: is_rate.then_some(rungs), kept: 0.0, has_broken: false }
    }

    /// The rate to try next; none at the end.
    pub fn next(&mut self) -> Option<f64> {
        if self.ahead.is_empty()
            && let Some(rungs) = self.second.take()
        {
            self.width /= (rungs + 1) as f64;
            self.ahead = (1..=rungs).map(|rung| self.kept + rung as f64 * self.width).collect();
        }
        self.ahead.pop()
    }

    /// Whether the rate was kept: if so, those below it need not be tried.
    pub fn told(&mut self, rate: f64, is_kept: bool) {
        if !is_kept {
            self.has_broken = true;
            return;
        }
        self.kept = rate;
        self.ahead.clear();
        if !self.has_broken {
            self.ahead.push(rate + self.width);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates that a search for what `keeps` tries, and what it ends with.
    fn search(top: f64, rungs: usize, mut keeps: impl FnMut(f64) -> bool) -> (Vec<f64>, f64) {
        let (mut descent, mut tried) = (Descent::from(top, rungs), Vec::new());
        while let Some(rate) = descent.next() {
            tried.push(rate);
            descent.told(rate, keeps(rate));
        }
        (tried, descent.kept)
    }

    #[test]
    fn the_highest_rate_is_found_to_within_a_rung_of_the_second_pass() {
        let (tried, kept) = search(80.0, 4, |rate| rate <= 57.0);
        assert_eq!(tried, [80.0, 70.0, 60.0, 50.0, 58.0, 56.0]);
        assert_eq!(kept, 56.0);
        let (tried, kept) = search(80.0, 4, |rate| rate < 104.5);
        assert_eq!(tried, [80.0, 90.0, 100.0, 110.0, 108.0, 106.0, 104.0]);
        assert_eq!(kept, 104.0);
        let (tried, kept) = search(80.0, 4, |_| false);
        assert_eq!((tried.len(), kept), (12, 0.0));
        assert_eq!(search(80.0, 4, |rate| rate < 3.0).1, 2.0);
    }

    /// A rate of zero is none that can be offered: one such store ended the experiment of all.
    #[test]
    fn of_who_answered_nothing_no_rate_is_tried() {
        for top in [0.0, f64::NAN] {
            let (tried, kept) = search(top, 4, |_| false);
            assert_eq!((tried.len(), kept), (0, 0.0));
        }
    }

    /// A search by halves ended at 40 where the store keeps 57, because one step was disturbed.
    #[test]
    fn one_disturbed_step_costs_a_rung_and_not_the_search() {
        for disturbed in 0..6 {
            let mut step = 0;
            let (_, kept) = search(80.0, 4, |rate| {
                step += 1;
                rate <= 57.0 && step != disturbed + 1
            });
            assert!(kept >= 48.0, "{kept} when step {disturbed} was disturbed");
        }
    }
}
