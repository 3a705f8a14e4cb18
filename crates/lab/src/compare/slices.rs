//! What the slices of a step of `dolium lab qos` say about a store.
//!
//! ```text
//! round 1    store A |·|·|·|·|·|x|·|·|·|   store B |·|·|x|·|·|·|·|·|·|    each at the rate of its own step
//! round 2    store B |·|·|·|·|·|·|·|·|·|   store A |x|·|·|·|·|·|·|x|·|    x: the host stopped a core
//!                     a percentile each; the median of all of a store's decides
//! ```
//!
//! A host that stops a core for five milliseconds three times a second takes the 99th percentile of every
//! second away, but that of three slices in twenty. A store that cannot keep up is late in all of them; one
//! that stops by itself now and then is not, so this is easier to keep than a percentile of all requests.

use super::median;
use crate::generator::Interval;

/// A slice in which the generator itself was later than this share of the bound says nothing
/// about the store.
pub(crate) const CLIENT_LATE_SHARE: f64 = 0.5;

/// What happened within some milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    /// 99th percentile of what was answered in it; infinite where nothing was.
    pub p99_us: f64,
    /// How late the generator itself was, 99th percentile.
    pub lag_us: f64,
}

/// One in which nothing was answered.
const SILENT: Slice = Slice { p99_us: f64::INFINITY, lag_us: 0.0 };

impl Slice {
    pub fn is_on_time(&self, bound_us: f64) -> bool {
        self.lag_us <= bound_us * CLIENT_LATE_SHARE
    }
}

/// The slices of `width` that lie in the window that begins `from` seconds after the first request: not what
/// was asked to warm up, nor what was still unanswered at the end.
pub(super) fn within(series: &[Interval], width: f64, from: f64, window: f64) -> Vec<Slice> {
    const ROUNDING: f64 = 1e-6;
    let is_within = |part: &&Interval| {
        part.at >= from - ROUNDING && part.at + width <= from + window + ROUNDING
    };
    let slices = series.iter().filter(is_within).map(|part| {
        let or = |value: f64, other| if value.is_nan() { other } else { value };
        Slice {
            p99_us: or(part.latency.quantile_us(0.99), SILENT.p99_us),
            lag_us: or(part.lag.quantile_us(0.99), SILENT.lag_us),
        }
    });
    let mut slices: Vec<Slice> = slices.collect();
    // A series ends with the last reply, which of a store that hangs is not in the last slice.
    slices.resize((window / width + ROUNDING) as usize, SILENT);
    slices
}

/// The step's percentile and the generator's lag: medians of the slices in which the generator was on time, if
/// these are as many as wanted, and else of all.
pub(super) fn judge(slices: &[Slice], wanted: usize, bound_us: f64) -> (f64, f64) {
    let on_time = |slice: &&Slice| slice.is_on_time(bound_us);
    let sound: Vec<Slice> = slices.iter().filter(on_time).copied().collect();
    let judged = if sound.len() >= wanted { &sound } else { slices };
    let of = |figure: fn(&Slice) -> f64| median(judged.iter().map(figure));
    (of(|slice| slice.p99_us), of(|slice| slice.lag_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Counts;

    const ON_TIME: Slice = Slice { p99_us: 100.0, lag_us: 20.0 };
    const LATE: Slice = Slice { p99_us: 9_000.0, lag_us: 8_900.0 };

    #[test]
    fn slices_of_the_window_count_and_one_in_which_nothing_was_answered_is_not_kept() {
        let part = |at: f64, waited: &[(u64, u64)], late: &[(u64, u64)]| Interval {
            at,
            operations: waited.len() as u64,
            latency: Counts(waited.to_vec()),
            lag: Counts(late.to_vec()),
        };
        let series = [
            part(0.0, &[(7_000, 1)], &[]),
            part(0.1, &[(8_000, 1)], &[]),
            part(0.2, &[(1_000, 99), (2_000, 1)], &[(3_000, 100)]),
            part(0.30000000000000004, &[], &[]),
            part(0.4, &[(9_000, 1)], &[]),
        ];
        let slices = within(&series, 0.1, 0.2, 0.25);
        assert_eq!(slices, [Slice { p99_us: 1.0, lag_us: 3.0 }, SILENT]);
        // A store that has answered nothing since.
        let slices = within(&series[..3], 0.1, 0.2, 0.3);
        assert_eq!(slices[1..], [SILENT; 2]);
        let (p99_us, _) = judge(&[SILENT, SILENT, ON_TIME], 3, 1_000.0);
        assert_eq!(p99_us, f64::INFINITY);
    }

    /// A host that stopped a core three times in each second took every second's percentile away.
    #[test]
    fn stops_of_the_host_in_some_slices_do_not_decide_and_a_store_that_is_slow_in_most_is() {
        let stopped = Slice { p99_us: 5_000.0, lag_us: 30.0 };
        let mut slices = vec![ON_TIME; 20];
        slices[..9].fill(stopped);
        assert_eq!(judge(&slices, 10, 1_000.0).0, 100.0);
        slices[..11].fill(stopped);
        assert_eq!(judge(&slices, 10, 1_000.0).0, 5_000.0);
    }

    /// On a shared machine the generator is stopped now and then for milliseconds. The first step of a
    /// search was judged by such rounds, and no later step could rise above its rate again.
    #[test]
    fn slices_in_which_the_generator_was_late_do_not_judge_the_store() {
        let slices = [LATE, LATE, ON_TIME, LATE, ON_TIME, ON_TIME];
        assert_eq!(judge(&slices, 3, 1_000.0), (100.0, 20.0));
        // As many as were wanted were not to be had: all of them count, and the client is to be blamed.
        assert_eq!(judge(&[LATE, LATE, ON_TIME], 3, 1_000.0), (9_000.0, 8_900.0));
        // The store itself was slow.
        let slow = Slice { p99_us: 5_000.0, lag_us: 20.0 };
        assert_eq!(judge(&[slow, slow, ON_TIME], 3, 1_000.0), (5_000.0, 20.0));
    }
}
