//! One turn of a connection: receive, parse, gather into the batch.

use super::Reactor;
use super::gather::Intake;
use crate::clients::{Token, WRITTEN_BYTES};
use crate::connection::{Connection, Hold};
use crate::limits::*;
use dolium_engine::bring_near;
use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;

impl Reactor {
    /// As `turn`, whole: the batch runs whenever it is full.
    pub(super) fn turn_whole(&mut self, token: Token) {
        let mut is_full = self.turn(token);
        while is_full {
            self.run_batch();
            is_full = self.parse_on();
        }
    }

    /// Receives once from a connection and gathers its requests. True: the batch is full and to be
    /// run; `parse_on` gathers what is left then.
    #[inline(always)]
    pub(super) fn turn(&mut self, token: Token) -> bool {
        let Some(connection) = self.slab.get(token) else { return false };
        connection.is_ready = false;
        connection.moved = 0;
        if std::mem::take(&mut connection.is_writable) && connection.unsent() > 0 {
            self.resume_output(token);
            return false;
        }
        if connection.hold == Hold::Feed {
            self.feed(token);
            return false;
        }
        if !connection.is_due() {
            if connection.hold == Hold::Wait && connection.readable {
                self.read_ahead(token);
            }
            return false;
        }
        if connection.incoming.is_some() {
            self.run_batch();
            self.turn_incoming(token);
            return false;
        }
        let begun = connection.input.len();
        let receives_into_items = connection.receives_into_items();
        let is_large = begun > LEFTOVER_COPY_MAX || connection.reserved > 0;
        let may_be_large = connection.expects_large && !receives_into_items;
        if is_large || may_be_large && self.takes_large_input(token) {
            self.run_batch();
            self.turn_own_buffer(token);
            return false;
        }
        if self.hot.len() - self.fill < READ_BYTES_MIN + begun {
            self.run_batch();
        }
        let Some(connection) = self.slab.get(token) else { return false };
        if !connection.is_due() {
            return false;
        }
        let hot = &mut self.hot;
        let start = self.fill;
        let mut end = start;
        if connection.input.capacity() > 0 {
            let input = std::mem::take(&mut connection.input);
            end += input.len();
            hot[start..end].copy_from_slice(&input);
        }
        // What is read behind a request that is to run alone would be copied from turn to turn.
        let comes_alone =
            connection.gets_much && (start == end || hot[start..end].starts_with(b"get"));
        let is_whole = comes_alone && hot[start..end].contains(&b'\n');
        if connection.readable && !is_whole {
            // What comes next is a large value's line, most likely, or one that asks for much.
            let is_line = receives_into_items && connection.expects_large;
            let most = match is_line {
                true => LARGE_LINE_BYTES,
                false if comes_alone => LONG_LINES_BYTES,
                false => READ_BYTES_PER_TURN,
            };
            let room_end = hot.len().min(end + most);
            let result = connection.transport.receive(&mut hot[end..room_end]);
            let n = note_receipt(connection, result, room_end - end);
            if n > 0 {
                connection.last_ms = self.now;
                self.counters.receives.add(1);
                self.rounds.receipts += 1;
                if connection.habit.note_turn(&self.rounds) {
                    self.rounds.joining.push(token);
                }
            }
            connection.moved += n;
            self.counters.bytes_in.add(n as u64);
            end += n;
            // The end of the turn writes there.
            bring_near(connection.card.as_ref(), WRITTEN_BYTES);
        }
        let at = self.take_first_row(token, start, end);
        if at == end && end > start {
            self.batch.end(token, end);
            self.fill = end;
            let is_done = self.slab.get(token).is_none_or(|connection| connection.keeps_nothing());
            if !is_done {
                self.keep_rest(token, &[], 0);
            }
            return false;
        }
        self.intake = Intake::behind_requests(token, start, at, end);
        self.parse_on()
    }

