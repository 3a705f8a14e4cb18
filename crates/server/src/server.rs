//! What all threads share: the engine, the configuration, the registries and the statistics.

use crate::aged::Aged;
use crate::budget::BufferBudget;
use crate::clients::Clients;
use crate::clock::{self, Stopwatch};
use crate::config::{Config, caveats};
use crate::limits::{EXECUTED_BETWEEN_ANNOUNCEMENTS, JOURNAL_BYTES, JOURNAL_SLACK_BYTES};
use crate::mailbox::{Mail, Mailbox};
use crate::memcached::Memcached;
use crate::notify::Notifier;
use crate::pause::Pause;
use crate::process::Surroundings;
use crate::pubsub::PubSub;
use crate::slowlog::{LatencyMonitor, SlowLog};
use crate::statistics::Statistics;
use crate::tls::Tls;
use crate::waiting::WaitingClients;
use dolium_commands::connection::ClientState;
use dolium_commands::host::{Executed, HeapUsage, SlowEntry};
use dolium_commands::redis::row::{Row, flag};
use dolium_commands::redis::slow_arguments;
use dolium_engine::arena::layout;
use dolium_engine::{Db, Engine, Policy, Session};
use dolium_protocol::resp::Args;
use std::io::Read;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

pub struct Server {
    pub engine: Arc<Engine>,
    pub config: Config,
    pub clients: Clients,
    pub pubsub: PubSub,
    pub pause: Pause,
    pub waiting: WaitingClients,
    pub buffers: BufferBudget,
    pub statistics: Statistics,
    pub slowlog: SlowLog,
    pub latency: LatencyMonitor,
    pub notifier: Notifier,
    pub memcached: Memcached,
    /// What TLS listeners share; none without such listeners.
    pub tls: Option<Tls>,
    /// One mailbox for each thread that serves.
    pub posts: Vec<Arc<Mailbox>>,
    pub started: Stopwatch,
    pub started_unix_s: u64,
    /// Forty hexadecimal digits that no other run has.
    pub run_id: String,
    /// The TCP port for Redis clients, as it came out.
    pub port: AtomicU16,
    /// What the system says of this process and its surroundings.
    pub surroundings: Surroundings,
    /// What the allocator said of the heap.
    pub heap_usage: Aged<HeapUsage>,
    /// Resident bytes before there was any data.
    pub startup_bytes: AtomicU64,
    random: AtomicU64,
    /// Databases that are to be emptied at a time to come (Memcached's delayed flush_all).
    pub flushes: Mutex<Vec<(Db, u64)>>,
    stopping: Mutex<bool>,
    stopped: Condvar,
}

impl Server {
    pub fn new(
        engine: Arc<Engine>,
        mut config: Config,
        threads: usize,
        port: u16,
        tls: Option<Tls>,
    ) -> std::io::Result<Server> {
        let memcached = Memcached::new(config.memcached.take());
        let posts = (0..threads).map(|_| Mailbox::new().map(Arc::new));
        let server = Server {
            engine,
            config,
            clients: Clients::default(),
            pubsub: PubSub::default(),
            pause: Pause::default(),
            waiting: WaitingClients::default(),
            buffers: BufferBudget::default(),
            statistics: Statistics::new(threads),
            slowlog: SlowLog::default(),
            latency: LatencyMonitor::default(),
            notifier: Notifier::default(),
            memcached,
            tls,
            posts: posts.collect::<Result<_, _>>()?,
            started: Stopwatch::start(),
            started_unix_s: clock::unix_us() / 1_000_000,
            run_id: random_bytes::<20>()?.iter().map(|b| format!("{b:02x}")).collect(),
            port: AtomicU16::new(port),
            surroundings: Surroundings::default(),
            heap_usage: Aged::default(),
            startup_bytes: AtomicU64::new(0),
            random: AtomicU64::new(u64::from_ne_bytes(random_bytes()?)),
            flushes: Mutex::default(),
            stopping: Mutex::new(false),
            stopped: Condvar::new(),
        };
        server.apply_config();
        Ok(server)
    }

    /// From now on, who needs memory can wake threads that sleep with free blocks in hand.
    pub fn follow_summons(&self) {
        let posts = self.posts.clone();
        self.engine.on_summons(move || posts.iter().for_each(|post| post.wake()));
    }

    /// Hands on what the engine and the notifier are told by the configuration.
    pub fn apply_config(&self) {
        let max = self.config.number("maxmemory").max(0) as u64;
        self.engine.set_max_memory(self.memory_limit(max));
        if let Some(policy) = Policy::from_name(&self.config.get("maxmemory-policy")) {
            self.engine.set_policy(policy);
        }
        self.notifier.configure(&self.engine, &self.config.get("notify-keyspace-events"));
    }

    /// The engine's limit where that is `maxmemory`; 0: none but what the arena reaches.
    ///
    /// It is never less than the threads take, under which a server could not begin with the file that
    /// CONFIG REWRITE has written of it. No data fits into that, as none does into less.
    pub fn memory_limit(&self, max: u64) -> u64 {
        let taken = self.memcached.settings.fixed.initial_bytes;
        // One more is upkeep's.
        let threads = (self.posts.len() as u64 + 1) * layout::SESSION_BYTES;
        let limit = max.saturating_sub(taken) + self.memcached.memory_beside_items(max);
        match max {
            0 => 0,
            _ => limit.max(layout::SHARDS_AT + threads),
        }
    }

