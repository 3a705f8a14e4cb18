//! The hand that walks a shard, and how it judges an item by its meta byte.
//!
//! Patience is what makes a walk around the shard take about one generation, so that items leave
//! soon after their time is up: it grows while the hand finds enough among the young (a scan is
//! passing by), and shrinks while it comes around without (what is in main has become old).
//!
//! A walk on which nothing was due ends the shard's generation, as inserts do. Where memory is wanted without any,
//! because values grow or there are few items, all would stay as young as it is, and each eviction would walk
//! around the whole store to find that out (decision 159).
//!
//! ```text
//! hand    line:8 | segment index:32 | generation when it last began anew:8 | patience:8 | has met what is due:1
//! ```

use crate::index::bucket::{META_FREQUENCY, META_MAIN};

/// Generations for which an item in main is left alone. Ages are counted to 15 only, and the hand
/// must come by before they begin anew.
const PATIENCE_MAX: u8 = 12;
const PATIENCE_FIRST: u8 = 6;
/// Generations that an item used once has less than others when it comes to main. With more the hand, if it is slow,
/// would come when its age has begun anew.
const HEAD_START_MAX: u8 = 8;

/// Where the hand of a shard stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hand {
    pub line: usize,
    pub index: usize,
    /// Low bits of the generation in which this walk began.
    began: u8,
    pub patience: u8,
    /// Whether an item's time was up on this walk.
    pub has_met_due: bool,
}

impl Hand {
    pub fn of(word: u64) -> Hand {
        let patience = match (word >> 48) as u8 {
            0 => PATIENCE_FIRST,
            patience => patience,
        };
        Hand {
            line: (word & 0xff) as usize,
            index: (word >> 8) as u32 as usize,
            began: (word >> 40) as u8,
            patience,
            has_met_due: word >> 56 & 1 != 0,
        }
    }

    pub fn word(self) -> u64 {
        self.line as u64
            | (self.index as u64) << 8
            | u64::from(self.began) << 40
            | u64::from(self.patience) << 48
            | u64::from(self.has_met_due) << 56
    }

    /// Generations since this walk began, as far as ages are told apart: what is younger came meanwhile.
    pub fn walked(&self, generation: u64) -> u8 {
        (generation as u8).wrapping_sub(self.began).min(PATIENCE_MAX)
    }

    /// The walk is over and begins anew. The generation from now on: the next one if nothing was due.
    pub fn come_around(&mut self, generation: u64) -> u64 {
        match (generation as u8).wrapping_sub(self.began) {
            0 => self.patience = (self.patience - 1).max(1),
            1 => {}
            _ => self.patience = (self.patience + 1).min(PATIENCE_MAX),
        }
        self.began = generation as u8;
        match std::mem::take(&mut self.has_met_due) {
            true => generation,
            false => generation + 1,
        }
    }
}

/// Generations for which an item is left alone: a new one, and one that has proven itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub trial: u8,
    pub patience: u8,
}

pub(crate) enum Verdict {
    Evict,
    Keep(u8),
}

/// Generations since an item came or was renewed, to 15 and then from 0 again.
pub(crate) fn age_of(meta: u8, generation: u64) -> u8 {
    (generation as u8).wrapping_sub(meta >> 4) & 0x0f
}

/// What the hand does with an item. `force`: age is no excuse.
pub(crate) fn judge(meta: u8, generation: u64, times: Times, force: bool) -> Verdict {
    let age = age_of(meta, generation);
    let frequency = meta & META_FREQUENCY;
    let renewed_at = |generation: u8| meta & 0x0f & !META_FREQUENCY | (generation & 0x0f) << 4;
    let renewed = renewed_at(generation as u8);
    let time = if meta & META_MAIN == 0 { times.trial } else { times.patience };
    if age < time && !force {
        Verdict::Keep(meta)
    } else if frequency == 0 {
        Verdict::Evict
    } else if meta & META_MAIN == 0 && frequency == 1 {
        // Its one use may be that of who stored it: to stay it must be used again before the hand is back.
        let head_start = times.patience.min(HEAD_START_MAX);
        Verdict::Keep(renewed_at((generation as u8).wrapping_sub(head_start)) | META_MAIN)
    } else if meta & META_MAIN == 0 {
        Verdict::Keep(renewed | META_MAIN)
    } else {
        Verdict::Keep(renewed | (frequency / 2))
    }
}

