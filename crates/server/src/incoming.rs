//! A large value of Memcached's protocols that is received into the item that it will be.
//!
//! ```text
//!   set key 0 0 100000\r\n   | value ...  | \r\n  | the next request
//!   `- line                    `- item      `- end, kept here while only half of it has come
//! ```

use dolium_protocol::memcache::BLOCK_END;

#[derive(Debug)]
pub struct Incoming {
    /// The request up to its value: a line and its end, or header, extras and key.
    pub line: Vec<u8>,
    pub value: dolium_engine::Incoming,
    /// What has come of the end of the value.
    pub end: Vec<u8>,
    pub is_binary: bool,
}

impl Incoming {
    /// Bytes that end the value.
    pub fn end_len(&self) -> usize {
        if self.is_binary { 0 } else { BLOCK_END.len() }
    }

    /// The request as it came, `end` behind it.
    pub fn copy_to(&self, end: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.line);
        self.value.copy_to(out);
        out.extend_from_slice(end);
    }
}
