//! What a thread with many plain connections asks and waits with, where the kernel has it: an
//! io_uring. It costs the client a tenth less than a call for each request and each reply, in an open
//! loop more.
//!
//! ```text
//! ask        | send 7 | send 12 | send 3 | ...     handed over together, when replies are waited for
//! replies    a receive that stays armed on every connection -> the next free buffer -> completion
//! ```
//!
//! In a closed loop a request whose latency is kept is handed over by itself, so that its time begins
//! as it is sent; in an open one all latencies are, from when they were due.
//! Requests lie in the pool, which does not change; replies in buffers that are given back when they
//! were read. Dropping a ring ends the receives first.
//!
//! The unsafe operations are naming the buffers' table, handing over an entry and waiting with a limit:
//! the kernel then reads or writes memory that these name.

mod buffers;
mod closed;
mod event;
mod open;

pub(super) use self::closed::run as closed;
pub(super) use self::event::Event;
pub(super) use self::open::ByRing;

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};

use self::buffers::Buffers;
use super::arrival::{self, Arrivals};
use super::connection::Connection;
use super::link::Link;
use super::worker::Shared;
use crate::LabError;
use crate::limits::{RING_CONNECTIONS, RING_TURN_BYTES, RING_WINDOW};
use crate::workload::Mix;

/// The one group of buffers.
const GROUP: u16 = 0;
/// Least bytes of a buffer.
const BUFFER_LEAST: usize = 512;
/// Bytes before the note in a buffer of a timed connection: what of it is how long.
const NOTED_HEAD: usize = 16;
/// How often, and how long each time, a ring that is dropped waits for its receives to end.
const ENDING: (usize, Duration) = (20, Duration::from_millis(100));

/// A ring over the connections of one thread, asking for what lies in a pool that lives for `'p`.
pub(super) struct Ring<'p> {
    ring: IoUring,
    buffers: Buffers,
    /// How replies of timed connections are received: with room for the kernel's note.
    noted: Box<libc::msghdr>,
    /// Receives that the kernel has not ended.
    armed: usize,
    completions: Vec<cqueue::Entry>,
    pool: PhantomData<&'p [u8]>,
}

/// A ring where it serves and the kernel (6.15 or younger) lets this process have one: for a window
/// that is worth its making, few bytes a turn, and in a closed loop requests most of which have no
/// clock of their own. Elsewhere epoll asks for the same; only the client's own time is longer.
pub(super) fn open<'p>(
    shared: &Shared<'p>,
    connections: &[Connection],
    is_open_loop: bool,
) -> Option<Ring<'p>> {
    let (pool, pipeline) = (shared.pool, shared.spec.pipeline);
    let plain = |one: &Connection| matches!(one.link, Link::Plain(_)) && one.fresh.is_none();
    let timed = connections.iter().filter(|one| one.timed).count();
    let reply = if pool.workload.mix == Mix::Set { pool.set.len } else { pool.get.len };
    let serves = shared.spec.window >= RING_WINDOW
        && connections.len() <= RING_CONNECTIONS
        && (is_open_loop || timed * 2 < connections.len())
        && connections.iter().all(plain)
        && reply.max(pool.slice(0, 1).len()) * pipeline <= RING_TURN_BYTES;
    serves.then(|| Ring::open(connections, reply * pipeline).ok())?
}

impl<'p> Ring<'p> {
    /// A ring with a receive armed on every connection. It fails where the kernel is older than 6.15,
    /// which would call the client's idle time waiting for disks, or lets this process have none.
    pub fn open(connections: &[Connection], turn_bytes: usize) -> io::Result<Self> {
        let count = connections.len();
        // A send and an arming of every connection fit at once, and so do their completions; and what
        // one connection sends as one.
        let entries = (2 * count).max(open::HELD_TOGETHER).next_power_of_two() as u32;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(2 * entries)
            .build(entries)?;
        if !ring.params().is_feature_no_iowait() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let sockets: Vec<RawFd> =
            connections.iter().map(|one| one.link.socket().as_raw_fd()).collect();
        ring.submitter().register_files(&sockets)?;
        let around = NOTED_HEAD + arrival::NOTE_BYTES;
        let size = (turn_bytes + around).max(BUFFER_LEAST).next_multiple_of(64);
        let mut made = Self {
            ring,
            buffers: Buffers::new(count, size),
            noted: Box::new(arrival::noting()),
            armed: 0,
            completions: Vec::with_capacity(2 * entries as usize),
            pool: PhantomData,
        };
        let (table, slots) = made.buffers.table();
        // SAFETY: the table and the bytes that it names are on the heap and belong to this ring. Only
        // receives of this ring fill them, inside of a call of this thread, and `drop` frees them
        // when all of these have ended and the ring is closed.
        unsafe { made.ring.submitter().register_buf_ring_with_flags(table, slots, GROUP, 0) }?;
        for (index, connection) in connections.iter().enumerate() {
            made.arm(index, connection.timed).map_err(|_| io::ErrorKind::OutOfMemory)?;
        }
        made.ring.submit()?;
        Ok(made)
    }

