//! The way of one connection through the slices of a pool.
//!
//! Every connection walks over the slices from its own start with its own stride, which has no
//! divisor in common with their number: each sees all slices, each in a different order. Clients
//! that ask for the same keys in step keep a server's caches warm and flatter it. Two kinds of
//! workload keep an order: where one request must follow another (sequential keys, read then
//! write) a connection walks its own stretch, and where keys are inserted all connections walk in
//! step along one line of time.

use super::value::mix;
use super::{Distribution, Mix, Recipe, RequestPool};

/// One connection's way through the slices.
#[derive(Clone, Copy)]
pub struct Walk {
    at: usize,
    stride: usize,
    slices: usize,
}

impl Walk {
    /// The next slice, which stays the next.
    #[inline]
    pub fn peek(&self) -> usize {
        self.at
    }

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

impl RequestPool {
    /// The walk of connection number `connection` of `of`.
    pub fn walk(&self, connection: usize, of: usize, pipeline: usize) -> Walk {
        let slices = self.slices(pipeline);
        let of = of.max(1);
        let recipe = match &self.workload.mix {
            Mix::Recipe(recipe) => Some(recipe),
            _ => None,
        };
        if recipe.is_some_and(Recipe::inserts) {
            return Walk { at: connection % slices, stride: of % slices, slices };
        }
        if self.workload.distribution == Distribution::Sequential
            || recipe.is_some_and(Recipe::pairs)
        {
            return Walk { at: slices * connection / of % slices, stride: 1, slices };
        }
        let salt = mix(self.workload.seed ^ mix(connection as u64));
        let mut stride = 1 + mix(salt) as usize % slices;
        while gcd(stride, slices) != 1 {
            stride = stride % slices + 1;
        }
        Walk { at: salt as usize % slices, stride, slices }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::Action;
    use super::super::pool::tests::{recipe, workload};
    use super::*;
    use crate::machine::l2_bytes;

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
            assert_eq!(pool.walk(connection, 50, 10).peek(), order[0]);
            assert_eq!(order.iter().collect::<HashSet<_>>().len(), slices);
            steps.insert((order[1] + slices - order[0]) % slices);
        }
        assert!(steps.len() > 45, "only {} different strides", steps.len());
    }

    #[test]
    fn where_keys_are_inserted_all_walk_in_step() {
        let mut inserting = workload(recipe(&[(95.0, Action::Get), (5.0, Action::Insert)]));
        inserting.distribution = Distribution::Latest { exponent: 0.99 };
        let pool = RequestPool::build(&inserting).unwrap();
        let mut walks: Vec<Walk> = (0..3).map(|number| pool.walk(number, 3, 1)).collect();
        let order: Vec<usize> =
            (0..4).flat_map(|_| walks.iter_mut().map(Walk::step).collect::<Vec<_>>()).collect();
        assert_eq!(order, (0..12).collect::<Vec<_>>());
    }
}
