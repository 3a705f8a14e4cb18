//! Watches a store while it is filled or asked: what it does besides, as events on the time line,
//! and how many keys it has.
//!
//! Redis' language tells of snapshots and log rewrites in INFO; the growth of its main table is
//! seen in MEMORY STATS, because two tables at once are no power of two. Memcached tells of its
//! table in `stats`. Dolium's index has no table to be moved and grows all the time: it says how many bytes it
//! has, and what counts is when it takes clearly more of them for a new key than on the mean.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::results::Event;
use crate::generator::Target;
use crate::stores::account::{self, Account, number};
use crate::stores::talk::{Answer, Talk};
use crate::workload::Protocol;

/// Questions a second cost the store less than a thousandth of its time.
const STEP: Duration = Duration::from_millis(100);
/// Redis 7: bytes for each key of the main table besides the table itself.
const REDIS_ENTRY: f64 = 40.0;

/// Bytes for a new key above which Dolium's index counts as growing. It takes 11.3 at every number of keys,
/// and among 8 000 new ones one time in seven or so more than this, by chance: these stretches are
/// compared with the others.
const DOLIUM_GROWTH: f64 = 13.0;

/// What Redis answers to a command for which it needs no command.
const UNDER_WAY: &str = "already in progress";

/// What a watcher brings home.
#[derive(Default)]
pub struct Seen {
    pub events: Vec<Event>,
    /// What the store refused of what it was told to do.
    pub refusal: Option<String>,
}

/// A thread that asks a store how it is.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

/// A command for the store, sent when it has so many keys or after so much time.
#[derive(Clone)]
pub struct Trigger {
    pub command: Vec<String>,
    pub keys: u64,
    pub after: Duration,
}

impl Watch {
    /// Begins. Times of events count from `origin`.
    pub fn start(
        target: Target,
        protocol: Protocol,
        origin: Instant,
        trigger: Option<Trigger>,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || watch(&target, protocol, origin, trigger, &stopped));
        Self { stop, thread }
    }

    /// Ends.
    pub fn finish(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_default()
    }
}

