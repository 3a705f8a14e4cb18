//! Retrieval: get, gets.
//!
//! `get` takes no lock and allocates nothing, but for what a full socket makes it look for again.
//! `gets` of an item that has no unique number yet makes one, under the lock of its shard; from then
//! on it reads like `get`.

use super::context::Mark;
use super::details::Did;
use super::events::Fetched;
use super::unique::Number;
use super::{Count, Left, McContext, Piece, Reason};
use crate::context::rewritten_bytes;
use crate::limits::ROOM_TRIES;
use crate::outlet::Outlet;
use dolium_engine::{Found, Key, Kind, StoreError};
use dolium_protocol::memcache::{Words, write};

/// Bytes of an empty item beside its key, generously.
pub(super) const NEW_ITEM_BYTES: usize = 64;
/// What a client is told when there is no memory for a new form of an item it asked for.
pub(super) const NO_MEMORY: &str = "SERVER_ERROR out of memory storing object";

/// What a client is told of a key that Redis clients have made a list or a set of.
pub(super) const NOT_A_STRING: &str = "CLIENT_ERROR the key holds a value of another type";

/// What became of one key of a retrieval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Its item follows those before, if there is one.
    Yes,
    /// As `Yes`; its value is lent.
    Lent,
    /// As `Yes`, and the end of the retrieval with it.
    AndEnd,
    /// Its item cannot be shown, for the reason that this sentence gives.
    Not(&'static str),
}

/// `get` and `gets`: the items that there are, or the first of them, and the others are left over (see
/// [`Client::left`](super::Client::left)). `start` is where the replies stand. `Err`: what the client is told in
/// place of all, because there is an item that cannot be shown.
#[inline]
pub(super) fn get_all(
    context: &mut McContext<'_>,
    keys: Words<'_>,
    cas: bool,
    start: &Mark,
) -> Result<(), &'static str> {
    let before = std::mem::take(&mut context.client.left);
    let mut told = before.map_or(0, |left| left.told);
    let mut others = keys;
    let number = Number::new(context, cas);
    loop {
        let from = others.rest().len();
        let Some(key) = others.next() else { break };
        let shown = match told {
            0 => get(context, key, number, others),
            _ => get_told(context, key, number, others),
        };
        told = told.saturating_sub(1);
        if matches!(shown, Shown::Lent | Shown::AndEnd)
            && let Some(outlet) = context.outlet.as_deref_mut()
        {
            outlet.may_ask_again(from);
        }
        let is_piece = match shown {
            Shown::Yes => context.is_piece_copied(start),
            Shown::Lent => context.is_piece_lent(start),
            Shown::AndEnd => return Ok(()),
            Shown::Not(sentence) => return Err(sentence),
        };
        if is_piece && context.is_worth_a_cut(start, others) {
            // A list among them is to be the whole reply: it is looked for before the first piece.
            if before.is_none() && !others.clone().all(|key| context.may_be_shown(key)) {
                return Err(NOT_A_STRING);
            }
            context.client.left = Some(Left { bytes: others.rest().len(), cas, told });
            return Ok(());
        }
        if context.out.len() > context.reply_bytes_max {
            return Ok(());
        }
    }
    write::end(context.out);
    Ok(())
}

/// The rest of a `get` whose first items have been sent. The line is that of its request.
pub(super) fn get_rest(
    context: &mut McContext<'_>,
    line: &[u8],
    left: Left,
) -> Result<(), &'static str> {
    let start = context.mark();
    get_all(context, Words::new(left.of(line)), left.cas, &start)
}

impl McContext<'_> {
    /// As much has been copied for this request as is sent at once.
    #[inline(always)]
    fn is_piece_copied(&self, start: &Mark) -> bool {
        self.out.len() - start.len >= self.piece.copied
    }

    /// As much is lent as is sent at once, or nothing more can be.
    #[inline]
    fn is_piece_lent(&self, start: &Mark) -> bool {
        let is_enough = |outlet: &&mut dyn Outlet| {
            outlet.bytes() - start.bytes >= self.piece.lent || !outlet.has_room()
        };
        self.piece != Piece::ALL && self.outlet.as_ref().is_some_and(is_enough)
    }

    /// There are other keys, and they take no more bytes than what was answered: of very many keys,
    /// all would be gone through again for each piece.
    fn is_worth_a_cut(&self, start: &Mark, others: Words<'_>) -> bool {
        let lent = self.outlet.as_ref().map_or(0, |outlet| outlet.bytes() - start.bytes);
        let answered = self.out.len() - start.len + lent;
        answered >= others.rest().len() && others.clone().next().is_some()
    }

    /// It is not there, or is a string.
    fn may_be_shown(&self, key: &[u8]) -> bool {
        let name = self.session.engine().key(key);
        let found = self.session.peek(self.db, &name, self.now);
        found.is_none_or(|found| found.kind == Kind::String)
    }
}

/// As [`get`], for a key that has been counted and shown to who watches (see [`Left::told`]): the
/// store's own counts and what it knows of uses stay as they are, too.
#[cold]
fn get_told(context: &mut McContext<'_>, key: &[u8], number: Number, others: Words<'_>) -> Shown {
    let name = context.session.engine().key(key);
    let Some(found) = context.session.peek(context.db, &name, context.now) else {
        return Shown::Yes;
    };
    if found.kind != Kind::String {
        return Shown::Not(NOT_A_STRING);
    }
    let may_pass = !context.copies()(&found) && number.is_there(&found);
    if may_pass && let Some((shown, _)) = lend(context, &name, number, others) {
        return shown;
    }
    match get_locked(context, key, number, found.unique == 0) {
        Err(_) => Shown::Not(NO_MEMORY),
        Ok(_) => Shown::Yes,
    }
}