    /// Receives whatever comes in on a connection from now on.
    pub fn arm(&mut self, index: usize, timed: bool) -> Result<(), LabError> {
        let socket = Fixed(index as u32);
        let entry = if timed {
            opcode::RecvMsgMulti::new(socket, &raw const *self.noted, GROUP).build()
        } else {
            opcode::RecvMulti::new(socket, GROUP).build()
        };
        self.push(entry.user_data(event::receiving(index)))?;
        self.armed += 1;
        Ok(())
    }

    /// Queues a request, to be sent whole. Its failure is told, and that it is sent if this is asked.
    #[inline]
    pub fn send(&mut self, index: usize, bytes: &'p [u8], is_told: bool) -> Result<(), LabError> {
        let flags = if is_told { squeue::Flags::empty() } else { squeue::Flags::SKIP_SUCCESS };
        self.send_as(index, bytes, flags, 0)
    }

    /// Queues a request that goes out with the one that is queued next, which is of the same connection:
    /// that is sent when this one is. Both have to be handed over together, see [`Ring::make_room`].
    #[inline]
    pub fn send_with_next(&mut self, index: usize, bytes: &'p [u8]) -> Result<(), LabError> {
        let flags = squeue::Flags::SKIP_SUCCESS | squeue::Flags::IO_LINK;
        self.send_as(index, bytes, flags, libc::MSG_MORE)
    }

    #[inline]
    fn send_as(
        &mut self,
        index: usize,
        bytes: &'p [u8],
        flags: squeue::Flags,
        more: i32,
    ) -> Result<(), LabError> {
        let entry = opcode::Send::new(Fixed(index as u32), bytes.as_ptr(), bytes.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL | more)
            .build()
            .flags(flags);
        self.push(entry.user_data(event::sending(index, bytes.len())))
    }

    /// Makes sure that so many entries, [`open::HELD_TOGETHER`] at most, are handed over together.
    pub fn make_room(&mut self, entries: usize) -> Result<(), LabError> {
        let queue = self.ring.submission();
        let room = queue.capacity() - queue.len();
        drop(queue);
        if room < entries { self.submit() } else { Ok(()) }
    }

    /// Entries that are not handed over.
    #[inline]
    pub fn queued(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// Hands over what is queued.
    pub fn submit(&mut self) -> Result<(), LabError> {
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        loop {
            match self.ring.submit() {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(LabError::system("hand requests to io_uring", error)),
            }
        }
    }

    /// Hands over what is queued and waits at most so long; returns how many events came.
    #[inline]
    pub fn wait(&mut self, patience: Duration) -> Result<usize, LabError> {
        let begun = Instant::now();
        self.completions.clear();
        loop {
            let waited = self.enter(1, patience.saturating_sub(begun.elapsed()));
            self.gather();
            if !self.completions.is_empty() {
                return Ok(self.completions.len());
            }
            match waited {
                // What was handed over counts as a success, however the waiting ended.
                Ok(_) if begun.elapsed() < patience => {}
                Ok(_) => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ETIME) => return Ok(0),
                Err(error) => return Err(LabError::system("wait for replies", error)),
            }
        }
    }

