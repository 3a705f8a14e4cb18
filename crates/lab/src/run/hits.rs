//! `kind = "hits"`: a cache that is smaller than its data. A client reads, and stores what it did
//! not find, as users of caches do; which share of the reads finds its key is the store's merit.

use super::results::Visit;
use super::servers::Fleet;
use super::{Stage, visit::resident_mib};
use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::generator::Target;
use crate::stores::talk::{Answer, Talk};
use crate::workload::wire::{self, Asking};
use crate::workload::{Operation, Protocol, Workload, pool};

/// Memory of the cache as a share of what all values take.
const MEMORY_SHARE: f64 = 0.25;
/// With less than this, what a store needs for itself decides and not its eviction.
const MEMORY_LEAST: f64 = 16e6;
/// Reads, as a multiple of the number of keys: the first half fills the cache, the second counts.
const READS: usize = 6;
/// Reads in one batch; what a batch missed is stored before the next.
const BATCH: usize = 512;

/// Every combination on every store, one after another: memory and not time is measured.
pub fn run(stage: &mut Stage<'_>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    let combinations = experiment.combinations()?;
    stage.expect(&combinations, experiment.load.repetitions);
    for combination in &combinations {
        let mean = combination.workload.value.sizes().mean();
        let share = f64::from(combination.workload.keys) * mean * MEMORY_SHARE;
        let bytes = match combination.load.memory_mib {
            Some(mib) => mib << 20,
            None => whole_mib(share.max(MEMORY_LEAST)),
        };
        stage.note(&format!(
            "Memory of each cache: {:.0} MB where all values are {:.0} MB; Redis and Dolium evict \
             by allkeys-lru, each as it understands it.",
            bytes as f64 / 1e6,
            share / MEMORY_SHARE / 1e6
        ));
        for choice in stage.servers() {
            for _ in 0..experiment.load.repetitions {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let settings = [
                    ("maxmemory".to_string(), bytes.to_string()),
                    ("maxmemory-policy".to_string(), "allkeys-lru".to_string()),
                ];
                let shape = (&combination.load, &combination.workload);
                match Fleet::start(&choice, &stage.around, shape, 1, &settings) {
                    Ok(fleet) => {
                        stage.note_started(&fleet);
                        let visit = one(&fleet, combination)?;
                        stage.put(&choice.label, &combination.settings, visit);
                    }
                    Err(error) => stage.leave_out(&choice.label, &error.to_string()),
                }
            }
        }
    }
    Ok(())
}

/// Bytes of the nearest whole number of MiB: Memcached is told its memory in these, and all caches have
/// the same.
fn whole_mib(bytes: f64) -> u64 {
    let mib = (bytes / f64::from(1 << 20)).round().max(1.0);
    (mib as u64) << 20
}

fn one(fleet: &Fleet, combination: &Combination) -> Result<Visit, LabError> {
    let protocol = fleet.store.protocol();
    let workload = combination.workload.for_protocol(protocol)?;
    let count = workload.keys as usize * READS;
    let ids = workload.distribution.draw(workload.keys, count, workload.seed);
    let mut cache = Cache::open(&fleet.first().target, protocol)?;
    let (first, second) = ids.split_at(count / 2);
    cache.read(&workload, first)?;
    let hits = cache.read(&workload, second)?;
    let mut visit = Visit::default();
    let share = 100.0 * hits as f64 / second.len() as f64;
    visit.put("hit_ratio", share);
    visit.put("misses_share", 100.0 - share);
    visit.put("rss_mib", resident_mib(&fleet.pids()));
    Ok(visit)
}

/// A client that looks aside.
struct Cache {
    talk: Talk,
    protocol: Protocol,
}

impl Cache {
    fn open(target: &Target, protocol: Protocol) -> Result<Self, LabError> {
        Ok(Self { talk: Talk::open(target)?, protocol })
    }

    /// Reads all `ids`, stores what was not there, and returns how many were.
    fn read(&mut self, workload: &Workload, ids: &[u32]) -> Result<usize, LabError> {
        let mut hits = 0;
        for batch in ids.chunks(BATCH) {
            if crate::interrupt::asked() {
                return Err(LabError::Interrupted);
            }
            self.ask(workload, Operation::Get, batch)?;
            let mut missing = Vec::new();
            for &id in batch {
                if self.found()? {
                    hits += 1;
                } else {
                    missing.push(id);
                }
            }
            // All at once: the answers are so short that they never fill a socket meanwhile.
            self.ask(workload, Operation::Set, &missing)?;
            for _ in missing {
                self.stored()?;
            }
        }
        Ok(hits)
    }

    fn ask(
        &mut self,
        workload: &Workload,
        operation: Operation,
        ids: &[u32],
    ) -> Result<(), LabError> {
        let mut out = Vec::new();
        for &id in ids {
            let asking = Asking { protocol: self.protocol, ..pool::asking(workload, id) };
            wire::push_request(&mut out, operation, asking);
        }
        self.talk.send(&out)
    }

    fn found(&mut self) -> Result<bool, LabError> {
        if self.protocol.is_redis() {
            return match self.talk.answer()? {
                Answer::Nothing => Ok(false),
                Answer::Error(reply) => Err(LabError::Refused { reply }),
                _ => Ok(true),
            };
        }
        let line = self.talk.line()?;
        if line == "END" {
            return Ok(false);
        }
        let len = line.split(' ').nth(3).and_then(|word| word.parse().ok());
        let len = len.ok_or_else(|| LabError::Refused { reply: line.clone() })?;
        self.talk.body(len)?;
        self.talk.line().map(|_| true)
    }

    /// A refusal to store is a cache's right: the key is then simply not there.
    fn stored(&mut self) -> Result<(), LabError> {
        if self.protocol.is_redis() {
            self.talk.answer().map(|_| ())
        } else {
            self.talk.line().map(|_| ())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cache_is_told_a_memory_that_has_a_number_in_mib() {
        for bytes in [1.0, 16e6, 25e6, 524_288.5e3] {
            let told = whole_mib(bytes);
            assert!(told > 0 && told.is_multiple_of(1 << 20), "{told}");
            // What Memcached is told, in its own unit, is what the others are told in bytes.
            assert_eq!((told >> 20) << 20, told);
            assert!(bytes < 1e6 || (told as f64 - bytes).abs() <= f64::from(1 << 19), "{told}");
        }
    }
}
