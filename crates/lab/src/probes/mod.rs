//! What the system says of a store while it is asked: sampled from /proc, never from inside.
//!
//! ```text
//! process.rs  one process: CPU by kind, switches, faults, memory, swap, disk
//! machine.rs  the whole machine: CPU by kind, pages swapped, bytes over the loopback interface
//! sampler.rs  both, every tenth of a second, by a thread of its own
//! counters.rs system calls and hardware counters over a short window, by perf or strace
//! ```

pub mod counters;
pub mod machine;
pub mod process;
pub mod sampler;

pub use sampler::{Moment, Sampler};
