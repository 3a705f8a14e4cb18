//! Requests serialised before the run, so that asking costs the client next to nothing.
//!
//! ```text
//! bytes   |GET key 17|GET key 3|GET key 99|GET key 4| ...      at least 4 x the L2 cache
//! slice   |<------- pipeline of 2 ------->|                    one send
//! ```
//!
//! Each connection goes over the slices on a way of its own (`walk.rs`).

use super::expected::{self, ReplyShape};
use super::recipe::{Action, Recipe, Template};
use super::wire::{self, Asking};
use super::{Distribution, Mix, Operation, Workload};
use crate::LabError;
use crate::limits::{POOL_L2_MULTIPLE, POOL_MAX_BYTES};
use crate::machine::l2_bytes;
use crate::workload::value::mix;

const SET_BIT: u32 = wire::KEY_IDS;

/// The requests of one workload, ready to send.
pub struct RequestPool {
    pub workload: Workload,
    bytes: Vec<u8>,
    /// Key number of each request; the top bit marks a SET.
    requests: Vec<u32>,
    /// Places whose reply is only read to its end, one bit each; empty when there are none.
    others: Vec<u64>,
    /// Where each request begins, with the end after the last. Empty when all have one length.
    starts: Vec<usize>,
    request_len: usize,
    one_shape: bool,
    pub get: ReplyShape,
    pub set: ReplyShape,
}

impl RequestPool {
    /// Serialises the workload.
    pub fn build(workload: &Workload) -> Result<Self, LabError> {
        workload.check()?;
        let mean = |operation| {
            let mut out = Vec::new();
            wire::push_request(&mut out, operation, typical(workload));
            out.len()
        };
        let (get_len, set_len) = (mean(Operation::Get), mean(Operation::Set));
        let mean_len = match &workload.mix {
            Mix::Get => get_len,
            Mix::Set => set_len,
            Mix::GetPerMille(share) => {
                let share = *share as usize;
                (get_len * share + set_len * (1000 - share)) / 1000
            }
            Mix::Recipe(recipe) => set_len.max(get_len * recipe.keys_at_once()),
        };
        let wanted = (l2_bytes() * POOL_L2_MULTIPLE / mean_len + 1).max(workload.keys as usize);
        let count = wanted.min((POOL_MAX_BYTES / mean_len).max(1));
        let one_length = matches!(workload.mix, Mix::Get | Mix::Set)
            && workload.key_bytes.constant().is_some()
            && workload.value_bytes.constant().is_some();

        let mut pool = Self {
            request_len: if workload.mix == Mix::Set { set_len } else { get_len },
            one_shape: workload.one_shape(),
            get: expected::reply_shape(Operation::Get, typical(workload)),
            set: expected::reply_shape(Operation::Set, typical(workload)),
            workload: workload.clone(),
            bytes: Vec::with_capacity(count * mean_len + set_len),
            requests: Vec::with_capacity(count),
            others: Vec::new(),
            starts: Vec::new(),
        };
        let ids = workload.distribution.draw(workload.keys, count, workload.seed);
        match &workload.mix {
            Mix::Recipe(recipe) => pool.push_recipe(recipe, &ids),
            plain => {
                for (place, &id) in ids.iter().enumerate() {
                    let share = match plain {
                        Mix::Get => 1000,
                        Mix::GetPerMille(share) => u64::from(*share),
                        _ => 0,
                    };
                    let set = mix(workload.seed ^ place as u64) % 1000 >= share;
                    pool.push(if set { Operation::Set } else { Operation::Get }, id);
                }
            }
        }
        pool.starts.push(pool.bytes.len());
        if one_length {
            pool.starts = Vec::new();
        }
        Ok(pool)
    }

    fn push(&mut self, operation: Operation, id: u32) {
        self.starts.push(self.bytes.len());
        wire::push_request(&mut self.bytes, operation, asking(&self.workload, id));
        self.requests.push(if operation == Operation::Set { id | SET_BIT } else { id });
    }

