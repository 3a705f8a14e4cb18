//! A pair of byte rings between one client process and the server, in a memory file of its own.
//!
//! ```text
//!            RESP requests  ---------->
//!  client                                server
//!            <----------  RESP replies
//! ```
//!
//! What flows is plain RESP, so every command works and a request may be longer than the ring.
//! `layout` draws the memory, `lane` is one direction, `end` adds sleeping and waking, `patience` says how long
//! to look before that, `memory` is the file, `hello` the words by which a client gets it. The server believes nothing that it
//! reads in a ring.

#[cfg(not(miri))]
mod cores;
mod end;
pub mod hello;
mod lane;
mod layout;
#[cfg(not(miri))]
mod memory;
mod patience;

#[cfg(not(miri))]
pub use cores::has_several_cores;
pub use end::RingEnd;
pub use lane::{RingFault, RingWords};
pub use layout::{REPLY_BYTES, REQUEST_BYTES, RingPlan};
#[cfg(not(miri))]
pub use memory::RingMemory;
pub use patience::Patience;
