//! Which requests may change data: what CLIENT PAUSE WRITE holds back and what counts as a write.

use dolium_protocol::memcache::{self, meta::Verb, text::Command};

pub fn by_request(request: &memcache::Request<'_>) -> bool {
    !matches!(
        request,
        memcache::Request::Text(Command::Get { .. } | Command::Stats { .. } | Command::Version)
            | memcache::Request::MetaNoop
            | memcache::Request::Refused { .. }
    ) && !matches!(request, memcache::Request::Meta(c) if c.verb == Verb::Debug)
}

/// Of the binary protocol: all but GET, GETQ, NOOP, VERSION, GETK, GETKQ and STAT.
pub fn by_opcode(opcode: u8) -> bool {
    !matches!(opcode, 0x00 | 0x09..=0x0d | 0x10)
}
