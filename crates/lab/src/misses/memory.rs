//! The floor's memory: a private memfd, mapped once, and the prefetch of one of its lines.
//!
//! All unsafety of the floor is here: making the mapping, viewing it as bytes, and the prefetch.

use std::ffi::c_void;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::LabError;

const HUGE: usize = 2 << 20;

/// Bytes of a memfd that nobody else has.
pub(super) struct Memory {
    start: NonNull<u8>,
    len: usize,
    mapped: usize,
    /// The reservation around the mapping, which is what is given back.
    range: *mut c_void,
    reserved: usize,
}

// SAFETY: the mapping belongs to this value alone, like a boxed slice.
unsafe impl Send for Memory {}
// SAFETY: shared access only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// `len` zero bytes, all present; on huge pages if asked for.
    pub fn new(len: usize, huge: bool) -> Result<Self, LabError> {
        let failed = |doing: &str, error: rustix::io::Errno| LabError::system(doing, error);
        let mapped = len.next_multiple_of(HUGE);
        let file = memfd_create("dolium-lab-floor", MemfdFlags::CLOEXEC)
            .map_err(|error| failed("make the floor's memory", error))?;
        ftruncate(&file, mapped as u64)
            .map_err(|error| failed("size the floor's memory", error))?;
        // Huge pages need an aligned address, which the kernel gives only by chance: a larger range
        // is reserved, and the memfd is mapped over its aligned part.
        let reserved = mapped + HUGE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
        let range = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                reserved,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|error| failed("reserve addresses for the floor", error))?;
        let offset = range.cast::<u8>().align_offset(HUGE);
        let aligned = range.cast::<u8>().wrapping_add(offset);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the aligned part lies within the range reserved above, which nothing else uses:
        // `offset` is less than HUGE, and the range is HUGE longer than the part.
        let start = unsafe { mmap(aligned.cast(), mapped, protection, flags, file.as_fd(), 0) }
            .map_err(|error| failed("map the floor's memory", error))?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| LabError::Options("the kernel mapped the floor at zero".into()))?;
        let memory = Self { start, len, mapped, range, reserved };
        if !huge {
            // Otherwise a machine that gives huge pages to every memfd would give them here too.
            memory.advise(Advice::LinuxNoHugepage, "keep the floor on small pages")?;
        }
        memory.advise(Advice::LinuxPopulateWrite, "fill the floor's memory")?;
        if huge {
            memory.collapse()?;
        }
        Ok(memory)
    }

    fn advise(&self, advice: Advice, doing: &str) -> Result<(), LabError> {
        // SAFETY: the range is exactly this value's mapping, and neither advice loses its bytes.
        unsafe { madvise(self.start.as_ptr().cast(), self.mapped, advice) }
            .map_err(|error| LabError::system(doing, error))
    }

    fn collapse(&self) -> Result<(), LabError> {
        // SAFETY: the range is exactly this value's mapping; collapsing keeps its bytes.
        let done =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.mapped, libc::MADV_COLLAPSE) };
        if done == 0 {
            return Ok(());
        }
        Err(LabError::system("put the floor on huge pages", std::io::Error::last_os_error()))
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes as long as `self`, no other process
        // has the memfd, and writing needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and `&mut self` excludes every other view.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Kilobytes of this mapping that stand on huge pages, as the kernel counts them.
    pub fn huge_kib(&self) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let begins = format!("{:x}-", self.start.as_ptr() as usize);
        let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&begins));
        let line = lines.find(|line| line.starts_with("ShmemPmdMapped:"));
        let number = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
        number.unwrap_or(0)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: nothing views the mapping any more: views borrow this value.
        let unmapped = unsafe { munmap(self.range, self.reserved) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Starts to bring the line at `at` into the cache, if there is one.
#[inline]
pub(super) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let byte: *const u8 = byte;
        // SAFETY: a prefetch never faults, and SSE is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(byte.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
