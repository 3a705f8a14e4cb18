//! What the server keeps for its Memcached clients beside what it keeps for all.
//!
//! ```text
//!   Setup      from the command line of `dolium memcached`: settings, doors, accounts
//!   Memcached  part of the running server: settings, watchers, what has left each class of items
//! ```

pub mod accounts;
pub mod censuses;
pub mod connections;
pub mod departures;
pub mod doors;
pub mod page;
pub mod restart;
pub mod udp;
pub mod watchers;
pub mod writes;

use crate::lifecycle::StartFailure;
use crate::server::Server;
use accounts::Accounts;
use censuses::Censuses;
use departures::Departures;
use dolium_commands::memcache::details::Details;
use dolium_commands::memcache::events::{self, stream};
use dolium_commands::memcache::settings::{Fixed, Live};
use dolium_commands::memcache::{Server as _, Settings};
pub use dolium_commands::memcache::{VERSION, settings::Binding};
use dolium_engine::{Departure, Event, NEVER};
use restart::{Look, Restored};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use watchers::Watchers;

/// What a server for Memcached clients is started with.
#[derive(Debug, Default)]
pub struct Setup {
    pub fixed: Fixed,
    pub live: Live,
    pub details: bool,
    /// Hosts to listen on.
    pub hosts: Vec<Place>,
    /// `-p` and `-U`: -1 is any free port, 0 none.
    pub tcp_port: i32,
    pub udp_port: i32,
    pub unix_socket: Option<PathBuf>,
    pub accounts: Accounts,
    /// `-Z`: TCP listeners speak TLS, but for those named `notls:`.
    pub tls: Option<crate::tls::Settings>,
    /// Where the ports are written for whoever started the server.
    pub ports_file: Option<PathBuf>,
}

/// Where to listen: one of `-l`.
#[derive(Debug)]
pub struct Place {
    pub host: String,
    /// A port of its own instead of the one that is set.
    pub port: Option<u16>,
    /// `notls:` stands before it.
    pub is_plain: bool,
}

/// Part of the running server.
#[derive(Debug)]
pub struct Memcached {
    pub settings: Settings,
    pub watchers: Watchers,
    pub details: Details,
    pub accounts: Accounts,
    pub departures: Departures,
    pub listening: Mutex<Vec<connections::Listening>>,
    pub censuses: Censuses,
    pub spare_pages: Mutex<[u64; dolium_commands::memcache::classes::CLASSES_MAX + 1]>,
    pub counts: Counts,
    /// `shutdown graceful` or SIGUSR1: what is in memory goes to the memory file.
    pub keep: AtomicBool,
}

/// What happens seldom enough for one number that all threads add to.
#[derive(Debug, Default)]
pub struct Counts {
    pub flushed: AtomicU64,
    pub yields: AtomicU64,
    pub idle_kicks: AtomicU64,
    pub response_oom: AtomicU64,
    pub read_buffer_oom: AtomicU64,
    pub rounds: AtomicU64,
    pub crawls: AtomicU64,
    pub slabs_moved: AtomicU64,
    pub reassign_evictions: AtomicU64,
    pub pages_peak: AtomicU64,
    pub hash_power: AtomicU32,
    /// What the arena took before it held anything.
    pub fixed_bytes: AtomicU64,
    /// Where the counters stood at the last `stats reset`.
    pub expired_before: AtomicU64,
}

impl Server {
    /// From now on, what expires and is evicted is counted and shown to watchers.
    pub fn watch_departures(self: &Arc<Server>) {
        let server = Arc::downgrade(self);
        self.engine.on_departure(move |gone| {
            let Some(server) = server.upgrade() else { return };
            let memcached = &server.memcached;
            let class = memcached.departures.count(&memcached.settings, gone);
            if gone.event == Event::Evicted && memcached.watchers.mask() & stream::EVICTIONS != 0 {
                server.tell_eviction(gone, class);
            }
        });
        // In Memcached's view such an item lies in several chunks.
        let chunk = self.memcached.settings.fixed.slab_chunk_max as u64;
        self.engine.count_moves_above(chunk);
        self.apply_live();
    }

