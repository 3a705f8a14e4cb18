//! SIGTERM and SIGINT end the server in good order; a second one ends it at once. SIGHUP, which a
//! terminal sends when it is closed, never ends a server: its data would go with it.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

/// Calls `heed` with the name of each signal. What SIGHUP does is up to the caller: a program that
/// has a server as its child must end with it, as the child would outlive it.
pub fn on_end(heed: impl Fn(&'static str) + Send + 'static) -> std::io::Result<()> {
    watch(&[SIGINT, SIGTERM, SIGHUP], heed)
}

/// Calls `heed` with the name of each signal that Memcached heeds.
pub fn on_memcached(heed: impl Fn(&'static str) + Send + 'static) -> std::io::Result<()> {
    watch(&[SIGINT, SIGTERM, SIGUSR1, SIGHUP], heed)
}

/// The second of those that end the server ends it at once. The thread that waits for them ends
/// with the process.
fn watch(signals: &[i32], heed: impl Fn(&'static str) + Send + 'static) -> std::io::Result<()> {
    let mut signals = Signals::new(signals)?;
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
