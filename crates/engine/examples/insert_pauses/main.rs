//! How long single inserts take while a store grows, and what growth costs the inserts around it:
//! `insert_pauses [items] [key] [value] [rounds]`.
//!
//! Each round loads a new store beside a thread that does maintenance, as in a server, and right
//! before it looks for as long at the clock and does nothing else: that is how long the machine
//! itself stops a program. Of each long pause the thread's own account says how much of it the thread ran: the
//! rest, in which the system ran something else or the host did, is the machine's. A host that keeps memory from
//! the machine is not in that account: then the thread is said to have run. So behind each load as much memory
//! as it took is written to by 256 KiB, as an insert commits it that finds none ahead, with no store at all: that
//! is how long the machine lets a program wait for memory. The medians of the rounds are printed at the end.
//!
//! All rounds insert the same keys in the same order, so what an insert has to do it has to do in every
//! round: a split, a commit, a search. What stops the machine meets another insert each time. So of each
//! insert the median over the rounds is taken too, and how many were long in more than one of them.
//!
//! A store of segments grows all the time, one segment by one, and no window of the load is without growth.
//! Of its second half, where caches hold neither index nor items any more, the tenth of the windows
//! with the most splits is compared with the tenth with the fewest: for windows of 10 000 inserts, of which
//! chance gives some half as many splits again as others, and for windows ten times as long.

mod growth;
#[path = "../load/mod.rs"]
mod load;
mod machine;
mod pauses;

use growth::{Growth, Window};
use load::{arg, beside_maintenance, insert, key_len, store};
use machine::{Account, LONG_PAUSE_NS, idle, new_memory};
use pauses::{Pauses, room};
use std::time::Instant;

/// Inserts of which the splits are counted together.
const WINDOW: usize = 10_000;
/// As many windows are one long one.
const LONG: usize = 10;

/// A loaded store: what each insert took, what each window, and the memory that it took.
struct Load {
    took: Vec<u32>,
    windows: Vec<Window>,
    account: Account,
    committed: u64,
}

/// Loads a new store.
fn load(items: usize, key_len: usize, value: &[u8]) -> Load {
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
    let committed = engine.memory().committed;
    Load { took, windows, account, committed }
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
    let (mut machine, mut memories, mut inserts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut loads, mut growths, mut long_growths) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        let own = Pauses::of(idle(items));
        let Load { took, windows, account, committed } = load(items, key_len, &value);
        let memory = Pauses::of(new_memory(committed));
        let mean = windows.iter().map(|w| w.ns).sum::<f64>() / took.len() as f64;
        println!("round {round}: {mean:.0} ns an insert");
        let pauses = Pauses::of(took.clone());
        loads.push(took);
        own.print("the machine's own");
        memory.print("a new 256 KiB");
        pauses.print("inserts");
        account.print();
        let (growth, long) = (Growth::of(&windows, 1), Growth::of(&windows, LONG));
        growth.print(1);
        long.print(LONG);
        machine.push(own);
        memories.push(memory);
        inserts.push(pauses);
        growths.push(growth);
        long_growths.push(long);
    }
    println!("medians of {rounds} rounds:");
    Pauses::medians(&machine).print("the machine's own");
    Pauses::medians(&memories).print("a new 256 KiB");
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
