//! Large values that are received straight into the block of the item that they will be.
//!
//! ```text
//!   expected    | head | key | .......... |   a block that no index names and no magazine holds
//!   received    | head | key | value ..   |   the kernel stores what comes
//!   put         | head | key | value      |   head and key are written anew, the index names the
//!                                             block; not a byte of the value is copied
//! ```
//! Head and key are written at once as they are foreseen, so that whoever walks over blocks
//! (compaction) finds a key there, and that its shard does not name this block. Where the item
//! turns out to need another head (`append`, a time to live that was not foreseen) the value is
//! copied as any other: what is foreseen decides about speed, never about what is stored.
//!
//! Nothing is evicted for a value that may never come, and all of them together take no more than
//! a share of the memory: who finds no room here receives into a buffer of its own.

use crate::alloc::block_bytes;
use crate::engine::Engine;
use crate::item::{Head, ItemParts, write_item};
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::session::Session;
use crate::sync::atomics::AtomicU64;
use crate::sync::atomics::Ordering::Relaxed;
use crate::verbs::*;
use rustix::net::{RecvAncillaryBuffer, RecvFlags};
use std::io::IoSliceMut;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Smallest value of which there are: below, a copy costs less than what it saves.
pub const INCOMING_BYTES_MIN: usize = 32 << 10;
/// Of all memory, one byte in so many may wait for the rest of its value.
const SHARE_ONE_IN: u64 = 16;
/// Elsewhere a word holds the key's end and the value's beginning, and would be stored whole.
const IS_POSSIBLE: bool = cfg!(all(target_arch = "x86_64", not(any(miri, shuttle, loom))));

/// The item that a value is expected to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Bytes of the value.
    pub len: usize,
    /// It will have a deadline.
    pub has_deadline: bool,
    /// It will have client flags, or a CAS unique.
    pub has_extension: bool,
}

/// A value on its way. Dropped, its block is given back.
#[derive(Debug)]
pub struct Incoming {
    engine: Arc<Engine>,
    /// `None`: it is an item's by now.
    reference: Option<u32>,
    head: Head,
    filled: usize,
    /// Where the bytes are shown while what stores them runs; 0 once they turned out not to lie
    /// where the item has them.
    shown_at: usize,
}

/// Bytes of blocks whose values are on their way. A bound that nobody orders anything by: Relaxed.
#[derive(Debug, Default)]
pub(crate) struct Expected(AtomicU64);

impl Expected {
    fn reserve(&self, bytes: u64, most: u64) -> bool {
        let within = |now: u64| (now + bytes <= most).then_some(now + bytes);
        self.0.fetch_update(Relaxed, Relaxed, within).is_ok()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn release(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Relaxed);
    }
}

impl Session {
    /// A place for a value of a key that has been announced. `None`: it is too small to bother, or
    /// there is no room that is free already.
    pub fn expect(&self, db: Db, key: &Key<'_>, form: &Form, now: Millis) -> Option<Incoming> {
        let is_apt = (INCOMING_BYTES_MIN..=VALUE_BYTES_MAX).contains(&form.len)
            && key.bytes.len() <= KEY_BYTES_MAX;
        if !IS_POSSIBLE || !is_apt {
            return None;
        }
        let (ttl, extension) = (form.has_deadline, form.has_extension);
        let head = Head::plan(Encoding::Bytes, key.bytes.len(), form.len, ttl, extension);
        let engine = self.engine();
        // Those that were given up do not count among the expected, and are to be free before more are.
        self.free_ended_leases();
        let taken = block_bytes(head.size());
        if !engine.expected().reserve(taken, engine.arena().limit() / SHARE_ONE_IN) {
            return None;
        }
        // As any block it is taken under a shard's lock, which `verify` relies on.
        let guard = self.write(db, key, now);
        let reference = match self.has_ample_room(head.size()) {
            true => self.take_item(head.size()).ok(),
            false => None,
        };
        let Some(reference) = reference else {
            engine.expected().release(taken);
            return None;
        };
        let parts = ItemParts {
            head,
            int: 0,
            deadline: NEVER,
            unique: 0,
            client_flags: 0,
            used_s: 0,
            key: key.bytes,
            value: [b"", b"", b""],
        };
        write_item(self.mem(), reference as usize * 8, &parts);
        drop(guard);
        let (engine, reference) = (engine.clone(), Some(reference));
        Some(Incoming { engine, reference, head, filled: 0, shown_at: 0 })
    }

