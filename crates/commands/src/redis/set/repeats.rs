//! SRANDMEMBER of a negative count: so many members by chance, which may come again.
//!
//! ```text
//!   few of many    drawn from the set     -> copies of those, each once -> reply
//!   many           all bytes of the set   -> drawn from the copy        -> reply
//! ```
//! Nothing but the count bounds the reply. So it is written from a copy, which the set bounds, when nobody
//! waits for the set any more. And a reader that lost a race may be shown a long member that is none: it
//! must not be copied ten million times before that is known.

use super::random::{DRAWN, looks};
use crate::context::Context;
use crate::packed::Bytes;
use crate::packed::entry::Span;
use crate::packed::set::Set;
use crate::redis::collection::{read, reply_element};
use crate::redis::row::{Call, Outcome};
use dolium_engine::Kind;
use dolium_protocol::resp::RespWriter;
use std::collections::HashMap;

/// What the reply is made of.
#[derive(Debug, PartialEq, Eq)]
enum Copied {
    /// Members one behind the other, and which of them was drawn when.
    Drawn(Vec<u8>, Vec<Span>),
    /// A set's bytes.
    Whole(Vec<u8>),
}

pub fn reply(ctx: &mut Context<'_>, call: &Call<'_>, count: usize) -> Outcome {
    let (version, host) = (ctx.client.resp, ctx.host);
    let mut random = || host.random();
    let mut copied = Copied::Drawn(Vec::new(), Vec::new());
    read(ctx, &call.key(), Kind::Set, |packed, _| {
        copied = match packed {
            Some(packed) => copy(&packed, count, &mut random),
            None => Copied::Drawn(Vec::new(), Vec::new()),
        };
    })?;
    let mut reply = RespWriter::new(ctx.out, version);
    match copied {
        Copied::Drawn(members, drawn) => {
            reply.array(drawn.len());
            drawn.iter().for_each(|span| reply_element(&members, *span, &mut reply));
        }
        Copied::Whole(bytes) => {
            let members: Vec<Span> = Set::open(&bytes).iter().collect();
            let count = if members.is_empty() { 0 } else { count };
            reply.array(count);
            for _ in 0..count {
                let span = members[(random() % members.len() as u64) as usize];
                reply_element(&bytes, span, &mut reply);
            }
        }
    }
    Ok(())
}

/// No more bytes than the set has.
fn copy<B: Bytes>(packed: &B, count: usize, random: &mut impl FnMut() -> u64) -> Copied {
    let is_few = count < Set::open(packed).len() / DRAWN;
    let drawn = if is_few { draw(packed, count, random) } else { None };
    drawn.unwrap_or_else(|| {
        let mut bytes = Vec::new();
        packed.copy(0, packed.len(), &mut bytes);
        Copied::Whole(bytes)
    })
}

/// `None`: it took too long, by the worst of luck or with bytes of two moments, or these name more than
/// there can be.
fn draw<B: Bytes>(packed: &B, count: usize, random: &mut impl FnMut() -> u64) -> Option<Copied> {
    let set = Set::open(packed);
    // Of a set without a table, which has few members, all are found first.
    let all: Vec<Span> = if set.has_table() { Vec::new() } else { set.iter().collect() };
    let mut pick = || {
        let random = random();
        match all.len() {
            0 => set.pick(random),
            len => Some(all[(random % len as u64) as usize]),
        }
    };
    let (mut bytes, mut drawn, mut copies) = (Vec::new(), Vec::new(), HashMap::new());
    for _ in 0..looks(count) {
        if drawn.len() == count {
            return Some(Copied::Drawn(bytes, drawn));
        }
        let Some(span) = pick() else { continue };
        let copy = *copies.entry(span.at).or_insert(Span { at: bytes.len(), len: span.len });
        if copy.at == bytes.len() {
            if span.len > packed.len() - bytes.len() {
                return None;
            }
            packed.copy(span.at, span.len, &mut bytes);
        }
        drawn.push(copy);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::set::Hashed;
    use crate::packed::set_build::pack;
    use std::collections::HashSet;

    fn numbers() -> impl FnMut() -> u64 {
        let mut seed = 1u64;
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 20
        }
    }

    /// A hash that the table is spread by.
    fn hash(name: &str) -> u64 {
        name.bytes()
            .fold(7, |hash: u64, b| (hash ^ u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn a_few_are_copied_each_once_and_many_as_a_whole() {
        for len in [10, 1000] {
            let names: Vec<String> = (0..len).map(|n| format!("{n}{}", "x".repeat(300))).collect();
            let set = pack(names.iter().map(|n| Hashed { bytes: n.as_bytes(), hash: hash(n) }));
            let few = len / DRAWN - 1;
            let Copied::Drawn(bytes, drawn) = copy(&set, few, &mut numbers()) else {
                panic!("{few} of {len} are few");
            };
            assert_eq!(drawn.len(), few);
            let texts: Vec<_> = drawn.iter().map(|span| span.read(&bytes)).collect();
            assert!(texts.iter().all(|text| names.iter().any(|name| name.as_bytes() == text)));
            let different: HashSet<_> = texts.iter().collect();
            assert_eq!(bytes.len(), different.iter().map(|text| text.len()).sum::<usize>());
            for many in [len, 10_000_000] {
                assert_eq!(copy(&set, many, &mut numbers()), Copied::Whole(set.clone()));
            }
        }
    }

    #[test]
    fn of_bytes_of_two_moments_no_more_is_copied_than_there_are() {
        let header = |slots: u32| [u32::MAX, slots, 1, u32::MAX, 9].map(u32::to_le_bytes).concat();
        for slots in [0u32, 64, 1 << 20] {
            let named = 20 + 4 * slots;
            for slot in [0, 1, 7, named, u32::MAX] {
                let mut bytes = header(slots);
                (0..slots).for_each(|_| bytes.extend_from_slice(&slot.to_le_bytes()));
                bytes.extend_from_slice(&[9; 400]);
                for count in [1, 3, 20, 10_000_000] {
                    let (Copied::Drawn(copied, _) | Copied::Whole(copied)) =
                        copy(&bytes, count, &mut numbers());
                    assert!(copied.len() <= bytes.len());
                }
            }
        }
    }
}
