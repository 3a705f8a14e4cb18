//! SET and its relatives: storing, taking and re-dating whole values.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::expiry::{Base, Expiry, Unit, positive_deadline};
use crate::redis::number::value;
use crate::redis::row::{Call, Outcome};
use crate::redis::string::string;
use dolium_engine::{Deadline, Event, Found, Guard, Key, Put, Value};
use dolium_protocol::resp::Args;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SetOptions<'a> {
    /// NX (`Some(false)`) or XX (`Some(true)`): must the key exist?
    exists: Option<bool>,
    get: bool,
    /// Its keeper is KEEPTTL.
    expiry: Expiry<'a>,
}

impl<'a> SetOptions<'a> {
    fn parse(args: &Args<'a>) -> Result<Self, CommandError> {
        let mut options = SetOptions::default();
        let mut i = 3;
        while i < args.len() {
            let word = args.arg(i);
            let conditional = |wanted: bool, now: Option<bool>| now.is_none_or(|n| n == wanted);
            if word.eq_ignore_ascii_case(b"NX") && conditional(false, options.exists) {
                options.exists = Some(false);
            } else if word.eq_ignore_ascii_case(b"XX") && conditional(true, options.exists) {
                options.exists = Some(true);
            } else if word.eq_ignore_ascii_case(b"GET") {
                options.get = true;
            } else {
                i += options.expiry.take(args, i, "KEEPTTL")?;
                continue;
            }
            i += 1;
        }
        Ok(options)
    }

    /// Whether it matters what the key holds, which is then not to go for the new value.
    fn goes_by_the_old(&self) -> bool {
        self.get || self.exists.is_some() || self.expiry.keeper
    }
}

pub fn set(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (key, text) = (call.key(), call.args.arg(2));
    if call.args.len() == 3 {
        ctx.make_room(key.bytes().len() + text.len())?;
        match value(text) {
            Value::Bytes(bytes) => ctx.session.set(ctx.client.db, &key, bytes, ctx.now)?,
            value => {
                let mut guard = ctx.session.write(ctx.client.db, &key, ctx.now);
                guard.put(ctx.client.db, &key, &Put::plain(value))?
            }
        };
        ctx.reply().ok();
        return Ok(());
    }
    let options = SetOptions::parse(&call.args)?;
    let (deadline, event) = match options.expiry.at {
        Some((time, word)) => {
            let at = positive_deadline(time, word, ctx.now, call.row.name)?;
            (Deadline::At(at), Event::SetExpire)
        }
        None if options.expiry.keeper => (Deadline::Keep, Event::Set),
        None => (Deadline::Never, Event::Set),
    };
    let room = key.bytes().len() + text.len();
    if options.goes_by_the_old() {
        ctx.make_room_beside(&key, room)?
    } else {
        ctx.make_room(room)?
    }
    let db = ctx.db();
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let exists = if options.get {
        reply_value(ctx, &mut guard, &key)?.is_some()
    } else {
        options.exists.is_some() && guard.find(db, &key).is_some()
    };
    if options.exists.is_none_or(|wanted| wanted == exists) {
        guard.put(db, &key, &Put { deadline, event, ..Put::plain(value(text)) })?;
        drop(guard);
        if !options.get {
            ctx.reply().ok();
        }
    } else {
        drop(guard);
        if !options.get {
            ctx.reply().null();
        }
    }
    Ok(())
}

/// Replies with the value of a key, which must be a string, or null.
fn reply_value(
    ctx: &mut Context<'_>,
    guard: &mut Guard<'_>,
    key: &Key<'_>,
) -> Result<Option<Found>, CommandError> {
    let db = ctx.db();
    let found = guard.find(db, key);
    ctx.session.count_look(found.is_some());
    let found = found.map(string).transpose()?;
    match found {
        Some(found) => {
            ctx.reply().bulk_header(found.len);
            guard.value(db, key, ctx.out);
            ctx.reply().bulk_end();
        }
        None => ctx.reply().null(),
    }
    Ok(found)
}

