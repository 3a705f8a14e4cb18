//! Workloads, load generator and experiments: measures stores from outside, as a user does.
//!
//! ```text
//! workload/   what is asked: keys, values, order, bytes of each request and reply
//! generator/  who asks: threads with epoll or io_uring, closed and open loop, latency histograms
//! null/       the floor of a network figure: servers that parse nothing
//! crowd/      clients that are hard on a server, and what they do to others
//! misses/     the floor of an attached read: pairs of cache misses
//! returns     what a function that returns behind a system call costs
//! stores/     child processes under test, pinned, and the CPU time that they use
//! compare/    interleaved rounds over several stores, and the table that they end in
//! experiment/ the published experiments as data, read from `experiments/*.toml`
//! run/        runs an experiment: one file for each kind of it
//! probes/     what the system says of a store meanwhile
//! statistics/ medians with intervals, tests of a difference, the machine's noise
//! trust/      the lab's own claims, measured
//! report/     what is left on disk: JSON, CSV, SVG and one page
//! attached    the loop of a process that is attached to a store's memory
//! output      what is written to the standard output and to the standard error
//! cli/        `dolium lab ...`
//! ```
//!
//! An absolute figure belongs to its machine and its minute. What this crate reports is therefore
//! first a ratio between stores that took turns in one run, and only then a time.

// Its own way out is `output`: these macros abort where nobody reads.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod attached;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod cpu;
pub mod crowd;
pub mod error;
pub mod experiment;
pub mod generator;
pub mod growth;
pub mod interrupt;
pub mod limits;
pub mod machine;
pub mod misses;
pub mod null;
pub mod output;
pub mod probes;
pub mod report;
pub mod returns;
pub mod run;
pub mod statistics;
pub mod stores;
pub mod threads;
pub mod trust;
pub mod workload;

pub use error::LabError;
