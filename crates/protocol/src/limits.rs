//! Every bound that the codecs hold, and where it comes from.

/// Longest line without its end: an inline command or a RESP count line (Redis: 64 KiB).
pub const LINE_BYTES_MAX: usize = 64 * 1024;
/// Most arguments of a multibulk request (Redis: INT_MAX).
pub const ARGS_MAX: i64 = i32::MAX as i64;
/// `proto-max-bulk-len` as Redis ships it.
pub const BULK_BYTES_DEFAULT: u64 = 512 << 20;
/// The least value that `proto-max-bulk-len` may have, as in Redis. The parser's short path for
/// small arguments relies on it and skips the comparison.
pub const BULK_BYTES_LEAST: u64 = 1 << 20;
/// Longest request in all; Redis calls it `client-query-buffer-limit`.
pub const REQUEST_BYTES_DEFAULT: usize = 1 << 30;
/// Ranges are 32 bits wide, so no request may pass this.
pub const REQUEST_BYTES_MOST: usize = u32::MAX as usize;
/// Most arguments before a client has authenticated (Redis).
pub const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
/// Longest argument before a client has authenticated (Redis).
pub const UNAUTHENTICATED_BULK_BYTES_MAX: u64 = 16_384;
/// Argument ranges that an [`ArgVec`](crate::resp::ArgVec) keeps room for after a large request.
pub const ARGS_KEPT: usize = 4096;
/// Deepest nesting of a reply that the client side follows.
pub const REPLY_DEPTH_MAX: usize = 128;
/// Bytes of a first line looked at before HTTP is assumed from its method and path alone.
pub const DETECT_LINE_BYTES_MAX: usize = 2048;

/// Longest Memcached key.
pub const MEMCACHE_KEY_BYTES_MAX: usize = 250;
/// Longest Memcached line that is no retrieval, its end included: as much as Memcached reads at a time. Of a
/// line that comes in pieces it takes 2 KiB or all of this, as it happens; here pieces make no difference.
pub const MEMCACHE_LINE_BYTES_MAX: usize = 16 << 10;
/// The same for a client that nobody knows yet.
pub const MEMCACHE_LOGIN_LINE_BYTES_MAX: usize = 2048;
/// Longest Memcached retrieval. Memcached has no bound; this one holds 33,000 of the longest keys.
pub const MEMCACHE_RETRIEVAL_BYTES_MAX: usize = 8 << 20;
/// Longest Memcached value unless configured (`-I`).
pub const MEMCACHE_VALUE_BYTES_DEFAULT: usize = 1 << 20;
/// Longest block that may be a Memcached login; user and password fit in many times.
pub const MEMCACHE_LOGIN_BYTES_MAX: usize = 2048;
/// Most words of a meta command: verb, key and flags.
pub const META_WORDS_MAX: usize = 19;
/// Longest opaque token of a meta command, without its letter.
pub const META_OPAQUE_BYTES_MAX: usize = 31;

/// Longest HTTP head.
pub const HTTP_HEAD_BYTES_MAX: usize = 16 * 1024;
/// Most headers of an HTTP request: a hundred, as many as other servers take, beside `Host`.
pub const HTTP_HEADERS_MAX: usize = 101;
/// Line ends tolerated before an HTTP request.
pub const HTTP_LEADING_BYTES_MAX: usize = 8;
/// Longest chunk size line, or trailer.
pub const HTTP_CHUNK_LINE_BYTES_MAX: usize = 1024;
/// Bytes of a chunked body that may be no content, beside as many as there are of content.
pub const HTTP_CHUNKED_BYTES_FREE: usize = 16 * 1024;
/// As many more for each of its chunks: the line of a small one is longer than what it holds.
pub const HTTP_CHUNK_BYTES_FREE: usize = 16;
/// Longest HTTP body unless configured.
pub const HTTP_BODY_BYTES_DEFAULT: usize = 512 << 20;
/// Longest name of a SASL mechanism, as in Memcached.
pub const SASL_MECHANISM_BYTES_MAX: usize = 32;
/// Longest body behind the name of statistics in the binary protocol, which nothing reads.
pub const STAT_BYTES_MAX: usize = 1024;