/// Appends the item of a key, if there is one; `others` are to follow it.
#[inline]
fn get(context: &mut McContext<'_>, key: &[u8], number: Number, others: Words<'_>) -> Shown {
    let name = context.session.engine().key(key);
    let start = context.out.len();
    let copies = context.copies();
    let head = |found: &Found, out: &mut Vec<u8>| number.header(out, key, found);
    let (db, now) = (context.db, context.now);
    let found = context.session.get_if(db, &name, now, context.out, &copies, head);
    if let Some(found) = found
        && !copies(&found)
        && found.kind == Kind::String
        && number.is_there(&found)
    {
        return pass(context, &name, number, others);
    }
    context.tally.add(Count::Get);
    match found {
        Some(found) if found.kind != Kind::String => {
            context.out.truncate(start);
            return Shown::Not(NOT_A_STRING);
        }
        Some(found) if number.is_there(&found) => {
            write::block_end(context.out);
            context.tally.add(Count::GetHit);
            context.note_hit(key, &found);
        }
        Some(found) => {
            context.out.truncate(start);
            match get_locked(context, key, number, true) {
                Ok(true) => {
                    context.tally.add(Count::GetHit);
                    context.note_hit(key, &found);
                }
                Ok(false) => context.miss(key, name.hash()),
                Err(_) => return Shown::Not(NO_MEMORY),
            }
        }
        None => context.miss(key, name.hash()),
    }
    Shown::Yes
}

/// As [`get`], for a value that need not be copied.
#[cold]
fn pass(context: &mut McContext<'_>, key: &Key<'_>, number: Number, others: Words<'_>) -> Shown {
    let Some((shown, found)) = lend(context, key, number, others) else {
        return get(context, key.bytes(), number, others);
    };
    context.tally.add(Count::Get);
    context.tally.add(Count::GetHit);
    context.note_hit(key.bytes(), &found);
    shown
}

/// Appends an item with a value that is lent, if there still is one.
fn lend(
    context: &mut McContext<'_>,
    key: &Key<'_>,
    number: Number,
    others: Words<'_>,
) -> Option<(Shown, Found)> {
    let mut rest = others;
    let is_last = rest.next().is_none();
    let end: &[u8] = if is_last { b"\r\nEND\r\n" } else { b"\r\n" };
    let mut lent = None;
    let head = |found: &Found, out: &mut Vec<u8>| {
        number.header(out, key.bytes(), found);
        lent = Some(*found);
    };
    let suits = |found: &Found| number.is_there(found);
    if !context.pass(key, suits, head, end) {
        return None;
    }
    Some((if is_last { Shown::AndEnd } else { Shown::Lent }, lent?))
}

impl McContext<'_> {
    /// Tells who watches of a hit.
    #[inline(always)]
    pub(super) fn note_hit(&self, key: &[u8], found: &Found) {
        if self.watched != 0 {
            self.note_fetch(key, Fetched::Found(found.len, found.flags != 0));
            self.note_detail(key, Did::Get { hit: true });
        }
    }

    /// Counts a miss, and why it is one if that is known.
    #[inline]
    pub(super) fn miss(&self, key: &[u8], hash: u64) {
        self.tally.add(Count::GetMiss);
        match self.server.departed_lately(hash) {
            None => {}
            Some(Reason::Expired) => self.tally.add(Count::GetExpired),
            Some(Reason::Flushed) => self.tally.add(Count::GetFlushed),
        }
        if self.watched != 0 {
            self.note_fetch(key, Fetched::Missed);
            self.note_detail(key, Did::Get { hit: false });
        }
    }
}

/// Appends an item as it is under the lock of its shard. For `gets` its unique number is made, if it
/// has none (it `is_bare`); without memory for that the item is not shown: a number that no `cas` could
/// match would be a lie, and so would a miss. `Ok(false)`: there is no such string.
#[cold]
fn get_locked(
    context: &mut McContext<'_>,
    key: &[u8],
    number: Number,
    is_bare: bool,
) -> Result<bool, StoreError> {
    let name = context.session.engine().key(key);
    let mut tries = 0;
    loop {
        tries += 1;
        if number == Number::Own && is_bare {
            let _ = context.make_room_to_rewrite(&name);
        }
        let mut guard = context.session.write(context.db, &name, context.now);
        // Redis clients may have made something else of it since.
        let found = guard.find(context.db, &name);
        if !found.is_some_and(|found| found.kind == Kind::String) {
            return Ok(false);
        }
        let unique = if number == Number::Own { guard.unique(context.db, &name) } else { Ok(0) };
        let unique = match unique {
            Ok(unique) => unique,
            Err(error) if tries == ROOM_TRIES => return Err(error),
            Err(_) => continue,
        };
        let Some(found) = guard.find(context.db, &name) else { return Ok(false) };
        number.header(context.out, key, &Found { unique, ..found });
        guard.value(context.db, &name, context.out);
        write::block_end(context.out);
        return Ok(true);
    }
}

impl McContext<'_> {
    /// Makes room for another copy of an item, which a change of its form (a first time to live, a
    /// first unique number) takes. A change that finds none after all says so.
    pub(super) fn make_room_to_rewrite(&self, name: &Key<'_>) -> Result<(), StoreError> {
        match self.session.peek(self.db, name, self.now) {
            Some(found) => {
                let bytes = rewritten_bytes(name, &found);
                self.session.make_room_beside(self.db, name, bytes, self.now)
            }
            None => Ok(()),
        }
    }
}
