//! The heap of the program is jemalloc's: how it is set up, and what it says of itself.
//!
//! Data live in the arena; here are buffers, connections and tables.
//!
//! ```text
//!   thp:never            a buffer of a megabyte of which 64 KiB are used shall not have 2 MB cleared
//!   narenas:1            the threads share what is free; each would keep its own otherwise
//!   dirty_decay_ms       what is free goes back within a second
//!   oversize_threshold   above every buffer: from 8 MiB on, free memory goes back at once otherwise,
//!                        and a reply that grows to 30 MB then costs more than twice as much CPU
//! ```
//! Why it is jemalloc, and how the settings were found: docs/decisions/0128-the-heap-is-jemallocs.md.

use dolium_server::heap::{Heap, HeapUsage};
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};
use tikv_jemalloc_ctl::stats_print::{Options, stats_print};
use tikv_jemalloc_ctl::{Access, AsName, arenas, epoch, stats, version};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What jemalloc reads under this name at the first allocation, before `main`. Under a wrong name it
/// would go unread: `tests/heap.rs` asks a server for what holds.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static SETTINGS: Option<&'static u8> = Some(
    &b"thp:never,metadata_thp:disabled,narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0,\
       oversize_threshold:0x40000000\0"[0],
);

/// As in the settings, in milliseconds.
const DIRTY_DECAY_MS: isize = 1000;

#[derive(Debug)]
pub struct Jemalloc;

pub static HEAP: Jemalloc = Jemalloc;

impl Heap for Jemalloc {
    fn name(&self) -> String {
        // "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c": the commit is for nobody.
        let text = version::read().unwrap_or("unknown");
        format!("jemalloc-{}", text.split('-').next().unwrap_or(text))
    }

    fn usage(&self) -> HeapUsage {
        // Statistics are of the last time that the epoch was advanced.
        let _ = epoch::advance();
        let bytes = |read: tikv_jemalloc_ctl::Result<usize>| read.unwrap_or(0) as u64;
        HeapUsage {
            allocated: bytes(stats::allocated::read()),
            active: bytes(stats::active::read()),
            resident: bytes(stats::resident::read()),
        }
    }

    fn give_back(&self) {
        // One at a time: who comes between the two times of another would leave the first one there.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        for arena in 0..arenas::narenas::read().unwrap_or(0) {
            let name = format!("arena.{arena}.dirty_decay_ms\0");
            let name = name.as_str().name();
            // A time of nothing gives back at once. An arena that nobody has used has no time.
            if name.write(0isize).is_ok()
                && let Err(error) = name.write(DIRTY_DECAY_MS)
            {
                tracing::warn!(%error, "the heap gives back too eagerly from now on");
            }
        }
    }

    fn report(&self) -> Option<String> {
        let mut text = Vec::new();
        stats_print(&mut text, Options::default()).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}
