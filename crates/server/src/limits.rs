//! The capacities of the server that its clients may meet, and how they relate. What an algorithm bounds for its own
//! sake stands in its file.

/// The logical database that Memcached clients see.
pub const MEMCACHE_DB: dolium_engine::Db = dolium_engine::Db(0);
/// Encrypted bytes of one connection that may wait for its peer: four of TLS' longest records.
pub const TLS_BUFFER_BYTES: usize = 64 * 1024;
/// What one receive may read of TLS beyond the bytes that it was asked for.
pub const TLS_SURPLUS_BYTES: usize = 64 * 1024;
/// One thread's input buffer, used again for every connection so that it stays in the cache.
pub const HOT_INPUT_BYTES: usize = 256 * 1024;
/// The least room a read is given: with less left, what was gathered runs first.
pub const READ_BYTES_MIN: usize = 16 * 1024;
/// Most one connection may bring in one turn before others are served.
pub const READ_BYTES_PER_TURN: usize = 64 * 1024;
/// The same for a connection that receives into a buffer of its own.
pub const OWN_BUFFER_BYTES_PER_TURN: usize = 1024 * 1024;
/// Bytes that make a turn a long one: the connection's next one comes behind others'.
pub const LONG_TURN_BYTES: usize = 128 * 1024;
/// Bytes that are moved in long turns before others are looked at again: a third of a millisecond, and
/// many times that where the system has to find the memory first.
pub const LONG_TURNS_BYTES: u64 = 1024 * 1024;
/// The same as a time: some turns move little and take long, as the first of a large buffer does.
pub const LONG_TURNS_US: u64 = 500;
/// Commands that are parsed and prefetched before the first of them runs.
pub const BATCH_COMMANDS: usize = 64;
/// With so many, and all of a connection's, it ends: what the system looked at to receive them is still near
/// when it sends the answers (decision 188).
pub const BATCH_ENOUGH: usize = 48;
/// Replies from this size on, a first level cache's, leave little of what was prefetched there.
pub const DRIVES_OUT_BYTES: usize = 32 * 1024;
/// Keys beyond the first of each command that a batch prefetches (MGET, MSET, DEL).
pub const BATCH_EXTRA_KEYS: usize = 64;
/// Bytes of requests in a batch: what values are to be copied should still be in the cache then.
pub const BATCH_BYTES: usize = 16 * 1024;
/// A reply of so many bytes at most waits until its batch has run: that of a longer row is sent at once,
/// for copying it costs more than is saved.
pub const REPLY_WAITS_BYTES: usize = 2 * 1024;
/// So many bytes of a batch wait.
pub const REPLIES_WAIT_BYTES: usize = 16 * 1024;
/// Turns in a round: of connections with an event, and of busy ones.
pub const EVENTS_PER_WAIT: usize = 128;
/// Events that a round has room for however many are busy.
pub const EVENTS_AT_LEAST: usize = 16;
/// Turns in a round from which on a connection that was ready in one is likely to be so in the next.
pub const BUSY_CROWD: usize = 8;
/// Most rounds from one turn of a streak to the next, where there is room for all events in one: clients
/// who are answered in groups are ready by turns.
pub const BUSY_GAP: u64 = 12;
/// Tries in a row at which a busy connection had nothing to say, after which it is asked after again.
pub const BUSY_QUIET_TRIES: u32 = 8;
/// Rounds in a row without an event, in which no busy connection was heard, after which all are: together
/// they take some microseconds most often, as falling asleep and being woken does.
pub const BUSY_IDLE_ROUNDS: u32 = 4;
/// How long a thread that has nothing else to do looks into rings for the next request, where such a look has found
/// it of late: a client that asks again at once takes a microsecond or two.
pub const RING_LOOK: std::time::Duration = std::time::Duration::from_micros(20);
/// Rounds without a request after which a ring's client has to ring again.
pub const RING_QUIET_ROUNDS: u32 = 64;
/// Turns in a row of a connection until it is not asked after any more: doubled, up to the second
/// number, each time that it had fewer turns then than the third. (Three pay for the two changes of its
/// descriptor and a receive for nothing.)
pub const BUSY_STREAK: u32 = 4;
pub const BUSY_STREAK_MAX: u32 = 1024;
pub const BUSY_STAY: u32 = 8;
/// Unfinished input longer than this is received straight into the connection's own buffer.
pub const LEFTOVER_COPY_MAX: usize = 32 * 1024;
/// What is received of a connection whose last value was large, and went into its item: the next
/// one's line, with a key of the longest; what is received of the value has to be moved.
pub const LARGE_LINE_BYTES: usize = 512;
/// What is received behind such a value in the same call. With a quarter of it, pipelines of values
/// of 100 kB cost half as much again: the system then lets more wait in the sockets than caches hold.
pub const BEYOND_VALUE_BYTES: usize = 2048;
/// Room beyond the announced size of a request: what comes is less than there is room for, which
/// says that there is no more without another system call.
pub const SHORT_READ_ROOM: usize = 64;
/// A larger buffer of an unfinished request is not kept for the next one.
pub const LARGE_INPUT_KEPT: usize = 1024 * 1024;
/// Output that a connection gathers before it is sent although its requests go on: half of a second
/// level cache. A system call for each 64 KiB costs a fifth more than the cache saves.
pub const SEND_BYTES: usize = 512 * 1024;
/// The same for values that are lent, which go through no cache of ours: what most sockets have room
/// for, since what is left over when one is full has to be copied.
pub const LOANS_SEND_BYTES: usize = 1024 * 1024;
/// The same for a peer that has taken that much at once, until its socket is full.
pub const LOANS_SEND_MOST_BYTES: usize = 4 * 1024 * 1024;
/// The same for one whose socket was full: half of this is left over on the mean, each time it is.
pub const LOANS_SEND_FULL_BYTES: usize = 256 * 1024;
/// Or so many of them, so that the next request's may be lent too.
pub const LOANS_SEND: usize = LOANS_MAX * 3 / 8;
/// A line so long asks for several keys: if the last such `get` was answered in pieces, or with as
/// much as [`LOANS_SEND_BYTES`], the next one is expected to be.
pub const LONG_LINE_BYTES: usize = 256;
/// What is received at once of a connection for which that is so.
pub const LONG_LINES_BYTES: usize = 4096;
/// Bytes that one turn of a connection moves for a `get` that goes on in pieces.
pub const PIECES_TURN_BYTES: usize = 4 * 1024 * 1024;
/// In place of both numbers of bytes when the buffers of all connections take a quarter of their
/// budget, and when they take half: what a full socket leaves over is kept until its peer reads.
pub const SEND_SPARING_BYTES: usize = 256 * 1024;
pub const SEND_LEAST_BYTES: usize = 16 * 1024;
/// Values that may be lent for one request's replies, and their bytes; the others are copied.
pub const LOANS_MAX: usize = dolium_engine::LEASES_MAX;
pub const LOANS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Capacity the hot output buffer may keep from one connection to the next.
pub const HOT_OUTPUT_KEPT: usize = 1024 * 1024;
/// Unsent output at which a connection's requests wait until its peer has read some.
pub const OUTPUT_HIGH_WATER: usize = 256 * 1024;
/// Arguments longer than this make a command one that is timed by itself.
pub const TIMED_ARGUMENT_BYTES: usize = 64 * 1024;
/// Below this threshold of slowlog-log-slower-than every command is timed, even the short ones.
pub const SLOWLOG_TIMES_ALL_BELOW_US: i64 = 1000;
/// One batch with Redis' commands in so many is timed.
pub const SAMPLE_BATCHES: u64 = 8;
/// Of batches of at most so many requests the first of each millisecond is timed as well.
pub const SAMPLE_SURELY_UP_TO: usize = 4;
/// Longest path of a Unix socket: Linux takes one byte more, with which many clients cannot connect.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Descriptors the server needs besides its clients.
pub const DESCRIPTORS_RESERVED: u64 = 64;
/// How long a client that still sends behind its last answer is heard out: while nothing comes, and in all.
/// Redis closes at once, and its clients may send until they notice.
pub const LINGER_QUIET_MS: u64 = 2_000;
pub const LINGER_MS: u64 = 5_000;
/// In all where a web client's upload was refused: it may read the answer only behind the last of its bytes.
pub const LINGER_UPLOAD_MS: u64 = 30_000;
/// How many of a thread's may be, each of which takes a descriptor.
pub const LINGER_MAX: usize = 32;
/// What they send is thrown away in pieces of so many bytes: from all of them less than
/// [`LONG_TURNS_BYTES`] before others are looked at.
pub const LINGER_READ_BYTES: usize = 16 * 1024;
/// How soon a large request that found no room in the budget of buffers asks again.
pub const BUDGET_RETRY_MS: u64 = 5;
/// A reply that is longer than this has its room in the budget of buffers granted before it is sent, if it is
/// a sixteenth of the budget or a quarter of that is in use.
pub const LARGE_REPLY_BYTES_MIN: usize = 128 * 1024;
/// How long a client may send nothing of a large request, or read nothing of a large reply, while others
/// wait for its room; or send nothing of a value that goes into its item.
pub const LARGE_REQUEST_STALL_MS: u64 = 10_000;
/// A peer that has taken nothing of its unsent output for so long goes before others where clients' memory has
/// passed its budget. One that reads slowly shows it once a second (`SLOW_PEER_MS`).
pub const STUCK_PEER_MS: u64 = 3_000;
/// A peer that has taken nothing for so long is offered more, whether or not its socket has told of room.
pub const SLOW_PEER_MS: u64 = 900;
/// How long a listener rests after the process ran out of descriptors.
pub const ACCEPT_REST_MS: u64 = 100;
/// Longest wait for events; who waits for something later looks again then.
pub const EVENTS_WAIT_MS_MAX: u64 = 3_600_000;
/// Connections taken from a listener before clients are served again.
pub const ACCEPTS_PER_EVENT: usize = 64;
/// Pending connections a listener may hold (`tcp-backlog`'s default).
pub const BACKLOG_DEFAULT: i64 = 511;
/// Most threads that serve clients.
pub const THREADS_MAX: usize = 48;
/// Entries of one event's history in the latency monitor, as in Redis.
pub const LATENCY_HISTORY: usize = 160;
/// Directories deep that `include` may go.
pub const INCLUDE_DEPTH: usize = 16;
/// How long a shutdown waits for output to be read by slow clients.
pub const SHUTDOWN_DRAIN_MS: u64 = 1000;
/// Messages times subscribers that are gathered, so that each subscriber gets its own at once: some bytes each.
pub const DELIVERIES_AT_ONCE: usize = 65_536;
/// Bytes of messages, times subscribers, that are gathered likewise. All of one subscriber are written before the
/// next one's, so this bounds what is written to it before the others show that they do not read either.
pub const DELIVERED_BYTES_AT_ONCE: usize = 4 * 1024 * 1024;
/// Changes turned into notifications while the list is held.
pub const NOTIFY_BURST: usize = 10_000;
/// Local processes attached at once: what their rings take is part of the buffers' budget.
pub const ATTACHED_MAX: usize = 256;
/// How long a process that connects to the attach socket may take to say hello.
pub const ATTACH_HELLO_WAIT_MS: u64 = 250;
/// How often the attach socket's thread looks whether the server stops.
pub const ATTACH_STOP_LOOK_MS: i64 = 100;
/// Items up to which `stats items` and the like count all of them whenever somebody asks.
pub const CENSUS_FEW: u64 = 1_000;
/// Items up to which they are counted by the thread that is asked, for a few milliseconds; more are counted in the
/// background.
pub const CENSUS_AT_ONCE: u64 = 50_000;
/// Between two censuses in the background.
pub const CENSUS_EVERY_MS: u64 = 10_000;
/// Subscribers are told of the changes that a transaction has made so far after so many of its commands: the ring
/// has room for those of commands with hundreds of keys each.
pub const EXECUTED_BETWEEN_ANNOUNCEMENTS: u64 = 256;
/// The change stream's ring; committed when somebody reads it.
pub const JOURNAL_BYTES: u64 = 16 << 20;
/// Made free beside it, where it has to be: what others take before it is committed.
pub const JOURNAL_SLACK_BYTES: u64 = 2 << 20;
