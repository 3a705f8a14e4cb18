//! A value that can be judged by whoever reads it.
//!
//! ```text
//!   flags  the number of the version, 32 bits
//!   bytes  | key ^ version, the first up to 8 bytes of it | filling from (key, version) ... |
//! ```
//! Its length follows from key and version too, so that a piece of a value, two values in one, the
//! value of another key and the flags of another version are all told.

/// Longest value made here: below Memcached's item limit of 1 MiB by more than an item's head.
pub const LONGEST: u64 = 1_000_000;

pub fn mix(a: u64, b: u64) -> u64 {
    let mut word = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    word ^= word >> 32;
    word = word.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    word ^ (word >> 29)
}

/// Mostly small, some beyond a page, one in five hundred up to a megabyte: 4 kB on the mean.
pub fn len_of(key: u64, version: u32) -> usize {
    let chance = mix(key, u64::from(version) << 20);
    let within = |from: u64, to: u64| from + (chance >> 16) % (to - from);
    let len = match chance % 1000 {
        0..600 => within(1, 64),
        600..900 => within(64, 1024),
        900..985 => within(1024, 32 << 10),
        985..998 => within(32 << 10, 200_000),
        _ => within(200_000, LONGEST),
    };
    len as usize
}

pub fn write(key: u64, version: u32, len: usize, out: &mut Vec<u8>) {
    out.clear();
    let mut word = mix(key, u64::from(version));
    out.extend_from_slice(&(key ^ u64::from(version)).to_le_bytes());
    while out.len() < len {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.truncate(len);
}

/// What is wrong with a value that was read under a key; `spare` is room to make the right one in.
pub fn judge(key: u64, flags: u32, value: &[u8], spare: &mut Vec<u8>) -> Result<(), String> {
    let len = len_of(key, flags);
    if value.len() != len {
        return Err(format!("key {key} version {flags}: {} bytes, not {len}", value.len()));
    }
    write(key, flags, len, spare);
    match value.iter().zip(spare.iter()).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(format!("key {key} version {flags}: byte {at} of {len} is another's")),
    }
}
