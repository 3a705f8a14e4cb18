//! Sends what requests have been answered with, as soon as it is much.
//!
//! ```text
//!   after each request   is it much? -> send; what the peer does not take waits, and it with it
//!   after the last       what is lent is sent: it does not outlive its requests
//! ```

use super::Stage;
use crate::budget::Portion;
use crate::connection::{Appetite, Closing, Connection, Hold, Sent};
use crate::limits::*;
use dolium_commands::outlet::Outlet;
use std::sync::atomic::Ordering::Relaxed;

impl Stage<'_> {
    #[inline(always)]
    pub(super) fn is_much(&mut self, connection: &Connection) -> bool {
        // Less is never much, whatever the budget says.
        if self.out.len() < SEND_LEAST_BYTES && self.loans.is_empty() {
            return false;
        }
        let portion = self.portion(connection);
        self.out.len() >= portion.copied || self.loans.is_much(portion.lent)
    }

    pub(super) fn portion(&mut self, connection: &Connection) -> Portion {
        if let Some(portion) = self.portion {
            return portion;
        }
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        let mut portion = self.server.buffers.portion(budget);
        match connection.appetite {
            Appetite::Unknown => {}
            Appetite::Large => portion.lent = self.server.buffers.portion_of_who_reads(budget),
            Appetite::Small => portion.lent = portion.lent.min(LOANS_SEND_FULL_BYTES),
        }
        *self.portion.insert(portion)
    }

    /// Much has been answered already: it is sent, and a peer that does not read waits.
    pub(super) fn send_early(&mut self, connection: &mut Connection) {
        self.send_some(connection, usize::MAX);
    }

    /// As `send_early`; of the values after the first `kept`, those that are lent may be dropped if
    /// there is no room for them. How to ask for them again.
    #[cold]
    pub(super) fn send_some(&mut self, connection: &mut Connection, kept: usize) -> Option<usize> {
        let mut portion = self.portion(connection);
        let lent = self.loans.bytes();
        let bytes = self.out.len() + lent;
        let (sent, dropped) = match lent {
            0 => (connection.send(self.out), None),
            _ => connection.send_with(self.out, &mut self.loans, kept),
        };
        let moved = bytes - dropped.map_or(0, |dropped| dropped.bytes);
        self.counters.bytes_out.add(moved as u64);
        self.counters.sends.add(1);
        connection.moved += moved;
        self.loans.clear();
        connection.give_back_answered(&self.server.buffers);
        if dropped.is_some() {
            // Little is kept of what can be asked for again, so more may be tried than of other values.
            let is_little = moved < LOANS_SEND_FULL_BYTES;
            connection.appetite = if is_little { Appetite::Small } else { Appetite::Unknown };
            if !connection.hold.stops_requests() {
                connection.hold = Hold::Output;
            }
            return dropped.map(|dropped| dropped.again);
        }
        if lent > 0 {
            connection.appetite = connection.appetite.after(sent, lent);
        }
        match sent {
            // The next values would have to be copied until this is sent. Who is held for another
            // reason stays held for that: those who end it look for just that.
            Sent::Partly if lent > 0 || connection.unsent() > portion.unsent => {
                portion.lent = portion.lent.min(LOANS_SEND_FULL_BYTES);
                if !connection.hold.stops_requests() {
                    connection.hold = Hold::Output;
                }
            }
            // It may take more at once: each send that can be spared is one.
            Sent::All if lent >= LOANS_SEND_BYTES => {
                let budget = self.server.config.live.client_buffers_max.load(Relaxed);
                portion.lent = self.server.buffers.portion_of_who_reads(budget);
            }
            Sent::All | Sent::Partly => {}
            Sent::Gone => connection.closing = Closing::Now,
        }
        self.portion = Some(portion);
        None
    }

    /// The connection's requests have run: values that were lent do not outlive them.
    #[inline(always)]
    pub fn end(&mut self, connection: &mut Connection) {
        if self.loans.is_empty() {
            return;
        }
        match connection.closing {
            Closing::Now => self.loans.clear(),
            _ => self.send_early(connection),
        }
    }
}