pub fn setnx(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, text) = (ctx.db(), call.key(), call.args.arg(2));
    ctx.make_room(key.bytes().len() + text.len())?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let free = guard.find(db, &key).is_none();
    if free {
        guard.put(db, &key, &Put::plain(value(text)))?;
    }
    drop(guard);
    ctx.reply().int(i64::from(free));
    Ok(())
}

pub fn setex(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    store_until(ctx, call, Unit::Seconds)
}

pub fn psetex(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    store_until(ctx, call, Unit::Millis)
}

fn store_until(ctx: &mut Context<'_>, call: &Call<'_>, unit: Unit) -> Outcome {
    let (db, key, text) = (ctx.db(), call.key(), call.args.arg(3));
    let at = positive_deadline(call.args.arg(2), (unit, Base::Now), ctx.now, call.row.name)?;
    ctx.make_room(key.bytes().len() + text.len())?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let (deadline, event) = (Deadline::At(at), Event::SetExpire);
    guard.put(db, &key, &Put { deadline, event, ..Put::plain(value(text)) })?;
    drop(guard);
    ctx.reply().ok();
    Ok(())
}

pub fn getset(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, text) = (ctx.db(), call.key(), call.args.arg(2));
    ctx.make_room(key.bytes().len() + text.len())?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    reply_value(ctx, &mut guard, &key)?;
    guard.put(db, &key, &Put::plain(value(text)))?;
    Ok(())
}

pub fn getdel(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    let mut guard = ctx.session.write(db, &key, ctx.now);
    if reply_value(ctx, &mut guard, &key)?.is_some() {
        guard.remove(db, &key, Event::Del);
    }
    Ok(())
}

pub fn getex(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let mut expiry = Expiry::default();
    let mut i = 2;
    while i < call.args.len() {
        i += expiry.take(&call.args, i, "PERSIST")?;
    }
    let (db, key) = (ctx.db(), call.key());
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let Some(found) = reply_value(ctx, &mut guard, &key)? else {
        return Ok(());
    };
    // The time is read only for a key that exists: GETEX of no key is null, whatever the time.
    if let Some((time, word)) = expiry.at {
        let at = positive_deadline(time, word, ctx.now, call.row.name)?;
        if at <= ctx.now {
            guard.remove(db, &key, Event::Del);
        } else {
            guard.set_deadline(db, &key, at, Event::Expire)?;
        }
    } else if expiry.keeper && found.deadline != dolium_engine::NEVER {
        guard.set_deadline(db, &key, dolium_engine::NEVER, Event::Persist)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dolium_protocol::resp::ArgVec;

    fn parse(text: &str) -> Result<(Option<bool>, bool, bool, bool), CommandError> {
        let line = format!("{text}\r\n");
        let (limits, mut state, mut args) = (Default::default(), Default::default(), ArgVec::new());
        let parsed = dolium_protocol::resp::parse(line.as_bytes(), &limits, &mut state, &mut args);
        assert!(matches!(parsed, dolium_protocol::Parse::Complete { .. }));
        let options = SetOptions::parse(&args.view(line.as_bytes()))?;
        let SetOptions { exists, get, expiry } = options;
        Ok((exists, get, expiry.at.is_some(), expiry.keeper))
    }

    #[test]
    fn options_go_together_as_in_redis() {
        assert_eq!(parse("set k v nx get"), Ok((Some(false), true, false, false)));
        assert_eq!(parse("set k v XX KEEPTTL"), Ok((Some(true), false, false, true)));
        assert_eq!(parse("set k v ex 10 xx"), Ok((Some(true), false, true, false)));
        assert_eq!(parse("set k v nx nx"), Ok((Some(false), false, false, false)));
        assert_eq!(parse("set k v ex 1 ex 2"), Ok((None, false, true, false)));
        assert_eq!(parse("set k v keepttl keepttl"), Ok((None, false, false, true)));
        for wrong in ["nx xx", "ex 1 px 1", "keepttl ex 1", "ex 1 keepttl", "ex", "persist", "foo"]
        {
            assert_eq!(parse(&format!("set k v {wrong}")), Err(CommandError::Syntax), "{wrong}");
        }
    }
}
