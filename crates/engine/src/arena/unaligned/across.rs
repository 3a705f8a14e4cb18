//! Bytes of one block copied to another one, without a buffer of our own in between.
//!
//! A buffer would have each byte loaded and stored twice, and be memory that somebody has to find. Here a byte goes
//! through a register, by the same instructions as on its way in and on its way out:
//!
//! ```text
//!   from  ...abcdefghijklmnopqrstuvwxyz...      loads at any offset
//!   to    .....|abcdefghijk|lmnopqrs|tuvwxyz    stores at multiples of sixteen, but for the first and the last
//! ```
//! A store that goes over the end of a line costs two. A string that is copied is mostly no longer than the
//! processor's own cache, and its block was free a moment ago: both are near, and so are they for whoever
//! reads the copy next. What is longer goes past the cache, as values from outside do (`destination.rs`).

use super::{Destination, Source};

/// Longer values are stored past the cache.
const NEAR_BYTES_MAX: usize = 1 << 20;

impl Destination<'_> {
    /// Stores as many bytes of the source as there is room for, and it has no fewer. Neither is part of the other.
    #[inline]
    pub(in crate::arena) fn store_from(self, source: Source<'_>) {
        let len = self.len;
        debug_assert!(len <= source.len, "more room than bytes");
        debug_assert!(
            self.at.addr().abs_diff(source.at.addr()) >= len,
            "two blocks have no byte in common"
        );
        if len >= 16 {
            self.store_sixteens_from(source);
        } else if len >= 8 {
            self.store8(0, source.load8(0));
            self.store8(len - 8, source.load8(len - 8));
        } else if len >= 4 {
            self.store4(0, source.load4(0));
            self.store4(len - 4, source.load4(len - 4));
        } else {
            for i in 0..len {
                self.store1(i, source.load1(i));
            }
        }
    }

    #[inline(never)]
    fn store_sixteens_from(self, source: Source<'_>) {
        let len = self.len;
        let aligned = self.at.align_offset(16);
        let (lines, rest) = ((len - aligned) / 64, (len - aligned) % 64 / 16);
        let rest_at = aligned + 64 * lines;
        // What these have in common with what lies between is stored twice, and is the same.
        self.store_register_at::<0>(source.load_register_at::<0>());
        if len <= NEAR_BYTES_MAX {
            for line in 0..lines {
                let (from, to) =
                    (source.part(aligned + 64 * line, 64), self.part(aligned + 64 * line, 64));
                let line = from.load_line();
                to.store_register_at::<0>(line[0]);
                to.store_register_at::<16>(line[1]);
                to.store_register_at::<32>(line[2]);
                to.store_register_at::<48>(line[3]);
            }
        } else {
            super::destination::stored();
            for line in 0..lines {
                let at = aligned + 64 * line;
                for (number, register) in source.part(at, 64).load_line().into_iter().enumerate() {
                    self.stream_register(at + 16 * number, register);
                }
            }
            super::destination::stored();
        }
        for at in (0..rest).map(|number| rest_at + 16 * number) {
            self.part(at, 16).store_register_at::<0>(source.part(at, 16).load_register_at::<0>());
        }
        let (from, to) = (source.part(len - 16, 16), self.last(16));
        to.store_register_at::<0>(from.load_register_at::<0>());
    }
}