fn watch(
    target: &Target,
    protocol: Protocol,
    origin: Instant,
    mut trigger: Option<Trigger>,
    stopped: &AtomicBool,
) -> Seen {
    let mut seen = Seen::default();
    let mut open: Vec<(&'static str, f64)> = Vec::new();
    let Ok(mut talk) = Talk::open(target) else { return seen };
    let mut index = Index::default();
    let mut other: Option<JoinHandle<Result<Answer, String>>> = None;
    loop {
        let ending = stopped.load(Ordering::Relaxed);
        let at = origin.elapsed().as_secs_f64();
        let (keys, running) = state(&mut talk, protocol, &mut index);
        let due = trigger.as_ref().is_some_and(|wanted| {
            (wanted.keys > 0 && keys >= wanted.keys)
                || (wanted.keys == 0 && origin.elapsed() >= wanted.after)
        });
        if due && let Some(wanted) = trigger.take() {
            // On a connection and thread of its own: a script may block for seconds.
            let target = target.clone();
            other = Some(thread::spawn(move || {
                let refused = |error: crate::LabError| error.to_string();
                let mut talk = Talk::open(&target).map_err(refused)?;
                talk.ask(&wanted.command).map_err(refused)
            }));
            if running.is_empty() {
                open.push(("told", at));
            }
        }
        if other.as_ref().is_some_and(JoinHandle::is_finished) || (ending && other.is_some()) {
            let answer = other.take().and_then(|one| one.join().ok());
            // A store that rewrites its log of its own accord does already what it was told.
            if let Some(Ok(Answer::Error(refusal)) | Err(refusal)) = answer
                && !refusal.contains(UNDER_WAY)
            {
                seen.refusal = Some(refusal);
            }
            if let Some(place) = open.iter().position(|(name, _)| *name == "told") {
                let (_, from) = open.remove(place);
                let to = origin.elapsed().as_secs_f64();
                if seen.refusal.is_none() && to - from > 2.0 * STEP.as_secs_f64() {
                    seen.events.push(Event { name: "told to".into(), from, to });
                }
            }
        }
        for name in &running {
            if !open.iter().any(|(known, _)| known == name) {
                open.push((name, at));
            }
        }
        let over = |entry: &(&'static str, f64)| {
            ending || (entry.0 != "told" && !running.contains(&entry.0))
        };
        for (name, from) in open.iter().filter(|entry| over(entry)) {
            seen.events.push(Event { name: (*name).into(), from: *from, to: at });
        }
        open.retain(|entry| !over(entry));
        if ending {
            return seen;
        }
        thread::park_timeout(STEP);
    }
}

/// Waits until a store has ended its snapshots and rewrites, those included that it has yet to begin:
/// what is measured next would pay for them. False if it still works after `longest`.
pub fn settle(target: &Target, protocol: Protocol, longest: Duration) -> bool {
    const WORK: [&str; 3] =
        ["rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"];
    let begun = Instant::now();
    while protocol.is_redis() && !crate::interrupt::asked() {
        let account = account::read(target, protocol).unwrap_or_default();
        if !WORK.iter().any(|name| number(&account, name) == 1.0) {
            return true;
        }
        if begun.elapsed() >= longest {
            return false;
        }
        thread::sleep(STEP);
    }
    true
}

/// What a reader must know of a store that did not settle.
pub fn unsettled(label: &str) -> String {
    format!("{label} went on with its snapshot or rewrite into what was measured next.")
}

/// Number of keys, and what goes on.
fn state(talk: &mut Talk, protocol: Protocol, index: &mut Index) -> (u64, Vec<&'static str>) {
    let mut running = Vec::new();
    if protocol.is_redis() {
        let account = account::info(talk, &["everything"]).unwrap_or_default();
        let on = |name: &str| number(&account, name) == 1.0;
        if on("rdb_bgsave_in_progress") {
            running.push("snapshot");
        }
        if on("aof_rewrite_in_progress") {
            running.push("log rewrite");
        }
        let keys = keys(&account);
        let grows = match account.contains_key(Index::BYTES) {
            true => index.grows(keys, number(&account, Index::BYTES)),
            false => table_grows(talk),
        };
        if grows {
            running.push("index growth");
        }
        (keys, running)
    } else {
        let account = account::stats(talk).unwrap_or_default();
        if number(&account, "hash_is_expanding") == 1.0 {
            running.push("index growth");
        }
        (number(&account, "curr_items").max(0.0) as u64, running)
    }
}

/// Keys of database 0: `db0:keys=123,expires=0,...`.
fn keys(account: &Account) -> u64 {
    let text = account.get("db0").map_or("", String::as_str);
    let first = text.split(',').next().unwrap_or_default();
    first.strip_prefix("keys=").and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Dolium's index at the last look.
#[derive(Default)]
struct Index {
    keys: u64,
    bytes: f64,
}

impl Index {
    /// What Dolium calls it in INFO.
    const BYTES: &str = "arena_index";

    /// Whether it has grown by clearly more than its mean for each new key since the last look.
    fn grows(&mut self, keys: u64, bytes: f64) -> bool {
        let new = keys.saturating_sub(self.keys) as f64;
        let grown = bytes - self.bytes;
        *self = Self { keys, bytes };
        grown > 0.0 && grown > new * DOLIUM_GROWTH
    }
}

/// Whether Redis holds two tables at once, between which it moves its keys.
fn table_grows(talk: &mut Talk) -> bool {
    let Ok(Answer::Many(fields)) = talk.ask(&["MEMORY", "STATS"]) else { return false };
    let find = |fields: &[Answer], name: &str| {
        fields.chunks_exact(2).find(|pair| pair[0].text() == name).map(|pair| pair[1].clone())
    };
    let Some(Answer::Number(keys)) = find(&fields, "keys.count") else { return false };
    let Some(Answer::Many(database)) = find(&fields, "db.0") else { return false };
    let Some(Answer::Number(overhead)) = find(&database, "overhead.hashtable.main") else {
        return false;
    };
    let slots = (overhead as f64 - keys as f64 * REDIS_ENTRY) / 8.0;
    slots >= 4.0 && slots.fract() == 0.0 && !(slots as u64).is_power_of_two()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A store that says of itself what `lines` hold, one line an INFO, and then nothing more.
    fn store(lines: &'static [&'static str]) -> (Target, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap() > 0 {
                    if line.contains("everything") {
                        let number = counted.fetch_add(1, Ordering::Relaxed);
                        let said = lines.get(number).copied().unwrap_or("all:0");
                        let reply = format!("${}\r\n{said}\r\n", said.len());
                        stream.write_all(reply.as_bytes()).unwrap();
                    }
                    line.clear();
                }
            }
        });
        (target, asked)
    }

    /// The sign of Redis' table, two of them at once, was looked for in Dolium's figures as well, and
    /// found there once by chance: two tenths of a second were all of its growth.
    #[test]
    fn where_a_segmented_index_grows_most_is_told_from_the_rest() {
        let mut index = Index::default();
        index.grows(1_000_000, 9e6);
        assert!(!index.grows(1_010_000, 9e6 + 55.0 * 2_048.0), "the mean of 10 000 keys");
        assert!(index.grows(1_020_000, 9e6 + 125.0 * 2_048.0), "70 segments");
        assert!(!index.grows(1_020_000, 9e6 + 125.0 * 2_048.0), "nothing has come since");
        assert!(!index.grows(0, 0.0), "all keys are gone");
    }

    #[test]
    fn a_snapshot_and_what_waits_behind_it_are_waited_for() {
        let (target, asked) = store(&[
            "rdb_bgsave_in_progress:1",
            "aof_rewrite_scheduled:1",
            "aof_rewrite_in_progress:1",
            "aof_rewrite_in_progress:0",
        ]);
        assert!(settle(&target, Protocol::Resp, Duration::from_secs(60)));
        assert_eq!(asked.load(Ordering::Relaxed), 4);
        let (target, _) = store(&["rdb_bgsave_in_progress:1"; 1_000]);
        assert!(!settle(&target, Protocol::Resp, Duration::from_millis(300)));
    }
}
