//! Ctrl-C, SIGTERM and the end of the terminal end a run early and in order: what was measured is kept, the
//! stores that the lab started are ended, and what it changed on the machine is put back.
//!
//! The first signal raises a flag that every loop of the lab looks at. A second one ends the
//! program at once; the stores then end with it, because each asked the kernel for that. A terminal
//! that closes says so more than once, by itself and by the shell: its signal never ends the program
//! at once, and a program that was started to outlive its terminal (`nohup`) does not hear of it.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::LabError;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Takes over the signals. Without this call they end the program as always.
pub fn install() -> Result<(), LabError> {
    let flag = Arc::clone(ASKED.get_or_init(Arc::default));
    let failed = |error| LabError::system("watch for Ctrl-C", error);
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag down and only raises it.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .map_err(failed)?;
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(failed)?;
    }
    if !outlives_its_terminal() {
        signal_hook::flag::register(SIGHUP, flag).map_err(failed)?;
    }
    Ok(())
}

/// Whether whoever started this program has told it to ignore the end of its terminal.
fn outlives_its_terminal() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// Whether the user asked to stop.
#[inline]
pub fn asked() -> bool {
    ASKED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
