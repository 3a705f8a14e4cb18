//! A server that is not there: enough of one for commands to run in a test.

use dolium_commands::connection::ClientState;
use dolium_commands::host::*;
use dolium_commands::redis::list::waiting::Waiting;
use dolium_commands::redis::row::Row;
use dolium_engine::Db;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    /// The commands that EXEC has told of in this thread, and whether they failed.
    pub static EXECUTED: RefCell<Vec<(&'static str, bool)>> = const { RefCell::new(Vec::new()) };
    /// Whether there is a password.
    pub static HAS_PASSWORD: Cell<bool> = const { Cell::new(false) };
    /// Done once, when a command of this thread asks for a random number.
    pub static AT_RANDOM: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

pub struct FakeHost;

impl Host for FakeHost {
    fn unix_us(&self) -> u64 {
        super::NOW * 1000
    }
    fn clock_ns(&self) -> u64 {
        0
    }
    fn random(&self) -> u64 {
        if let Some(act) = AT_RANDOM.take() {
            act();
        }
        // Every run draws the same numbers.
        static DRAWN: AtomicU64 = AtomicU64::new(4);
        let drawn = DRAWN.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        (drawn ^ drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
    }
    fn has_password(&self) -> bool {
        HAS_PASSWORD.get()
    }
    fn check_password(&self, user: &[u8], _: &[u8]) -> bool {
        user == b"default"
    }
    fn visit_config(&self, visit: &mut dyn FnMut(&'static str, &str)) {
        visit("port", "6379");
        visit("key-load-delay", "0");
    }
    fn visit_named_config(
        &self,
        names: &mut dyn Iterator<Item = &[u8]>,
        visit: &mut dyn FnMut(&'static str, &str),
    ) {
        let names: Vec<&[u8]> = names.collect();
        let is_asked = |known: &str| names.iter().any(|n| n.eq_ignore_ascii_case(known.as_bytes()));
        self.visit_config(&mut |known, value| {
            if is_asked(known) {
                visit(known, value);
            }
        });
    }
    fn set_config(&self, _: &ClientState, pairs: &[(&[u8], &[u8])]) -> Result<(), ConfigError> {
        Err(ConfigError::Unknown { name: pairs[0].0.to_vec() })
    }
    fn string_bytes_max(&self) -> usize {
        dolium_engine::limits::VALUE_BYTES_MAX
    }
    fn rewrite_config(&self) -> Result<(), RewriteError> {
        Err(RewriteError::NoFile)
    }
    fn reset_statistics(&self) {}
    fn info(&self, _: &ClientState, _: &[&[u8]]) -> String {
        "# Server\r\n".to_owned()
    }
    fn memory(&self) -> ServerMemory {
        ServerMemory::default()
    }
    fn purge_heap(&self) {}
    fn heap_report(&self) -> Option<String> {
        None
    }
    fn clients(&self, _: &ClientState, _: &mut dyn FnMut(&ClientView)) {}
    fn kill_clients(&self, _: &ClientState, _: &dyn Fn(&ClientView) -> bool) -> usize {
        0
    }
    fn pause(&self, _: u64, _: PauseMode) {}
    fn confirm_pause(&self, _: &ClientState, _: &[u8]) -> bool {
        false
    }
    fn unpause(&self) {}
    fn list_grew(&self, _: Db, _: &[u8]) {}
    fn wait_for_list(
        &self,
        _: &ClientState,
        waiting: Waiting,
        once_more: &mut dyn FnMut(&Waiting) -> bool,
    ) -> bool {
        !once_more(&waiting)
    }
    fn databases_swapped(&self, _: Db, _: Db) {}
    fn unblock(&self, _: &ClientState, _: u64, _: bool) -> bool {
        false
    }
    fn intset_members_max(&self) -> usize {
        512
    }
    fn publish(&self, _: &[u8], _: &[u8]) -> usize {
        0
    }
    fn subscribe(&self, _: u64, _: Subscription, _: &[u8]) {}
    fn unsubscribe(&self, _: u64, _: Subscription, _: &[u8]) {}
    fn channels(&self, _: &mut dyn FnMut(&[u8])) {}
    fn channel_subscribers(&self, _: &[u8]) -> usize {
        0
    }
    fn pattern_count(&self) -> usize {
        0
    }
    fn thread_of(&self, _: &ClientState) -> usize {
        0
    }
    fn count_executed(&self, _: usize, _: &ClientState, command: &Executed<'_>) {
        EXECUTED.with_borrow_mut(|all| all.push((command.row.name, command.error.is_some())));
    }
    fn slowlog(&self, _: usize) -> Vec<SlowEntry> {
        Vec::new()
    }
    fn slowlog_len(&self) -> usize {
        0
    }
    fn reset_slowlog(&self) {}
    fn latency_latest(&self) -> Vec<LatencyEvent> {
        Vec::new()
    }
    fn latency_history(&self, _: &[u8]) -> Vec<(u64, u64)> {
        Vec::new()
    }
    fn reset_latency(&self, _: &[&[u8]]) -> usize {
        0
    }
    fn latency_histogram(&self, _: &'static Row) -> Option<(u64, Vec<(u64, u64)>)> {
        None
    }
    fn shutdown(&self, _: Shutdown) -> Result<(), String> {
        Err("a test does not end".to_owned())
    }
    fn abort_shutdown(&self) -> bool {
        false
    }
}
