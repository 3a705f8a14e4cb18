//! The set commands.

pub mod change;
pub mod combine;
pub mod random;
pub mod read;
mod repeats;

use crate::context::Context;
use crate::packed::set::{Hashed, Set, entry_bytes};
use crate::packed::{Bytes, Edit, set_build};
use crate::redis::collection;
use crate::redis::error::CommandError;
use crate::redis::number::parse_i64;
use dolium_engine::{Db, Encoding, Event, Found, Guard, Key, Kind, Packed};
use std::collections::HashSet;

/// The place of a member in a set's table. It is the arena's own hash, which nobody outside can
/// foresee.
fn hash_in<'s>(ctx: &Context<'s>) -> impl Fn(&[u8]) -> u64 + Copy + use<'s> {
    let engine = ctx.session.engine();
    move |bytes| engine.key(bytes).hash()
}

/// Members as they were given, each one once.
fn distinct<'m>(
    members: impl ExactSizeIterator<Item = &'m [u8]>,
    hash: impl Fn(&[u8]) -> u64,
) -> Vec<Hashed<'m>> {
    let mut seen = HashSet::new();
    let is_one = members.len() == 1;
    let new = members.filter(|bytes| is_one || seen.insert(*bytes));
    new.map(|bytes| Hashed { bytes, hash: hash(bytes) }).collect()
}

/// What Redis would store a set as: integers as such while they are few.
fn encoding_of<'m>(
    ctx: &Context<'_>,
    old: Encoding,
    len: usize,
    mut new: impl Iterator<Item = &'m [u8]>,
) -> Encoding {
    let is_intset = old == Encoding::Intset
        && len <= ctx.host.intset_members_max()
        && new.all(|member| parse_i64(member).is_some());
    if is_intset { Encoding::Intset } else { Encoding::Hashtable }
}

/// Adds members to the set at a key, which is made if it is not there; how many were new.
fn add(
    ctx: &Context<'_>,
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    members: &[Hashed<'_>],
    event: Event,
) -> Result<usize, CommandError> {
    let Some((found, there)) = collection::open(guard, db, key, Kind::Set)? else {
        let (encoding, bytes) = packed(ctx, members);
        collection::put(guard, db, key, (Kind::Set, encoding), event, &bytes, members.len())?;
        return Ok(members.len());
    };
    let set = Set::open(&there);
    let new: Vec<_> = members.iter().copied().filter(|m| set.find(*m).is_none()).collect();
    if new.is_empty() {
        return Ok(0);
    }
    let names = new.iter().map(|member| member.bytes);
    let encoding = encoding_of(ctx, found.encoding, set.len() + new.len(), names);
    let mut edit = set.add(&new, hash_in(ctx));
    if encoding != found.encoding {
        // Bytes in place would leave the item's encoding as it was.
        let mut old = Vec::new();
        there.copy(0, there.len(), &mut old);
        edit = Edit::Whole(edit.applied(old).ok_or(collection::NOT_AS_SEEN)?);
    }
    collection::apply(guard, db, key, (Kind::Set, encoding), event, edit, new.len())?;
    Ok(new.len())
}

/// A set of these members, none of which is named twice, and what Redis would store it as.
fn packed(ctx: &Context<'_>, members: &[Hashed<'_>]) -> (Encoding, Vec<u8>) {
    let names = members.iter().map(|member| member.bytes);
    let encoding = encoding_of(ctx, Encoding::Intset, members.len(), names);
    (encoding, set_build::pack(members.iter().copied()))
}

/// Removes members of a set that is there; how many were members.
fn remove(
    ctx: &Context<'_>,
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    (found, packed): (Found, Packed<'_>),
    members: &[Hashed<'_>],
    event: Event,
) -> Result<usize, CommandError> {
    let set = Set::open(&packed);
    let gone: Vec<_> = members.iter().filter_map(|member| set.find(*member)).collect();
    if !gone.is_empty() {
        let edit = set.without(&gone, hash_in(ctx));
        collection::apply(guard, db, key, (Kind::Set, found.encoding), event, edit, gone.len())?;
    }
    Ok(gone.len())
}

/// Copies of all members.
fn members<B: Bytes>(packed: &B) -> Vec<Vec<u8>> {
    Set::open(packed).iter().map(|span| span.read(packed)).collect()
}

/// Bytes that members bring, with what their slots may take.
pub(in crate::redis) fn bytes_of<'m>(members: impl Iterator<Item = &'m [u8]>) -> usize {
    const SLOT_BYTES: usize = 8;
    members.map(|member| entry_bytes(member) + SLOT_BYTES).sum()
}
