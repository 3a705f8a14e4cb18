//! Connections that are due another turn without an event: who has more to read, and whose last turn
//! was long.
//!
//! ```text
//!   event of a short one ----> its turn at once
//!   event of a long one -----> ready list --> turns, until 1 MiB or half a millisecond --> epoll_wait
//!   more to read, yielded ---> ready list
//! ```

use super::Reactor;
use crate::clients::Token;
use crate::clock::Stopwatch;
use crate::limits::*;

impl Reactor {
    /// Puts a connection behind the others for another turn.
    pub(super) fn make_ready(&mut self, token: Token) {
        if let Some(connection) = self.slab.get(token)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.ready.push_back(token);
        }
    }

    /// Turns of the first `due` of those that stand on the ready list, until long ones have moved so much that others
    /// are to be looked at again: a hundred clients who ask for megabytes each take a tenth of a
    /// second together, and one who asks for ten bytes is not to wait for them all.
    pub(super) fn turn_ready(&mut self, due: usize) {
        if due == 0 {
            return;
        }
        // Who had a turn with its event is answered before its next one: requests of two turns in
        // one batch would not know of each other what holds them or ends the connection.
        self.run_batch();
        let (begun, stopwatch) = (self.moved(), Stopwatch::start());
        for _ in 0..due {
            let Some(token) = self.ready.pop_front() else { return };
            let is_long = self.slab.get(token).is_some_and(|connection| connection.is_long());
            if is_long {
                // Nobody who asked for little waits for it.
                self.run_batch();
            }
            self.turn_whole(token);
            if is_long {
                // What it was sent is known only now.
                self.run_batch();
            }
            let is_much = self.moved().wrapping_sub(begun) >= LONG_TURNS_BYTES;
            if is_much || is_long && stopwatch.us() >= LONG_TURNS_US {
                return;
            }
        }
    }

    /// Bytes that this thread has received and sent; it begins anew with CONFIG RESETSTAT.
    fn moved(&self) -> u64 {
        let counters = &self.counters;
        counters.bytes_in.get().wrapping_add(counters.bytes_out.get()).wrapping_add(self.resumed)
    }
}
