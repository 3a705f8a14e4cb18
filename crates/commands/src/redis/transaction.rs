//! MULTI, DISCARD, WATCH, UNWATCH: what is queued and what is watched until EXEC.

use crate::connection::{ClientState, gate, kept_name_bytes};
use crate::context::Context;
use crate::dispatch::Prepared;
use crate::redis::error::CommandError;
use crate::redis::room::Room;
use crate::redis::row::{Call, Outcome, flag};
use dolium_engine::{Db, Key, Session};
use dolium_protocol::resp::ArgVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a client has queued and what it watches.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Copies of the queued requests.
    pub queued: Vec<Queued>,
    /// Memory that these take.
    pub queued_bytes: usize,
    /// What the queued commands that store something will take.
    pub room: Room,
    /// A command was refused while queueing: EXEC will abort.
    pub broken: bool,
    /// EXEC is running the queue: locks are held, nothing may wait for them again.
    pub running: bool,
    /// One of the commands that EXEC has run was CLIENT PAUSE.
    pub pauses: bool,
    pub watched: Vec<Watched>,
    /// Raised by the engine when a watched key changes. A new one for each round of WATCH, so
    /// that a late change of the round before cannot raise it.
    pub dirty: Option<Arc<AtomicBool>>,
}

/// One queued request, independent of the buffer it came in.
#[derive(Debug)]
pub struct Queued {
    pub args: ArgVec,
    pub prepared: Prepared,
}

#[derive(Debug)]
pub struct Watched {
    pub db: Db,
    pub key: Vec<u8>,
    pub hash: u64,
    /// The key was there, and not due, when it was watched.
    pub present: bool,
}

impl Watched {
    pub fn key(&self) -> Key<'_> {
        Key::from_parts(&self.key, self.hash)
    }
}

impl Transaction {
    /// Queues a request; returns what memory it takes.
    pub fn queue(&mut self, queued: Queued) -> usize {
        let bytes = size_of::<Queued>() + queued.args.kept_bytes();
        self.queued.push(queued);
        self.queued_bytes += bytes;
        bytes
    }

    /// One of the queued commands may change data.
    pub fn may_write(&self) -> bool {
        let rows = self.queued.iter().filter_map(|queued| queued.prepared.row());
        rows.into_iter().any(|row| row.has(flag::WRITE | flag::MAY_REPLICATE))
    }

    /// A watched key has changed.
    pub fn is_dirty(&self) -> bool {
        // Pairs with the engine's Release store, made under the key's lock.
        self.dirty.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }
}

pub fn multi(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    if ctx.client.gate & gate::MULTI != 0 {
        return Err(CommandError::Sentence("MULTI calls can not be nested"));
    }
    ctx.client.set_gate(gate::MULTI, true);
    ctx.reply().ok();
    Ok(())
}

pub fn discard(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    if ctx.client.gate & gate::MULTI == 0 {
        return Err(CommandError::Sentence("DISCARD without MULTI"));
    }
    forget(ctx.client, ctx.session);
    ctx.reply().ok();
    Ok(())
}

/// Leaves MULTI: what was queued and watched is forgotten.
pub fn forget(client: &mut ClientState, session: &Session) {
    let transaction = &mut client.transaction;
    transaction.queued = Vec::new();
    client.kept_bytes -= std::mem::take(&mut transaction.queued_bytes);
    transaction.room = Room::default();
    transaction.broken = false;
    unwatch_all(client, session);
    client.set_gate(gate::MULTI, false);
}

pub fn watch(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if ctx.client.gate & gate::MULTI != 0 {
        return Err(CommandError::Sentence("WATCH inside MULTI is not allowed"));
    }
    let flag = Arc::clone(ctx.client.transaction.dirty.get_or_insert_default());
    let db = ctx.db();
    for bytes in call.args.from(1).iter() {
        let watched = &ctx.client.transaction.watched;
        if watched.iter().any(|w| w.db == db && w.key == bytes) {
            continue;
        }
        let key = ctx.key(bytes);
        let present = ctx.session.watch(db, &key, &flag, ctx.now);
        let entry = Watched { db, key: bytes.to_vec(), hash: key.hash(), present };
        ctx.client.transaction.watched.push(entry);
        ctx.client.kept_bytes += kept_name_bytes(bytes);
    }
    ctx.reply().ok();
    Ok(())
}

pub fn unwatch(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    unwatch_all(ctx.client, ctx.session);
    ctx.reply().ok();
    Ok(())
}

/// Also what the server does when a connection closes.
pub fn unwatch_all(client: &mut ClientState, session: &Session) {
    let Some(flag) = client.transaction.dirty.take() else { return };
    for watched in std::mem::take(&mut client.transaction.watched) {
        client.kept_bytes -= kept_name_bytes(&watched.key);
        session.unwatch(watched.db, &watched.key(), &flag);
    }
}