    fn push_other(&mut self, id: u32, push: impl FnOnce(&mut Vec<u8>, &Workload)) {
        self.starts.push(self.bytes.len());
        push(&mut self.bytes, &self.workload);
        let place = self.requests.len();
        self.requests.push(id);
        self.others.resize(place / 64 + 1, 0);
        self.others[place / 64] |= 1 << (place % 64);
    }

    fn push_recipe(&mut self, recipe: &Recipe, ids: &[u32]) {
        let seed = self.workload.seed;
        let mut newest = self.workload.keys - 1;
        let latest = matches!(self.workload.distribution, Distribution::Latest { .. });
        for (place, &drawn) in ids.iter().enumerate() {
            let draw = mix(seed ^ mix(place as u64));
            let share = (draw >> 11) as f64 / (1u64 << 53) as f64;
            // Ages were drawn against the loaded keys; inserts make every age a younger key.
            let id = if latest { drawn + (newest + 1 - self.workload.keys) } else { drawn };
            match &recipe.parts[recipe.choose(share)].action {
                Action::Get => self.push(Operation::Get, id),
                Action::Set => self.push(Operation::Set, id),
                Action::Insert => {
                    newest += 1;
                    self.push(Operation::Set, newest);
                }
                Action::ReadModifyWrite => {
                    self.push(Operation::Get, id);
                    self.push(Operation::Set, id);
                }
                Action::Gets(count) => {
                    let count = usize::from(*count);
                    let drawn = (0..count).map(|n| ids[(place * count + n) % ids.len()]);
                    let keys: Vec<(u32, usize)> =
                        drawn.map(|id| (id, self.workload.key_bytes.of(id))).collect();
                    let protocol = self.workload.protocol;
                    self.push_other(id, |out, _| wire::push_gets(out, protocol, &keys));
                }
                Action::Scan(most) => {
                    let length = 1 + (draw % u64::from(*most)) as u32;
                    let end = id.saturating_add(length).min(newest + 1);
                    let keys: Vec<(u32, usize)> =
                        (id..end).map(|id| (id, self.workload.key_bytes.of(id))).collect();
                    let protocol = self.workload.protocol;
                    self.push_other(id, |out, _| wire::push_scan(out, protocol, &keys));
                }
                Action::Command(template) => self.push_command(template, id, draw),
                Action::Pair(one, other) => {
                    self.push_command(one, id, draw);
                    self.push_command(other, id, draw);
                }
            }
        }
    }

    fn push_command(&mut self, template: &Template, id: u32, draw: u64) {
        self.push_other(id, |out, workload| {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            wire::push_key(&mut key, id, workload.key_bytes.of(id));
            super::value::push(&mut value, id, workload.value_bytes.of(id));
            template.push(out, &key, &value, (draw >> 32) as u32);
        });
    }

    /// Bytes that the pool takes.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Length of the longest reply that is compared as a whole.
    pub fn longest_reply(&self) -> usize {
        let most = self.workload.value_bytes.bounds().1;
        self.get.len.max(most + expected::REPLY_AROUND_VALUE)
    }

    /// How many slices of `pipeline` requests there are; at least one.
    pub fn slices(&self, pipeline: usize) -> usize {
        self.requests.len() / pipeline
    }

    /// The bytes of one slice.
    #[inline]
    pub fn slice(&self, slice: usize, pipeline: usize) -> &[u8] {
        let (first, end) = (slice * pipeline, (slice + 1) * pipeline);
        if self.starts.is_empty() {
            &self.bytes[first * self.request_len..end * self.request_len]
        } else {
            &self.bytes[self.starts[first]..self.starts[end]]
        }
    }

    /// Operation and key of the request at `place`.
    #[inline]
    pub fn request(&self, place: usize) -> (Operation, u32) {
        let word = self.requests[place];
        let other = self.others.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1);
        let operation = match (other, word & SET_BIT) {
            (true, _) => Operation::Other,
            (false, 0) => Operation::Get,
            (false, _) => Operation::Set,
        };
        (operation, word & !SET_BIT)
    }

    /// Whether the request at `place` asks for something: whatever is not a SET. A command of a recipe
    /// that writes counts too; only its own reply says what it does.
    #[inline]
    pub fn is_read(&self, place: usize) -> bool {
        match self.workload.mix {
            Mix::Get => true,
            Mix::Set => false,
            _ => self.request(place).0 != Operation::Set,
        }
    }

    /// What a good reply to the request at `place` looks like; `None` if it must be read to know.
    #[inline]
    pub fn shape(&self, place: usize) -> Option<ReplyShape> {
        if !self.one_shape {
            return None;
        }
        match self.workload.mix {
            Mix::Get => Some(self.get),
            Mix::Set => Some(self.set),
            _ => match self.request(place).0 {
                Operation::Get => Some(self.get),
                Operation::Set => Some(self.set),
                Operation::Other => None,
            },
        }
    }
}

