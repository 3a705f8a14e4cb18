//! SIGTERM and SIGINT end the server in good order; a second one ends it at once.

use signal_hook::consts::{SIGINT, SIGTERM};
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
