//! SLOWLOG: the commands that took longest, newest first; and the latency monitor's spikes.

use crate::limits::LATENCY_HISTORY;
use dolium_commands::host::{LatencyEvent, SlowEntry};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub struct SlowLog {
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    next_id: u64,
    entries: VecDeque<SlowEntry>,
}

impl SlowLog {
    /// Enters a command; `entry.id` is given here. The log keeps the newest `most`.
    pub fn enter(&self, mut entry: SlowEntry, most: usize) {
        let mut log = self.lock();
        entry.id = log.next_id;
        log.next_id += 1;
        log.entries.push_front(entry);
        log.entries.truncate(most);
    }

    pub fn newest(&self, count: usize) -> Vec<SlowEntry> {
        self.lock().entries.iter().take(count).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn reset(&self) {
        self.lock().entries.clear();
    }

    /// slowlog-max-len has changed.
    pub fn shorten(&self, most: usize) {
        self.lock().entries.truncate(most);
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Spikes of each event (`command`, `fast-command`, `expire-cycle` ...): one a second at most.
#[derive(Debug, Default)]
pub struct LatencyMonitor {
    events: Mutex<BTreeMap<String, Spikes>>,
}

#[derive(Debug, Default)]
struct Spikes {
    /// (Unix seconds, milliseconds), oldest first.
    history: VecDeque<(u64, u64)>,
    max_ms: u64,
}

impl LatencyMonitor {
    pub fn note(&self, event: &str, unix_s: u64, ms: u64) {
        let mut events = self.lock();
        let spikes = events.entry(event.to_string()).or_default();
        spikes.max_ms = spikes.max_ms.max(ms);
        match spikes.history.back_mut() {
            // Of one second the worst spike is kept.
            Some((second, worst)) if *second == unix_s => *worst = ms.max(*worst),
            _ => spikes.history.push_back((unix_s, ms)),
        }
        if spikes.history.len() > LATENCY_HISTORY {
            spikes.history.pop_front();
        }
    }

    pub fn latest(&self) -> Vec<LatencyEvent> {
        let events = self.lock();
        let newest = |(name, spikes): (&String, &Spikes)| {
            let (unix_s, latest_ms) = *spikes.history.back()?;
            Some(LatencyEvent { name: name.clone(), unix_s, latest_ms, max_ms: spikes.max_ms })
        };
        events.iter().filter_map(newest).collect()
    }

    pub fn history(&self, event: &[u8]) -> Vec<(u64, u64)> {
        let events = self.lock();
        let name = String::from_utf8_lossy(event);
        events.get(name.as_ref()).map_or(Vec::new(), |s| s.history.iter().copied().collect())
    }

    pub fn reset(&self, names: &[&[u8]]) -> usize {
        let mut events = self.lock();
        let before = events.len();
        if names.is_empty() {
            events.clear();
        } else {
            events.retain(|name, _| names.iter().all(|n| !n.eq_ignore_ascii_case(name.as_bytes())));
        }
        before - events.len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Spikes>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(duration_us: u64) -> SlowEntry {
        SlowEntry {
            id: 0,
            unix_s: 1,
            duration_us,
            arguments: vec![b"GET".to_vec()],
            addr: "a".into(),
            name: Vec::new(),
        }
    }

    #[test]
    fn the_newest_entries_stay_and_ids_go_on() {
        let log = SlowLog::default();
        (0..5).for_each(|n| log.enter(entry(n), 3));
        assert_eq!(log.newest(2).iter().map(|e| e.id).collect::<Vec<_>>(), [4, 3]);
        log.reset();
        assert!(log.is_empty());
        log.enter(entry(9), 3);
        assert_eq!(log.newest(9)[0].id, 5);
    }

    #[test]
    fn of_one_second_the_worst_spike_is_kept() {
        let monitor = LatencyMonitor::default();
        for (second, ms) in [(1, 5), (1, 9), (1, 7), (2, 3)] {
            monitor.note("command", second, ms);
        }
        assert_eq!(monitor.history(b"command"), [(1, 9), (2, 3)]);
        assert_eq!(monitor.latest()[0].max_ms, 9);
        assert_eq!(monitor.reset(&[b"other"]), 0);
        assert_eq!(monitor.reset(&[]), 1);
    }
}