/// How near an item is to its end, to compare it with others: its age as a part of the time that it has, halved for
/// each use.
pub(crate) fn readiness(meta: u8, generation: u64, times: Times) -> u64 {
    let time = if meta & META_MAIN == 0 { times.trial } else { times.patience };
    let age = u64::from(age_of(meta, generation)) << 8;
    (age / u64::from(time.max(1))) >> (meta & META_FREQUENCY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { trial: 3, patience: 9 };

    #[test]
    fn an_unused_item_goes_when_its_time_is_up() {
        assert!(matches!(judge(0, 2, TIMES, false), Verdict::Keep(0)));
        assert!(matches!(judge(0, 3, TIMES, false), Verdict::Evict));
        assert!(matches!(judge(0, 0, TIMES, true), Verdict::Evict));
    }

    #[test]
    fn a_used_item_goes_to_main_and_must_be_used_again_to_stay() {
        let Verdict::Keep(meta) = judge(3, 4, TIMES, false) else { panic!("it was used") };
        assert_eq!(meta & META_MAIN, META_MAIN);
        assert_eq!(meta & META_FREQUENCY, 0);
        assert!(matches!(judge(meta, 12, TIMES, false), Verdict::Keep(same) if same == meta));
        assert!(matches!(judge(meta, 13, TIMES, false), Verdict::Evict));
        let Verdict::Keep(renewed) = judge(meta + 3, 13, TIMES, false) else {
            panic!("it was used")
        };
        assert_eq!(renewed & META_FREQUENCY, 1);
    }

    #[test]
    fn an_item_used_once_must_be_used_again_before_the_hand_is_back() {
        let times = Times { trial: 3, patience: 5 };
        let Verdict::Keep(meta) = judge(1, 4, times, false) else { panic!("it was used") };
        assert_eq!(meta & 0x0f, META_MAIN);
        assert!(matches!(judge(meta, 4, times, false), Verdict::Evict), "its time is up at once");
        let Verdict::Keep(stays) = judge(meta + 1, 5, times, false) else { panic!("it was used") };
        assert_eq!(age_of(stays, 5), 0);
        // The hand of a shard in which little goes takes several generations for its walk.
        let Verdict::Keep(meta) = judge(1, 4, Times { patience: PATIENCE_MAX, ..times }, false)
        else {
            panic!("it was used")
        };
        assert_eq!(age_of(meta, 4 + 7), 15, "and its age has not begun anew");
    }

    #[test]
    fn a_walk_counts_its_generations() {
        let mut hand = Hand::of(0);
        hand.come_around(0x1fe);
        assert_eq!((hand.walked(0x1fe), hand.walked(0x201)), (0, 3));
        assert_eq!(hand.walked(0x220), PATIENCE_MAX);
    }

    #[test]
    fn who_is_older_for_its_time_and_less_used_is_readier() {
        let of = |meta, age| readiness(meta, age, TIMES);
        assert!(of(0, 2) > of(0, 1));
        assert!(of(0, 2) > of(META_MAIN, 2), "main has more time");
        assert!(of(META_MAIN, 9) > of(0, 1));
        assert!(of(1, 2) < of(0, 2) && of(1, 2) > of(2, 2), "each use counts");
        assert_eq!(of(3, 0), 0);
    }

    #[test]
    fn the_hand_has_patience_while_it_finds_enough() {
        let mut hand = Hand::of(0);
        assert_eq!(hand.patience, PATIENCE_FIRST);
        let mut come_around = |generation| {
            hand.has_met_due = true;
            assert_eq!(hand.come_around(generation), generation);
            hand
        };
        assert_eq!(come_around(5).patience, PATIENCE_FIRST + 1);
        assert_eq!(come_around(6).patience, PATIENCE_FIRST + 1);
        for _ in 0..20 {
            come_around(6);
        }
        assert_eq!(hand.patience, 1);
        let again = Hand::of(hand.word());
        assert_eq!((again.began, again.patience), (6, 1));
    }

    #[test]
    fn a_walk_on_which_nothing_was_due_ends_the_generation() {
        let mut hand = Hand { has_met_due: true, ..Hand::of(0) };
        hand = Hand::of(hand.word());
        assert_eq!(hand.come_around(5), 5);
        assert_eq!(hand.come_around(5), 6);
        assert_eq!(hand.come_around(6), 7);
    }
}
