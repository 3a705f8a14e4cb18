//! LSET, LINSERT, LREM, LTRIM: changes between the ends.

use super::{FORM, range};
use crate::context::Context;
use crate::packed::Edit;
use crate::packed::entry::entry_bytes;
use crate::packed::list::List;
use crate::redis::collection;
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Event, Kind};

pub fn lset(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, element) = (ctx.db(), call.key(), call.args.arg(3));
    collection::change(ctx, &key, entry_bytes(element.len()), |guard| {
        let found = collection::open(guard, db, &key, Kind::List)?;
        let (_, packed) = found.ok_or(CommandError::NoSuchKey)?;
        let list = List::open(&packed);
        let edit = list.replace(integer(call.args.arg(2))?, element);
        let edit = edit.ok_or(CommandError::Sentence("index out of range"))?;
        collection::apply(guard, db, &key, FORM, Event::LSet, edit, 1)
    })?;
    ctx.reply().ok();
    Ok(())
}

pub fn linsert(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    let (word, pivot, element) = (call.args.arg(2), call.args.arg(3), call.args.arg(4));
    let before = word.eq_ignore_ascii_case(b"BEFORE");
    if !before && !word.eq_ignore_ascii_case(b"AFTER") {
        return Err(CommandError::Syntax);
    }
    let len = collection::change(ctx, &key, entry_bytes(element.len()), |guard| {
        let Some((_, packed)) = collection::open(guard, db, &key, Kind::List)? else {
            return Ok(0);
        };
        let list = List::open(&packed);
        let mut all = list.iter().enumerate();
        let pivot = all.find(|(_, span)| span.is(&packed, pivot));
        let Some((index, span)) = pivot else { return Ok(-1) };
        let edit = list.insert(index, span, before, element);
        collection::apply(guard, db, &key, FORM, Event::LInsert, edit, 1)?;
        Ok(list.len() as i64 + 1)
    })?;
    ctx.reply().int(len);
    Ok(())
}

pub fn lrem(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, element) = (ctx.db(), call.key(), call.args.arg(3));
    let count = integer(call.args.arg(2))?;
    let removed = collection::change(ctx, &key, 0, |guard| {
        let Some((_, packed)) = collection::open(guard, db, &key, Kind::List)? else {
            return Ok(0);
        };
        let list = List::open(&packed);
        let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
        let mut gone: Vec<_> = if count < 0 {
            let back =
                list.iter_back().zip((0..list.len()).rev()).map(|(span, index)| (index, span));
            back.filter(|(_, span)| span.is(&packed, element)).take(most).collect()
        } else {
            let all = list.iter().enumerate();
            all.filter(|(_, span)| span.is(&packed, element)).take(most).collect()
        };
        if gone.is_empty() {
            return Ok(0);
        }
        if count < 0 {
            gone.reverse();
        }
        let edit = list.without(&gone);
        collection::apply(guard, db, &key, FORM, Event::LRem, edit, gone.len())?;
        Ok(gone.len())
    })?;
    ctx.reply().int(removed as i64);
    Ok(())
}

pub fn ltrim(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    let (start, end) = (integer(call.args.arg(2))?, integer(call.args.arg(3))?);
    collection::change(ctx, &key, 0, |guard| {
        let Some((_, packed)) = collection::open(guard, db, &key, Kind::List)? else {
            return Ok(());
        };
        let list = List::open(&packed);
        let kept = range(start, end, list.len());
        let gone = list.len() - kept.as_ref().map_or(0, |kept| kept.len());
        let edit = match kept {
            Some(kept) => list.trim(kept.start, list.len() - kept.end),
            None => Edit::Empty,
        };
        collection::apply(guard, db, &key, FORM, Event::LTrim, edit, gone)
    })?;
    ctx.reply().ok();
    Ok(())
}
