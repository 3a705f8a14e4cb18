//! Requests serialised before the run, so that asking costs the client next to nothing.
//!
//! ```text
//! bytes   |GET key 17|GET key 3|GET key 99|GET key 4| ...      at least 4 x the L2 cache
//! slice   |<------- pipeline of 2 ------->|                    one send
//! ```
//!
//! Every connection walks over the slices from its own start with its own stride, which has no
//! divisor in common with their number: each sees all slices, each in a different order. Clients
//! that ask for the same keys in step keep a server's caches warm and flatter it.

use super::{Mix, Operation, Workload, wire, wire::ReplyShape};
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
    /// Where each request begins, with the end after the last. Empty when all have one length.
    starts: Vec<usize>,
    request_len: usize,
    pub get: ReplyShape,
    pub set: ReplyShape,
}

impl RequestPool {
    /// Serialises the workload.
    pub fn build(workload: &Workload) -> Result<Self, LabError> {
        workload.check()?;
        let (protocol, key_bytes, value_bytes) =
            (workload.protocol, workload.key_bytes, workload.value_bytes);
        let length = |operation| {
            let mut out = Vec::new();
            wire::push_request(&mut out, protocol, operation, 0, key_bytes, value_bytes);
            out.len()
        };
        let (get_len, set_len) = (length(Operation::Get), length(Operation::Set));
        let mean_len = match workload.mix {
            Mix::Get => get_len,
            Mix::Set => set_len,
            Mix::GetPerMille(share) => {
                let share = share as usize;
                (get_len * share + set_len * (1000 - share)) / 1000
            }
        };
        let wanted = (l2_bytes() * POOL_L2_MULTIPLE / mean_len + 1).max(workload.keys as usize);
        let count = wanted.min((POOL_MAX_BYTES / mean_len).max(1));

        let mut requests = workload.distribution.draw(workload.keys, count, workload.seed);
        let mut bytes = Vec::with_capacity(count * mean_len + set_len);
        let mixed = matches!(workload.mix, Mix::GetPerMille(_));
        let mut starts = Vec::with_capacity(if mixed { count + 1 } else { 0 });
        for (place, request) in requests.iter_mut().enumerate() {
            let is_set = match workload.mix {
                Mix::Get => false,
                Mix::Set => true,
                Mix::GetPerMille(share) => {
                    mix(workload.seed ^ place as u64) % 1000 >= u64::from(share)
                }
            };
            let operation = if is_set { Operation::Set } else { Operation::Get };
            if mixed {
                starts.push(bytes.len());
            }
            wire::push_request(&mut bytes, protocol, operation, *request, key_bytes, value_bytes);
            if is_set {
                *request |= SET_BIT;
            }
        }
        if mixed {
            starts.push(bytes.len());
        }
        Ok(Self {
            request_len: if workload.mix == Mix::Set { set_len } else { get_len },
            get: wire::reply_shape(protocol, Operation::Get, key_bytes, value_bytes),
            set: wire::reply_shape(protocol, Operation::Set, key_bytes, value_bytes),
            workload: workload.clone(),
            bytes,
            requests,
            starts,
        })
    }

    /// Bytes that the pool takes.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
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
        let operation = if word & SET_BIT == 0 { Operation::Get } else { Operation::Set };
        (operation, word & !SET_BIT)
    }

    /// What a good reply to the request at `place` looks like.
    #[inline]
    pub fn shape(&self, place: usize) -> ReplyShape {
        match self.workload.mix {
            Mix::Get => self.get,
            Mix::Set => self.set,
            Mix::GetPerMille(_) => match self.request(place).0 {
                Operation::Get => self.get,
                Operation::Set => self.set,
            },
        }
    }

    /// The walk of connection number `connection` of `of`.
    pub fn walk(&self, connection: usize, of: usize, pipeline: usize) -> Walk {
        let slices = self.slices(pipeline);
        if self.workload.distribution == super::Distribution::Sequential {
            return Walk { at: slices * connection / of.max(1) % slices, stride: 1, slices };
        }
        let salt = mix(self.workload.seed ^ mix(connection as u64));
        let mut stride = 1 + mix(salt) as usize % slices;
        while gcd(stride, slices) != 1 {
            stride = stride % slices + 1;
        }
        Walk { at: salt as usize % slices, stride, slices }
    }
}

/// One connection's way through the slices.
#[derive(Clone, Copy)]
pub struct Walk {
    at: usize,
    stride: usize,
    slices: usize,
}

impl Walk {
    /// The next slice.
    #[inline]
    pub fn step(&mut self) -> usize {
        let slice = self.at;
        self.at += self.stride;
        if self.at >= self.slices {
            self.at -= self.slices;
        }
        slice
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{Distribution, Protocol};
    use super::*;

    fn workload(mix: Mix) -> Workload {
        Workload {
            protocol: Protocol::Resp,
            mix,
            keys: 5_000,
            key_bytes: 16,
            value_bytes: 100,
            distribution: Distribution::Uniform,
            seed: 1,
        }
    }

    #[test]
    fn connections_see_every_slice_and_in_different_orders() {
        let pool = RequestPool::build(&workload(Mix::Get)).unwrap();
        assert!(pool.len_bytes() >= 4 * l2_bytes());
        let slices = pool.slices(10);
        let walk = |connection| {
            let mut walk = pool.walk(connection, 50, 10);
            (0..slices).map(|_| walk.step()).collect::<Vec<_>>()
        };
        let mut steps = HashSet::new();
        for connection in 0..50 {
            let order = walk(connection);
            assert_eq!(order.iter().collect::<HashSet<_>>().len(), slices);
            steps.insert((order[1] + slices - order[0]) % slices);
        }
        assert!(steps.len() > 45, "only {} different strides", steps.len());
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
}
