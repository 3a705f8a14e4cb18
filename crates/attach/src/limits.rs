//! Every capacity of an attached client.

use std::time::Duration;

/// How long a server may take to let a client connect, and to answer its hello.
pub const HELLO_WAIT: Duration = Duration::from_secs(5);
/// Longest path of a Unix socket that a server listens at.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;
/// How long what listens may take to hang up on who has hung up, to be known for another program that runs.
pub const HANG_UP_WAIT: Duration = Duration::from_secs(1);
/// How long to look for a reply before sleeping, where such a look has found it of late: what a sleep
/// and a wake take at both ends.
pub const LOOK_LONG: Duration = Duration::from_micros(64);
/// A sleeper looks again after this long even if no bell rang: a server that was killed between
/// its reply and the bell delays, but cannot hang.
pub const SLEEP_MAX: Duration = Duration::from_secs(1);
/// How long after it has hung up a server may take to end, to be called gone.
pub const END_WAIT: Duration = Duration::from_millis(200);
/// Of many commands no more are sent before there are replies.
pub const BATCH_BYTES: usize = 256 << 10;
/// Bytes received at once.
pub const RECEIVE_BYTES: usize = 256 << 10;
/// Buffers larger than this are given back after use.
pub const BUFFER_KEPT: usize = 1 << 20;
/// Rounds of attempts at what is known of a key, until the server is asked for it.
pub const PEEK_ATTEMPTS: usize = 100;
