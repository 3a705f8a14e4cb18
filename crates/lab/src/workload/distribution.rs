//! In which order, and how often, keys are asked for.

mod names;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution as _, Normal, Zipf};
use serde::{Deserialize, Serialize};

use crate::LabError;

/// Draws from a bell before the middle is taken instead; a bell that misses all keys so often is
/// so wide that nobody can tell.
const GAUSSIAN_TRIES: usize = 100;

/// A rule that gives the next key.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Distribution {
    /// Every key once in random order, then again in another order.
    Uniform,
    /// Every key once, by number.
    Sequential,
    /// Rank r is asked for in proportion to 1 / r^exponent. `scrambled` scatters the ranks over
    /// the key numbers; otherwise the popular keys are neighbours.
    Zipf { exponent: f64, scrambled: bool },
    /// A share of the requests goes to a share of the keys, evenly within both.
    HotSet { keys_share: f64, requests_share: f64 },
    /// A bell around the middle key; this many standard deviations on each side hold all keys.
    Gaussian { deviations: f64 },
    /// Zipf over the age of the keys: the newest are the most popular. With inserts in the
    /// workload, what is newest moves on.
    Latest { exponent: f64 },
    /// Zipf, scrambled; after every `every` of its requests, `length` keys are read one after the
    /// other by number, from where the last scan ended.
    Scans { exponent: f64, every: u32, length: u32 },
    /// Zipf, scrambled, over a window of this share of the keys. It moves from the first keys to
    /// the last within the requests: each step, its oldest key is asked for no more, and a new key
    /// takes over its rank.
    Moving { exponent: f64, window: f64 },
}

impl Distribution {
    /// Refuses parameters without a meaning.
    pub fn check(&self, keys: u32) -> Result<(), LabError> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let good = match *self {
            Self::Uniform | Self::Sequential => true,
            Self::Zipf { exponent, .. } | Self::Latest { exponent } => {
                exponent.is_finite() && exponent >= 0.0
            }
            Self::Gaussian { deviations } => deviations.is_finite() && deviations > 0.0,
            Self::Scans { exponent, every, .. } => {
                exponent.is_finite() && exponent >= 0.0 && every > 0
            }
            Self::Moving { exponent, window } => {
                let most = share(window) && window * f64::from(keys) >= 1.0;
                exponent.is_finite() && exponent >= 0.0 && most
            }
            Self::HotSet { keys_share, requests_share } => {
                share(keys_share) && share(requests_share) && keys_share * f64::from(keys) >= 1.0
            }
        };
        if good {
            Ok(())
        } else {
            Err(LabError::Options(format!("{self} makes no sense for {keys} keys")))
        }
    }

    /// Draws `count` key numbers below `keys`.
    pub fn draw(&self, keys: u32, count: usize, seed: u64) -> Vec<u32> {
        let mut random = SmallRng::seed_from_u64(seed);
        match *self {
            Self::Sequential => (0..keys).cycle().take(count).collect(),
            Self::Uniform => {
                let mut out = Vec::with_capacity(count);
                let mut order: Vec<u32> = (0..keys).collect();
                while out.len() < count {
                    order.shuffle(&mut random);
                    out.extend(order.iter().take(count - out.len()));
                }
                out
            }
            Self::Zipf { exponent, scrambled } => {
                let Ok(zipf) = Zipf::new(f64::from(keys), exponent) else {
                    return vec![0; count];
                };
                let names = scrambled.then(|| permutation(keys, seed));
                (0..count)
                    .map(|_| {
                        let rank: f64 = zipf.sample(&mut random);
                        let rank = (rank as u32).clamp(1, keys) - 1;
                        names.as_ref().map_or(rank, |names| names[rank as usize])
                    })
                    .collect()
            }
            Self::Latest { exponent } => {
                let ages = Self::Zipf { exponent, scrambled: false }.draw(keys, count, seed);
                ages.into_iter().map(|age| keys - 1 - age).collect()
            }
            Self::Scans { exponent, every, length } => {
                let mut popular =
                    Self::Zipf { exponent, scrambled: true }.draw(keys, count, seed).into_iter();
                let mut scanned = (0..keys).cycle();
                let mut out = Vec::with_capacity(count + length as usize);
                while out.len() < count {
                    out.extend(popular.by_ref().take(every as usize));
                    out.extend(scanned.by_ref().take(length as usize));
                }
                out.truncate(count);
                out
            }
            Self::Moving { exponent, window } => {
                let window = ((f64::from(keys) * window) as u32).clamp(1, keys);
                let places = Self::Zipf { exponent, scrambled: true }.draw(window, count, seed);
                let steps = u64::from(keys - window);
                (0..count as u64)
                    .zip(places)
                    .map(|(request, place)| {
                        let first = (steps * request / count as u64) as u32;
                        // The only key within the window that falls on this place.
                        let past = (first % window > place) as u32;
                        (first / window + past) * window + place
                    })
                    .collect()
            }
            Self::Gaussian { deviations } => {
                let middle = f64::from(keys) / 2.0;
                let Ok(bell) = Normal::new(middle, middle / deviations) else {
                    return vec![0; count];
                };
                // A draw beyond the last key is drawn again: the bell is cut, not piled up.
                let within = |key: f64| (0.0..f64::from(keys)).contains(&key);
                (0..count)
                    .map(|_| {
                        let key = std::iter::repeat_with(|| bell.sample(&mut random))
                            .take(GAUSSIAN_TRIES)
                            .find(|&key| within(key));
                        key.unwrap_or(middle) as u32
                    })
                    .collect()
            }
            Self::HotSet { keys_share, requests_share } => {
                let hot = ((f64::from(keys) * keys_share) as u32).clamp(1, keys);
                (0..count)
                    .map(|_| {
                        if hot == keys || random.random_bool(requests_share) {
                            random.random_range(0..hot)
                        } else {
                            random.random_range(hot..keys)
                        }
                    })
                    .collect()
            }
        }
    }
}