    /// Gathers what was received, or what is left of it after the batch was full. True: it is full.
    pub(super) fn parse_on(&mut self) -> bool {
        let hot = std::mem::take(&mut self.hot);
        let mut intake = self.intake;
        let is_full = self.parse_some(&hot, &mut intake);
        if is_full {
            self.intake = intake;
        } else {
            self.keep_rest(intake.token, &hot[intake.at..intake.end], intake.need);
            self.fill = if self.batch.is_empty() { 0 } else { intake.end };
        }
        self.hot = hot;
        is_full
    }

    /// As `turn`, for a request too large for the shared buffer: received straight into the
    /// connection's own, which has the announced size.
    fn turn_own_buffer(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let mut input = std::mem::take(&mut connection.input);
        let mut received = 0;
        // Never beyond the announced size: growing would double a buffer that is about to be used up.
        while connection.readable
            && received < OWN_BUFFER_BYTES_PER_TURN
            && input.len() < input.capacity()
        {
            let room = connection.transport.room(&input, READ_BYTES_PER_TURN);
            let result = connection.transport.receive_more(&mut input, READ_BYTES_PER_TURN);
            match note_receipt(connection, result, room) {
                0 => break,
                n => received += n,
            }
        }
        if received > 0 {
            connection.last_ms = self.now;
            self.counters.receives.add(1);
        }
        connection.moved += received;
        self.counters.bytes_in.add(received as u64);
        // Of other protocols there are none.
        connection.http_parse.join_chunks(&mut input, &self.http_limits);
        let mut intake = Intake::new(token, 0, input.len());
        self.parse(&input, &mut intake);
        if received > 0
            && let Some(connection) = self.slab.get(token)
        {
            connection.expects_large = input.len() > LEFTOVER_COPY_MAX;
        }
        if input.is_empty() {
            self.keep_large_input(input);
            self.keep_rest(token, &[], intake.need);
        } else if self.batch.is_empty() {
            // Nothing ran and nothing refers to the buffer: it goes on as it is, uncopied.
            if let Some(connection) = self.slab.get(token) {
                input.drain(..intake.at);
                if connection.input.is_empty() {
                    connection.input = input;
                } else {
                    // It was held while earlier requests ran: those come first.
                    connection.input.append(&mut input);
                }
            }
            self.keep_rest(token, &[], intake.need);
        } else {
            self.keep_rest(token, &input[intake.at..], intake.need);
            self.run_batch_over(&input);
            self.keep_large_input(input);
        }
    }

    /// The last request was large, as the next is then most often: it gets the thread's buffer for
    /// large requests, if that is free and the budget has room for it.
    fn takes_large_input(&mut self, token: Token) -> bool {
        let Some(connection) = self.slab.get(token) else { return false };
        let capacity = self.large_input.capacity();
        if !connection.expects_large || capacity < connection.input.len() + READ_BYTES_MIN {
            return false;
        }
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        if !self.server.buffers.reserve(capacity as u64, budget) {
            return false;
        }
        connection.reserved = capacity as u64;
        let begun = std::mem::replace(&mut connection.input, std::mem::take(&mut self.large_input));
        connection.input.extend_from_slice(&begun);
        true
    }

    /// The next large request takes the buffer: fresh memory would have to be cleared by the
    /// system.
    fn keep_large_input(&mut self, mut input: Vec<u8>) {
        if (self.large_input.capacity() + 1..=LARGE_INPUT_KEPT).contains(&input.capacity()) {
            input.clear();
            self.large_input = input;
        }
    }

