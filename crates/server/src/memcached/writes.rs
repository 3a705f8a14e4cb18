//! Which requests may change data: what CLIENT PAUSE WRITE holds back and what counts as a write.

use dolium_protocol::memcache::meta::{Command, Verb};
use dolium_protocol::memcache::{self, text};

pub fn by_request(request: &memcache::Request<'_>) -> bool {
    !matches!(
        request,
        memcache::Request::Text(
            text::Command::Get { .. } | text::Command::Stats { .. } | text::Command::Version
        ) | memcache::Request::MetaNoop
            | memcache::Request::Refused { .. }
    ) && !matches!(request, memcache::Request::Meta(command) if reads(command))
}

/// `mg` gives a new time to live (T), makes an item (N) or may let somebody make it anew (R) only if it is told to. That
/// it takes the mark of a stale item away, for whoever is told so (W), is no change of data.
fn reads(command: &Command<'_>) -> bool {
    let changes = || [b'T', b'N', b'R'].iter().any(|&flag| command.flags.has(flag));
    command.verb == Verb::Debug || command.verb == Verb::Get && !changes()
}

/// The reply to `mg` makes its client the one who makes a stale value anew: nobody is told so twice.
pub fn tells_of_a_win(reply: &[u8]) -> bool {
    let line = reply.split(|byte| *byte == b'\r').next().unwrap_or_default();
    line.split(|byte| *byte == b' ').any(|word| word == b"W")
}

/// Of the binary protocol: all but GET, GETQ, NOOP, VERSION, GETK, GETKQ and STAT.
pub fn by_opcode(opcode: u8) -> bool {
    !matches!(opcode, 0x00 | 0x09..=0x0d | 0x10)
}
