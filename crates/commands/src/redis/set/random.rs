//! SRANDMEMBER and SPOP: members by chance, each with the same.

use super::{hash_in, members, remove, repeats};
use crate::context::Context;
use crate::limits::RANDOM_MEMBERS_MAX;
use crate::packed::Bytes;
use crate::packed::entry::Span;
use crate::packed::set::{Hashed, Set};
use crate::redis::collection::{self, read, reply_element};
use crate::redis::error::CommandError;
use crate::redis::list::pop::positive;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Event, Kind};
use dolium_protocol::resp::RespWriter;
use std::collections::HashSet;

/// Of a set of so many times as many members, some are drawn until enough are different; of a smaller
/// one all are copied and shuffled.
pub(super) const DRAWN: usize = 3;

pub fn srandmember(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => Some(integer(call.args.arg(2))?),
        _ => return Err(CommandError::Syntax),
    };
    if count == Some(i64::MIN) {
        return Err(CommandError::Sentence(
            "value is out of range, value must between -9223372036854775807 and \
             9223372036854775807",
        ));
    }
    if count.is_some_and(|count| count < -RANDOM_MEMBERS_MAX) {
        return Err(CommandError::Sentence("value is out of range"));
    }
    if let Some(count) = count.filter(|count| *count < 0) {
        return repeats::reply(ctx, call, count.unsigned_abs() as usize);
    }
    let (version, host) = (ctx.client.resp, ctx.host);
    let mut random = || host.random();
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        let mut reply = RespWriter::new(out, version);
        let set = packed.as_ref().map(Set::open).filter(|set| !set.is_empty());
        let (Some(packed), Some(set)) = (&packed, set) else {
            return if count.is_some() { reply.array(0) } else { reply.null() };
        };
        match count {
            None => match set.random(&mut random) {
                Some(span) => reply_element(packed, span, &mut reply),
                None => reply.null(),
            },
            Some(count) => {
                let spans = draw(packed, count as usize, &mut random);
                reply.array(spans.len());
                spans.iter().for_each(|span| reply_element(packed, *span, &mut reply));
            }
        }
    })?;
    Ok(())
}

/// So many different members (all, if there are no more).
fn draw<B: Bytes>(bytes: &B, count: usize, random: &mut impl FnMut() -> u64) -> Vec<Span> {
    let set = Set::open(bytes);
    if set.has_table()
        && count < set.len() / DRAWN
        && let Some(drawn) = draw_some(bytes, count, random)
    {
        return drawn;
    }
    let mut spans: Vec<_> = set.iter().collect();
    let count = count.min(spans.len());
    for i in 0..count {
        let other = i + (random() % (spans.len() - i) as u64) as usize;
        spans.swap(i, other);
    }
    spans.truncate(count);
    spans
}

/// So many of a set that has many more, slot by slot. `None`: it took too long, by the worst of luck or
/// with bytes of two moments, or these name more than there can be.
fn draw_some<B: Bytes>(
    bytes: &B,
    count: usize,
    random: &mut impl FnMut() -> u64,
) -> Option<Vec<Span>> {
    let set = Set::open(bytes);
    let (mut drawn, mut seen) = (Vec::with_capacity(count), HashSet::new());
    let mut left = bytes.len();
    for _ in 0..looks(count) {
        if drawn.len() == count {
            return Some(drawn);
        }
        if let Some(span) = set.pick(random())
            && seen.insert(span.at)
        {
            left = left.checked_sub(span.len)?;
            drawn.push(span);
        }
    }
    None
}

/// Slots to look into for so many members, before luck or the bytes are to blame. One slot in eight is
/// taken at least, and of those drawn one in three was drawn before at most.
pub(super) fn looks(count: usize) -> usize {
    const LOOKS: usize = 32;
    const LOOKS_MIN: usize = 1000;
    count * LOOKS + LOOKS_MIN
}

pub fn spop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => Some(positive(call.args.arg(2))?),
        _ => return Err(CommandError::Syntax),
    };
    let (db, key, hash) = (ctx.db(), call.key(), hash_in(ctx));
    let host = ctx.host;
    let mut random = || host.random();
    let mut takes_all = false;
    let popped: Option<Vec<Vec<u8>>> = collection::change(ctx, &key, 0, |guard| {
        let Some((found, packed)) = collection::open(guard, db, &key, Kind::Set)? else {
            return Ok(None);
        };
        let set = Set::open(&packed);
        let names: Vec<Vec<u8>> = match count {
            None => set.random(&mut random).iter().map(|span| span.read(&packed)).collect(),
            Some(0) => return Ok(Some(Vec::new())),
            Some(count) if count >= set.len() => {
                takes_all = true;
                members(&packed)
            }
            Some(count) => {
                draw(&packed, count, &mut random).iter().map(|span| span.read(&packed)).collect()
            }
        };
        let gone: Vec<_> =
            names.iter().map(|name| Hashed { bytes: name, hash: hash(name) }).collect();
        remove(ctx, guard, db, &key, (found, packed), &gone, Event::SPop)?;
        Ok(Some(names))
    })?;
    // Redis answers then as SUNION of the one set does, which looks for it once more, to read it.
    if takes_all {
        ctx.session.count_look(true);
    }
    let mut reply = ctx.reply();
    match (count, popped) {
        (None, Some(names)) if !names.is_empty() => reply.bulk(&names[0]),
        (None, _) => reply.null(),
        (Some(_), names) => {
            let names = names.unwrap_or_default();
            reply.set(names.len());
            names.iter().for_each(|name| reply.bulk(name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader without a lock was shown a set that said to have thousands of millions of members: room
    /// was asked for as many, and they were looked for for ever.
    #[test]
    fn of_bytes_of_two_moments_no_more_is_drawn_than_there_can_be() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 20
        };
        let header = |slots: u32| [u32::MAX, slots, 1, u32::MAX, 9].map(u32::to_le_bytes).concat();
        for slots in [0u32, 64, 1 << 20] {
            let named = 20 + 4 * slots;
            for slot in [0, 1, 7, named, u32::MAX] {
                let mut bytes = header(slots);
                (0..slots).for_each(|_| bytes.extend_from_slice(&slot.to_le_bytes()));
                bytes.extend_from_slice(&[9; 400]);
                for count in [1, 3, 20, 1_400_000_000, usize::MAX] {
                    let drawn = draw(&bytes, count, &mut random);
                    assert!(drawn.len() <= count);
                    assert!(drawn.iter().map(|span| span.len).sum::<usize>() <= bytes.len());
                }
            }
        }
    }
}
