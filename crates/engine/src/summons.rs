//! Calling those who sleep with free blocks in hand, so that they give them back.
//!
//! Each session keeps some free blocks of its own (`alloc/session.rs`), and nobody else can take them. A page
//! that one of them lies in cannot be emptied before its session has polled, which a thread does when it
//! wakes. Who wakes threads is the server; an engine without one goes on without what they have.

use crate::engine::Engine;
use crate::session::Session;
use crate::sync::atomics::yield_turn;
use std::fmt;

/// How many turns one waits for the others: some two milliseconds where no other thread wants the core.
const TURNS: usize = 4_000;

/// What wakes all who sleep, once somebody has said so.
#[derive(Default)]
pub(crate) struct Summons(std::sync::OnceLock<Box<dyn Fn() + Send + Sync>>);

impl fmt::Debug for Summons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Summons(set)" } else { "Summons(none)" })
    }
}

impl Engine {
    /// Has `wake` called when all sessions are to [`Session::poll`] soon. Only the first caller is heard.
    pub fn on_summons(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.summons().0.set(Box::new(wake));
    }
}

impl Session {
    /// Has the others give back their free blocks, and waits for that a little. Without any lock: they may be
    /// waiting for it, or for this one to do the same. False: nobody has any, or nobody can be called.
    pub(crate) fn call_in_blocks(&self) -> bool {
        let allocator = self.engine().allocator();
        let Some(wake) = self.engine().summons().0.get() else { return false };
        if allocator.usage().magazine_bytes == 0 {
            return false;
        }
        allocator.request_flush();
        wake();
        for _ in 0..TURNS {
            self.poll();
            if allocator.is_flushed() {
                break;
            }
            yield_turn();
        }
        true
    }
}