/// A random naming of the ranks. It does not depend on the draw, so that two draws with one seed
/// agree on which keys are popular.
fn permutation(keys: u32, seed: u64) -> Vec<u32> {
    let mut names: Vec<u32> = (0..keys).collect();
    names.shuffle(&mut SmallRng::seed_from_u64(seed ^ 0x005C_4A3B_1ED0));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u32 = 1_000;
    const DRAWS: usize = 400_000;

    fn counts(distribution: Distribution) -> Vec<usize> {
        let mut counts = vec![0; KEYS as usize];
        for id in distribution.draw(KEYS, DRAWS, 7) {
            counts[id as usize] += 1;
        }
        counts
    }

    #[test]
    fn zipf_follows_its_law() {
        let exponent = 0.99;
        let counts = counts(Distribution::Zipf { exponent, scrambled: false });
        let total: f64 = (1..=KEYS).map(|rank| f64::from(rank).powf(-exponent)).sum();
        for rank in [1usize, 2, 3, 10, 50] {
            let expected = DRAWS as f64 * (rank as f64).powf(-exponent) / total;
            let off = (counts[rank - 1] as f64 - expected).abs() / expected;
            assert!(off < 0.08, "rank {rank}: {} drawn, {expected:.0} expected", counts[rank - 1]);
        }
    }

    #[test]
    fn scrambling_moves_the_popular_keys_and_keeps_the_law() {
        let mut plain = counts(Distribution::Zipf { exponent: 0.99, scrambled: false });
        let mut scattered = counts(Distribution::Zipf { exponent: 0.99, scrambled: true });
        assert!(plain[..10].iter().sum::<usize>() > 3 * scattered[..10].iter().sum::<usize>());
        plain.sort_unstable();
        scattered.sort_unstable();
        assert_eq!(plain, scattered);
    }

    #[test]
    fn uniform_asks_for_each_key_equally_often_and_in_no_order() {
        let ids = Distribution::Uniform.draw(KEYS, DRAWS, 7);
        assert!(counts(Distribution::Uniform).iter().all(|&n| n == DRAWS / KEYS as usize));
        let ascents = ids[..KEYS as usize].windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&ascents), "{ascents} of 999 neighbours ascend");
    }

    #[test]
    fn a_hot_set_gets_its_share() {
        let counts = counts(Distribution::HotSet { keys_share: 0.1, requests_share: 0.9 });
        let hot: usize = counts[..100].iter().sum();
        assert!((0.89..0.91).contains(&(hot as f64 / DRAWS as f64)));
    }

    #[test]
    fn a_bell_is_high_in_the_middle_and_the_newest_keys_are_the_most_popular() {
        let bell = counts(Distribution::Gaussian { deviations: 3.0 });
        let middle: usize = bell[334..667].iter().sum();
        // One of three deviations on each side of the middle.
        assert!((0.67..0.70).contains(&(middle as f64 / DRAWS as f64)), "{middle}");
        let latest = counts(Distribution::Latest { exponent: 0.99 });
        assert!(latest[999] > 3 * latest[990] && latest[990] > 5 * latest[500]);
    }

    #[test]
    fn scans_read_on_where_they_ended_between_requests_by_popularity() {
        let scans = Distribution::Scans { exponent: 0.99, every: 30, length: 20 };
        let ids = scans.draw(KEYS, 1_000, 7);
        assert_eq!(ids.len(), 1_000);
        let scanned: Vec<u32> = ids.chunks(50).flat_map(|turn| turn[30..].to_vec()).collect();
        assert_eq!(scanned, (0..400).collect::<Vec<u32>>());
    }

    #[test]
    fn a_window_moves_from_the_first_keys_to_the_last() {
        let ids = Distribution::Moving { exponent: 0.5, window: 0.1 }.draw(KEYS, DRAWS, 7);
        for (number, &id) in ids.iter().enumerate() {
            let first = 900 * number / DRAWS;
            assert!((first..first + 100).contains(&(id as usize)), "{id} as number {number}");
        }
        // A new key takes over the rank of the one that it replaces.
        let [first, last] = [&ids[..DRAWS / 10], &ids[9 * DRAWS / 10..]].map(|part| {
            let mut counts = [0; 100];
            part.iter().for_each(|&id| counts[id as usize % 100] += 1);
            counts
        });
        let most = |counts: &[i32; 100]| (0..100).max_by_key(|&place| counts[place]);
        assert_eq!(most(&first), most(&last));
    }
}
