//! `dolium memcached`: the same server behind Memcached 1.6's command line.
//!
//! ```text
//!   words     short, long, bundled
//!   options   what each means; its value checked as Memcached checks it
//!   together  which exclude one another, and what follows from several
//!   extended  -o a,b=c
//!   secured   -Z, -o ssl_*
//!   process   -d, -P, -u, -r, -k: what becomes of the process
//!   help      -h, -i, -V
//! ```
//! Every option acts, or is answered with a sentence that says why it has no effect here.

mod extended;
mod help;
mod options;
mod process;
mod secured;
mod together;
mod words;

use crate::heap::HEAP;
use crate::output::{self, note};
use dolium_server::memcached::accounts::Accounts;
use dolium_server::signals::{self, Caught};
use dolium_server::{Running, StartFailure, read_config};
use options::Options;
use std::process::ExitCode;

/// As in sysexits.h, which Memcached follows.
const USAGE: u8 = 64;
const NO_USER: u8 = 67;
const OS_ERROR: u8 = 71;

/// Why the server does not run, and the exit code that says so.
pub struct Refused {
    sentence: String,
    code: u8,
}

impl Refused {
    fn usage(sentence: impl Into<String>) -> Refused {
        Refused { sentence: sentence.into(), code: USAGE }
    }

    fn plain(sentence: impl Into<String>) -> Refused {
        Refused { sentence: sentence.into(), code: 1 }
    }

    fn system(sentence: impl Into<String>) -> Refused {
        Refused { sentence: sentence.into(), code: OS_ERROR }
    }
}

pub fn run(words: &[String]) -> ExitCode {
    let options = match words::parse(words) {
        Ok(words::Asked::Serve(options)) => *options,
        Ok(words::Asked::Show(text)) => {
            return output::finish(text.as_bytes());
        }
        Err(refused) => return say(&refused),
    };
    match serve(words, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => say(&refused),
    }
}

fn say(refused: &Refused) -> ExitCode {
    note(&refused.sentence);
    ExitCode::from(refused.code)
}

fn serve(words: &[String], mut options: Options) -> Result<(), Refused> {
    for notice in &options.notices {
        note(notice);
    }
    if options.daemon && !process::is_daemon() {
        // Nobody hears what is refused in the background.
        process::try_as_user(&options, || accounts(&options))?;
        return process::become_daemon(words, &options);
    }
    process::prepare(&options)?;
    options.setup.accounts = accounts(&options)?;
    process::leave_folder(&options)?;
    let directives = options.directives();
    let mut config =
        read_config(None, &directives).map_err(|why| Refused::usage(why.to_string()))?;
    let pid_file = options.pid_file.clone();
    config.memcached = Some(options.setup);
    config = config.on_heap(&HEAP);
    let caught =
        signals::catch_memcached().map_err(|e| Refused::system(format!("signals: {e}")))?;
    let mut running = Running::start(config).map_err(|failure| match failure {
        StartFailure::Tls(_) => Refused::usage(failure.to_string()),
        StartFailure::Door(_) => Refused::system(format!("failed to listen: {failure}")),
        _ => Refused::plain(failure.to_string()),
    })?;
    if options.lock_memory {
        process::lock_memory();
    }
    // With -d or without it, as in Memcached; only whether it is taken away depends on that.
    if let Some(path) = &pid_file {
        process::write_pid(path);
    }
    stop_on_signals(caught, &running);
    running.wait();
    match running.keep_items() {
        Ok(Some(items)) => {
            note(format_args!("{items} items are kept for the next start"));
        }
        Ok(None) => {}
        Err(error) => return Err(Refused::plain(format!("the items could not be kept: {error}"))),
    }
    if let Some(path) = pid_file.filter(|_| options.daemon) {
        // It may have been taken away by whoever watches it.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

fn accounts(options: &Options) -> Result<Accounts, Refused> {
    if let Some(path) = &options.setup.fixed.auth_file {
        return Accounts::read(path.as_ref()).map_err(Refused::plain);
    }
    if !options.setup.fixed.sasl {
        return Ok(Accounts::default());
    }
    match std::env::var_os("MEMCACHED_SASL_PWDB") {
        Some(path) => Accounts::read(path.as_ref()).map_err(Refused::usage),
        None => Err(Refused::usage(
            "-S needs a password database: a file of user:password lines, named by the \
             environment variable MEMCACHED_SASL_PWDB",
        )),
    }
}

/// SIGINT and SIGTERM end the server, SIGUSR1 does so and keeps the items, SIGHUP reads the
/// passwords again.
fn stop_on_signals(caught: Caught, running: &Running) {
    let server = running.server.clone();
    caught.heed(move |signal| {
        use std::sync::atomic::Ordering::Relaxed;
        match signal {
            "SIGHUP" => {
                if let Err(why) = server.memcached.accounts.reload() {
                    tracing::error!(why, "the passwords stay as they were");
                }
            }
            _ => {
                note(format_args!("Signal handled: {signal}."));
                server.memcached.keep.store(signal == "SIGUSR1", Relaxed);
                server.stop();
            }
        }
    });
}
