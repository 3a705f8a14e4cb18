//! One end of a ring pair: send, receive, and sleep without missing anything.
//!
//! The doorbell is one byte over the Unix socket by which the ring was handed over, sent only if
//! the other side sleeps. Between two busy sides there is no system call at all. How not to miss
//! a wake-up (`A` is about to sleep, `B` has just sent):
//!
//! ```text
//! A: waits = DATA                      B: tail = new position
//!    fence(SeqCst)            <----->     fence(SeqCst)
//!    load tail: nothing new? sleep        load waits: DATA? waits = 0, ring the bell
//! ```
//!
//! The two fences are ordered one way or the other. If A's is first, B sees `waits` and rings; if
//! B's is first, A sees the new position and does not sleep. The same holds for space: `head`
//! stands for `tail`, and SPACE for DATA. A bell that rings for somebody awake costs one turn.

use super::lane::{Consumer, Producer, RingFault, RingWords};
use super::layout::RingPlan;
use crate::sync::atomics::{Ordering, fence};

const DATA: u64 = 1;
const SPACE: u64 = 2;

/// One end of a ring pair over memory `M`.
#[derive(Debug)]
pub struct RingEnd<M> {
    words: M,
    producer: Producer,
    consumer: Consumer,
    my_waits: usize,
    peer_waits: usize,
    /// What this side did since it last asked whether to ring.
    done: u64,
}

impl<M: RingWords> RingEnd<M> {
    /// The end that sends requests.
    pub fn client(words: M, plan: &RingPlan) -> RingEnd<M> {
        RingEnd {
            words,
            producer: Producer::new(plan.request),
            consumer: Consumer::new(plan.reply),
            my_waits: plan.client_waits,
            peer_waits: plan.server_waits,
            done: 0,
        }
    }

    /// The end that sends replies.
    pub fn server(words: M, plan: &RingPlan) -> RingEnd<M> {
        RingEnd {
            words,
            producer: Producer::new(plan.reply),
            consumer: Consumer::new(plan.request),
            my_waits: plan.server_waits,
            peer_waits: plan.client_waits,
            done: 0,
        }
    }

    /// Writes as much of `bytes` as there is room for; says how much.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, RingFault> {
        let n = self.producer.push(&self.words, bytes)?;
        if n > 0 {
            self.done |= DATA;
        }
        Ok(n)
    }

    /// Moves at most `limit` bytes to the end of `out`; says how many.
    pub fn receive(&mut self, out: &mut Vec<u8>, limit: usize) -> Result<usize, RingFault> {
        let start = out.len();
        let most = self.waiting()?.min(limit);
        out.resize(start + most, 0);
        let n = self.receive_into(&mut out[start..])?;
        out.truncate(start + n);
        Ok(n)
    }

    /// Moves as many bytes as `into` holds or as wait; says how many.
    pub fn receive_into(&mut self, into: &mut [u8]) -> Result<usize, RingFault> {
        let n = self.consumer.pull(&self.words, into)?;
        if n > 0 {
            self.done |= SPACE;
        }
        Ok(n)
    }

    /// How many bytes wait to be received.
    pub fn waiting(&self) -> Result<usize, RingFault> {
        self.consumer.waiting(&self.words)
    }

    /// After a batch of sends and receives: must the other side's bell be rung? Asked once per
    /// batch, because the fence in it is the most expensive step here.
    #[must_use = "the other side sleeps until its bell is rung"]
    pub fn bell_needed(&mut self) -> bool {
        let done = std::mem::take(&mut self.done);
        if done == 0 {
            return false;
        }
        // SeqCst: pairs with the fence in `await_any`, see the head of this file.
        fence(Ordering::SeqCst);
        let waits = self.words.word(self.peer_waits);
        // Relaxed: ordered by the fences.
        if waits.load(Ordering::Relaxed) & done == 0 {
            return false;
        }
        // Taken back before ringing: a wait that this store wipes out gets the bell as well.
        waits.store(0, Ordering::Relaxed);
        true
    }

    /// Says that this side is about to sleep until data (and space, if it has more to send)
    /// arrives. `false`: something is there already, do not sleep. Otherwise sleep on the socket,
    /// and call [`RingEnd::awake`] after.
    pub fn prepare_sleep(&mut self, more_to_send: bool) -> Result<bool, RingFault> {
        let may_sleep = self.await_data(more_to_send)?
            && !(more_to_send && self.producer.space(&self.words)? > 0);
        if !may_sleep {
            self.awake();
        }
        Ok(may_sleep)
    }

    /// From now on data rings this side's bell. `false`: there is some already. With `space_too`
    /// an earlier [`RingEnd::await_space`] stays in force.
    pub fn await_data(&mut self, space_too: bool) -> Result<bool, RingFault> {
        self.await_any(if space_too { DATA | SPACE } else { DATA });
        Ok(self.waiting()? == 0)
    }

    /// From now on data and space ring this side's bell. `false`: there is space already.
    pub fn await_space(&mut self) -> Result<bool, RingFault> {
        self.await_any(DATA | SPACE);
        Ok(self.producer.space(&self.words)? == 0)
    }

    fn await_any(&mut self, flags: u64) {
        // Relaxed: ordered by the fence.
        self.words.word(self.my_waits).store(flags, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `bell_needed`, see the head of this file.
        fence(Ordering::SeqCst);
    }

    /// This side looks by itself from now on: no bell needed.
    pub fn awake(&mut self) {
        // Relaxed: a peer that still sees the old flag rings for nothing.
        self.words.word(self.my_waits).store(0, Ordering::Relaxed);
    }
}
