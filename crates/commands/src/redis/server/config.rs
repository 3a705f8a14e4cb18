//! CONFIG: reading and changing parameters of the running server.

use crate::context::Context;
use crate::host::{ConfigError, RewriteError};
use crate::redis::error::CommandError;
use crate::redis::glob::{self, Case};
use crate::redis::help;
use crate::redis::row::{Call, Outcome};

/// Directives for tests of the server: shown to who asks for them by name, and to no pattern.
const HIDDEN: [&[u8]; 2] = [b"key-load-delay", b"rdb-key-save-delay"];

pub fn get(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let all = ctx.host.config();
    let patterns = call.args.from(2);
    let chosen: Vec<_> = all
        .iter()
        .filter(|(name, _)| {
            let is_hidden = HIDDEN.contains(&name.as_bytes());
            patterns.iter().any(|pattern| {
                (!is_hidden || glob::is_literal(pattern))
                    && glob::matches(pattern, name.as_bytes(), Case::Ignored)
            })
        })
        .collect();
    let mut reply = ctx.reply();
    reply.map(chosen.len());
    for (name, value) in chosen {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    Ok(())
}

pub fn set(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let args = call.args;
    if args.len() % 2 == 1 {
        return Err(CommandError::Syntax);
    }
    let pairs: Vec<(&[u8], &[u8])> =
        (2..args.len()).step_by(2).map(|i| (args.arg(i), args.arg(i + 1))).collect();
    refuse_duplicates(ctx, &pairs)?;
    ctx.host.set_config(&pairs).map_err(refused)?;
    ctx.reply().ok();
    Ok(())
}

/// A name that nobody knows is the worse mistake, and is told first.
fn refuse_duplicates(ctx: &Context<'_>, pairs: &[(&[u8], &[u8])]) -> Outcome {
    for (i, (name, _)) in pairs.iter().enumerate() {
        let same = |other: &[u8]| other.eq_ignore_ascii_case(name);
        if pairs[..i].iter().any(|(earlier, _)| same(earlier)) {
            let known = ctx.host.config().iter().any(|(known, _)| same(known.as_bytes()));
            let name = String::from_utf8_lossy(name).into_owned();
            let reason = "duplicate parameter".to_owned();
            return Err(refused(match known {
                true => ConfigError::Refused { name, reason },
                false => ConfigError::Unknown { name },
            }));
        }
    }
    Ok(())
}

fn refused(error: ConfigError) -> CommandError {
    CommandError::Quoting(match error {
        ConfigError::Unknown { name } => {
            format!("Unknown option or number of arguments for CONFIG SET - '{name}'")
        }
        ConfigError::Refused { name, reason } => {
            format!("CONFIG SET failed (possibly related to argument '{name}') - {reason}")
        }
    })
}

pub fn rewrite(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.host.rewrite_config().map_err(|error| match error {
        RewriteError::NoFile => {
            CommandError::Sentence("The server is running without a config file")
        }
        RewriteError::Io(reason) => {
            CommandError::Quoting(format!("Rewriting config file: {reason}"))
        }
    })?;
    ctx.reply().ok();
    Ok(())
}

pub fn resetstat(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.host.reset_statistics();
    ctx.reply().ok();
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "CONFIG",
        &[
            ("GET <pattern> [<pattern> ...]", "The parameters that match, with their values."),
            ("SET <parameter> <value> [...]", "Changes parameters, all of them or none."),
            ("RESETSTAT", "Zeroes the statistics that INFO shows."),
            ("REWRITE", "Writes the configuration back to its file."),
        ],
    )
}
