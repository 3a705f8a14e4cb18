//! FILE: the items, one behind the other, in the order in which they were found.
//!
//! ```text
//!   FILE    magic (8) | record ...
//!   record  key len 4 | value len 4 | flags 4 | deadline 8 | unique 8 | marks 1 | key | value
//! ```
//! Numbers are little-endian. The unique is 0 of an item whose number nobody has asked for. In version 1
//! the key follows the deadline.

use dolium_engine::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use std::io::{self, Read, Write};

/// Of the newest version.
pub const MAGIC: &[u8; 8] = b"dolium\x00\x02";
pub const HEADER_BYTES: usize = 29;
const MAGIC_OF_VERSION_1: &[u8; 8] = b"dolium\x00\x01";
const HEADER_BYTES_OF_VERSION_1: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// What stands before the key and the value of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub key_len: usize,
    pub value_len: usize,
    pub flags: u32,
    pub deadline: u64,
    pub unique: u64,
    pub marks: u8,
}

/// The file is not what its FILE.meta says of it.
pub fn damaged() -> io::Error {
    io::Error::other("the file of items is damaged")
}

pub fn read_magic(file: &mut impl Read, version: Version) -> io::Result<()> {
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic)?;
    let right = match version {
        Version::One => MAGIC_OF_VERSION_1,
        Version::Two => MAGIC,
    };
    if magic == *right { Ok(()) } else { Err(damaged()) }
}

impl Header {
    pub fn read(file: &mut impl Read, version: Version) -> io::Result<Header> {
        let mut bytes = [0; HEADER_BYTES];
        // What version 1 did not write is 0: it left numbers and marks behind.
        file.read_exact(match version {
            Version::One => &mut bytes[..HEADER_BYTES_OF_VERSION_1],
            Version::Two => &mut bytes,
        })?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let (key_len, value_len) = (word(0) as usize, word(4) as usize);
        if key_len > KEY_BYTES_MAX || value_len > VALUE_BYTES_MAX {
            return Err(damaged());
        }
        let (flags, deadline, unique, marks) = (word(8), long(12), long(20), bytes[28]);
        Ok(Header { key_len, value_len, flags, deadline, unique, marks })
    }

    pub fn write(&self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&(self.key_len as u32).to_le_bytes())?;
        file.write_all(&(self.value_len as u32).to_le_bytes())?;
        file.write_all(&self.flags.to_le_bytes())?;
        file.write_all(&self.deadline.to_le_bytes())?;
        file.write_all(&self.unique.to_le_bytes())?;
        file.write_all(&[self.marks])
    }

    /// Bytes of the whole record.
    pub fn record_bytes(&self) -> u64 {
        (HEADER_BYTES + self.key_len + self.value_len) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            key_len: 250,
            value_len: 1 << 20,
            flags: 0xdead_beef,
            deadline: 0x0123_4567_89ab_cdef,
            unique: 0xfedc_ba98_7654_3210,
            marks: 3,
        };
        let mut bytes = Vec::new();
        header.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), HEADER_BYTES);
        assert_eq!(Header::read(&mut bytes.as_slice(), Version::Two).unwrap(), header);
        let old = Header::read(&mut &bytes[..HEADER_BYTES_OF_VERSION_1], Version::One).unwrap();
        assert_eq!(old, Header { unique: 0, marks: 0, ..header });
        bytes[3] = 1;
        assert!(Header::read(&mut bytes.as_slice(), Version::Two).is_err());
    }
}
