//! The store: one shared arena, no socket, no thread, no clock, no random number.
//!
//! Modules in reading order: what callers say (`verbs`), what memory looks like (`arena`), how
//! blocks are had (`alloc`), what an entry is (`item`), how it is found (`index`), how it is
//! changed (`guard`), and who learns of it (`journal`, `cut`, `watch`).

#[doc(hidden)]
pub mod alloc;
pub mod arena;
mod counters;
mod crowding;
mod cut;
mod departure;
mod engine;
mod eviction;
mod ghosts;
mod graveyard;
mod guard;
mod hand;
mod hash;
mod hazards;
mod incoming;
mod index;
mod item;
mod journal;
mod large;
mod lease;
pub mod limits;
mod maintenance;
mod nearness;
mod packed;
pub mod published;
mod reader;
pub mod ring;
mod scan;
mod session;
mod summons;
#[cfg(not(shuttle))]
mod sync;
#[cfg(shuttle)]
#[doc(hidden)]
pub mod sync;
mod trial;
mod verbs;
mod verify;
mod watch;

pub use arena::Frame;
pub use counters::{Counter, Statistics};
pub use cut::{Cut, CutItem, CutQueue, CutSink, CutStep};
pub use departure::Departure;
pub use engine::{CreateError, Engine, EngineOptions, MemoryReport};
pub use eviction::kept::Kept;
pub use guard::Guard;
pub use incoming::{Form, INCOMING_BYTES_MIN, Incoming};
pub use index::fetch::Fetch;
pub use index::near::Near;
pub use index::read::Contended;
pub use item::{KEY_ROOM, KEY_ROOM_VALUE_MIN, grown_bytes};
pub use journal::{Change, ChangeReader, Delivery, Effect, Next};
pub use lease::{LEASED_BYTES_MIN, LEASES_MAX, Lease};
pub use maintenance::Work;
pub use nearness::bring_near;
pub use packed::{Packed, Patch};
pub use reader::{Copied, Reader};
pub use session::Session;
pub use verbs::*;
