//! Connections that have had something to say in turn after turn: they are received from without being
//! asked after, and their descriptors are silent meanwhile.
//!
//! ```text
//!   epoll --event--> four turns in a row, in crowded rounds ----> busy: a silent descriptor
//!     ^                                                            |
//!     |            front: answered longest ago                     v
//!     |     turns <--  a b c | d e f g h i  <-- heard: to the back
//!     |                      ^ quiet: it and who is behind it wait for the next round
//!     |                                                            |
//!     `-- watched again: quiet eight times (Unix: once), held, <---'
//!         closing, unsent output, something large; and all, when four rounds have had no turn
//! ```
//! Looking after a descriptor costs the system a twentieth of a turn, and where a
//! thread has all that it can do the answer is known: its clients have asked again by the time that
//! it comes round to them, and whoever was answered longest ago has asked first. So the busy are
//! received from in that order, until one is quiet. Who stays quiet is watched again;
//! the sooner that happens, the longer a streak it takes to get back (decisions 142 and 144).
//! Clients at the front who have gone for long are passed by: of each round in which nobody who was busy was
//! heard the next one bears twice as many quiet ones, and they take none of its turns.
//!
//! The danger is a connection that nobody looks after. So nothing has to be remembered where a
//! connection is held, closed or left behind: whoever was tried and is in a state in which it may not be
//! received from, or not by an ordinary turn, is watched again at the round's end, and a descriptor that is
//! watched anew tells of all the input that it has by then.

use super::{Reactor, watch};
use crate::clients::Token;
use crate::connection::{Connection, Hold};
use crate::limits::*;
use crate::transport::Transport;
use rustix::event::epoll::EventFlags;
use std::collections::VecDeque;

/// What a connection's last turns say of its next one.
pub struct Habit {
    /// It stands in the queue of those that have turns without an event.
    is_busy: bool,
    /// The round in which something of it was received last.
    received_in: u64,
    /// Turns in a row, in crowded rounds; of a busy one those since it has been so.
    streak: u32,
    /// The streak that makes it busy.
    patience: u32,
    /// Tries in a row at which a busy one was quiet.
    quiet: u32,
    /// So many, and it is watched again.
    quiet_most: u32,
}

