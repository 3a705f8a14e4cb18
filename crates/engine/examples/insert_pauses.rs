//! How long single inserts take while a store grows, and what growth costs the inserts around it:
//! `insert_pauses [items] [key] [value] [rounds]`.
//!
//! Each round loads a new store beside a thread that does maintenance, as in a server, and right
//! before it looks for as long at the clock and does nothing else: that is how long the machine
//! itself stops a program. Of each long pause the thread's own account says how much of it the thread ran: the
//! rest, in which the system ran something else or the host did, is the machine's. A host that keeps memory from
//! the machine is not in that account: then the thread is said to have run. The medians of the rounds are
//! printed at the end.
//!
//! All rounds insert the same keys in the same order, so what an insert has to do it has to do in every
//! round: a split, a commit, a search. What stops the machine meets another insert each time. So of each
//! insert the median over the rounds is taken too, and how many were long in more than one of them.
//!
//! A store of segments grows all the time, one segment by one, and no window of the load is without growth.
//! Of its second half, where caches hold neither index nor items any more, the tenth of the windows
//! with the most splits is compared with the tenth with the fewest: for windows of 10 000 inserts, of which
//! chance gives some half as many splits again as others, and for windows ten times as long.

mod load;

use load::{arg, beside_maintenance, insert, key_len, store};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Of pauses from here on it is asked how long the thread ran.
const LONG_PAUSE_NS: u32 = 200_000;
/// What an insert takes, by a guess on the long side.
const INSERT: Duration = Duration::from_nanos(600);
/// Inserts of which the splits are counted together.
const WINDOW: usize = 10_000;
/// As many windows are one long one.
const LONG: usize = 10;

/// Times of single steps, or the machine's stops in stretches of time as long.
struct Pauses {
    /// At p50, p99, p99.9, p99.99, p99.999 and the longest, in microseconds.
    at: [f64; 6],
    /// How many took more than 50 us, 200 us and 1 ms.
    over: [usize; 3],
}

impl Pauses {
    fn of(mut ns: Vec<u32>) -> Pauses {
        ns.sort_unstable();
        let at = |p: f64| ns[((ns.len() - 1) as f64 * p) as usize] as f64 / 1000.0;
        let over = |limit: u32| ns.len() - ns.partition_point(|&ns| ns <= limit);
        Pauses {
            at: [0.5, 0.99, 0.999, 0.9999, 0.99999, 1.0].map(at),
            over: [50_000, 200_000, 1_000_000].map(over),
        }
    }

    fn medians(of: &[Pauses]) -> Pauses {
        Pauses {
            at: std::array::from_fn(|n| median(of.iter().map(|pauses| pauses.at[n]))),
            over: std::array::from_fn(|n| {
                median(of.iter().map(|pauses| pauses.over[n] as f64)) as usize
            }),
        }
    }

    fn print(&self, name: &str) {
        let [p50, p99, p999, p9999, p99999, max] = self.at;
        let [over_50, over_200, over_1000] = self.over;
        println!(
            "  {name:<17} us: p50 {p50:.2} p99 {p99:.2} p99.9 {p999:.1} p99.99 {p9999:.1} p99.999 {p99999:.1} \
             max {max:.1}; over 50 us {over_50}, over 200 us {over_200}, over 1 ms {over_1000}"
        );
    }
}

/// How long the thread ran in pauses that are longer than `LONG_PAUSE_NS`, which the system knows.
struct Account {
    looked: Instant,
    ran: Duration,
    /// What it ran in each of those, in nanoseconds.
    long: Vec<u32>,
}

impl Account {
    fn new() -> Account {
        Account { looked: Instant::now(), ran: ran_until_now(), long: Vec::new() }
    }

    /// From here on: what the thread was stopped for before is not the next pause's.
    fn look(&mut self) -> Duration {
        let (looked, ran) = (self.looked, self.ran);
        (self.looked, self.ran) = (Instant::now(), ran_until_now());
        (self.looked - looked).saturating_sub(self.ran - ran)
    }

    fn note(&mut self, pause_ns: u32) {
        let stopped = self.look().as_nanos() as u32;
        self.long.push(pause_ns.saturating_sub(stopped));
    }

    fn print(&self) {
        let longest = self.long.iter().max().map_or(0.0, |&ns| f64::from(ns) / 1000.0);
        let over_1000 = self.long.iter().filter(|&&ns| ns > 1_000_000).count();
        println!(
            "  of the {} over 200 us the thread ran, the machine's stops taken off, at most {longest:.1} us; \
             over 1 ms in {over_1000}",
            self.long.len()
        );
    }
}

fn ran_until_now() -> Duration {
    let ran = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(ran.tv_sec as u64, ran.tv_nsec as u32)
}

/// A stretch of the load.
#[derive(Clone, Copy)]
struct Window {
    ns: f64,
    splits: u64,
}

/// What the splits of segments cost the inserts around them.
struct Growth {
    /// Splits in a window, and ns an insert: where it grows least, and where it grows most.
    least: (f64, f64),
    most: (f64, f64),
}

impl Growth {
    /// With so many windows taken together.
    fn of(windows: &[Window], together: usize) -> Growth {
        let sum = |windows: &[Window]| Window {
            ns: windows.iter().map(|w| w.ns).sum(),
            splits: windows.iter().map(|w| w.splits).sum(),
        };
        let half = &windows[windows.len() / 2..];
        let mut windows: Vec<Window> = half.chunks_exact(together).map(sum).collect();
        windows.sort_by_key(|window| window.splits);
        let mean = |windows: &[Window]| {
            let inserts = (windows.len() * together * WINDOW) as f64;
            let splits = windows.iter().map(|w| w.splits).sum::<u64>() as f64;
            let ns = windows.iter().map(|w| w.ns).sum::<f64>();
            (splits / windows.len() as f64, ns / inserts)
        };
        let tenth = windows.len() / 10;
        Growth { least: mean(&windows[..tenth]), most: mean(&windows[windows.len() - tenth..]) }
    }

