//! Messages from one thread to the loop of another: a queue and an eventfd that wakes it.
//!
//! ```text
//!   thread 1: A: PUBLISH c m   -> posted, :1       thread 2: a round  mail -> turns -> rest of the mail
//!   thread 1: A: CLIENT KILL B -> posted, :1                           ^      ^ B: a request
//!                                                               or comes here |
//! ```
//! Who asks something after another client's reply has come must not overtake what that reply has said. Mail is
//! read when a round begins, but what is posted later in the round may still be older than a request that is run
//! in it. So a thread looks once more before requests of a subscriber run ([`Mailbox::take`]), and for kills before
//! anybody's ([`Mailbox::has_kill`]).

use crate::clients::Token;
use crate::listener::{Door, Listener};
use crate::pause::Confirmation;
use crate::transport::Transport;
use dolium_commands::connection::ClientState;
use dolium_commands::redis::message::{to_channel, to_pattern};
use dolium_protocol::resp::Version;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, PoisonError};

/// A published message on its way to subscribers.
#[derive(Debug)]
pub struct Message {
    /// The pattern that matched; `None`: a subscriber of the channel itself.
    pub pattern: Option<Vec<u8>>,
    pub channel: Arc<[u8]>,
    pub payload: Arc<[u8]>,
}

impl Message {
    /// Whether the client is subscribed to what it came by.
    pub fn is_for(&self, client: &ClientState) -> bool {
        match &self.pattern {
            None => client.channels.contains(&self.channel[..]),
            Some(pattern) => client.patterns.contains(&pattern[..]),
        }
    }

    pub fn bytes(&self) -> usize {
        self.channel.len() + self.payload.len()
    }

    pub fn write(&self, version: Version, out: &mut Vec<u8>) {
        let Message { pattern, channel, payload } = self;
        match pattern {
            None => to_channel(out, version, channel, payload),
            Some(pattern) => to_pattern(out, version, pattern, channel, payload),
        }
    }
}

pub enum Mail {
    /// A connection that was accepted elsewhere.
    Adopt {
        transport: Transport,
        door: Door,
        addr: String,
        laddr: String,
    },
    Deliver {
        to: Vec<Token>,
        message: Arc<Message>,
    },
    Kill(Token),
    /// The reply of a client that has waited for an element of a list.
    Served {
        token: Token,
        reply: Vec<u8>,
    },
    /// These take the place of the TCP listeners of their door.
    Relisten {
        door: Door,
        listeners: Vec<Listener>,
    },
    /// CLIENT PAUSE has begun: who reads this runs nothing that it has not looked for the pause before.
    Paused(Arc<Confirmation>),
    /// CLIENT PAUSE has ended: connections that were held go on.
    Resume,
    /// Lines wait for a watcher.
    Watched(Token),
    /// Once a second: idle clients, soft limits.
    Tick,
    /// Accept no more, send what there is, close.
    Stop,
}

/// Takes messages to a connection out of mail that has not been read, in their order: those that are `wanted`.
pub fn take_messages(
    mail: &mut [Mail],
    token: Token,
    wanted: impl Fn(&Message) -> bool,
    mut take: impl FnMut(&Message),
) {
    for one in mail {
        if let Mail::Deliver { to, message } = one
            && let Some(at) = to.iter().position(|other| *other == token)
            && wanted(message)
        {
            to.swap_remove(at);
            take(message);
        }
    }
}

pub struct Mailbox {
    queue: Mutex<Vec<Mail>>,
    pub wake: OwnedFd,
    has_kill: OwnLine,
}

/// Read all the time by one thread and hardly ever written: alone in its line of the cache, for what is beside
/// it is written with each mail.
#[repr(align(128))]
struct OwnLine(AtomicBool);

impl Mailbox {
    pub fn new() -> std::io::Result<Mailbox> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let has_kill = OwnLine(AtomicBool::new(false));
        Ok(Mailbox { queue: Mutex::new(Vec::new()), wake, has_kill })
    }

    pub fn post(&self, mail: Mail) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = queue.is_empty();
        if matches!(mail, Mail::Kill(_)) {
            // Pairs with the Acquire in `has_kill`. Between the two lie the killer's reply and the request that was
            // sent after it. With the lock held: who takes the mark back finds the mail.
            self.has_kill.0.store(true, Release);
        }
        queue.push(mail);
        drop(queue);
        if was_empty {
            self.wake();
        }
    }

    /// Has the thread begin a round, whether there is mail or not.
    pub fn wake(&self) {
        // It can fail only when the counter is full, and then the loop is being woken.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Everything that has come, behind what was taken before. The wake-up stays.
    pub fn take(&self, into: &mut Vec<Mail>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if into.is_empty() {
            std::mem::swap(&mut *queue, into);
        } else {
            into.append(&mut queue);
        }
    }

    /// As `take`, with the wake-up.
    pub fn empty(&self, into: &mut Vec<Mail>) {
        let mut counter = [0u8; 8];
        // Nothing to read: the wake-up was taken before, and the queue says what there is.
        let _ = rustix::io::read(&self.wake, &mut counter);
        self.take(into);
    }

    /// A kill has been posted since the mark was last taken back.
    #[inline(always)]
    pub fn has_kill(&self) -> bool {
        self.has_kill.0.load(Acquire)
    }

    /// As `take`, for the kill that there is.
    pub fn take_kill(&self, into: &mut Vec<Mail>) {
        // Before the mail is taken: a kill that comes between the two leaves the mark for nothing, and not the
        // other way round.
        self.has_kill.0.store(false, Relaxed);
        self.take(into);
    }
}
