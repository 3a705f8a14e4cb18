//! One thread's event loop: sockets, edge-triggered, run to completion.
//!
//! ```text
//!   epoll_wait -> mail from other threads
//!              -> for each ready connection, and busy ones: recv into the hot buffer, parse, prefetch
//!                 `- 48 commands with a connection's last, 64, or nothing left: prefetch items, run, one send per connection,
//!                    short replies of GETs and SETs when all have run
//!              -> the ready list, until long turns have moved a megabyte
//!              -> mail that waits for the turns, and what of it has been taken meanwhile (`mailbox.rs`)
//! ```
//! A short read means that there is no more, so no read is spent on finding nothing, but for busy connections that
//! have fallen silent (`busy.rs`). Rings of local processes are looked into before epoll_wait (`rings.rs`). A read that filled its room puts the connection
//! on the ready list, behind the others; and so does an event of one whose last turn was long.

mod accept;
mod batch;
pub(crate) mod busy;
mod count;
mod deliver;
mod execute;
mod feed;
mod gather;
mod intake;
mod linger;
mod mail;
mod parse;
mod ready;
mod receive;
mod replies;
mod request;
mod rings;
mod rows;
mod sample;
mod settle;
mod slab;
mod stage;
mod wait;
mod watch;

use crate::attach::publish::Published;
use crate::clients::Token;
use crate::clock;
use crate::connection::Hold;
use crate::limits::*;
use crate::listener::Listener;
use crate::mailbox::{Mail, Mailbox};
use crate::memcached::udp::Datagrams;
use crate::server::Server;
use crate::statistics::ThreadCounters;
use batch::Batch;
use dolium_engine::{Fetch, Session};
use dolium_protocol::resp::Limits;
use dolium_protocol::{http, memcache};
use mail::Moment;
use parse::Known;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::Timespec;
use slab::Slab;
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Event data of the mailbox, and the lower halves of that of listeners and of UDP sockets, whose
/// numbers are the upper halves. No connection has such an index.
const MAILBOX: u64 = u64::MAX;
const LISTENER: u32 = u32::MAX;
const DATAGRAMS: u32 = u32::MAX - 1;

pub struct Reactor {
    thread: usize,
    server: Arc<Server>,
    /// This thread's, as they stand in the server's statistics.
    counters: Arc<ThreadCounters>,
    session: Session,
    post: Arc<Mailbox>,
    epoll: OwnedFd,
    listeners: Vec<Listener>,
    datagrams: Datagrams,
    slab: Slab,
    /// Connections that are due another turn without an event.
    ready: VecDeque<Token>,
    /// Which have turns without an event.
    rounds: busy::Rounds,
    /// Rings that are looked into without an event.
    rings: rings::Rings,
    /// Bytes of output sent that the peer had had no room for.
    resumed: u64,
    /// Bytes of output of those who were closed for it, since the allocator gave such back last.
    freed: u64,
    /// Connections to be closed when nothing borrows them.
    doomed: Vec<Token>,
    lingering: linger::Lingering,
    /// Connections whose large request waits for room in the budget, and how much it holds meanwhile.
    starved: Vec<(Token, u64)>,
    /// Connections whose large replies wait for room there, and what the budget said when they asked last.
    unanswered: Vec<Token>,
    replies_seen: u64,
    releases_seen: u64,
    deadlines: wait::Deadlines,
    /// The input of all connections, one after the other; `fill` bytes belong to the batch.
    hot: Vec<u8>,
    fill: usize,
    /// The buffer of the large request that was run last, empty.
    large_input: Vec<u8>,
    batch: Box<Batch>,
    /// What is being gathered from the hot buffer.
    intake: gather::Intake,
    /// The batch that was run last, empty: requests are gathered in one while the other runs.
    spare: Option<Box<Batch>>,
    /// How some requests of late began, and their commands.
    known: [Option<Known>; 4],
    /// The output of the connection whose requests run now.
    out: Vec<u8>,
    /// That of others, until the batch has run.
    replies: replies::Replies,
    /// Unix milliseconds when this wake began.
    now: u64,
    limits: Limits,
    memcache_limits: memcache::Limits,
    /// Requests of one Memcached connection in a turn, when others are to have theirs (`-R`).
    requests_a_turn: usize,
    /// Memcached's doors speak its protocols and RESP only.
    is_memcached: bool,
    http_limits: http::Limits,
    config_version: u64,
    /// See [`crate::statistics::row_trait`].
    traits: Vec<u8>,
    /// Batches of which one in so many is timed.
    batches: u64,
    /// When a small batch was timed last: the first of each millisecond is.
    sampled_at: u64,
    /// How long sending has taken while the running batch is timed.
    sending_ns: Option<u64>,
    /// Keys whose large values come next.
    foreseen: Vec<Fetch>,
    published: Published,
    /// A command that may write has run since changes were last announced.
    wrote: bool,
    /// Requests of the running batch that have not run, and come again.
    kept: usize,
    /// Mail that has been taken and is read when this round's requests have run.
    mail: Vec<Mail>,
    /// Where the next connection of a Unix socket goes.
    next_thread: usize,
    /// Listeners rest until then: the process is out of descriptors.
    resting_until: Option<u64>,
    /// Shutting down: give up on slow readers then.
    stop_at: Option<u64>,
}

