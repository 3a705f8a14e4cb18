//! A figure that costs system calls to get, and may be some moments old: who asks again at once is told the same.
//!
//! For INFO and the like, which are asked by several tools at a time, and some of whose figures cost more than
//! all other lines together.

use crate::clock::Stopwatch;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Mutex, PoisonError};

pub struct Aged<T>(Mutex<Option<(Stopwatch, T)>>);

impl<T: Copy> Aged<T> {
    /// The figure as it was seen less than `ms` milliseconds ago, or as `look` sees it now. Of several who ask
    /// at once one looks, and the others wait for it.
    pub fn within(&self, ms: u64, look: impl FnOnce() -> T) -> T {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *held {
            Some((since, seen)) if since.ms() < ms => seen,
            _ => held.insert((Stopwatch::start(), look())).1,
        }
    }

    /// Who asks next is told what is so then.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<T> Default for Aged<T> {
    fn default() -> Self {
        Aged(Mutex::new(None))
    }
}

impl<T> Debug for Aged<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Aged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_seen_again_when_it_is_too_old_or_forgotten() {
        let figure = Aged::default();
        assert_eq!(figure.within(u64::MAX, || 1), 1);
        assert_eq!(figure.within(u64::MAX, || 2), 1);
        // Nothing is less than no time ago.
        assert_eq!(figure.within(0, || 3), 3);
        assert_eq!(figure.within(u64::MAX, || 4), 3);
        figure.forget();
        assert_eq!(figure.within(u64::MAX, || 5), 5);
    }
}