    /// Says in the log what directives with these names do not do.
    pub fn warn_of_caveats(&self, names: &[&str]) {
        caveats::warn(&self.config, names, self.engine.memory().max);
    }

    /// After a batch that wrote, or after maintenance: subscribers hear of the changes.
    #[inline]
    pub fn announce_changes(&self) {
        if self.notifier.is_on() {
            self.notifier.drain(&mut |channel, payload| {
                self.pubsub.publish(&self.posts, channel, payload);
            });
        }
    }

    /// In the midst of a transaction, whose changes may be more than the ring holds.
    fn announce_some_changes(&self) {
        if self.notifier.is_on() {
            self.notifier.drain_if_free(&mut |channel, payload| {
                self.pubsub.publish(&self.posts, channel, payload);
            });
        }
    }

    /// Drives out as much as keyspace notifications take, if they are asked for and there was no memory.
    /// A ring is no block that could take the place of items: the memory must go back to the system
    /// first, as after `maxmemory` was lowered, which it is meanwhile.
    pub fn make_room_for_notifications(&self, session: &Session, now: u64) {
        if !self.notifier.is_short() {
            return;
        }
        let memory = self.engine.memory();
        let lowered = memory.max.saturating_sub(JOURNAL_BYTES + JOURNAL_SLACK_BYTES);
        let policy = self.engine.policy();
        if policy != Policy::NoEviction && !policy.only_volatile() && lowered > 0 {
            self.engine.set_max_memory(lowered);
            let above = || self.engine.memory().committed.saturating_sub(lowered);
            let mut before = u64::MAX;
            while (1..before).contains(&above()) {
                before = above();
                let _ = session.make_room(0, now);
            }
        }
        // The limit is what it was, and the notifier tries again.
        self.apply_config();
    }

    /// Empties the databases whose time has come.
    pub fn flush_due(&self, session: &Session, now: u64) {
        let mut flushes = self.flushes.lock().unwrap_or_else(PoisonError::into_inner);
        for (db, _) in flushes.extract_if(.., |(_, at)| *at <= now) {
            session.write_all(now).flush(db);
        }
    }

    pub fn unix_us(&self) -> u64 {
        clock::unix_us()
    }

    /// SplitMix64: statistically good, and nothing here is a secret.
    pub fn random(&self) -> u64 {
        let mut z = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Enters a timed command in the slow log and the latency monitor, if it was that slow.
    #[inline]
    pub fn note_duration(&self, row: &'static Row, us: u64, args: &Args<'_>, client: &ClientState) {
        let live = &self.config.live;
        let slower_than = live.slowlog_slower_than_us.load(Ordering::Relaxed);
        if slower_than >= 0 && us >= slower_than as u64 && row.flags & flag::SKIP_SLOWLOG == 0 {
            self.enter_slow(row, us, args, client);
        }
        let threshold = live.latency_threshold_ms.load(Ordering::Relaxed);
        if threshold != 0 && us / 1000 >= threshold {
            let event = if row.flags & flag::FAST != 0 { "fast-command" } else { "command" };
            self.latency.note(event, self.unix_us() / 1_000_000, us / 1000);
        }
    }

    /// Counts a command that EXEC ran, in the thread that runs it, as one that came by itself.
    pub fn note_executed(&self, thread: usize, client: &ClientState, command: &Executed<'_>) {
        let Executed { row, args, ns, error } = *command;
        let counters = &self.statistics.threads[thread];
        counters.commands.add(1);
        if counters.commands.get().is_multiple_of(EXECUTED_BETWEEN_ANNOUNCEMENTS) {
            self.announce_some_changes();
        }
        let of_row = &counters.rows[usize::from(row.id)];
        of_row.calls.add(1);
        of_row.time(ns, 1);
        if let Some(reply) = error {
            self.statistics.note_error(thread, Some(row), reply, true);
        }
        self.note_duration(row, ns / 1000, &args, client);
    }

    #[cold]
    fn enter_slow(&self, row: &Row, duration_us: u64, args: &Args<'_>, client: &ClientState) {
        let most = self.config.live.slowlog_max_len.load(Ordering::Relaxed) as usize;
        let entry = SlowEntry {
            id: 0,
            unix_s: self.unix_us() / 1_000_000,
            duration_us,
            arguments: slow_arguments::shortened(row, args),
            addr: client.addr.clone(),
            name: slow_arguments::shorten(&client.name),
        };
        self.slowlog.enter(entry, most);
    }

    pub fn post_all(&self, mail: impl Fn() -> Mail) {
        self.posts.iter().for_each(|post| post.post(mail()));
    }

    /// Begins the end: every thread finishes what it has and closes. False: it had begun.
    pub fn stop(&self) -> bool {
        let mut stopping = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *stopping, true) {
            return false;
        }
        self.post_all(|| Mail::Stop);
        self.stopped.notify_all();
        true
    }

    pub fn is_stopping(&self) -> bool {
        *self.stopping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at most `ms` for the end to begin. True: it has.
    pub fn wait_for_stop(&self, ms: u64) -> bool {
        let stopping = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        let time = std::time::Duration::from_millis(ms);
        let waited = self.stopped.wait_timeout_while(stopping, time, |stopping| !*stopping);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
