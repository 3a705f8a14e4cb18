//! KEYS, SCAN, RANDOMKEY: names by the way they are stored.

use crate::context::Context;
use crate::limits::SCAN_COUNT_DEFAULT;
use crate::redis::error::CommandError;
use crate::redis::glob::{self, Case};
use crate::redis::number::{cursor, integer, up_to_nul};
use crate::redis::row::{Call, Outcome};
use dolium_protocol::number::Decimal;
use dolium_protocol::resp::{Args, RespWriter};

pub fn keys(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, pattern) = (ctx.db(), call.args.arg(1));
    if glob::is_literal(pattern) {
        let found = ctx.session.peek(db, &ctx.key(pattern), ctx.now).is_some();
        let mut reply = ctx.reply();
        reply.array(usize::from(found));
        if found {
            reply.bulk(pattern);
        }
        return Ok(());
    }
    // A lone star means all, be it the empty name, which matches no star.
    let all = pattern == b"*";
    let keep: &mut dyn FnMut(&[u8]) -> bool =
        &mut |name| all || glob::matches(pattern, name, Case::Sensitive);
    // How many there are is said first, and known last.
    let (mut framed, mut count) = (Vec::new(), 0);
    let mut names = RespWriter::new(&mut framed, ctx.client.resp);
    ctx.session.scan_all(db, ctx.now, keep, |name| {
        names.bulk(name);
        count += 1;
    });
    ctx.reply().array(count);
    ctx.out.extend_from_slice(&framed);
    Ok(())
}

/// Where the options of SCAN begin.
const SCAN_OPTIONS: usize = 2;

/// What SCAN and SSCAN may be told besides the cursor.
pub struct ScanOptions<'a> {
    pub pattern: Option<&'a [u8]>,
    /// SCAN only.
    kind: Option<&'a [u8]>,
    pub count: usize,
}

impl<'a> ScanOptions<'a> {
    /// Options from an argument on. TYPE is for SCAN, whose options begin at the second.
    pub fn parse(args: &Args<'a>, from: usize) -> Result<Self, CommandError> {
        let mut options = ScanOptions { pattern: None, kind: None, count: SCAN_COUNT_DEFAULT };
        let mut i = from;
        while i < args.len() {
            let (word, value) = (args.arg(i), args.get(i + 1).ok_or(CommandError::Syntax)?);
            if word.eq_ignore_ascii_case(b"COUNT") {
                let count = integer(value)?;
                options.count = usize::try_from(count).map_err(|_| CommandError::Syntax)?;
                if count == 0 {
                    return Err(CommandError::Syntax);
                }
            } else if word.eq_ignore_ascii_case(b"MATCH") {
                // A lone star leaves nothing out: no need to compare.
                options.pattern = (value != b"*").then_some(value);
            } else if word.eq_ignore_ascii_case(b"TYPE") && from == SCAN_OPTIONS {
                options.kind = Some(up_to_nul(value));
            } else {
                return Err(CommandError::Syntax);
            }
            i += 2;
        }
        Ok(options)
    }
}

pub fn scan(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let invalid = CommandError::Sentence("invalid cursor");
    let cursor = cursor(call.args.arg(1)).ok_or(invalid)?;
    let options = ScanOptions::parse(&call.args, SCAN_OPTIONS)?;
    let mut names: Vec<Vec<u8>> = Vec::new();
    let (mut looked_at, mut over) = (0, Vec::new());
    let keep: &mut dyn FnMut(&[u8]) -> bool =
        &mut |name| options.pattern.is_none_or(|p| glob::matches(p, name, Case::Sensitive));
    let (db, count) = (ctx.db(), options.count);
    let next = ctx.session.scan_past(db, cursor, count, ctx.now, keep, |name, found| {
        // Redis looks each key up to see its type, and counts that.
        let Some(found) = found else {
            over.extend(options.kind.map(|_| name.to_vec()));
            return;
        };
        looked_at += u64::from(options.kind.is_some());
        let named = |kind: &[u8]| kind.eq_ignore_ascii_case(found.kind.name().as_bytes());
        if options.kind.is_none_or(named) {
            names.push(name.to_vec());
        }
    });
    ctx.session.count_hits(looked_at);
    for name in &over {
        // With a look at it a key that is over goes: the next SCAN does not miss it once more.
        let found = ctx.session.peek(ctx.db(), &ctx.key(name), ctx.now);
        ctx.session.count_look(found.is_some());
    }
    let mut reply = ctx.reply();
    reply.array(2);
    reply.bulk(Decimal::unsigned(next).as_bytes());
    reply.array(names.len());
    for name in &names {
        reply.bulk(name);
    }
    Ok(())
}

pub fn randomkey(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let mut name = Vec::new();
    if ctx.session.random_key(ctx.db(), ctx.host.random(), ctx.now, &mut name) {
        ctx.reply().bulk(&name);
    } else {
        ctx.reply().null();
    }
    Ok(())
}
