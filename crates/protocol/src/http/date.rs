//! The `Date` that responses carry, from the caller's time.
//!
//! ```text
//!   Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n
//! ```
//! A thread writes a second's line once and copies it into that second's other responses.

use std::cell::Cell;

const LINE_BYTES: usize = 37;
const WEEKDAYS: [&[u8; 3]; 7] = [b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const SECONDS_A_DAY: u64 = 86_400;
/// The last second of the year 9999: the form has no room for a later one.
const LAST_SECOND: u64 = 253_402_300_799;

thread_local! {
    /// The last line written, and the second that it is of.
    static LAST: Cell<(u64, [u8; LINE_BYTES])> = const { Cell::new((u64::MAX, [0; LINE_BYTES])) };
}

/// The whole line, for a time in Unix milliseconds.
pub(super) fn line(unix_ms: u64) -> [u8; LINE_BYTES] {
    let second = (unix_ms / 1000).min(LAST_SECOND);
    let (of, line) = LAST.get();
    if of == second {
        return line;
    }
    let line = written(second);
    LAST.set((second, line));
    line
}

fn written(second: u64) -> [u8; LINE_BYTES] {
    let (days, time) = (second / SECONDS_A_DAY, second % SECONDS_A_DAY);
    let (year, month, day) = calendar(days);
    let mut line = *b"Date: Sun, 01 Jan 1970 00:00:00 GMT\r\n";
    // The epoch was a Thursday.
    line[6..9].copy_from_slice(WEEKDAYS[((days + 4) % 7) as usize]);
    line[14..17].copy_from_slice(MONTHS[month as usize]);
    let numbers = [(11, day), (18, year / 100), (20, year % 100)];
    let clock = [(23, time / 3600), (26, time / 60 % 60), (29, time % 60)];
    for (at, number) in numbers.into_iter().chain(clock) {
        line[at] = b'0' + (number / 10) as u8;
        line[at + 1] = b'0' + (number % 10) as u8;
    }
    line
}

/// Year, month from 0 and day from 1 of a day since the epoch. Years are counted from March here, so
/// that a leap day is the last of its year; 400 of them always have the same number of days.
fn calendar(days: u64) -> (u64, u64, u64) {
    let since_year_0 = days + 719_468;
    let (era, day) = (since_year_0 / 146_097, since_year_0 % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = (from_march + 2) % 12;
    (era * 400 + year + u64::from(month < 2), month, day - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are those of `date -u -R -d @SECOND`.
    #[test]
    fn dates_are_as_the_calendar_has_them() {
        for (second, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59"),
            (1_735_689_600, "Wed, 01 Jan 2025 00:00:00"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00"),
            (LAST_SECOND, "Fri, 31 Dec 9999 23:59:59"),
        ] {
            let found = line(second * 1000 + 999);
            assert_eq!(found, *format!("Date: {expected} GMT\r\n").as_bytes());
            assert_eq!(found, line(second * 1000), "the line that was kept");
        }
        assert_eq!(line(u64::MAX), line(LAST_SECOND * 1000));
    }
}
