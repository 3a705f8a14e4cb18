//! CLIENT PAUSE: until when, and what is held back.
//!
//! ```text
//!   thread 1: A: CLIENT PAUSE -> the flag is set, mail to all others         all have read it: +OK
//!   thread 2:           B: SET  no flag -> ... ... stored | reads the mail ---^
//! ```
//! The flag is looked at before every command, so it is one Relaxed load. A command of another thread may have
//! looked before the flag was set and store after it, much later if its thread has lost its core in between. Whoever
//! pauses wants to know that nothing changes any more: so the reply waits until every thread has come to its mail,
//! which it reads between commands. Within EXEC the reply of the whole transaction waits, once its locks are released.

use crate::clients::Token;
use crate::mailbox::Mail;
use crate::server::Server;
use dolium_commands::connection::ClientState;
use dolium_commands::host::PauseMode;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
pub struct Pause {
    is_on: AtomicBool,
    /// Connections whose requests wait for the end.
    held: AtomicU64,
    until: Mutex<Option<(u64, PauseMode)>>,
}

impl Pause {
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Would a command have to wait now?
    pub fn holds(&self, now_ms: u64, may_write: bool) -> bool {
        match *self.lock() {
            Some((until, mode)) => now_ms < until && (mode == PauseMode::All || may_write),
            None => false,
        }
    }

    /// A longer pause or a wider mode stays.
    pub fn begin(&self, until_ms: u64, mode: PauseMode) {
        let mut held = self.lock();
        *held = Some(match *held {
            Some((until, was)) => (until.max(until_ms), was.max(mode)),
            None => (until_ms, mode),
        });
        self.is_on.store(true, Relaxed);
    }

    /// True: there was a pause.
    pub fn end(&self) -> bool {
        let was_on = self.lock().take().is_some();
        self.is_on.store(false, Relaxed);
        was_on
    }

    /// Ends a pause whose time is over. True: it ended now.
    pub fn end_if_over(&self, now_ms: u64) -> bool {
        let is_over = matches!(*self.lock(), Some((until, _)) if now_ms >= until);
        is_over && self.end()
    }

    pub fn count_held(&self) {
        self.held.fetch_add(1, Relaxed);
    }

    pub fn count_released(&self, n: u64) {
        self.held.fetch_sub(n, Relaxed);
    }

    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(u64, PauseMode)>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reply to a CLIENT PAUSE, or to an EXEC that ran one, which waits for the other threads.
#[derive(Debug)]
pub struct Confirmation {
    /// Threads that have not read of the pause yet.
    left: AtomicUsize,
    /// Who has paused.
    thread: usize,
    token: Token,
    reply: Vec<u8>,
}

impl Confirmation {
    /// One more thread has read of the pause. The last one has the reply sent.
    pub fn pass(&self, server: &Server) {
        // Each pairs with those of the other threads: the last one, and the client by its mail, see what all
        // of them had done before.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            let reply = self.reply.clone();
            server.posts[self.thread].post(Mail::Served { token: self.token, reply });
        }
    }
}

impl Server {
    /// Has the client get the reply when every other thread has read of the pause. False: there is nobody to wait
    /// for.
    pub fn confirm_pause(&self, me: &ClientState, reply: &[u8]) -> bool {
        let others = self.posts.len() - 1;
        if others == 0 {
            return false;
        }
        // It is being closed.
        let Some(card) = self.clients.find(me.id) else { return false };
        let (left, thread, token) = (AtomicUsize::new(others), card.thread, card.token);
        let reply = reply.to_vec();
        let confirmation = Arc::new(Confirmation { left, thread, token, reply });
        for (number, post) in self.posts.iter().enumerate() {
            if number != thread {
                post.post(Mail::Paused(confirmation.clone()));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_and_wider_pause_stays() {
        let pause = Pause::default();
        pause.begin(100, PauseMode::Write);
        assert!(pause.holds(50, true) && !pause.holds(50, false) && !pause.holds(100, true));
        pause.begin(60, PauseMode::All);
        assert!(pause.holds(99, false));
        assert!(!pause.end_if_over(99));
        assert!(pause.end_if_over(100) && !pause.is_on());
    }
}
