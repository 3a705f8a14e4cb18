//! The arena's memory as the system gives it: a memfd, mapped once, committed piece by piece.
//!
//! Memory is committed by `fallocate` before anything is stored in it. A store into a hole when
//! the system has no memory left is a SIGBUS; a refused `fallocate` is an error that a client
//! gets to read.

use super::layout::{EXTENT, REACH, RUN_MAX};
use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// The arena's memory file.
pub type File = OwnedFd;

/// A mapping of a whole arena file. Unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    /// Bytes of the file.
    len: usize,
    /// The whole reservation, which is what is given back.
    reserved: *mut c_void,
    reserved_len: usize,
}

// SAFETY: the mapping is memory without an owner thread; whoever touches it does so by atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above; the type itself has no interior state.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Maps `len` bytes of `fd` at an address that is a multiple of the extent size, so that an
    /// extent can become one huge page.
    ///
    /// ```text
    /// base          base + len                       base + REACH      base + REACH + RUN_MAX
    ///  | the file     | anonymous, for reading: zeros   |                 |
    /// ```
    /// A reader follows words that may be out of date. With everything that such a word can lead
    /// to mapped, it needs no bounds check: what it reads there fails the check that comes after.
    pub fn new(fd: BorrowedFd<'_>, len: usize, writable: bool) -> io::Result<Mapping> {
        let spare = EXTENT as usize;
        let reach = (REACH + RUN_MAX) as usize;
        // A longer file would be mapped over whatever lies behind the reservation.
        if len as u64 > REACH {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a fresh anonymous reservation at an address of the kernel's choice.
        let reserved = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                reach + spare,
                ProtFlags::READ,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let start = reserved as usize;
        let head = start.next_multiple_of(spare) - start;
        let aligned = reserved.wrapping_byte_add(head);
        let base = NonNull::new(aligned.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // From here on whatever fails gives the reservation back.
        let mapping = Mapping { base, len, reserved, reserved_len: reach + spare };
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: the range lies within the reservation made above, which nobody else uses.
        unsafe {
            rustix::mm::mmap(
                aligned,
                len,
                protection,
                MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED,
                fd,
                0,
            )
        }?;
        // A core file of a crashed process must not contain everybody's data, nor its size. A
        // kernel that refuses the advice leaves a larger core file, no more.
        // SAFETY: advice about our own mapping, which does not change its contents.
        let _ = unsafe { rustix::mm::madvise(reserved, reach + spare, Advice::LinuxDontDump) };
        Ok(mapping)
    }

    fn at(&self, offset: u64, len: u64) -> *mut c_void {
        assert!(offset + len <= self.len as u64, "a range outside of the arena");
        self.base.as_ptr().wrapping_add(offset as usize).cast()
    }

    /// Maps committed memory into this process's page tables, so that first touches do not fault.
    pub fn populate(&self, offset: u64, len: u64) {
        let at = self.at(offset, len);
        // A refusal (an old kernel) means faults later, which is what there was before.
        // SAFETY: populating our own mapping does not change its contents.
        let _ = unsafe { rustix::mm::madvise(at, len as usize, Advice::LinuxPopulateWrite) };
    }

    /// Asks for one huge page in place of the small ones of a fully committed extent.
    pub fn collapse(&self, offset: u64, len: u64) -> io::Result<()> {
        let at = self.at(offset, len);
        // SAFETY: the range is our own mapping; collapsing keeps its contents.
        let outcome = unsafe { libc::madvise(at, len as usize, libc::MADV_COLLAPSE) };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the accessors that point into it live in the same
        // owner as this value and end with it.
        let outcome = unsafe { rustix::mm::munmap(self.reserved, self.reserved_len) };
        debug_assert!(outcome.is_ok(), "munmap of the arena: {outcome:?}");
    }
}

/// A new memory file of this length. It can neither shrink (a reader would get SIGBUS) nor grow.
pub fn create_file(len: u64) -> io::Result<File> {
    let fd =
        rustix::fs::memfd_create("dolium-arena", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    // Read by its owner, no more. A memfd is born with mode 0777, and whoever holds a descriptor for
    // reading could open it again for writing by way of /proc/self/fd. This descriptor stays as it
    // was opened. A seal against future writing would be stronger, and forbid punching holes too.
    rustix::fs::fchmod(&fd, Mode::RUSR)?;
    rustix::fs::ftruncate(&fd, len)?;
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// A second descriptor of the same file that can only be read from and mapped for reading.
pub fn reopen_read_only(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Has the system set memory aside for a range of the file.
pub fn commit(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    loop {
        match rustix::fs::fallocate(fd, FallocateFlags::empty(), offset, len) {
            Err(rustix::io::Errno::INTR) => {}
            outcome => return Ok(outcome?),
        }
    }
}

/// Gives the memory of a range back. It then reads as zero until it is committed again.
pub fn release(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    loop {
        match rustix::fs::fallocate(fd, flags, offset, len) {
            Err(rustix::io::Errno::INTR) => {}
            outcome => return Ok(outcome?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    /// The file had mode 0777: a reader opened its read-only descriptor once more, by way of
    /// /proc/self/fd, and could write into everybody's data.
    #[test]
    fn a_descriptor_for_reading_does_not_open_one_for_writing() {
        let len = 1 << 20;
        let file = create_file(len).unwrap();
        let handed = reopen_read_only(file.as_fd()).unwrap();
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&handed).unwrap().st_mode);
        assert_eq!(mode, Mode::RUSR);
        let path = format!("/proc/self/fd/{}", handed.as_raw_fd());
        let opened = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        match opened {
            Err(error) => assert_eq!(error, rustix::io::Errno::ACCESS),
            // No mode stops root.
            Ok(_) => assert!(rustix::process::geteuid().is_root()),
        }
        // The owner's descriptor does all that it did, and can be opened for reading again.
        commit(file.as_fd(), 0, len).unwrap();
        assert_eq!(rustix::io::pwrite(&file, b"salve", 0), Ok(5));
        let mut read = [0; 5];
        assert_eq!(rustix::io::pread(&handed, &mut read, 0), Ok(5));
        assert_eq!(&read, b"salve");
        release(file.as_fd(), 0, len).unwrap();
        assert!(rustix::io::pwrite(&handed, b"vale", 0).is_err());
        drop(reopen_read_only(file.as_fd()).unwrap());
    }
}
