//! How long a reply will be that has elements of lists and members of sets in it, told before the command runs.
//!
//! ```text
//!   LPOP k 2       | element | element | ...   these two, however long the list is
//!   LPOP k 1000    the first of them, and of the others their share of what is left
//!   SPOP k 2       by chance: their share of what all members take
//!   SINTER a b     the shorter one at most
//! ```
//! Who takes one job at a time from a long queue would wait for room for all of it, were its length what counts.
//! Nor are all elements looked at that are asked for: EXEC asks of each command in its queue, any number of which
//! may name the same long list, of which the first one leaves nothing.

use crate::packed::list::{End, List};
use crate::packed::set::Set;
use crate::redis::collection;
use crate::redis::list::relay::end;
use crate::redis::number::parse_i64;
use crate::redis::row::Row;
use dolium_engine::{Db, Kind, Millis, Session};
use dolium_protocol::resp::Args;

/// A collection that is shorter is no long reply in any case, and not looked into.
const LOOKED_INTO_BYTES_MIN: usize = 64 << 10;
/// Elements whose own lengths count.
const LOOKED_AT: usize = 64;

/// What a command answers with of the first of its keys that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Elements(End, usize),
    Element(i64),
    Members(usize),
}

/// Whether the command takes what it answers with: it cannot be asked for again.
pub fn takes(name: &str) -> bool {
    const TAKE: [&str; 11] = [
        "blmove",
        "blmpop",
        "blpop",
        "brpop",
        "brpoplpush",
        "lmove",
        "lmpop",
        "lpop",
        "rpop",
        "rpoplpush",
        "spop",
    ];
    TAKE.contains(&name)
}

/// Bytes of elements and members in the reply; 0 of other commands, and of what will be refused.
pub fn bytes(session: &Session, db: Db, row: &Row, args: &Args<'_>, now: Millis) -> usize {
    let keys = row.keys.positions(args).map(|position| session.engine().key(args.arg(position)));
    let mut lens = keys.map(|key| (key, collection::len(session, db, &key, now)));
    match row.name {
        "sinter" => return lens.map(|(_, len)| len).min().unwrap_or(0),
        "sunion" => return lens.map(|(_, len)| len).sum(),
        "sdiff" => return lens.next().map_or(0, |(_, len)| len),
        _ => {}
    }
    let Some(part) = part(row.name, args) else { return 0 };
    let Some((key, len)) = lens.find(|(_, len)| *len > 0) else { return 0 };
    if len < LOOKED_INTO_BYTES_MIN {
        return len;
    }
    let mut guard = session.write(db, &key, now);
    let Some((found, packed)) = guard.packed(db, &key) else { return 0 };
    match (found.kind, part) {
        (Kind::List, Part::Elements(end, count)) => {
            let list = List::open(&packed);
            let looked_at = count.min(LOOKED_AT);
            let exact: usize = match end {
                End::Front => list.iter().take(looked_at).map(|span| span.len).sum(),
                End::Back => list.iter_back().take(looked_at).map(|span| span.len).sum(),
            };
            let rest = found.len.saturating_sub(exact);
            exact + share(rest, count - looked_at, list.len().saturating_sub(looked_at))
        }
        (Kind::List, Part::Element(index)) => {
            List::open(&packed).at(index).map_or(0, |span| span.len)
        }
        (Kind::Set, Part::Members(count)) => share(found.len, count, Set::open(&packed).len()),
        _ => 0,
    }
}

/// What some of all there are take, if they are as long as the others.
fn share(bytes: usize, some: usize, all: usize) -> usize {
    let share = bytes as u128 * some.min(all) as u128 / all.max(1) as u128;
    share as usize
}

