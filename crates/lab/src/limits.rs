//! Bounds of the lab, in one place and with their reasons.

use std::time::Duration;

/// The request pool is at least this many times the second-level cache, so that a client's core
/// does not serve its own requests from a cache that real requests would never sit in.
pub const POOL_L2_MULTIPLE: usize = 4;
/// Used when the machine does not tell the size of its second-level cache.
pub const ASSUMED_L2_BYTES: usize = 1 << 20;
/// A pool never takes more memory than this, even for many keys with large values.
pub const POOL_MAX_BYTES: usize = 2 << 30;
/// Bytes taken from a socket in one call. Large enough for a deep pipeline of small replies.
pub const RECEIVE_BYTES: usize = 256 << 10;
/// Most connections of one thread that an io_uring is asked over, and most of its buffers: the table
/// of them takes two pages.
pub const RING_CONNECTIONS: usize = 512;
/// Most bytes that a turn asks for or is answered with over a ring. Its buffers are used in turn: what
/// is larger is received cheaper into one buffer that stays in the cache.
pub const RING_TURN_BYTES: usize = 4 << 10;
/// Shortest window for which a ring is made: making it and ending it takes part of a millisecond.
pub const RING_WINDOW: Duration = Duration::from_millis(200);
/// Events taken from epoll in one call.
pub const EVENTS_PER_WAIT: usize = 256;
/// Bytes of SET requests in flight while loading keys. Small enough that the replies to them can
/// never fill a socket buffer while the requests are still being written.
pub const PRELOAD_CHUNK_BYTES: usize = 64 << 10;
/// Most requests in one chunk of the loading phase, for the same reason.
pub const PRELOAD_CHUNK_REQUESTS: usize = 1_000;
/// Requests that an open loop may have due and unanswered on one thread. Past it the offered rate
/// is hopeless and the run ends with an error in place of eating the machine's memory.
pub const OPEN_BACKLOG_MAX: usize = 20_000_000;
/// How long an open loop waits for replies after its last request was due.
pub const DRAIN: Duration = Duration::from_secs(3);
/// How long a store may take to accept its first connection.
pub const START: Duration = Duration::from_secs(20);
/// How long a server may take to agree on TLS: a plain server waits for the rest of what it takes
/// for a request.
pub const HANDSHAKE: Duration = Duration::from_secs(5);
/// Memory that every store of an experiment is told to keep to, in MiB, where the experiment says
/// nothing else: the largest published data but those of CAO16's bulk insertion fit.
pub const STORE_MIB: u64 = 8192;
/// Heap of Spark's driver, which in local mode is all of Spark: its own default of 1 GB holds neither
/// of the published graphs. Beside it the Python workers and 16 GB of anything else fit into 24 GiB.
pub const SPARK_DRIVER_MEMORY: &str = "8g";
/// What each of Spark's Python workers keeps in memory while it groups and sums, before it writes to
/// disk: its own default of 512 MB is less than a partition of the largest published graph, and the
/// study's Spark kept everything in memory. One worker a core.
pub const SPARK_WORKER_MEMORY: &str = "4g";
/// Spark that takes longer is stuck. On two cores ten iterations over thirty
/// million edges are a matter of hours at worst.
pub const SPARK_LONGEST: Duration = Duration::from_secs(4 * 3600);
/// A fill that takes longer is cut off, and the report says so. Ten million keys at the rate of a store
/// that swaps (1 400 a second) come through.
pub const FILL_LONGEST: Duration = Duration::from_secs(2 * 3600);
/// A snapshot or a rewrite of a log that goes on after the measurement is waited for no longer than
/// this: ten gigabytes through a disk that others use.
pub const AFTERMATH: Duration = Duration::from_secs(900);
/// A client that hears nothing for this long reports a store that hangs.
pub const SILENCE: Duration = Duration::from_secs(20);
/// What is asked for longer than this was mistyped, and its nanoseconds may have no number.
pub const RUN_LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Longest latency that a histogram can hold, in nanoseconds (one hour).
pub const LATENCY_MAX_NS: u64 = 3_600_000_000_000;
/// Input buffer of a null server, and of one connection in its io_uring variant.
pub const NULL_BUFFER_BYTES: usize = 128 << 10;
/// Connections that an io_uring null server holds at once.
pub const NULL_URING_CONNECTIONS: usize = 1024;
/// Stores that are compared in a closed loop take turns of this length: a shared machine's speed
/// changes within a tenth of a second by more than good stores differ.
pub const TURN: Duration = Duration::from_millis(20);
/// A turn lasts until every connection has been answered about so many times, however slow it is.
pub const TURN_ANSWERS: f64 = 20.0;
/// Number of the lab's way of measuring, which results keep; what was kept before it had a number is
/// 0. Since 1: a latency is kept by when a request was asked, misses are a share of the reads of the
/// window, the highest rate is searched from above in turns, and stores in which recipes insert are
/// filled anew.
pub const METHOD: u32 = 1;
/// Of so many connections of a closed loop the latencies of one are kept, if that leaves enough. A prime:
/// a server that deals connections out to its threads has timed ones on all of them, and so have several
/// servers among which the connections are dealt out.
pub const TIMED_STEP: usize = 11;
/// Fewest connections whose latencies are kept in place of all.
pub const TIMED_LEAST: usize = 4;
/// Replies that a closed loop reads before it asks again on all their connections: a server that
/// is woken for one request finds the others.
pub const READ_BEFORE_ASKING: usize = 8;