    /// Hands over what is queued and takes what came, without waiting; returns how many events. Where
    /// nothing is queued and nothing came this is a look into shared memory.
    #[inline]
    pub fn look(&mut self) -> Result<usize, LabError> {
        self.completions.clear();
        let has_work = {
            let queue = self.ring.submission();
            !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
        };
        if has_work {
            match self.enter(0, Duration::ZERO) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(LabError::system("hand requests to io_uring", error)),
                Ok(_) => {}
            }
        }
        self.gather();
        Ok(self.completions.len())
    }

    fn gather(&mut self) {
        let armed = &mut self.armed;
        self.completions.extend(self.ring.completion().inspect(|entry| {
            *armed -= usize::from(event::ends_receive(entry));
        }));
    }

    /// One call that hands over what is queued and waits for so many completions.
    fn enter(&mut self, least: usize, patience: Duration) -> io::Result<usize> {
        let time = Timespec::from(patience);
        let limits = SubmitArgs::new().timespec(&time);
        let queued = self.ring.submission().len() as u32;
        let flags = EnterFlags::EXT_ARG | EnterFlags::GETEVENTS | EnterFlags::NO_IOWAIT;
        // SAFETY: the limits are of the kind that `EXT_ARG` says; they and the time that they name
        // live until the call returns. So many entries are queued, each as `push` says.
        unsafe { self.ring.submitter().enter(queued, least as u32, flags.bits(), Some(&limits)) }
    }

    /// Event `number` of those that the last wait or look brought.
    #[inline]
    pub fn event(&self, number: usize) -> Event {
        Event::of(&self.completions[number])
    }

    /// The bytes of a connection that lie in a buffer, and when they came in, if that is known.
    #[inline]
    pub fn read(
        &self,
        connection: &Connection,
        arrivals: &Arrivals,
        buffer: u16,
        len: usize,
    ) -> Result<(&[u8], Option<u64>), LabError> {
        if !connection.timed {
            return Ok((self.buffers.filled(buffer, len), None));
        }
        match self.noted(buffer, len) {
            // Its end is a receive of nothing but the lengths.
            None | Some(([], _)) => Err(connection.link.closed()),
            Some((bytes, note)) => Ok((bytes, arrivals.of_note(note))),
        }
    }

    /// The bytes that came into a buffer of a timed connection, and the kernel's note with them.
    ///
    /// ```text
    /// | name 4 | note 4 | payload 4 | flags 4 | room for the note | bytes
    ///   lengths
    /// ```
    fn noted(&self, buffer: u16, len: usize) -> Option<(&[u8], &[u8])> {
        let (head, rest) = self.buffers.filled(buffer, len).split_first_chunk::<NOTED_HEAD>()?;
        let (room, bytes) = rest.split_at_checked(arrival::NOTE_BYTES)?;
        let note = u32::from_ne_bytes(*head[4..].first_chunk()?) as usize;
        Some((bytes, &room[..note.min(room.len())]))
    }

    /// Lets the kernel have a buffer again.
    #[inline]
    pub fn give_back(&mut self, buffer: u16) {
        self.buffers.give(buffer);
    }

    #[inline]
    fn push(&mut self, entry: squeue::Entry) -> Result<(), LabError> {
        if self.ring.submission().is_full() {
            self.submit()?;
        }
        // SAFETY: a send names bytes of the pool, which outlive `'p` unchanged. An arming names no
        // memory but the message header, which is boxed and lives as long as the ring, and fills only
        // buffers that were given, which `drop` keeps until it has ended.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| LabError::Options("the io_uring submission queue is full".into()))
    }
}

impl Ring<'_> {
    /// Ends all receives; returns whether they have ended. Bytes that come in later stay in the sockets.
    fn end(&mut self) -> bool {
        // That there is nothing to cancel is an error of this call; what counts is what has ended.
        let _ = self.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
        let (tries, pause) = ENDING;
        for _ in 0..tries {
            if self.armed == 0 || self.wait(pause).is_err() {
                break;
            }
        }
        self.armed == 0
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        if !self.end() {
            // The kernel may still look at them, so they are never used for anything else.
            let buffers = std::mem::replace(&mut self.buffers, Buffers::new(1, BUFFER_LEAST));
            std::mem::forget(buffers);
            let noted = std::mem::replace(&mut self.noted, Box::new(arrival::noting()));
            std::mem::forget(noted);
        }
    }
}

#[cfg(test)]
mod tests;
