//! What all meta commands share: the flags that a reply repeats, and `me`.

use super::exptime::seconds_until;
use super::{Count, KEY_BUFFER, McContext};
use dolium_engine::{Found, Millis};
use dolium_protocol::memcache::meta::Command;
use dolium_protocol::memcache::write::{self, MetaReply};

/// An item as the flags of a reply tell of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub found: Found,
    pub unique: u64,
    pub now: Millis,
}

impl View {
    /// Seconds since the last use. The store notes it for items with client flags or a unique
    /// number; for others it is 0, which says "not long ago, as far as is known".
    fn idle_seconds(&self) -> u64 {
        match self.found.last_use_s {
            0 => 0,
            at => (self.now / 1000).saturating_sub(u64::from(at)),
        }
    }

    /// Whether the item was read since it was stored, as eviction remembers it.
    fn was_hit(&self) -> bool {
        self.found.frequency != 0
    }

    /// Appends what a flag asks for; nothing for a flag that asks nothing of an item.
    #[inline]
    pub(super) fn tell(&self, reply: &mut MetaReply<'_>, letter: u8) {
        match letter {
            b's' => reply.number(b's', self.found.len as u64),
            b't' => reply.time_left(seconds_until(self.found.deadline, self.now)),
            b'c' => reply.number(b'c', self.unique),
            b'f' => reply.number(b'f', u64::from(self.found.flags)),
            b'l' => reply.number(b'l', self.idle_seconds()),
            b'h' => reply.number(b'h', u64::from(self.was_hit())),
            _ => {}
        }
    }
}

/// Repeats opaque token and key, if they were asked for.
#[inline]
pub(super) fn repeat(reply: &mut MetaReply<'_>, command: &Command<'_>, letter: u8, token: &[u8]) {
    match letter {
        b'O' => reply.opaque(token),
        b'k' => reply.key(command.key),
        _ => {}
    }
}

/// A reply of a status and what is repeated.
pub(super) fn bare(context: &mut McContext<'_>, command: &Command<'_>, status: &[u8; 2]) {
    let mut reply = MetaReply::status(context.out, status);
    for (letter, token) in command.flags.iter() {
        repeat(&mut reply, command, letter, token);
    }
    reply.end();
}

/// `me key`: the item's head for people. There are no slab classes here: `cls` is 0.
pub(super) fn debug(context: &mut McContext<'_>, command: &Command<'_>) {
    context.tally.add(Count::Meta);
    let mut buffer = KEY_BUFFER;
    let key = context.session.engine().key(command.key.bytes(&mut buffer));
    let Some(found) = context.session.peek(context.db, &key, context.now) else {
        return write::line(context.out, "EN");
    };
    let view = View { found, unique: found.unique, now: context.now };
    context.out.extend_from_slice(b"ME ");
    context.out.extend_from_slice(command.key.text());
    // Memcached writes the seconds left as a negative number.
    let expires = context.seconds_left(&found).map_or(-1, |left| -(left as i64));
    let text = format!(
        " exp={expires} la={} cas={} fetch={} cls=0 size={}",
        view.idle_seconds(),
        context.shown_unique(found.unique),
        if view.was_hit() { "yes" } else { "no" },
        found.block_bytes,
    );
    write::line(context.out, &text);
}
