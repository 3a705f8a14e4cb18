//! Watchers: connections that are shown what happens (`watch`).
//!
//! ```text
//!   a thread: tell(stream, line) -> queue of each watcher of it
//!   upkeep, or a queue that is half full -> mail to the watcher's thread
//!   the watcher's thread: takes the queue when its last lines are sent, sends it, takes the next
//! ```
//! A queue has a bound (`-o watcher_logbuf_size`). Lines that find no room are counted, and when
//! there is room again the watcher is told how many: `skipped=17`.

use crate::clients::Token;
use crate::clock;
use crate::mailbox::{Mail, Mailbox};
use dolium_commands::memcache::{DETAILS_ON, UNIQUE_OFF};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
struct Watcher {
    client: u64,
    thread: usize,
    token: Token,
    streams: u32,
    queue: Vec<u8>,
    skipped: u64,
    /// Its thread knows that there is something, and will look again after sending.
    is_called: bool,
}

impl Watcher {
    fn call(&mut self, posts: &[Arc<Mailbox>]) {
        if !std::mem::replace(&mut self.is_called, true) {
            posts[self.thread].post(Mail::Watched(self.token));
        }
    }
}

#[derive(Debug, Default)]
pub struct Watchers {
    /// All streams that somebody watches, and whether `stats detail` counts.
    mask: AtomicU32,
    list: Mutex<Vec<Watcher>>,
    line_number: AtomicU64,
    pub skipped: AtomicU64,
    pub sent: AtomicU64,
}

impl Watchers {
    /// What a command has to tell about, as bits. A command that misses a watcher of this very
    /// moment is no harm, hence Relaxed.
    #[inline(always)]
    pub fn mask(&self) -> u32 {
        self.mask.load(Relaxed)
    }

    /// Set once, before anybody is served.
    pub fn set_unique_off(&self, off: bool) {
        if off {
            self.mask.fetch_or(UNIQUE_OFF, Relaxed);
        }
    }

    pub fn set_details(&self, on: bool) {
        match on {
            true => self.mask.fetch_or(DETAILS_ON, Relaxed),
            false => self.mask.fetch_and(!DETAILS_ON, Relaxed),
        };
    }

    pub fn len(&self) -> u64 {
        self.lock().len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn add(&self, client: u64, thread: usize, token: Token, streams: u32) {
        let mut list = self.lock();
        list.retain(|watcher| watcher.client != client);
        list.push(Watcher {
            client,
            thread,
            token,
            streams,
            queue: Vec::new(),
            skipped: 0,
            is_called: false,
        });
        self.refresh(&list);
    }

    pub fn remove(&self, client: u64) {
        let mut list = self.lock();
        list.retain(|watcher| watcher.client != client);
        self.refresh(&list);
    }

    fn refresh(&self, list: &[Watcher]) {
        let streams = list.iter().fold(0, |mask, watcher| mask | watcher.streams);
        self.mask.store(self.mask() & (DETAILS_ON | UNIQUE_OFF) | streams, Relaxed);
    }

    /// Puts a line into the queue of every watcher of the stream.
    pub fn tell(&self, posts: &[Arc<Mailbox>], room: usize, stream: u32, line: &str) {
        let us = clock::unix_us();
        let mut list = self.lock();
        let number = self.line_number.fetch_add(1, Relaxed) + 1;
        let (seconds, micros) = (us / 1_000_000, us % 1_000_000);
        let line = format!("ts={seconds}.{micros} gid={number} {line}\n");
        for watcher in list.iter_mut().filter(|watcher| watcher.streams & stream != 0) {
            let mut notice = String::new();
            if watcher.skipped > 0 {
                notice = format!("skipped={}\n", watcher.skipped);
            }
            if watcher.queue.len() + notice.len() + line.len() > room {
                watcher.skipped += 1;
                self.skipped.fetch_add(1, Relaxed);
                continue;
            }
            watcher.skipped = 0;
            watcher.queue.extend_from_slice(notice.as_bytes());
            watcher.queue.extend_from_slice(line.as_bytes());
            self.sent.fetch_add(1, Relaxed);
            if watcher.queue.len() >= room / 2 {
                watcher.call(posts);
            }
        }
    }

    /// Calls those for whom a few lines wait. Every now and then: many lines in one send, and not a
    /// wake-up for each.
    pub fn call_all(&self, posts: &[Arc<Mailbox>]) {
        if self.mask() & !(DETAILS_ON | UNIQUE_OFF) == 0 {
            return;
        }
        for watcher in self.lock().iter_mut().filter(|watcher| !watcher.queue.is_empty()) {
            watcher.call(posts);
        }
    }

    /// The lines that wait for a watcher. `None`: none do, and it will be called for the next.
    pub fn take(&self, client: u64) -> Option<Vec<u8>> {
        let mut list = self.lock();
        let watcher = list.iter_mut().find(|watcher| watcher.client == client)?;
        if watcher.queue.is_empty() {
            watcher.is_called = false;
            return None;
        }
        Some(std::mem::take(&mut watcher.queue))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Watcher>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
