//! Connections that have had something to say in turn after turn: they are received from without being
//! asked after, and their descriptors are silent meanwhile.
//!
//! ```text
//!   epoll --event--> four turns in a row, in crowded rounds ----> busy: a silent descriptor
//!     ^                                                            |  a turn in each round; where there
//!     |                                                            |  are more than a round has, by turns
//!     `-- watched again: nothing was received, held, closing, <----'
//!         unsent output, a long or a large turn
//! ```
//! Looking after a descriptor costs the system a twentieth of a turn of ten requests, and where a
//! thread has all that it can do the answer is known: its clients have asked again by the time that
//! it comes round to them. Who is found to have nothing has cost one receive and is watched again;
//! the more often that happens soon, the longer a streak it takes to get back (decision 142).
//!
//! The danger is a connection that nobody looks after. So nothing has to be remembered where a
//! connection is held, closed or left behind: whoever has not received in the very round in which it
//! was to, for whatever reason, is watched again at the round's end, and a descriptor that is watched
//! anew tells of all the input that it has by then.

use super::{Reactor, watch};
use crate::clients::Token;
use crate::connection::{Connection, Hold};
use crate::limits::*;
use crate::transport::Transport;
use std::collections::VecDeque;

/// What a connection's last turns say of its next one.
pub struct Habit {
    /// It stands on the list of those that have a turn in each round.
    is_busy: bool,
    /// The round in which something of it was received last.
    received_in: u64,
    /// Turns in a row, in crowded rounds; of a busy one those since it has been so.
    streak: u32,
    /// The streak that makes it busy.
    patience: u32,
}

impl Habit {
    pub fn of(transport: &Transport) -> Habit {
        // A ring's bell and TLS' records say more than whether there are bytes.
        let is_plain = matches!(transport, Transport::Socket(_));
        let patience = if is_plain { BUSY_STREAK } else { u32::MAX };
        Habit { is_busy: false, received_in: 0, streak: 0, patience }
    }

    /// Something has been received in this round. True: it is to become busy.
    #[inline(always)]
    pub(super) fn note_turn(&mut self, rounds: &Rounds) -> bool {
        let is_soon = rounds.number - self.received_in <= rounds.gap;
        self.received_in = rounds.number;
        // Bounded, so that it never is as long as who can't be busy would have to have it.
        let longer = (self.streak + 1).min(BUSY_STREAK_MAX);
        self.streak = if self.is_busy || is_soon && rounds.is_crowded { longer } else { 1 };
        self.streak >= self.patience && !self.is_busy
    }

    /// It leaves. Who has not stayed for long has to show more the next time.
    fn leave(&mut self) {
        self.patience = match self.streak >= BUSY_STAY {
            true => BUSY_STREAK,
            false => self.patience.saturating_mul(2).min(BUSY_STREAK_MAX),
        };
        self.is_busy = false;
        self.streak = 0;
    }
}

impl Connection {
    /// Its turn comes without an event.
    #[inline(always)]
    pub(super) fn is_unasked(&self) -> bool {
        // A descriptor that tells of room tells of input as well, and two turns in one batch would
        // not know of each other. A silent one may still tell that the connection has broken: who has
        // had its turn for that is on the ready list, or at its end (`note_receipt`).
        self.habit.is_busy && !self.watches_room
    }

    fn stays_busy(&self, round: u64) -> bool {
        self.habit.received_in == round
            && self.hold == Hold::No
            && !self.is_closing()
            && !self.at_end
            && !self.is_ready
            && !self.is_long()
            && self.unsent() == 0
            && self.input.len() <= LEFTOVER_COPY_MAX
    }
}

/// The rounds of one thread: from one look at its events to the next.
#[derive(Default)]
pub(super) struct Rounds {
    number: u64,
    /// Most rounds from one turn of a streak to the next: clients who are answered in groups are ready by
    /// turns, and events come so many at a time.
    gap: u64,
    /// So many have a turn in this round that each is likely to be ready by the next one.
    is_crowded: bool,
    busy: VecDeque<Token>,
    /// Those of them that have a turn in this round.
    pub due: Vec<Token>,
    /// Who is to become busy at the round's end.
    pub joining: Vec<Token>,
}

impl Rounds {
    pub fn has_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// A round begins. Of its turns the busy have their share by their number, so that nobody waits
    /// longer than another. Returns how many events there is room for: always for some, the mailbox'
    /// and the listeners' among them.
    pub fn begin(&mut self, connections: usize) -> usize {
        self.number += 1;
        self.gap = BUSY_GAP + (connections / EVENTS_PER_WAIT) as u64;
        let share = (EVENTS_PER_WAIT * self.busy.len()).div_ceil(connections.max(1));
        let due = self.busy.len().min(share);
        self.due.extend(self.busy.drain(..due));
        (EVENTS_PER_WAIT - due.min(EVENTS_PER_WAIT)).max(EVENTS_AT_LEAST)
    }

    /// So many events have come.
    pub fn note_events(&mut self, events: usize) {
        self.is_crowded = events + self.due.len() >= BUSY_CROWD;
    }
}

impl Reactor {
    /// Who was busy in this round stays so or is watched again; others join.
    #[inline]
    pub(super) fn end_round(&mut self) {
        if !self.rounds.due.is_empty() || !self.rounds.joining.is_empty() {
            self.sort_busy();
        }
    }

    fn sort_busy(&mut self) {
        let mut due = std::mem::take(&mut self.rounds.due);
        for token in due.drain(..) {
            // Who is gone has taken the descriptor along.
            let Some(connection) = self.slab.get(token) else { continue };
            let is_watched = connection.watches_room;
            if !is_watched && connection.stays_busy(self.rounds.number) {
                self.rounds.busy.push_back(token);
                continue;
            }
            connection.habit.leave();
            if !is_watched {
                self.watch_again(token);
            }
        }
        self.rounds.due = due;
        let mut joining = std::mem::take(&mut self.rounds.joining);
        for token in joining.drain(..) {
            let Some(connection) = self.slab.get(token) else { continue };
            if connection.habit.is_busy || !connection.stays_busy(self.rounds.number) {
                continue;
            }
            if watch::silence(&self.epoll, connection) {
                connection.habit.is_busy = true;
                connection.habit.streak = 0;
                self.rounds.busy.push_back(token);
                self.counters.found_busy.add(1);
            }
        }
        self.rounds.joining = joining;
    }
}
