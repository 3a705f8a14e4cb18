//! What a function that returns behind a system call costs.
//!
//! ```text
//!   loop { syscall }                 nothing to return from
//!   loop { f() }, f { syscall }      the kernel's own calls and returns went through the processor's
//!                                    return predictor meanwhile: it guesses wrong, as it seems
//! ```
//!
//! One byte goes through a pair of Unix sockets: a send and a receive, one call of the system each,
//! from `depth` functions inside of each other. It is why the server sends and receives in the
//! function that its loop is in (decision 121), and it depends on the processor and on what the
//! kernel does against its faults.

use std::hint::black_box;
use std::os::unix::net::UnixDatagram;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::Serialize;

use crate::LabError;

/// The deepest that is measured.
pub const DEPTH_MAX: usize = 4;
/// Each figure is the best of this many turns: what else the machine did is not asked.
const TURNS: usize = 60;
const CALLS: usize = 2_000;

/// Nanoseconds of one system call at each depth, from 0 functions to return from to `DEPTH_MAX`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Returns {
    pub ns: [f64; DEPTH_MAX + 1],
}

/// The call of the system itself, as deep as its caller is.
#[inline(always)]
fn step(pair: &(UnixDatagram, UnixDatagram), sends: bool) -> Result<(), Errno> {
    let mut byte = [0];
    match sends {
        true => send(&pair.0, &byte, SendFlags::DONTWAIT).map(|_| ()),
        false => recv(&pair.1, &mut byte[..], RecvFlags::DONTWAIT).map(|_| ()),
    }
}

/// The same from a function that returns to the one that is a step less deep.
macro_rules! deeper {
    ($name:ident, $inner:ident) => {
        #[inline(never)]
        fn $name(pair: &(UnixDatagram, UnixDatagram), sends: bool) -> Result<(), Errno> {
            // Without it the inner call would be the last thing done and become a jump.
            black_box($inner(pair, sends))
        }
    };
}
deeper!(one, step);
deeper!(two, one);
deeper!(three, two);
deeper!(four, three);

/// Measures all depths in turns.
pub fn run() -> Result<Returns, LabError> {
    let failed = |error| LabError::system("make a pair of sockets", error);
    let pair = UnixDatagram::pair().map_err(failed)?;
    let mut ns = [f64::INFINITY; DEPTH_MAX + 1];
    for _ in 0..TURNS {
        let turn = [
            time(&pair, step)?,
            time(&pair, one)?,
            time(&pair, two)?,
            time(&pair, three)?,
            time(&pair, four)?,
        ];
        for (best, now) in ns.iter_mut().zip(turn) {
            *best = best.min(now);
        }
    }
    Ok(Returns { ns })
}

#[inline(always)]
fn time(
    pair: &(UnixDatagram, UnixDatagram),
    step: impl Fn(&(UnixDatagram, UnixDatagram), bool) -> Result<(), Errno>,
) -> Result<f64, LabError> {
    let failed = |error: Errno| LabError::system("send a byte to a socket of its own", error);
    let begun = Instant::now();
    for _ in 0..CALLS / 2 {
        step(pair, true).map_err(failed)?;
        step(pair, false).map_err(failed)?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / CALLS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Which is dearer is for the command to say: it depends on the machine.
    #[test]
    fn every_depth_is_measured() {
        let returns = run().unwrap();
        assert!(returns.ns.iter().all(|ns| ns.is_finite() && *ns > 0.0), "{returns:?}");
    }
}
