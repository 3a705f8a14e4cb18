//! CONFIG: reading and changing parameters of the running server.

use crate::context::Context;
use crate::host::{ConfigError, RewriteError};
use crate::redis::error::{CommandError, quoted};
use crate::redis::glob::{self, Case};
use crate::redis::help;
use crate::redis::row::{Call, Outcome};

/// Directives for tests of the server: shown to who asks for them by name, and to no pattern.
const HIDDEN: [&[u8]; 2] = [b"key-load-delay", b"rdb-key-save-delay"];

pub fn get(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let asked = call.args.from(2);
    let patterns: Vec<_> = asked.iter().map(|pattern| (pattern, is_glob(pattern))).collect();
    // By whichever pattern finds it first.
    let shown =
        |name| patterns.iter().find_map(|&(pattern, is_glob)| shown_as(name, pattern, is_glob));
    let mut chosen = Vec::new();
    let mut choose = |name: &'static str, value: &str| {
        if let Some(name) = shown(name.as_bytes()) {
            chosen.push((name, value.to_owned()));
        }
    };
    // Names are looked up; a pattern has to be held against all that there are.
    match patterns.iter().any(|(_, is_glob)| *is_glob) {
        true => ctx.host.visit_config(&mut choose),
        false => ctx.host.visit_named_config(&mut asked.iter(), &mut choose),
    }
    let mut reply = ctx.reply();
    reply.map(chosen.len());
    for (name, value) in chosen {
        reply.bulk(name);
        reply.bulk(value.as_bytes());
    }
    Ok(())
}

/// The name of a parameter as a pattern shows it: who asks for one by its name, in whatever case,
/// finds the answer under that spelling.
fn shown_as<'a>(name: &'a [u8], pattern: &'a [u8], is_glob: bool) -> Option<&'a [u8]> {
    if !is_glob {
        return pattern.eq_ignore_ascii_case(name).then_some(pattern);
    }
    (!HIDDEN.contains(&name) && glob::matches(pattern, name, Case::Ignored)).then_some(name)
}

/// A backslash alone makes no pattern of a name here.
fn is_glob(pattern: &[u8]) -> bool {
    pattern.iter().any(|b| matches!(b, b'*' | b'?' | b'['))
}

pub fn set(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let args = call.args;
    if args.len() % 2 == 1 {
        return Err(CommandError::Syntax);
    }
    let pairs: Vec<(&[u8], &[u8])> =
        (2..args.len()).step_by(2).map(|i| (args.arg(i), args.arg(i + 1))).collect();
    refuse_duplicates(ctx, &pairs)?;
    ctx.host.set_config(ctx.client, &pairs).map_err(refused)?;
    ctx.reply().ok();
    Ok(())
}

/// A name that nobody knows is the worse mistake, and is told first.
fn refuse_duplicates(ctx: &Context<'_>, pairs: &[(&[u8], &[u8])]) -> Outcome {
    for (i, (name, _)) in pairs.iter().enumerate() {
        let same = |other: &[u8]| other.eq_ignore_ascii_case(name);
        if pairs[..i].iter().any(|(earlier, _)| same(earlier)) {
            let mut known = false;
            ctx.host.visit_named_config(&mut [*name].into_iter(), &mut |_, _| known = true);
            let name = name.to_vec();
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
    match error {
        ConfigError::Unknown { name } => {
            let start = b"Unknown option or number of arguments for CONFIG SET - '";
            CommandError::quoting(&[start, quoted(&name), b"'"])
        }
        ConfigError::Refused { name, reason } => CommandError::quoting(&[
            b"CONFIG SET failed (possibly related to argument '",
            quoted(&name),
            b"') - ",
            reason.as_bytes(),
        ]),
    }
}

pub fn rewrite(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.host.rewrite_config().map_err(|error| match error {
        RewriteError::NoFile => {
            CommandError::Sentence("The server is running without a config file")
        }
        RewriteError::Io(reason) => {
            CommandError::quoting(&[b"Rewriting config file: ", reason.as_bytes()])
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_as<'a>(name: &'a [u8], pattern: &'a [u8]) -> Option<&'a [u8]> {
        super::shown_as(name, pattern, is_glob(pattern))
    }

    #[test]
    fn a_name_is_shown_as_it_was_asked_for_and_what_is_hidden_to_no_pattern() {
        for (pattern, shown) in [
            ("TimeOut", Some("TimeOut")),
            ("TIME*", Some("timeout")),
            ("t[i]meout", Some("timeout")),
            ("timeouts", None),
            ("time\\out", None),
        ] {
            let shown = shown.map(str::as_bytes);
            assert_eq!(shown_as(b"timeout", pattern.as_bytes()), shown, "{pattern}");
        }
        assert_eq!(shown_as(b"key-load-delay", b"KEY-load-delay"), Some(&b"KEY-load-delay"[..]));
        assert_eq!(shown_as(b"key-load-delay", b"key-load-dela?"), None);
    }
}