impl Reactor {
    pub fn new(
        thread: usize,
        server: Arc<Server>,
        session: Session,
        listeners: Vec<Listener>,
        datagrams: Vec<UdpSocket>,
    ) -> std::io::Result<Reactor> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let post = server.posts[thread].clone();
        let counters = server.statistics.threads[thread].clone();
        epoll::add(&epoll, &post.wake, EventData::new_u64(MAILBOX), EventFlags::IN)?;
        let requests_a_turn = match server.memcached.settings.fixed.yields {
            true => server.memcached.settings.fixed.requests_per_event as usize,
            false => usize::MAX,
        };
        let is_memcached = server.memcached.settings.fixed.is_memcached;
        let mut reactor = Reactor {
            thread,
            server,
            counters,
            session,
            post,
            epoll,
            listeners,
            datagrams: Datagrams::new(datagrams)?,
            slab: Slab::default(),
            ready: VecDeque::new(),
            rounds: busy::Rounds::default(),
            rings: rings::Rings::new(),
            resumed: 0,
            freed: 0,
            doomed: Vec::new(),
            lingering: linger::Lingering::default(),
            starved: Vec::new(),
            unanswered: Vec::new(),
            replies_seen: 0,
            releases_seen: 0,
            deadlines: wait::Deadlines::default(),
            hot: vec![0; HOT_INPUT_BYTES],
            fill: 0,
            large_input: Vec::new(),
            batch: Box::default(),
            intake: gather::Intake::new(Token { index: u32::MAX, generation: 0 }, 0, 0),
            spare: None,
            known: [None; 4],
            out: Vec::with_capacity(HOT_INPUT_BYTES),
            replies: replies::Replies::default(),
            now: clock::unix_ms(),
            limits: Limits::default(),
            memcache_limits: memcache::Limits::default(),
            is_memcached,
            requests_a_turn,
            http_limits: http::Limits::default(),
            config_version: u64::MAX,
            traits: crate::statistics::row_traits(),
            batches: 0,
            sampled_at: 0,
            sending_ns: None,
            foreseen: Vec::new(),
            published: Published::default(),
            wrote: false,
            kept: 0,
            mail: Vec::new(),
            next_thread: 0,
            resting_until: None,
            stop_at: None,
        };
        reactor.listen()?;
        for (number, socket) in reactor.datagrams.sockets().iter().enumerate() {
            let data = EventData::new_u64((number as u64) << 32 | u64::from(DATAGRAMS));
            // One of the threads is woken for a datagram, and not all.
            epoll::add(&reactor.epoll, socket, data, EventFlags::IN | EventFlags::EXCLUSIVE)?;
        }
        Ok(reactor)
    }

    /// Serves until the server stops.
    pub fn run(mut self) {
        let nothing = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [nothing; EVENTS_PER_WAIT];
        while !self.is_finished() {
            self.look_into_rings();
            let wait_ms = if self.rings.are_looked_into() { Some(0) } else { self.wait_ms() };
            let wait = wait_ms.map(|ms| Timespec {
                tv_sec: (ms / 1000) as i64,
                tv_nsec: ((ms % 1000) * 1_000_000) as i64,
            });
            let room = self.rounds.begin(self.slab.len());
            let events = match epoll::wait(&self.epoll, &mut events[..room], wait.as_ref()) {
                Ok(count) => &events[..count],
                Err(rustix::io::Errno::INTR) => &[],
                Err(error) => {
                    tracing::error!(%error, "the event loop cannot wait for events");
                    return;
                }
            };
            self.rounds.note_events(events.len());
            self.now = clock::unix_ms();
            self.follow_config();
            self.session.poll();
            if events.iter().any(|event| event.data.u64() == MAILBOX) {
                self.read_mail(Moment::Begin);
            }
            // Who comes onto the list by an event waits for another look: more of a large value has
            // come by then, and it is taken with fewer reads.
            let due = self.ready.len();
            let mut asked = events.iter();
            let mut is_over = false;
            while !is_over {
                let mut is_full = false;
                let event = asked.next().map(|event| (event.data.u64(), event.flags));
                let is_asked = event.is_some();
                let next = event.or_else(|| self.next_busy());
                self.expect_turn(asked.as_slice().first());
                match next {
                    None => {
                        self.turn_ready(due);
                        is_over = true;
                    }
                    Some((MAILBOX, _)) => {}
                    Some((data, _)) if data as u32 == LISTENER => {
                        self.accept_from((data >> 32) as usize);
                    }
                    Some((data, _)) if data as u32 == DATAGRAMS => {
                        let counters = &self.counters;
                        let number = (data >> 32) as usize;
                        self.datagrams.turn(number, &self.server, &self.session, counters);
                    }
                    Some((data, _)) if data as u32 == linger::LINGERING => {
                        self.hear_out((data >> 32) as u32);
                    }
                    Some((data, flags)) => {
                        is_full = self.on_event(token_of(data), flags, is_asked);
                    }
                }
                // One place for both: the batch's code, which is long, is part of this function.
                let mut is_due = is_full || is_over || self.batch.is_enough();
                while is_due {
                    self.run_batch_inline();
                    is_full = is_full && self.parse_on();
                    is_due = is_full;
                }
            }
            self.end_round();
            self.foresee();
            if !self.mail.is_empty() {
                self.read_mail(Moment::End);
            }
            self.feed_starved();
            self.answer_waiting();
            self.end_waits();
            self.close_doomed();
            self.lingering.close_over(self.now);
            if self.resting_until.is_some_and(|until| self.now >= until) {
                self.resting_until = None;
                if let Err(error) = self.listen() {
                    tracing::error!(%error, "the listeners cannot be watched again");
                }
            }
        }
    }

    /// Whose turn comes next is asked for while this one's bytes are received.
    #[inline(always)]
    fn expect_turn(&self, event: Option<&epoll::Event>) {
        let token = match event {
            Some(event) => Some(token_of(event.data.u64())),
            None => self.rounds.next(),
        };
        if let Some(token) = token {
            self.slab.bring_near(token);
        }
    }

    /// True: the batch is full and to be run; `parse_on` gathers what is left then.
    #[inline(always)]
    fn on_event(&mut self, token: Token, flags: EventFlags, is_asked: bool) -> bool {
        let Some(connection) = self.slab.get(token) else { return false };
        if !is_asked && !connection.is_unasked() {
            return false;
        }
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            connection.hung_up = true;
            connection.readable = true;
        }
        if flags.contains(EventFlags::IN) {
            connection.readable = true;
        }
        if flags.contains(EventFlags::OUT) && connection.unsent() > 0 {
            if connection.is_long() {
                connection.is_writable = true;
                self.make_ready(token);
            } else {
                self.resume_output(token);
            }
        }
        let Some(connection) = self.slab.get(token) else { return false };
        if connection.hold == Hold::Feed && connection.hung_up {
            self.doom(token);
        } else if connection.hold == Hold::Wait && connection.readable {
            self.read_ahead(token);
        } else if connection.readable && !connection.is_ready {
            if !connection.is_long() {
                return self.turn(token);
            }
            self.make_ready(token);
        }
        false
    }

    fn wait_ms(&self) -> Option<u64> {
        if !self.ready.is_empty() || !self.doomed.is_empty() || self.rounds.has_busy() {
            return Some(0);
        }
        // Room may come back on another thread, which does not know who waits here.
        let retry = (!self.starved.is_empty() || !self.unanswered.is_empty())
            .then_some(self.now + BUDGET_RETRY_MS);
        let ends = [self.deadlines.next(), self.lingering.next_end()];
        let until = [self.resting_until, self.stop_at, retry].into_iter().chain(ends);
        let until = until.flatten().min()?;
        // Systems before Linux 5.11 have no wait of more than 25 days.
        Some(until.saturating_sub(self.now).clamp(1, EVENTS_WAIT_MS_MAX))
    }

    fn is_finished(&self) -> bool {
        self.stop_at.is_some_and(|at| self.now >= at || self.slab.tokens().is_empty())
    }

    /// Takes over what the configuration says now, if it has changed.
    fn follow_config(&mut self) {
        let live = &self.server.config.live;
        let version = live.version.load(Relaxed);
        if version == self.config_version {
            return;
        }
        self.config_version = version;
        self.limits = Limits::default()
            .with_bulk_bytes_max(live.bulk_bytes_max.load(Relaxed))
            .with_request_bytes_max(live.query_buffer_max.load(Relaxed) as usize);
        self.memcache_limits.keys_max =
            self.server.memcached.responses_max(self.server.posts.len());
        self.memcache_limits.value_bytes_max = live.memcache_value_max.load(Relaxed) as usize;
        self.http_limits.body_bytes_max = live.bulk_bytes_max.load(Relaxed) as usize;
    }
}

/// Whose event it is, if it is a connection's.
fn token_of(data: u64) -> Token {
    Token { index: data as u32, generation: (data >> 32) as u32 }
}
