//! SIGTERM and SIGINT end the server in good order; a second one ends it at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

/// Calls `stop` at the first of them. The thread that waits for them ends with the process.
pub fn on_end(stop: impl Fn(&'static str) + Send + 'static) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("dolium-signals".into()).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
            if count > 0 {
                std::process::exit(130);
            }
            stop(name);
        }
    })?;
    Ok(())
}

/// Calls `heed` with the name of each signal that Memcached heeds. The second of those that end the
/// server ends it at once.
pub fn on_memcached(heed: impl Fn(&'static str) + Send + 'static) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1, SIGHUP])?;
    std::thread::Builder::new().name("dolium-signals".into()).spawn(move || {
        let mut is_ending = false;
        for signal in signals.forever() {
            let name = match signal {
                SIGINT => "SIGINT",
                SIGTERM => "SIGTERM",
                SIGUSR1 => "SIGUSR1",
                _ => "SIGHUP",
            };
            if is_ending && signal != SIGHUP {
                std::process::exit(130);
            }
            is_ending |= signal != SIGHUP;
            heed(name);
        }
    })?;
    Ok(())
}