    fn medians(of: &[Growth]) -> Growth {
        let pick = |part: fn(&Growth) -> f64| median(of.iter().map(part));
        Growth {
            least: (pick(|g| g.least.0), pick(|g| g.least.1)),
            most: (pick(|g| g.most.0), pick(|g| g.most.1)),
        }
    }

    fn print(&self, together: usize) {
        let (few, without) = self.least;
        let (many, with) = self.most;
        println!(
            "  growth: {without:.0} ns an insert where {few:.1} segments are split in {} inserts, {with:.0} \
             where {many:.1} are: {:.3} of the throughput",
            together * WINDOW,
            without / with
        );
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let half = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[half] } else { (figures[half - 1] + figures[half]) / 2.0 }
}

/// Room for as many latencies, every page of which has been written to: no first touch is timed.
fn room(items: usize) -> Vec<u32> {
    vec![u32::MAX; items]
}

/// The longest times between two looks at the clock, with nothing else to do, for each stretch of time
/// that an insert takes.
fn idle(items: usize) -> Vec<u32> {
    let mut gaps = room(items);
    let start = Instant::now();
    let mut last = start;
    for (n, gap) in gaps.iter_mut().enumerate() {
        *gap = 0;
        let end = start + INSERT * (n as u32 + 1);
        while last < end {
            let now = Instant::now();
            *gap = (*gap).max((now - last).as_nanos() as u32);
            last = now;
        }
    }
    gaps
}

/// Loads a new store: what each insert took, and what each window.
fn load(items: usize, key_len: usize, value: &[u8]) -> (Vec<u32>, Vec<Window>, Account) {
    let engine = store();
    let session = engine.session().expect("a slot");
    let mut took = room(items);
    let mut windows = Vec::with_capacity(items / WINDOW);
    let mut account = Account::new();
    beside_maintenance(&engine, || {
        let mut splits = 0;
        for first in (0..items / WINDOW).map(|window| window * WINDOW) {
            account.look();
            let begun = Instant::now();
            let mut last = begun;
            insert(&engine, &session, first..first + WINDOW, key_len, value, |n| {
                let now = Instant::now();
                took[n] = (now - last).as_nanos() as u32;
                last = now;
                if took[n] > LONG_PAUSE_NS {
                    account.note(took[n]);
                    last = Instant::now();
                }
            });
            let ns = (last - begun).as_nanos() as f64;
            let so_far = engine.statistics().splits;
            windows.push(Window { ns, splits: so_far - splits });
            splits = so_far;
        }
    });
    took.truncate(items / WINDOW * WINDOW);
    (took, windows, account)
}

/// Of each insert the median of what it took in all loads.
fn usual(loads: &[Vec<u32>]) -> Vec<u32> {
    let mut of_one = vec![0; loads.len()];
    (0..loads[0].len())
        .map(|insert| {
            of_one.iter_mut().zip(loads).for_each(|(ns, load)| *ns = load[insert]);
            of_one.sort_unstable();
            of_one[loads.len() / 2]
        })
        .collect()
}

/// How many inserts took longer than this in one load at least, and in more than one.
fn long_again(loads: &[Vec<u32>], limit: u32) -> (usize, usize) {
    let times = |insert: usize| loads.iter().filter(|load| load[insert] > limit).count();
    let times = (0..loads[0].len()).map(times).filter(|times| *times > 0);
    times.fold((0, 0), |(once, again), times| (once + 1, again + usize::from(times > 1)))
}

fn main() {
    let (items, key_len, value_len, rounds) =
        (arg(1, 10_000_000), key_len(2), arg(3, 32), arg(4, 5));
    assert!(items >= 20 * LONG * WINDOW, "at least {} items", 20 * LONG * WINDOW);
    let value = vec![5u8; value_len];
    let (mut machine, mut inserts, mut loads) = (Vec::new(), Vec::new(), Vec::new());
    let (mut growths, mut long_growths) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let own = Pauses::of(idle(items));
        let (took, windows, account) = load(items, key_len, &value);
        let mean = windows.iter().map(|w| w.ns).sum::<f64>() / took.len() as f64;
        println!("round {round}: {mean:.0} ns an insert");
        let pauses = Pauses::of(took.clone());
        loads.push(took);
        own.print("the machine's own");
        pauses.print("inserts");
        account.print();
        let (growth, long) = (Growth::of(&windows, 1), Growth::of(&windows, LONG));
        growth.print(1);
        long.print(LONG);
        machine.push(own);
        inserts.push(pauses);
        growths.push(growth);
        long_growths.push(long);
    }
    println!("medians of {rounds} rounds:");
    Pauses::medians(&machine).print("the machine's own");
    Pauses::medians(&inserts).print("inserts");
    if rounds > 2 {
        Pauses::of(usual(&loads)).print("the same insert");
        for limit in [200_000, 1_000_000] {
            let (once, again) = long_again(&loads, limit);
            let us = limit / 1000;
            println!(
                "  over {us} us in a round at least: {once} inserts, {again} of them in more than one"
            );
        }
    }
    Growth::medians(&growths).print(1);
    Growth::medians(&long_growths).print(LONG);
}
