//! Messages to subscribers, as the server delivers them.

use dolium_protocol::resp::{RespWriter, Version};

/// For a client that is subscribed to the channel itself.
pub fn to_channel(out: &mut Vec<u8>, version: Version, channel: &[u8], payload: &[u8]) {
    push(out, version, &[b"message", channel, payload]);
}

/// For a client that is subscribed to a pattern that matches the channel.
pub fn to_pattern(
    out: &mut Vec<u8>,
    version: Version,
    pattern: &[u8],
    channel: &[u8],
    payload: &[u8],
) {
    push(out, version, &[b"pmessage", pattern, channel, payload]);
}

fn push(out: &mut Vec<u8>, version: Version, parts: &[&[u8]]) {
    let mut reply = RespWriter::new(out, version);
    reply.push(parts.len());
    for part in parts {
        reply.bulk(part);
    }
}
