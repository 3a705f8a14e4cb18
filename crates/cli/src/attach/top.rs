//! `dolium top`: what a server does, read from its memory once a second without asking it.
//!
//! The memory outlasts its server, and would show its last figures for ever: so each look asks whether the
//! server is there. Where it is not, its memory is let go (it is held by whoever has attached to it), and
//! the server that comes after it at the same socket is attached to.

use super::{Place, wants_colour};
use crate::output::{self, Reader, fail};
use clap::Args;
use dolium_attach::{Counters, Error, Histogram, Store};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub struct Arguments {
    /// Seconds between two looks
    #[arg(short, long, default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// How many times to look; without it, until interrupted
    #[arg(short, long)]
    count: Option<u64>,
    #[command(flatten)]
    place: Place,
}

/// At most ten looks a second, and one an hour at least.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_string())?;
    // What is no number at all passes a clamp.
    if seconds.is_nan() {
        return Err("a number of seconds is needed".into());
    }
    Ok(Duration::from_secs_f64(seconds.clamp(0.1, 3600.0)))
}

/// In this time after somebody has attached, every thread of the server has published its sums: once a
/// second, while there are clients. Before, while nobody was there, it may have published nothing for
/// long, and what it did then would be taken for the work of the first second.
const PUBLISHED_WITHIN: Duration = Duration::from_millis(1200);

struct Look {
    at: Instant,
    counters: Counters,
    latencies: Vec<(&'static str, Histogram)>,
}

impl Look {
    fn at(store: &Store) -> Look {
        Look { at: Instant::now(), counters: store.counters(), latencies: store.latencies() }
    }
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let store = match arguments.place.attach() {
        Ok(store) => store,
        Err(error) => return fail(&error.to_string()),
    };
    match watch(store, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => fail(&text),
    }
}

/// What is looked at.
enum Watched {
    /// Where the last look at it, if there was one, has its sums.
    Store(Store, Option<Look>),
    /// Its server is gone, and why no other one has been attached to is what has been shown last.
    Gone { figures: String, why: String },
}

fn watch(store: Store, arguments: &Arguments) -> Result<(), String> {
    let clears = wants_colour() && arguments.count != Some(1);
    let show = |mut page: String| {
        if clears {
            // Home, the page, and nothing below it: no flicker as with a cleared screen.
            page = format!("\x1b[H{}\x1b[J", page.replace('\n', "\x1b[K\n"));
        }
        output::write(page.as_bytes())
    };
    // Somebody waits before the screen, where the next page takes the place of this one.
    if clears && show(page(&standing(&store), None, &Look::at(&store)))? == Reader::HasGone {
        return Ok(());
    }
    let mut watched = Watched::Store(store, None);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        left -= 1;
        if let Watched::Store(store, before @ None) = &mut watched {
            std::thread::sleep(PUBLISHED_WITHIN);
            *before = Some(Look::at(store));
        }
        std::thread::sleep(arguments.interval);
        let shown;
        (watched, shown) = match watched {
            Watched::Store(store, before) => look(store, before, &arguments.place),
            Watched::Gone { figures, why } => match arguments.place.attach() {
                Ok(store) => (Watched::Store(store, None), None),
                Err(error) => still_gone(figures, &why, &error),
            },
        };
        if let Some(page) = shown
            && show(page)? == Reader::HasGone
        {
            return Ok(());
        }
    }
    match watched {
        Watched::Store(..) => Ok(()),
        Watched::Gone { why, .. } => {
            Err(format!("the server is gone, and no other one came: {why}"))
        }
    }
}

/// The page of a look at a store, and what the next look is at. Without its server the store is kept only
/// where the server's process goes on and cannot be attached to anew.
fn look(store: Store, before: Option<Look>, place: &Place) -> (Watched, Option<String>) {
    let now = Look::at(&store);
    if store.is_served() {
        let page = page(&standing(&store), before.as_ref(), &now);
        return (Watched::Store(store, Some(now)), Some(page));
    }
    match place.attach() {
        // Between the sums of two stores there is no rate: the next look is the first at this one.
        Ok(store) => (Watched::Store(store, None), None),
        Err(_) if store.is_server_running() => {
            let page = page(&standing(&store), before.as_ref(), &now);
            (Watched::Store(store, Some(now)), Some(page))
        }
        Err(error) => still_gone(
            page("  its server is gone: these are the last figures", None, &now),
            "",
            &error,
        ),
    }
}

