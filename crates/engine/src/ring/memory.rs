//! The memory file of a ring: made by the server, handed to one client, mapped by both.
//!
//! It is sealed against shrinking: a client that could truncate it could kill the server with a
//! SIGBUS. It is committed when made, for the same reason. What is *in* it the client may change
//! at any moment, so it is reached as atomic words and nothing else.

use super::lane::RingWords;
use super::layout::{
    MAGIC, MAGIC_WORD, REPLY_BYTES, REPLY_BYTES_WORD, REQUEST_BYTES, REQUEST_BYTES_WORD, RingPlan,
    VERSION, VERSION_WORD, WORD,
};
use crate::sync::atomics::{AtomicU64, Ordering};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

const BYTES: usize = RingPlan::STANDARD.words() * WORD;

/// A mapped ring of the standard size.
#[derive(Debug)]
pub struct RingMemory {
    base: NonNull<AtomicU64>,
}

// SAFETY: the mapping belongs to this value alone and is reached as atomics, from any thread.
unsafe impl Send for RingMemory {}
// SAFETY: as above.
unsafe impl Sync for RingMemory {}

impl RingMemory {
    /// A new ring, and its descriptor for the client.
    pub fn create() -> io::Result<(RingMemory, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("dolium-ring", flags)?;
        rustix::fs::ftruncate(&fd, BYTES as u64)?;
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, BYTES as u64)?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = RingMemory::map(fd.as_fd())?;
        let head = [
            (VERSION_WORD, VERSION),
            (REQUEST_BYTES_WORD, REQUEST_BYTES as u64),
            (REPLY_BYTES_WORD, REPLY_BYTES as u64),
            (MAGIC_WORD, MAGIC),
        ];
        for (index, value) in head {
            // Relaxed: the client gets the descriptor only after this, through the kernel.
            memory.word(index).store(value, Ordering::Relaxed);
        }
        Ok((memory, fd))
    }

    /// The ring behind a descriptor from the server.
    pub fn open(fd: OwnedFd) -> io::Result<RingMemory> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        if rustix::fs::fstat(&fd)?.st_size != BYTES as i64 {
            return Err(wrong("the server's ring has another size than this program knows"));
        }
        let memory = RingMemory::map(fd.as_fd())?;
        let head = [
            (MAGIC_WORD, MAGIC),
            (VERSION_WORD, VERSION),
            (REQUEST_BYTES_WORD, REQUEST_BYTES as u64),
            (REPLY_BYTES_WORD, REPLY_BYTES as u64),
        ];
        for (index, value) in head {
            // Relaxed: written before the descriptor was sent, see `create`.
            if memory.word(index).load(Ordering::Relaxed) != value {
                return Err(wrong("the server's ring has another layout than this program knows"));
            }
        }
        Ok(memory)
    }

    fn map(fd: BorrowedFd<'_>) -> io::Result<RingMemory> {
        // SAFETY: the kernel chooses the address, so no existing mapping is touched; the result is
        // owned by the value that is made of it.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(RingMemory { base })
    }
}

impl RingWords for RingMemory {
    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < BYTES / WORD, "a word outside of the ring");
        // SAFETY: the index is within the mapping, as just checked.
        let word = unsafe { self.base.add(index) };
        // SAFETY: mapped and page-aligned memory that lives as long as `self` and that this
        // process reaches only as `AtomicU64`; what other processes do to it are atomic or plain
        // stores of the machine, which an atomic load is made for.
        unsafe { word.as_ref() }
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; references into it cannot outlive `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), BYTES) };
        debug_assert!(unmapped.is_ok());
    }
}
