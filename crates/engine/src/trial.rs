//! How long a new item is on trial before eviction judges it.
//!
//! Long trials are right where new keys are what is asked for next, as in a working set that moves
//! on; they are wrong where most keys are asked for once, as in a scan, and keep room from what has
//! proven itself. So both are measured where the hand passes: of the new items whose trial is over,
//! and of the proven ones whose time is up, which share was used in a generation? The side whose
//! items were used more gets the more time. Of a new item the first use does not count: it is mostly that of who
//! stored it, and says nothing about the rest of the trial. Where no side's are used, trials grow: what has proven
//! itself has stopped to, and what came last is more likely to be wanted.

use crate::sync::atomics::AtomicU32;
use crate::sync::atomics::Ordering::Relaxed;

/// Generations of trial: at first, and within which bounds.
const FIRST: u32 = 3;
const LEAST: u32 = 2;
const MOST: u32 = 10;
/// One change needs this many judgements at least, and those on one of so many items: a change is
/// seen in what is judged some generations later only.
const JUDGED_MIN: u64 = 256;
const JUDGED_ONE_IN: u64 = 8;
/// A difference of less than one in so many is none.
const DIFFERENCE_ONE_IN: u128 = 8;

/// What the hand met whose time was up, and what of it had been used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Met {
    pub due: u32,
    pub used: u32,
}

/// All words are hints: two at once may lose a count.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    /// 0 stands for `FIRST`.
    generations: AtomicU32,
    new: [AtomicU32; 2],
    proven: [AtomicU32; 2],
}

impl Trial {
    /// Generations of trial.
    pub fn generations(&self) -> u8 {
        match self.generations.load(Relaxed) {
            0 => FIRST as u8,
            generations => generations as u8,
        }
    }

    /// The hand has met these; the proven ones had been left alone for `patience` generations.
    /// The store has about `items` in all.
    pub fn note(&self, new: Met, proven: Met, patience: u8, items: u64) {
        let new = add(&self.new, new);
        let proven = add(&self.proven, proven);
        if new.due.min(proven.due) == 0
            || u64::from(new.due) + u64::from(proven.due) < (items / JUDGED_ONE_IN).max(JUDGED_MIN)
        {
            return;
        }
        let now = u32::from(self.generations());
        // Used of due in a generation, both sides multiplied by both counts and both times.
        let news = u128::from(new.used) * u128::from(proven.due) * u128::from(patience);
        let provens = u128::from(proven.used) * u128::from(new.due) * u128::from(now);
        let next = if news + provens == 0 || news > provens + provens / DIFFERENCE_ONE_IN {
            now + 1
        } else if provens > news + news / DIFFERENCE_ONE_IN {
            now - 1
        } else {
            now
        };
        self.generations.store(next.clamp(LEAST, MOST), Relaxed);
        for word in self.new.iter().chain(&self.proven) {
            word.store(0, Relaxed);
        }
    }
}

fn add(words: &[AtomicU32; 2], met: Met) -> Met {
    let add = |word: &AtomicU32, more: u32| {
        let sum = word.load(Relaxed).saturating_add(more);
        word.store(sum, Relaxed);
        sum
    };
    Met { due: add(&words[0], met.due), used: add(&words[1], met.used) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nothing that has proven itself comes due, new ones are counted up to what a count can hold. The sum of both
    /// counts was as narrow, and began anew with the first proven one.
    #[test]
    fn counts_that_have_come_to_their_end_are_judged() {
        let trial = Trial::default();
        let all = Met { due: u32::MAX, used: u32::MAX };
        trial.note(all, Met { due: 0, used: 0 }, 255, 1 << 32);
        assert_eq!(u32::from(trial.generations()), FIRST);
        trial.note(all, Met { due: 1, used: 0 }, 255, 1 << 32);
        assert_eq!(u32::from(trial.generations()), FIRST + 1);
    }

    #[test]
    fn the_trial_is_long_where_new_items_are_used_and_short_where_they_are_not() {
        let trial = Trial::default();
        assert_eq!(u32::from(trial.generations()), FIRST);
        let proven = Met { due: 500, used: 300 };
        for _ in 0..20 {
            trial.note(Met { due: 500, used: 450 }, proven, 10, 1_000);
        }
        assert_eq!(u32::from(trial.generations()), MOST);
        for _ in 0..20 {
            trial.note(Met { due: 500, used: 20 }, proven, 10, 1_000);
        }
        assert_eq!(u32::from(trial.generations()), LEAST);
    }

    #[test]
    fn the_trial_becomes_long_where_nothing_is_used() {
        let trial = Trial::default();
        let unused = Met { due: 500, used: 0 };
        trial.note(unused, unused, 10, 1_000);
        assert_eq!(u32::from(trial.generations()), FIRST + 1);
    }

    #[test]
    fn a_few_judgements_change_nothing() {
        let trial = Trial::default();
        for _ in 0..20 {
            trial.note(Met { due: 5, used: 5 }, Met { due: 5, used: 0 }, 10, 1 << 20);
        }
        assert_eq!(u32::from(trial.generations()), FIRST);
    }
}
