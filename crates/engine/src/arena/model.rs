//! An arena without the system: plain zeroed memory of this process, for model checkers and Miri.
//!
//! It takes the place of `map.rs` under `--cfg shuttle` and under Miri. Committing is free, giving
//! back is forgetting nothing, and no other process can attach.

use std::io;
use std::ptr::NonNull;

/// What stands where the memory file's descriptor is.
#[derive(Debug)]
pub struct File;

impl File {
    pub fn as_fd(&self) -> &File {
        self
    }
}

/// A block of zeroed memory.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the block is memory without an owner thread; whoever touches it does so by atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above; the type itself has no interior state.
unsafe impl Sync for Mapping {}

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Mapping {
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// `file` is that of `create_file`. An arena of another process cannot be mapped here.
    pub fn new<F>(_file: F, len: usize, writable: bool) -> io::Result<Mapping> {
        if !writable {
            return unsupported();
        }
        Ok(Mapping { base: zeroed(len)?, len })
    }

    pub fn populate(&self, _offset: u64, _len: u64) {}

    pub fn collapse(&self, _offset: u64, _len: u64) -> io::Result<()> {
        unsupported()
    }
}

/// Pages that the system zeroes when they are touched: a model touches few of many.
#[cfg(not(miri))]
fn zeroed(len: usize) -> io::Result<NonNull<u8>> {
    use rustix::mm::{MapFlags, ProtFlags};
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
    let at = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, protection, flags) }?;
    NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory.into())
}

#[cfg(not(miri))]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the block is ours, and the accessors that point into it live in the same owner
        // as this value and end with it.
        let outcome = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(outcome.is_ok(), "munmap of the model's arena: {outcome:?}");
    }
}

#[cfg(miri)]
fn layout(len: usize) -> io::Result<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(len, 4096).or_else(|_| unsupported())
}

#[cfg(miri)]
fn zeroed(len: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: an arena's length is never 0.
    let at = unsafe { std::alloc::alloc_zeroed(layout(len)?) };
    NonNull::new(at).ok_or(io::ErrorKind::OutOfMemory.into())
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        if let Ok(layout) = layout(self.len) {
            // SAFETY: the block was allocated with this layout and is used by nobody any more.
            unsafe { std::alloc::dealloc(self.base.as_ptr(), layout) };
        }
    }
}

pub fn create_file(_len: u64) -> io::Result<File> {
    Ok(File)
}

pub fn reopen_read_only(_file: &File) -> io::Result<std::os::fd::OwnedFd> {
    unsupported()
}

pub fn commit(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// The memory keeps what is in it, which a late reader may see in a real arena, too.
pub fn release(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}
