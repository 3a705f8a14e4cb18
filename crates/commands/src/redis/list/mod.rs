//! The list commands.

pub mod blocking;
pub mod change;
pub mod pop;
pub mod position;
pub mod push;
pub mod read;
pub mod relay;
pub mod several;
pub mod waiting;

use crate::packed::list::End;
use dolium_engine::{Encoding, Event, Kind};

/// How a list is stored. Redis 7.0 knows no other encoding of lists.
const FORM: (Kind, Encoding) = (Kind::List, Encoding::Quicklist);

fn push_event(end: End) -> Event {
    match end {
        End::Front => Event::LPush,
        End::Back => Event::RPush,
    }
}

fn pop_event(end: End) -> Event {
    match end {
        End::Front => Event::LPop,
        End::Back => Event::RPop,
    }
}

/// `start..end` of a list of `len` elements, from two positions that count from the end if they are
/// negative; `None`: nothing lies between them.
fn range(start: i64, end: i64, len: usize) -> Option<std::ops::Range<usize>> {
    let len = len as i64;
    let from_end = |i: i64| if i < 0 { len.saturating_add(i) } else { i };
    let (start, end) = (from_end(start).max(0), from_end(end).min(len - 1));
    (start <= end && start < len).then(|| start as usize..end as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn positions_are_clamped_as_in_redis() {
        for ((start, end), expected) in [
            ((0, -1), Some(0..10)),
            ((-3, -1), Some(7..10)),
            ((-100, 2), Some(0..3)),
            ((8, 100), Some(8..10)),
            ((5, 4), None),
            ((10, 12), None),
            ((0, -11), None),
            ((i64::MIN, i64::MAX), Some(0..10)),
        ] {
            assert_eq!(range(start, end, 10), expected, "{start} {end}");
        }
    }
}