/// What a request for key `id` of this workload depends on.
pub fn asking(workload: &Workload, id: u32) -> Asking {
    Asking {
        protocol: workload.protocol,
        id,
        key_bytes: workload.key_bytes.of(id),
        value_bytes: workload.value_bytes.of(id),
        ttl: workload.ttl,
    }
}

/// A request of mean size.
fn typical(workload: &Workload) -> Asking {
    Asking {
        key_bytes: workload.key_bytes.mean() as usize,
        value_bytes: (workload.value_bytes.mean() as usize).max(1),
        ..asking(workload, 0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Distribution, Part, Protocol};
    use super::*;

    pub(in super::super) fn workload(mix: Mix) -> Workload {
        Workload {
            protocol: Protocol::Resp,
            mix,
            keys: 5_000,
            key_bytes: 16.into(),
            value_bytes: 100.into(),
            distribution: Distribution::Uniform,
            ttl: 0,
            seed: 1,
        }
    }

    #[test]
    fn a_mixed_pool_says_what_each_request_is() {
        let pool = RequestPool::build(&workload(Mix::GetPerMille(900))).unwrap();
        let count = pool.slices(1);
        let gets = (0..count).filter(|&place| pool.request(place).0 == Operation::Get).count();
        assert!((0.88..0.92).contains(&(gets as f64 / count as f64)));
        for place in 0..100 {
            let verb: &[u8] = if pool.request(place).0 == Operation::Get { b"GET" } else { b"SET" };
            assert_eq!(&pool.slice(place, 1)[8..11], verb);
        }
    }

    pub(in super::super) fn recipe(parts: &[(f64, Action)]) -> Mix {
        let part =
            |(weight, action): &(f64, Action)| Part { weight: *weight, action: action.clone() };
        Mix::Recipe(Recipe { name: "r".into(), parts: parts.iter().map(part).collect() })
    }

    #[test]
    fn inserts_come_in_the_order_of_time_and_the_newest_are_read() {
        let mut inserting = workload(recipe(&[(95.0, Action::Get), (5.0, Action::Insert)]));
        inserting.distribution = Distribution::Latest { exponent: 0.99 };
        let pool = RequestPool::build(&inserting).unwrap();
        let mut newest = inserting.keys - 1;
        let mut young = 0;
        let count = pool.slices(1).min(50_000);
        for place in 0..count {
            let (operation, id) = pool.request(place);
            if operation == Operation::Set {
                newest += 1;
                assert_eq!(id, newest);
            } else {
                assert!(id <= newest, "{id} is read before it exists");
                young += usize::from(newest - id < 100);
            }
        }
        assert!(young > count / 3, "{young} of {count} reads are of the newest hundred");
    }

    #[test]
    fn a_read_is_followed_by_the_write_of_its_key() {
        let pool =
            RequestPool::build(&workload(recipe(&[(1.0, Action::ReadModifyWrite)]))).unwrap();
        for place in (0..1_000).step_by(2) {
            let (read, write) = (pool.request(place), pool.request(place + 1));
            assert_eq!((read.0, write.0, read.1), (Operation::Get, Operation::Set, write.1));
        }
    }

    #[test]
    fn a_scan_asks_for_following_keys() {
        let pool = RequestPool::build(&workload(recipe(&[(1.0, Action::Scan(10))]))).unwrap();
        let text = String::from_utf8(pool.slice(0, 1).to_vec()).unwrap();
        assert!(text.contains("MGET"), "{text}");
        assert_eq!(pool.request(0).0, Operation::Other);
        assert!(pool.shape(0).is_none());
    }
}