    /// Runs what stores a value that has come. Where `run` puts exactly the bytes that it is shown,
    /// they stay where they are.
    pub fn with_received<R>(&self, mut incoming: Incoming, run: impl FnOnce(&[u8]) -> R) -> R {
        assert_eq!(incoming.missing(), 0, "a value is stored when all of it has come");
        // Once the item is in the index another session may replace it: its block stays what it is
        // until `run` is done with the bytes.
        let (reference, at) = incoming.block();
        let lease =
            self.lease_own(reference, at + incoming.head.value_at(), incoming.head.value_len);
        incoming.shown_at = lease.bytes().as_ptr().addr();
        self.offer(Some(incoming));
        let outcome = run(lease.bytes());
        let unused = self.offer(None);
        drop(lease);
        drop(unused);
        outcome
    }

    /// Whether the item about to be stored lies in its block already.
    pub(crate) fn holds_received(&self, bytes: usize) -> bool {
        self.offered(|incoming| incoming.shown_at != 0 && incoming.head.size() >= bytes)
    }

    /// The block of the value that has been received, if it is this value and this item. If not, the
    /// value must have another block, for which room is made as for any.
    pub(crate) fn take_received(&self, head: &Head, value: &[u8]) -> Option<u32> {
        let mut incoming = self.offer(None)?;
        let is_it = incoming.shown_at == value.as_ptr().addr()
            && incoming.head.value_at() == head.value_at()
            && incoming.head.value_len == head.value_len;
        if is_it {
            return Some(incoming.into_block());
        }
        incoming.shown_at = 0;
        self.offer(Some(incoming));
        None
    }
}

impl Incoming {
    /// Bytes of the value that have not come yet.
    pub fn missing(&self) -> usize {
        self.head.value_len - self.filled
    }

    /// The block, and where it is.
    fn block(&self) -> (u32, usize) {
        let reference = self.reference.expect("a value on its way has a block");
        (reference, reference as usize * 8)
    }

    /// Where the next byte of the value belongs.
    fn next_at(&self) -> usize {
        self.block().1 + self.head.value_at() + self.filled
    }

    /// Takes over the beginning of what has come with the request's line; how many bytes of it.
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.missing());
        self.engine.mem().store_bytes(self.next_at(), &bytes[..len]);
        self.filled += len;
        len
    }

    /// Receives from a socket without waiting: the value's next bytes, and what comes behind it into
    /// `beyond`. How many bytes in all; those for `beyond` are what is more than was missing.
    pub fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        beyond: &mut [u8],
    ) -> rustix::io::Result<usize> {
        let missing = self.missing();
        // SAFETY: the block is this one's alone: no index names it and no lease is of it. Late
        // readers of its former item load from it by instructions of their own and throw away what
        // they get; nothing but the kernel stores through the slice, which ends with the call.
        let room = unsafe { self.engine.mem().room(self.next_at(), missing) };
        let mut parts = [IoSliceMut::new(room), IoSliceMut::new(beyond)];
        let parts = if missing == 0 { &mut parts[1..] } else { &mut parts[..] };
        let mut control = RecvAncillaryBuffer::default();
        let received = rustix::net::recvmsg(socket, parts, &mut control, RecvFlags::DONTWAIT)?;
        self.filled += received.bytes.min(missing);
        Ok(received.bytes)
    }

    /// Appends what has come of the value.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        let at = self.block().1 + self.head.value_at();
        self.engine.mem().copy_out(at, self.filled, out);
    }

    /// The block becomes its item's.
    fn into_block(mut self) -> u32 {
        self.engine.expected().release(block_bytes(self.head.size()));
        self.reference.take().expect("a value on its way has a block")
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(reference) = self.reference {
            self.engine.expected().release(block_bytes(self.head.size()));
            // Without a session nothing can be freed here: whoever frees the next does it.
            self.engine.leases().free_later(reference, self.head.size());
        }
    }
}