/// `None`: nothing of a key, or the command will be refused.
fn part(name: &str, args: &Args<'_>) -> Option<Part> {
    let count = |at: usize| match args.get(at) {
        None => Some(1),
        Some(count) => usize::try_from(parse_i64(count)?).ok(),
    };
    // Behind the keys of LMPOP: `LEFT|RIGHT [COUNT count]`.
    let some = |keys_at: usize| {
        let keys = usize::try_from(parse_i64(args.get(keys_at)?)?).ok()?;
        let side = keys.checked_add(keys_at + 1)?;
        Some(Part::Elements(end(args.get(side)?).ok()?, count(side.checked_add(2)?)?))
    };
    Some(match name {
        "lpop" => Part::Elements(End::Front, count(2)?),
        "rpop" => Part::Elements(End::Back, count(2)?),
        "blpop" => Part::Elements(End::Front, 1),
        "brpop" | "rpoplpush" | "brpoplpush" => Part::Elements(End::Back, 1),
        "lmove" | "blmove" => Part::Elements(end(args.get(3)?).ok()?, 1),
        "lmpop" => some(1)?,
        "blmpop" => some(2)?,
        "lindex" => Part::Element(parse_i64(args.get(2)?)?),
        "spop" => Part::Members(count(2)?),
        "srandmember" if args.len() < 3 => Part::Members(1),
        "srandmember" => {
            Part::Members(usize::try_from(parse_i64(args.arg(2))?.unsigned_abs()).ok()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::{list, set::Hashed, set_build};
    use crate::redis::table;
    use dolium_engine::{Encoding, Engine, EngineOptions, Put, Value};
    use dolium_protocol::resp::{self, ArgVec};

    #[test]
    fn a_part_of_a_long_list_or_set_is_not_taken_for_all_of_it() {
        let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..Default::default() };
        let engine = Engine::create(options).expect("an arena");
        let session = engine.session().expect("a slot");
        let put = |name: &[u8], kind, encoding, bytes: &[u8]| {
            let key = engine.key(name);
            let put = Put::plain(Value::Packed(kind, encoding, bytes));
            session.write(Db(0), &key, 1).put(Db(0), &key, &put).expect("room");
            bytes.len()
        };
        let (long, short) = ([b'v'; 1000], [b'v'; 100]);
        // The first is ten times as long as any other of a thousand.
        let elements = std::iter::once(&long[..]).chain(std::iter::repeat_n(&short[..], 999));
        let packed = list::pack(End::Back, elements);
        let all = put(b"l", Kind::List, Encoding::Quicklist, &packed);
        let names: Vec<_> = (0..1000).map(|n| format!("{n:0>100}").into_bytes()).collect();
        let hash = |bytes: &[u8]| engine.key(bytes).hash();
        let members = names.iter().map(|bytes| Hashed { bytes, hash: hash(bytes) });
        let set = put(b"s", Kind::Set, Encoding::Hashtable, &set_build::pack(members));
        let told = |request: &str| {
            let line = format!("{request}\r\n");
            let (limits, mut state) = (Default::default(), Default::default());
            let mut args = ArgVec::new();
            let _ = resp::parse(line.as_bytes(), &limits, &mut state, &mut args);
            let args = args.view(line.as_bytes());
            bytes(&session, Db(0), table::find(args.arg(0)).expect("a command"), &args, 1)
        };
        for (request, expected) in [
            ("lpop l", 1000..=1000),
            ("rpop l", 100..=100),
            ("blpop none l 1", 1000..=1000),
            ("lmove l m RIGHT LEFT", 100..=100),
            ("lmpop 2 none l LEFT COUNT 3", 1200..=1200),
            ("blmpop 1 2 none l RIGHT", 100..=100),
            ("rpop l 500", 50_000..=all * 6 / 10),
            ("lpop l 1000", all..=all),
            ("lpop l 9999999", all..=all),
            ("lindex l 0", 1000..=1000),
            ("spop s", 100..=set / 900),
            ("spop s 1000", set..=set),
            ("srandmember s -10", 1000..=set / 90),
            ("sunion s s", 2 * set..=2 * set),
            ("sinter s l", set.min(all)..=set.min(all)),
            ("sdiff s l", set..=set),
            // Refused, or nothing there.
            ("lpop s", 0..=0),
            ("spop l", 0..=0),
            ("lpop l -1", 0..=0),
            ("lpop l x", 0..=0),
            ("lmpop 9 l LEFT", 0..=0),
            ("lmpop 1 l MIDDLE", 0..=0),
            ("lpop none", 0..=0),
            ("llen l", 0..=0),
        ] {
            let told = told(request);
            assert!(expected.contains(&told), "{request}: {told}, not {expected:?}");
        }
    }
}