    fn tell_eviction(&self, gone: &Departure<'_>, class: usize) {
        let found = &gone.found;
        let mut line = String::from("type=eviction key=");
        events::push_key(&mut line, gone.key);
        let fetched = if found.frequency > 0 { "yes" } else { "no" };
        let ttl = match found.deadline {
            NEVER => -1,
            at => (at.saturating_sub(gone.now) / 1000) as i64,
        };
        let idle = match found.last_use_s {
            0 => 0,
            at => (gone.now / 1000).saturating_sub(u64::from(at)),
        };
        let size = found.len;
        line.push_str(&format!(" fetch={fetched} ttl={ttl} la={idle} clsid={class} size={size}"));
        self.tell(stream::EVICTIONS, &line);
    }

    /// Brings back what a graceful stop has kept.
    pub fn restore_items(&self) -> Result<(), StartFailure> {
        let Some(file) = &self.memcached.settings.fixed.memory_file else { return Ok(()) };
        let path = std::path::Path::new(file);
        let said = |why| StartFailure::Io("the memory file of -e", std::io::Error::other(why));
        let failed = |error: std::io::Error| said(crate::folder::named(path, &error));
        let look = restart::Meta::look(path).map_err(said)?;
        let back = match look {
            Look::Nothing => return restart::begin(path).map_err(failed),
            Look::Damaged => {
                restart::forget(path).map_err(failed)?;
                Err(std::io::Error::other("the description of the saved items is damaged"))
            }
            Look::Saved(meta) => {
                let session = self.engine.session().ok_or(StartFailure::Sessions)?;
                restart::restore(self, &session, path, meta).map_err(failed)?
            }
        };
        match back {
            Ok(Restored { kept, expired, no_room: 0 }) => {
                tracing::info!(kept, expired, file, "the items of the last run are back");
            }
            Ok(Restored { kept, expired, no_room }) => tracing::warn!(
                kept,
                expired,
                no_room,
                file,
                "not all items of the last run are back: more memory (-m) would have room for them"
            ),
            Err(error) => tracing::warn!(
                %error,
                file,
                "the items of the last run cannot be used: the cache starts empty"
            ),
        }
        Ok(())
    }
}

impl Memcached {
    pub fn new(setup: Option<Setup>) -> Memcached {
        let setup = setup.unwrap_or_default();
        let power = if setup.fixed.hashpower_init == 0 { 16 } else { setup.fixed.hashpower_init };
        let memcached = Memcached {
            settings: Settings::new(setup.fixed, setup.live),
            watchers: Watchers::default(),
            details: Details::default(),
            accounts: setup.accounts,
            departures: Departures::default(),
            listening: Mutex::default(),
            censuses: Censuses::default(),
            spare_pages: Mutex::new([0; dolium_commands::memcache::classes::CLASSES_MAX + 1]),
            counts: Counts { hash_power: AtomicU32::new(power), ..Counts::default() },
            keep: AtomicBool::new(false),
        };
        memcached.watchers.set_details(setup.details);
        memcached.watchers.set_unique_off(!memcached.settings.fixed.unique_enabled);
        memcached
    }

    /// Replies that one connection may have under way: what `-o read_buf_mem_limit` leaves of them
    /// to each thread, in Memcached's measure.
    pub fn responses_max(&self, threads: usize) -> usize {
        /// Memcached's read buffer, and what of it a reply takes.
        const BUFFER_BYTES: usize = 16 << 10;
        const RESPONSE_BYTES: usize = 400;
        match self.settings.fixed.read_buffer_limit {
            0 => usize::MAX,
            limit => {
                // One of the buffers receives.
                let buffers = (limit / threads / BUFFER_BYTES).saturating_sub(1).max(1);
                buffers * (BUFFER_BYTES / RESPONSE_BYTES)
            }
        }
    }

    /// Bytes that the arena may take beside the items of `-m`: what it took before there were any,
    /// the descriptors of their memory, the reserve that eviction keeps free, and a little for the
    /// index. Memcached's `-m` is about items alone, too.
    pub fn memory_beside_items(&self, max: u64) -> u64 {
        const DESCRIPTORS_ONE_IN: u64 = 112;
        const RESERVE_BYTES: u64 = 512 << 10;
        const RESERVE_ONE_IN: u64 = 15;
        const INDEX_BYTES: u64 = 512 << 10;
        const INDEX_ONE_IN: u64 = 64;
        if !self.settings.fixed.is_memcached || self.settings.fixed.initial_bytes != 0 {
            return 0;
        }
        let fixed = self.counts.fixed_bytes.load(Relaxed) + max / DESCRIPTORS_ONE_IN;
        let reserve = RESERVE_BYTES.min((max + fixed) / RESERVE_ONE_IN);
        fixed + reserve + INDEX_BYTES.min(max / INDEX_ONE_IN)
    }
}