/// Why nobody has been attached to is shown when it is news.
fn still_gone(figures: String, before: &str, error: &Error) -> (Watched, Option<String>) {
    let why = error.to_string();
    let shown = (why != before).then(|| format!("{figures}\n{why}\n"));
    (Watched::Gone { figures, why }, shown)
}

/// Whose figures are shown.
fn standing(store: &Store) -> String {
    match store.server_pid() {
        Some(pid) if store.is_served() => format!("  server {pid}"),
        // Figures are read from the memory, and go on with the server that writes them.
        Some(pid) => format!("  server {pid} (connection closed)"),
        None => String::new(),
    }
}

/// Without a look before this one there are sums, and no rates.
fn page(standing: &str, before: Option<&Look>, now: &Look) -> String {
    let seconds = before.map(|before| now.at.duration_since(before.at).as_secs_f64());
    let rate = |new: u64, old: u64| match seconds {
        Some(seconds) => amount(new.saturating_sub(old) as f64 / seconds),
        None => "–".into(),
    };
    let before = before.unwrap_or(now);
    let mut page = String::new();
    let _ = writeln!(
        page,
        "dolium{standing}  {} of {} committed\n",
        bytes(now.counters.committed),
        bytes(now.counters.limit)
    );
    let (new, old) = (&now.counters.engine, &before.counters.engine);
    let _ = writeln!(page, "{:<22}{:>12}{:>14}", "", "per second", "in all");
    for ((name, total), (_, old)) in now.counters.server.iter().zip(&before.counters.server) {
        let _ = writeln!(page, "{name:<22}{:>12}{:>14}", rate(*total, *old), amount(*total as f64));
    }
    for (name, total, old) in [
        ("hits", new.hits, old.hits),
        ("misses", new.misses, old.misses),
        ("changes", new.changes, old.changes),
        ("expired", new.expired, old.expired),
        ("evicted", new.evicted, old.evicted),
    ] {
        let _ = writeln!(page, "{name:<22}{:>12}{:>14}", rate(total, old), amount(total as f64));
    }
    let _ = writeln!(
        page,
        "\n{:<10}{:>10}{:>10}{:>10}{:>10}{:>12}",
        "latency", "p50", "p99", "p99.9", "largest", "sampled"
    );
    for (name, histogram) in &now.latencies {
        // Of what was never sampled nothing is known.
        let time = |nanos| if histogram.count() == 0 { "–".into() } else { time(nanos) };
        let _ = writeln!(
            page,
            "{name:<10}{:>10}{:>10}{:>10}{:>10}{:>12}",
            time(histogram.quantile(0.5)),
            time(histogram.quantile(0.99)),
            time(histogram.quantile(0.999)),
            time(histogram.largest_nanos),
            amount(histogram.count() as f64)
        );
    }
    page
}

fn amount(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} G", n / 1e9),
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e4 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

pub fn bytes(n: u64) -> String {
    match n as f64 {
        n if n >= 1024f64.powi(3) => format!("{:.2} GiB", n / 1024f64.powi(3)),
        n => format!("{:.1} MiB", n / 1024f64.powi(2)),
    }
}

/// Nanoseconds with a unit that keeps the number short.
pub fn time(nanos: u64) -> String {
    match nanos as f64 {
        n if n >= 1e9 => format!("{:.2} s", n / 1e9),
        n if n >= 1e6 => format!("{:.2} ms", n / 1e6),
        n if n >= 1e4 => format!("{:.1} us", n / 1e3),
        n if n >= 1e3 => format!("{:.2} us", n / 1e3),
        n => format!("{n:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NaN passed the clamp, and no duration is made of it.
    #[test]
    fn an_interval_is_a_number() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("-7"), Ok(Duration::from_millis(100)));
        assert_eq!(seconds("inf"), Ok(Duration::from_secs(3600)));
        for text in ["nan", "-NaN", "", "soon"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_stay_short_and_keep_their_unit() {
        assert_eq!([amount(0.0), amount(9_999.0)], ["0", "9999"]);
        assert_eq!([amount(12_345.0), amount(1_234_567.0)], ["12.3 k", "1.23 M"]);
        assert_eq!([time(999), time(1_500), time(250_000)], ["999 ns", "1.50 us", "250.0 us"]);
        assert_eq!([bytes(1 << 20), bytes(3 << 30)], ["1.0 MiB", "3.00 GiB"]);
    }
}
