//! What is hard for memory: item sizes that drift through every class, values that grow in place,
//! deletes that leave holes, and administration without rest.

use super::administrator::Administrator;
use super::model::Model;
use super::pipe::Pipe;
use super::speech::{ALL, Client, Speech, Verb};
use super::{Random, malformed, value};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Requests of a pipeline.
const PIPELINE: u64 = 24;
const KEYS: u64 = 3000;

#[derive(Debug, Default)]
pub struct Outcome {
    /// Connections of malformed requests.
    pub visits: u64,
    pub drifts: u64,
    pub commands: u64,
    pub dumped: u64,
    /// Of the well-behaved: answers, and items among them.
    pub answers: u64,
    pub hits: u64,
    /// Sets of the well-behaved for which there was no memory.
    pub refused: u64,
}

/// All of it at once for a time; panics at the first wrong byte.
pub fn torment(address: SocketAddr, megabytes: u64, time: Duration, seed: u64) -> Outcome {
    let end = Instant::now() + time;
    let goes_on = || Instant::now() < end;
    std::thread::scope(|scope| {
        let visitors: Vec<_> = (0..2)
            .map(|number| {
                scope.spawn(move || {
                    let mut random = Random::new(seed, 4000 + number);
                    let mut visits = 0;
                    while goes_on() {
                        visits += u64::from(malformed::visit(address, &mut random));
                    }
                    visits
                })
            })
            .collect();
        let drifts: Vec<_> = [Speech::Text, Speech::Binary]
            .map(|speech| {
                scope.spawn(move || {
                    let mut drift = Drift::new(address, speech, seed, speech as u64);
                    let mut steps = 0;
                    while goes_on() {
                        drift.step();
                        steps += 1;
                    }
                    steps
                })
            })
            .into();
        let models: Vec<_> = ALL
            .map(|speech| {
                scope.spawn(move || {
                    let mut model = Model::new(address, speech, seed, speech as u64);
                    while goes_on() {
                        model.step();
                    }
                    (model.answers, model.hits, model.refused)
                })
            })
            .into();
        let mut administrator = Administrator::new(address, seed, megabytes);
        while goes_on() {
            administrator.step();
        }
        administrator.restore();
        let Administrator { commands, dumped, .. } = administrator;
        let mut outcome = Outcome { commands, dumped, ..Outcome::default() };
        let ended = "a thread found no fault";
        outcome.visits = visitors.into_iter().map(|thread| thread.join().expect(ended)).sum();
        outcome.drifts = drifts.into_iter().map(|thread| thread.join().expect(ended)).sum();
        for model in models {
            let (answers, hits, refused) = model.join().expect(ended);
            outcome.refused += refused;
            outcome.answers += answers;
            outcome.hits += hits;
        }
        outcome
    })
}

/// Sizes that drift: each step's items are a little longer than the last one's, up to a megabyte,
/// and small again.
pub struct Drift {
    client: Client,
    random: Random,
    prefix: String,
    level: f64,
    value: Vec<u8>,
}

impl Drift {
    pub fn new(address: SocketAddr, speech: Speech, seed: u64, number: u64) -> Drift {
        let mut random = Random::new(seed, 2000 + number);
        let level = random.below(17) as f64;
        let client = Client { speech, pipe: Pipe::open(address) };
        Drift { client, random, prefix: format!("drift:{number}:"), level, value: Vec::new() }
    }

    pub fn step(&mut self) {
        // Powers of two from 8 bytes to a megabyte.
        self.level = if self.level >= 16.9 { 0.0 } else { self.level + 0.01 };
        let mean = 8.0 * 2f64.powf(self.level);
        let len = (mean * (0.75 + self.random.below(50) as f64 / 100.0)).min(value::LONGEST as f64);
        value::write(self.random.next(), 0, len as usize, &mut self.value);
        let few = if len > 100_000.0 { 3 } else { PIPELINE };
        let kinds: Vec<u64> = (0..few).map(|_| self.random.below(10)).collect();
        for kind in &kinds {
            let key = format!("{}{}", self.prefix, self.random.below(KEYS));
            let piece = &self.value[..self.value.len().min(700)];
            match kind {
                0..5 => self.client.store(Verb::Set, &key, 7, &self.value, 0),
                5 => self.client.store(Verb::Append, &key, 0, piece, 0),
                6 => self.client.store(Verb::Prepend, &key, 0, piece, 0),
                7 => self.client.touch(&key, 100),
                8 => self.client.delete(&key),
                _ => self.client.get(&key),
            }
        }
        for kind in kinds {
            match kind {
                0..7 => drop(self.client.stored()),
                7..9 => drop(self.client.was_there()),
                _ => self.client.got_any(),
            }
        }
    }
}
