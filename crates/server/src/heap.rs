//! The heap: where everything but the data lives, as its allocator describes it.
//!
//! A program chooses its allocator, a library does not: the program that runs a server hands it a
//! [`Heap`]. INFO and MEMORY then say what is true of the process that runs, and a server within a
//! test, whose program says nothing, has an allocator of unknown name.

pub use dolium_commands::host::HeapUsage;
use std::fmt::Debug;

/// Every answer is of the moment, and may take some tens of microseconds.
pub trait Heap: Debug + Sync {
    /// Name and version as INFO has them: `jemalloc-5.3.0`.
    fn name(&self) -> String;
    fn usage(&self) -> HeapUsage;
    /// Gives what is free back to the system.
    fn give_back(&self);
    /// What the allocator says of itself, for a reader.
    fn report(&self) -> Option<String>;
}

/// The heap of a program that says nothing of it.
#[derive(Debug)]
pub struct Untold;

impl Heap for Untold {
    fn name(&self) -> String {
        "unknown".into()
    }

    fn usage(&self) -> HeapUsage {
        HeapUsage::default()
    }

    fn give_back(&self) {}

    fn report(&self) -> Option<String> {
        None
    }
}
