//! What a thread of a closed loop does while no reply has come: it sleeps, or it looks on.
//!
//! ```text
//! sleeps   wait ------------------------> woken by the server's send, which pays for that
//! spins    look look look look look ----> reply                       `--------- idle --------'
//! ```
//! To wake a thread that sleeps on another core of a virtual machine takes the one who sends up to
//! 15 us, and the kernel has them in its account. A client on another machine costs a server nothing of
//! the kind. So where the generator has its cores to itself it need not sleep (decision 140).

use std::hint;
use std::sync::atomic::Ordering::Relaxed;

use super::worker::Gauge;
use crate::LabError;
use crate::clock::Clock;
use crate::limits::SILENCE;

/// Looks until something came; returns how many events, 0 after [`SILENCE`]. From the end of the first
/// look that found nothing to the begin of the one that found something the thread is idle, as the
/// gauge then says.
#[inline]
pub(super) fn spin(
    clock: &Clock,
    gauge: &Gauge,
    mut look: impl FnMut() -> Result<usize, LabError>,
) -> Result<usize, LabError> {
    let events = look()?;
    if events > 0 {
        return Ok(events);
    }
    let before = gauge.idle_ns.load(Relaxed);
    let begun = clock.now();
    loop {
        let waited = clock.now() - begun;
        // Only this thread writes it. A sample may be taken in the midst of a long wait.
        gauge.idle_ns.store(before + waited, Relaxed);
        let events = look()?;
        if events > 0 || waited > SILENCE.as_nanos() as u64 {
            return Ok(events);
        }
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_looked_for_in_vain_is_idle_and_the_look_that_finds_is_not() {
        let (clock, gauge) = (Clock::start(), Gauge::default());
        assert_eq!(spin(&clock, &gauge, || Ok(3)).unwrap(), 3);
        assert_eq!(gauge.idle_ns.load(Relaxed), 0, "it was there at once");

        let part = Duration::from_millis(20);
        let mut looks = 0;
        let found = spin(&clock, &gauge, || {
            looks += 1;
            std::thread::sleep(part);
            Ok(usize::from(looks == 3))
        });
        assert_eq!(found.unwrap(), 1);
        let idle = Duration::from_nanos(gauge.idle_ns.load(Relaxed));
        let all = Duration::from_nanos(clock.now());
        assert!(idle >= part, "the second of three looks: {idle:?}");
        assert!(idle <= all - 2 * part, "neither the first nor the last: {idle:?} of {all:?}");
    }

    #[test]
    fn a_failure_to_look_is_told() {
        let (clock, gauge) = (Clock::start(), Gauge::default());
        let failed = spin(&clock, &gauge, || Err(LabError::Interrupted));
        assert!(matches!(failed, Err(LabError::Interrupted)));
    }
}
