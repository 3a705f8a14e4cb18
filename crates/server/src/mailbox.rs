//! Messages from one thread to the loop of another: a queue and an eventfd that wakes it.

use crate::clients::Token;
use crate::listener::{Door, Listener};
use crate::transport::Transport;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// A published message on its way to subscribers.
#[derive(Debug)]
pub struct Message {
    /// The pattern that matched; `None`: a subscriber of the channel itself.
    pub pattern: Option<Vec<u8>>,
    pub channel: Arc<[u8]>,
    pub payload: Arc<[u8]>,
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
    /// CLIENT PAUSE has ended: connections that were held go on.
    Resume,
    /// Lines wait for a watcher.
    Watched(Token),
    /// Once a second: idle clients, soft limits.
    Tick,
    /// Accept no more, send what there is, close.
    Stop,
}

pub struct Mailbox {
    queue: Mutex<Vec<Mail>>,
    pub wake: OwnedFd,
}

impl Mailbox {
    pub fn new() -> std::io::Result<Mailbox> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Mailbox { queue: Mutex::new(Vec::new()), wake })
    }

    pub fn post(&self, mail: Mail) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = queue.is_empty();
        queue.push(mail);
        drop(queue);
        if was_empty {
            // It can fail only when the counter is full, and then the loop is being woken.
            let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        }
    }

    /// Everything that has come. `into` is emptied first, its memory used again.
    pub fn take(&self, into: &mut Vec<Mail>) {
        into.clear();
        let mut counter = [0u8; 8];
        // Nothing to read: the wake-up was taken before, and the queue says what there is.
        let _ = rustix::io::read(&self.wake, &mut counter);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *queue, into);
    }
}
