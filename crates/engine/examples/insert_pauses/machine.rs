//! What the machine does to a program that wants nothing of it, or memory alone; and how long a thread ran.

use crate::pauses::room;
use rustix::fs::MemfdFlags;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Of pauses from here on it is asked how long the thread ran.
pub const LONG_PAUSE_NS: u32 = 200_000;
/// What an insert takes, by a guess on the long side.
const INSERT: Duration = Duration::from_nanos(600);
/// What an insert commits that finds nothing ahead of it.
const STEP: u64 = 256 << 10;
/// How long after its use a host that takes free memory back has taken some: Linux begins to report it after two
/// seconds, a piece at a time. A load comes about as long after the one before it.
const TAKEN_BACK: Duration = Duration::from_secs(8);

/// The longest times between two looks at the clock, with nothing else to do, for each stretch of time
/// that an insert takes.
pub fn idle(items: usize) -> Vec<u32> {
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

/// What each step of new memory takes to be written to the first time, with no store at all, of as many bytes
/// as are asked for. Of a load's 2,700 steps the percentiles beyond 99.9 say little more than the longest does.
pub fn new_memory(bytes: u64) -> Vec<u32> {
    std::thread::sleep(TAKEN_BACK);
    let file =
        rustix::fs::memfd_create("insert-pauses", MemfdFlags::CLOEXEC).expect("a memory file");
    let file = File::from(file);
    let zeroes = vec![0; STEP as usize];
    let mut took = room((bytes / STEP) as usize);
    for (step, took) in took.iter_mut().enumerate() {
        let begun = Instant::now();
        file.write_all_at(&zeroes, step as u64 * STEP).expect("memory");
        *took = begun.elapsed().as_nanos() as u32;
    }
    took
}

/// How long the thread ran in pauses that are longer than `LONG_PAUSE_NS`, which the system knows.
pub struct Account {
    looked: Instant,
    ran: Duration,
    /// What it ran in each of those, in nanoseconds.
    long: Vec<u32>,
}

impl Account {
    pub fn new() -> Account {
        Account { looked: Instant::now(), ran: ran_until_now(), long: Vec::new() }
    }

    /// From here on: what the thread was stopped for before is not the next pause's.
    pub fn look(&mut self) -> Duration {
        let (looked, ran) = (self.looked, self.ran);
        (self.looked, self.ran) = (Instant::now(), ran_until_now());
        (self.looked - looked).saturating_sub(self.ran - ran)
    }

    pub fn note(&mut self, pause_ns: u32) {
        let stopped = self.look().as_nanos() as u32;
        self.long.push(pause_ns.saturating_sub(stopped));
    }

    pub fn print(&self) {
        let longest = self.long.iter().max().map_or(0.0, |&ns| f64::from(ns) / 1000.0);
        let over_1000 = self.long.iter().filter(|&&ns| ns > 1_000_000).count();
        println!(
            "  of the {} over 200 us the thread ran, the machine's stops taken off, at most {longest:.1} us; \
             over 1 ms in {over_1000}",
            self.long.len()
        );
    }
}

pub fn ran_until_now() -> Duration {
    let ran = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(ran.tv_sec as u64, ran.tv_nsec as u32)
}