impl Habit {
    /// Of a new connection, whose descriptor tells of room from the beginning unless it would all the time.
    pub fn of(transport: &Transport, watches_room: bool) -> Habit {
        // TLS' records say more than whether there are bytes.
        let patience = match transport {
            Transport::Socket(_) => BUSY_STREAK,
            // Looked into from its first request on, which is nothing that the system is asked for (`rings.rs`).
            Transport::Ring(_) => 0,
            _ => u32::MAX,
        };
        // The client of a Unix socket is woken for each reply that finds it asleep, and sleeps the more
        // often the sooner each comes.
        let quiet_most = if watches_room { BUSY_QUIET_TRIES } else { 1 };
        Habit { is_busy: false, received_in: 0, streak: 0, patience, quiet: 0, quiet_most }
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

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Of a ring: it is looked into from now on, or no longer.
    pub(super) fn set_looked_into(&mut self, is_so: bool) {
        self.is_busy = is_so;
        self.streak = 0;
    }

    /// It leaves. Who has not stayed for long has to show more the next time.
    fn leave(&mut self) {
        self.patience = match self.streak >= BUSY_STAY {
            true => BUSY_STREAK,
            false => self.patience.saturating_mul(2).min(BUSY_STREAK_MAX),
        };
        self.is_busy = false;
        self.streak = 0;
        self.quiet = 0;
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

    /// Nothing is in the way of its next turn but that there may be nothing to receive.
    fn may_be_busy(&self) -> bool {
        self.hold == Hold::No
            && !self.is_closing()
            && !self.at_end
            && !self.is_ready
            && !self.is_long()
            && self.unsent() == 0
            // What is large goes other ways (`turn_own_buffer`, `turn_incoming`).
            && self.input.len() <= LEFTOVER_COPY_MAX
            && self.incoming.is_none()
            && self.reserved == 0
            && !self.expects_large
    }

    fn was_heard(&self, round: u64) -> bool {
        self.habit.received_in == round
    }
}

/// The rounds of one thread: from one look at its events to the next.
#[derive(Default)]
pub(super) struct Rounds {
    number: u64,
    /// Most rounds from one turn of a streak to the next: clients who are answered in groups are ready by
    /// turns, and events come so many at a time.
    gap: u64,
    /// So many have an event in this round, or were busy and heard in the last one, that each is likely to
    /// be ready by the next.
    is_crowded: bool,
    /// Who was heard longest ago is at the front, by rounds.
    busy: VecDeque<Token>,
    /// Turns that the busy have in this round.
    share: usize,
    /// How often something was received, and how often it had been when the turn before began.
    pub receipts: u64,
    receipts_then: u64,
    /// Those of them that have had one, or were passed by.
    tried: Vec<Token>,
    /// Those of them that were quiet, at the round's end.
    quiet: Vec<Token>,
    /// So many more quiet ones this round bears, and the next one would.
    bears: usize,
    bears_next: usize,
    /// How many of the busy were heard in the last round.
    heard: usize,
    /// Rounds in a row without an event, in which none of the busy was heard.
    idle: u32,
    /// Who is to become busy at the round's end.
    pub joining: Vec<Token>,
}

impl Rounds {
    pub fn has_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Who of the busy has the next turn, if one has.
    #[inline(always)]
    pub fn next(&self) -> Option<Token> {
        self.busy.front().copied()
    }

    /// A round begins. Of its turns the busy have their share by their number. Returns how many
    /// events there is room for: always for some, the mailbox' and the listeners' among them.
    pub fn begin(&mut self, connections: usize) -> usize {
        self.number += 1;
        self.bears = self.bears_next.max(1);
        self.gap = BUSY_GAP + (connections / EVENTS_PER_WAIT) as u64;
        let share = (EVENTS_PER_WAIT * self.busy.len()).div_ceil(connections.max(1));
        self.share = self.busy.len().min(share);
        (EVENTS_PER_WAIT - self.share.min(EVENTS_PER_WAIT)).max(EVENTS_AT_LEAST)
    }

    /// So many events have come.
    pub fn note_events(&mut self, events: usize) {
        self.is_crowded = events + self.heard >= BUSY_CROWD;
        self.idle = if events > 0 { 0 } else { self.idle + 1 };
        self.heard = 0;
    }

    /// So many of the busy were heard in this round.
    fn note_heard(&mut self, heard: usize) {
        self.heard = heard;
        self.bears_next = if heard > 0 { 1 } else { self.bears_next.saturating_mul(2).max(2) };
        if heard > 0 {
            self.idle = 0;
        }
    }
}

impl Reactor {
    /// The next busy connection that has a turn in this round, as an event of its input.
    #[inline(always)]
    pub(super) fn next_busy(&mut self) -> Option<(u64, EventFlags)> {
        if self.rounds.receipts == self.rounds.receipts_then && self.has_enough_quiet() {
            return None;
        }
        if self.rounds.share == 0 {
            return None;
        }
        self.rounds.receipts_then = self.rounds.receipts;
        self.rounds.share -= 1;
        let token = self.rounds.busy.pop_front()?;
        self.rounds.tried.push(token);
        Some((watch::data(token).u64(), EventFlags::IN))
    }

    /// Nothing came in the turn before: as many have been quiet as this round bears.
    #[cold]
    fn has_enough_quiet(&mut self) -> bool {
        let Some(last) = self.rounds.tried.last().copied() else { return false };
        if self.is_quiet(last) {
            // A round's turns are for those who have something to say.
            self.rounds.share += 1;
            self.rounds.bears -= 1;
        }
        self.rounds.bears == 0
    }

    /// It could have been heard in this round, and was not: its client has not asked again yet, nor
    /// have those who were answered after it.
    fn is_quiet(&mut self, token: Token) -> bool {
        let round = self.rounds.number;
        let Some(connection) = self.slab.get(token) else { return false };
        let stays = connection.is_unasked() && connection.may_be_busy();
        stays && !connection.was_heard(round) && connection.habit.quiet_most > 1
    }

    /// Who was busy in this round stays so or is watched again; others join.
    #[inline]
    pub(super) fn end_round(&mut self) {
        if !self.rounds.tried.is_empty() {
            self.sort_tried();
        }
        if !self.rounds.joining.is_empty() {
            self.take_joining();
        }
    }

    fn sort_tried(&mut self) {
        let round = self.rounds.number;
        let mut tried = std::mem::take(&mut self.rounds.tried);
        let mut heard = 0;
        for token in tried.drain(..) {
            // Who is gone has taken the descriptor along.
            let Some(connection) = self.slab.get(token) else { continue };
            let was_heard = connection.was_heard(round);
            heard += usize::from(was_heard);
            if connection.watches_room {
                connection.habit.leave();
                continue;
            }
            let quiet = if was_heard { 0 } else { connection.habit.quiet + 1 };
            if !connection.may_be_busy() || quiet >= connection.habit.quiet_most {
                self.end_busy(token);
                continue;
            }
            connection.habit.quiet = quiet;
            if was_heard {
                self.rounds.busy.push_back(token);
            } else {
                self.rounds.quiet.push(token);
            }
        }
        self.rounds.tried = tried;
        // Who was quiet keeps its place.
        while let Some(token) = self.rounds.quiet.pop() {
            self.rounds.busy.push_front(token);
        }
        self.rounds.note_heard(heard);
        if self.rounds.idle >= BUSY_IDLE_ROUNDS {
            while let Some(token) = self.rounds.busy.pop_front() {
                self.end_busy(token);
            }
        }
    }

    /// Its descriptor tells of input again.
    fn end_busy(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        connection.habit.leave();
        if !connection.watches_room {
            self.watch_again(token);
        }
    }

    fn take_joining(&mut self) {
        let round = self.rounds.number;
        let mut joining = std::mem::take(&mut self.rounds.joining);
        for token in joining.drain(..) {
            let Some(connection) = self.slab.get(token) else { continue };
            if connection.transport.ring().is_some() {
                self.begin_looks(token);
                continue;
            }
            let is_apt = connection.was_heard(round) && connection.may_be_busy();
            if connection.habit.is_busy || !is_apt {
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
