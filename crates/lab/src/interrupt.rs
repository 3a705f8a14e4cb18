//! Ctrl-C and SIGTERM end a run early and in order: what was measured is kept, the stores that the
//! lab started are ended, and what it changed on the machine is put back.
//!
//! The first signal raises a flag that every loop of the lab looks at. A second one ends the
//! program at once; the stores then end with it, because each asked the kernel for that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::LabError;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Takes over both signals. Without this call they end the program as always.
pub fn install() -> Result<(), LabError> {
    let flag = Arc::clone(ASKED.get_or_init(Arc::default));
    for signal in [SIGINT, SIGTERM] {
        let failed = |error| LabError::system("watch for Ctrl-C", error);
        // In this order: the first signal finds the flag down and only raises it.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .map_err(failed)?;
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(failed)?;
    }
    Ok(())
}

/// Whether the user asked to stop.
#[inline]
pub fn asked() -> bool {
    ASKED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
