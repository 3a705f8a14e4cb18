//! OBJECT: what the server knows of a key besides its value.

use crate::context::Context;
use crate::limits::EMBSTR_BYTES_MAX;
use crate::redis::error::CommandError;
use crate::redis::help;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Encoding, Found, Policy};

pub fn encoding(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    match find(ctx, call) {
        Some(found) => ctx.reply().bulk(encoding_name(&found).as_bytes()),
        None => ctx.reply().null(),
    }
    Ok(())
}

/// The word that Redis would use for such a value.
fn encoding_name(found: &Found) -> &'static str {
    match found.encoding {
        Encoding::Int => "int",
        Encoding::Bytes if found.len <= EMBSTR_BYTES_MAX => "embstr",
        Encoding::Bytes | Encoding::Raw => "raw",
        Encoding::Quicklist => "quicklist",
        Encoding::Intset => "intset",
        Encoding::Hashtable => "hashtable",
    }
}

pub fn freq(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let Some(found) = find(ctx, call) else {
        ctx.reply().null();
        return Ok(());
    };
    if !counts_uses(ctx) {
        return Err(CommandError::Sentence(
            "An LFU maxmemory policy is not selected, access frequency not tracked. Please note \
             that when switching between policies at runtime LRU and LFU data will take some \
             time to adjust.",
        ));
    }
    ctx.reply().int(i64::from(found.frequency));
    Ok(())
}

pub fn idletime(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let Some(found) = find(ctx, call) else {
        ctx.reply().null();
        return Ok(());
    };
    if counts_uses(ctx) {
        return Err(CommandError::Sentence(
            "An LFU maxmemory policy is selected, idle time not tracked. Please note that when \
             switching between policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    ctx.reply().int(i64::from(found.age));
    Ok(())
}

/// Nothing is shared here.
pub fn refcount(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    match find(ctx, call) {
        Some(_) => ctx.reply().int(1),
        None => ctx.reply().null(),
    }
    Ok(())
}

fn find(ctx: &Context<'_>, call: &Call<'_>) -> Option<Found> {
    ctx.look(&call.key())
}

/// Is the policy one of those that Redis keeps a use counter for?
fn counts_uses(ctx: &Context<'_>) -> bool {
    let policy = ctx.session.engine().policy();
    matches!(policy, Policy::AllKeysLfu | Policy::VolatileLfu)
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "OBJECT",
        &[
            ("ENCODING <key>", "How the value of <key> is stored, in Redis' words."),
            ("FREQ <key>", "How often <key> was used lately, from 0 to 3."),
            (
                "IDLETIME <key>",
                "Generations of eviction since <key> was stored, written or promoted, from 0 to 15.",
            ),
            ("REFCOUNT <key>", "The number of references to the value, which is 1."),
        ],
    )
}
