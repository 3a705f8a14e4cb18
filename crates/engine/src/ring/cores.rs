//! Whether the other end of a ring can run while this one looks.

use std::fs;

/// The machine has more than one core. Which of them this process may use says nothing: where it is kept on one, the
/// other end has the others.
pub fn has_several_cores() -> bool {
    match fs::read_to_string("/sys/devices/system/cpu/online") {
        // `0` alone, or `0-1`, `0,2-3`.
        Ok(text) => text.contains(['-', ',']),
        Err(_) => std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1),
    }
}