    /// Keeps what was not parsed until more of it has come, and sees to the connection's next turn.
    pub(super) fn keep_rest(&mut self, token: Token, rest: &[u8], need: usize) {
        if !self.starved.is_empty() {
            // It was held for something else since it began to wait for room, and goes on after that.
            self.end_starving(token);
        }
        let Some(connection) = self.slab.get(token) else { return };
        let len = connection.input.len() + rest.len();
        connection.expects_large = need > LEFTOVER_COPY_MAX
            || connection.expects_large && !connection.receives_into_items();
        if need > LEFTOVER_COPY_MAX && self.begins_value(token, rest) {
            return self.go_on(token);
        }
        let Some(connection) = self.slab.get(token) else { return };
        let mut is_starved = false;
        // Room for all of it first: growing later would copy what is there.
        if need > LEFTOVER_COPY_MAX && need > connection.input.capacity() {
            let is_open = connection.http_parse.has_chunks();
            let wanted = need.max(len + room_beyond(len, need, is_open));
            let budget = self.server.config.live.client_buffers_max.load(Relaxed);
            let more = wanted as u64 - connection.reserved.min(wanted as u64);
            if self.server.buffers.reserve_or_wait(more, connection.reserved, budget) {
                connection.reserved += more;
                if connection.input.capacity() == 0 && wanted < self.large_input.capacity() {
                    connection.input = std::mem::take(&mut self.large_input);
                }
                let room = wanted - connection.input.len() + SHORT_READ_ROOM;
                connection.input.reserve_exact(room);
            } else {
                is_starved = true;
            }
        }
        connection.input.extend_from_slice(rest);
        if is_starved {
            connection.hold = Hold::Budget;
            self.starved.push((token, connection.reserved));
        } else if need <= LEFTOVER_COPY_MAX && len <= LEFTOVER_COPY_MAX {
            self.server.buffers.release(std::mem::take(&mut connection.reserved));
        }
        self.count_buffers(token);
        let Some(connection) = self.slab.get(token) else { return };
        let has_yielded = std::mem::take(&mut connection.yielded);
        let is_due = has_yielded || connection.readable && !connection.at_end;
        if is_due && connection.hold == Hold::No {
            self.make_ready(token);
        }
    }

    /// It waits for room no longer.
    #[cold]
    pub(super) fn end_starving(&mut self, token: Token) {
        let buffers = &self.server.buffers;
        self.starved.retain(|(starved, reserved)| {
            if *starved == token {
                buffers.end_waiting(*reserved);
            }
            *starved != token
        });
    }

    /// Large requests that waited for memory try again when some has come back.
    pub(super) fn feed_starved(&mut self) {
        let releases = self.server.buffers.releases();
        if self.starved.is_empty() || releases == self.releases_seen {
            self.releases_seen = releases;
            return;
        }
        self.releases_seen = releases;
        for (token, reserved) in std::mem::take(&mut self.starved) {
            self.server.buffers.end_waiting(reserved);
            if let Some(connection) = self.slab.get(token)
                && connection.hold == Hold::Budget
            {
                connection.hold = Hold::No;
                self.make_ready(token);
            }
        }
    }
}

/// Room to receive into beyond `len` bytes, when the request needs `need` at least. Where that is
/// no announced size but only "more" (a line, the next of several chunks), the buffer doubles: what it was
/// before is memory for a while longer, as much again in all. Growing by half it would be twice that, and by
/// each chunk's length many times.
fn room_beyond(len: usize, need: usize, is_open: bool) -> usize {
    if is_open || need - len < READ_BYTES_MIN { READ_BYTES_MIN.max(len) } else { 0 }
}

/// Notes what a receive means for the connection; how many bytes came.
pub(super) fn note_receipt(
    connection: &mut Connection,
    result: std::io::Result<usize>,
    room: usize,
) -> usize {
    match result {
        Ok(0) => {
            connection.readable = false;
            connection.at_end = true;
            0
        }
        Ok(n) => {
            // After the peer has closed there is one thing more to read: the end.
            connection.readable =
                n == room || connection.hung_up || connection.transport.has_more();
            n
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => 0,
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            connection.readable = false;
            0
        }
        Err(_) => {
            connection.readable = false;
            connection.at_end = true;
            0
        }
    }
}
