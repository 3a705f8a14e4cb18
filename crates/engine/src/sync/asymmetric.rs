//! A fence of two halves, for two who each write a word and then read the other's: at least one of
//! them sees what the other has written.
//!
//! ```text
//! often: word = FREE;   light(); read asleep        seldom: asleep = 1;   heavy(); read word
//! ```
//!
//! The light half costs nothing: it keeps the compiler from changing the order, not the processor. The
//! heavy half is a system call (`membarrier`, Linux 4.14) of a microsecond or more, which returns when
//! every running thread of this process has passed a full fence. A thread that passes it before its
//! write sees the other's word when it reads; one that passes it after its write has been seen.
//!
//! So all who use the light half must be threads of the process that calls the heavy one. It is the
//! server's alone that takes the arena's locks.

#[cfg(not(any(miri, shuttle)))]
mod system {
    use crate::sync::atomics::{Ordering, compiler_fence};
    use rustix::io::Errno;
    use rustix::thread::{MembarrierCommand as Command, membarrier};

    #[inline(always)]
    pub fn light() {
        // SeqCst: the partner is `heavy`.
        compiler_fence(Ordering::SeqCst);
    }

    /// False: the system does not offer it (an older Linux, or a sandbox that forbids it), and
    /// nothing is ordered.
    #[cold]
    pub fn heavy() -> bool {
        match membarrier(Command::PrivateExpedited) {
            Err(Errno::PERM) => prepare() && membarrier(Command::PrivateExpedited).is_ok(),
            outcome => outcome.is_ok(),
        }
    }

    /// Tells the system that this process will call `heavy`. The first call would do it too, but with
    /// several threads it takes milliseconds.
    pub fn prepare() -> bool {
        membarrier(Command::RegisterPrivateExpedited).is_ok()
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_heavy_half_is_there_also_where_nobody_has_prepared_it() {
            // Where the system forbids it, waiting is slower: `sleep::LIMIT_UNORDERED`.
            assert!(super::heavy());
        }
    }
}

/// Miri knows no `membarrier`, but what it is for.
#[cfg(all(miri, not(shuttle)))]
mod system {
    use crate::sync::atomics::{Ordering, fence};

    pub fn light() {
        // SeqCst: the partner is `heavy`.
        fence(Ordering::SeqCst);
    }

    pub fn heavy() -> bool {
        // SeqCst: the partner is `light`.
        fence(Ordering::SeqCst);
        true
    }

    pub fn prepare() -> bool {
        true
    }
}

/// Shuttle runs one task at a time: there is nothing for a fence to order.
#[cfg(shuttle)]
mod system {
    pub fn light() {}

    pub fn heavy() -> bool {
        true
    }

    pub fn prepare() -> bool {
        true
    }
}

pub use system::{heavy, light, prepare};
