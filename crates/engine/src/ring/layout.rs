//! Where everything is in a ring's memory file.
//!
//! ```text
//!    0  magic u64 | version u64 | request bytes u64 | reply bytes u64     written once
//!   64  request tail   u64      how far the client has written
//!  128  request head   u64      how far the server has read
//!  192  reply tail     u64      how far the server has written
//!  256  reply head     u64      how far the client has read
//!  320  server waits   u64      bit 0: for data, bit 1: for space; set by the side that is about
//!  384  client waits   u64      to sleep, taken back by whoever rings its bell
//! 4096  request bytes, then reply bytes
//! ```
//!
//! Positions count bytes since the ring was made and never wrap; a position's place in its area is
//! the position modulo the area's size. Words that different sides write are in different cache
//! lines.

/// "DOLIRING", little endian.
#[cfg_attr(miri, allow(dead_code))]
pub const MAGIC: u64 = u64::from_le_bytes(*b"DOLIRING");
#[cfg_attr(miri, allow(dead_code))]
pub const VERSION: u64 = 1;

/// Requests on their way; a power of two. A longer request streams through it.
pub const REQUEST_BYTES: usize = 64 << 10;
/// Replies on their way; a power of two. A longer reply streams through it.
pub const REPLY_BYTES: usize = 64 << 10;

pub(crate) const WORD: usize = 8;
const HEAD_BYTES: usize = 4096;

pub(crate) const MAGIC_WORD: usize = 0;
pub(crate) const VERSION_WORD: usize = 1;
pub(crate) const REQUEST_BYTES_WORD: usize = 2;
pub(crate) const REPLY_BYTES_WORD: usize = 3;
const LINE_WORDS: usize = 64 / WORD;

/// One direction: its two positions and its bytes, as word indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LanePlan {
    pub tail: usize,
    pub head: usize,
    pub data: usize,
    /// A power of two and at least one word.
    pub bytes: usize,
}

/// Both directions of one ring.
#[derive(Clone, Copy, Debug)]
pub struct RingPlan {
    pub(crate) request: LanePlan,
    pub(crate) reply: LanePlan,
    pub(crate) server_waits: usize,
    pub(crate) client_waits: usize,
    words: usize,
}

impl RingPlan {
    /// Rings of the usual size.
    pub const STANDARD: RingPlan = RingPlan::new(REQUEST_BYTES, REPLY_BYTES, HEAD_BYTES);

    /// Other sizes, for tests and models: both powers of two and at least one word.
    pub const fn of(request_bytes: usize, reply_bytes: usize) -> RingPlan {
        RingPlan::new(request_bytes, reply_bytes, LINE_WORDS * 7 * WORD)
    }

    const fn new(request_bytes: usize, reply_bytes: usize, head_bytes: usize) -> RingPlan {
        assert!(request_bytes.is_power_of_two() && request_bytes >= WORD);
        assert!(reply_bytes.is_power_of_two() && reply_bytes >= WORD);
        let request_data = head_bytes / WORD;
        let reply_data = request_data + request_bytes / WORD;
        RingPlan {
            request: LanePlan {
                tail: LINE_WORDS,
                head: 2 * LINE_WORDS,
                data: request_data,
                bytes: request_bytes,
            },
            reply: LanePlan {
                tail: 3 * LINE_WORDS,
                head: 4 * LINE_WORDS,
                data: reply_data,
                bytes: reply_bytes,
            },
            server_waits: 5 * LINE_WORDS,
            client_waits: 6 * LINE_WORDS,
            words: reply_data + reply_bytes / WORD,
        }
    }

    /// Words of memory that the ring takes.
    pub const fn words(&self) -> usize {
        self.words
    }
}
