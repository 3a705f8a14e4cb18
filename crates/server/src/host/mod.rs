//! The server as commands see it.

mod change;
mod cpu;
mod http;
mod info;
mod latency;
mod memcache;
mod memory;
mod view;

use crate::config::{Entered, SetFailure};
use crate::mailbox::Mail;
use crate::process;
use crate::server::Server;
use dolium_commands::connection::ClientState;
use dolium_commands::host::{
    ClientView, ConfigError, Executed, Host, LatencyEvent, PauseMode, RewriteError, ServerMemory,
    Shutdown, SlowEntry, Subscription,
};
use dolium_commands::redis::list::waiting::Waiting;
use dolium_commands::redis::row::Row;
use dolium_engine::Db;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

impl Host for Server {
    fn unix_us(&self) -> u64 {
        Server::unix_us(self)
    }

    fn clock_ns(&self) -> u64 {
        self.started.ns()
    }

    fn random(&self) -> u64 {
        Server::random(self)
    }

    fn has_password(&self) -> bool {
        self.config.live.has_password.load(Relaxed)
    }

    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        let right = self.config.get("requirepass");
        user == b"default" && (right.is_empty() || same_bytes(right.as_bytes(), password))
    }

    fn visit_config(&self, visit: &mut dyn FnMut(&'static str, &str)) {
        self.config.visit(visit);
    }

    fn visit_named_config(
        &self,
        names: &mut dyn Iterator<Item = &[u8]>,
        visit: &mut dyn FnMut(&'static str, &str),
    ) {
        self.config.visit_named(names, visit);
    }

    fn set_config(&self, me: &ClientState, given: &[(&[u8], &[u8])]) -> Result<(), ConfigError> {
        let mut texts = Vec::with_capacity(given.len());
        for (name, value) in given {
            let Ok(value) = std::str::from_utf8(value) else {
                let reason = "the value must be UTF-8".into();
                return Err(ConfigError::Refused { name: name.to_vec(), reason });
            };
            texts.push((String::from_utf8_lossy(name), value));
        }
        // A refusal repeats the name as it came.
        let as_it_came = |name: String| match texts.iter().position(|(text, _)| *text == name) {
            Some(at) => given[at].0.to_vec(),
            None => name.into_bytes(),
        };
        let pairs: Vec<(&str, &str)> = texts.iter().map(|(n, v)| (n.as_ref(), *v)).collect();
        match self.config.set_with(&pairs, is_local(me), |values| {
            // Read before anything changes: all of it counts or nothing.
            let secured = self.read_secured(&pairs, values)?;
            let entered = Entered::of(&pairs)?;
            self.make_place_for_clients(&pairs)?;
            self.ask_for_notifications(&pairs, values)?;
            if let Err(refused) = self.rebind(values) {
                // Changes were read from that moment on, for notifications that nobody is to get.
                let letters = self.config.get("notify-keyspace-events");
                self.notifier.configure(&self.engine, &letters);
                return Err(refused);
            }
            entered.stay();
            if let (Some(tls), Some(secured)) = (&self.tls, secured) {
                tls.change(secured);
            }
            Ok(())
        }) {
            Ok(changed) => {
                self.after_config(&changed);
                Ok(())
            }
            Err(SetFailure::Unknown(name)) => Err(ConfigError::Unknown { name: as_it_came(name) }),
            Err(SetFailure::Refused { name, reason }) => {
                Err(ConfigError::Refused { name: as_it_came(name), reason })
            }
        }
    }

    fn string_bytes_max(&self) -> usize {
        self.config.live.bulk_bytes_max.load(Relaxed) as usize
    }

    fn rewrite_config(&self) -> Result<(), RewriteError> {
        let path = self.config.file.as_ref().ok_or(RewriteError::NoFile)?;
        let rewritten = crate::config::rewrite::rewrite_file(path, &self.config.values());
        rewritten.map_err(|error| RewriteError::Io(error.to_string()))
    }

    fn reset_statistics(&self) {
        self.statistics.reset();
        self.engine.reset_statistics();
    }

    fn info(&self, me: &ClientState, sections: &[&[u8]]) -> String {
        self.info_text(me, sections)
    }

    fn memory(&self) -> ServerMemory {
        ServerMemory {
            resident: process::resident_bytes(),
            peak: process::peak_bytes(),
            startup: self.startup_bytes.load(Relaxed),
            client_buffers: self.buffers.used(),
            heap: self.config.heap.usage(),
        }
    }

    fn purge_heap(&self) {
        self.config.heap.give_back();
        self.heap_usage.forget();
    }

    fn heap_report(&self) -> Option<String> {
        self.config.heap.report()
    }

    fn clients(&self, me: &ClientState, visit: &mut dyn FnMut(&ClientView)) {
        self.visit_clients(me, visit);
    }

    fn kill_clients(&self, me: &ClientState, chosen: &dyn Fn(&ClientView) -> bool) -> usize {
        let mut killed = Vec::new();
        self.visit_clients(me, &mut |view| {
            if view.id != me.id && chosen(view) {
                killed.push(view.id);
            }
        });
        let cards: Vec<_> = killed.iter().filter_map(|id| self.clients.kill(*id)).collect();
        // Here and now: what is published or pushed next is not for them. What was changed before is.
        self.announce_changes();
        let subscribed = cards.iter().filter(|card| card.is_subscribed()).map(|card| card.id);
        let subscribed: HashSet<u64> = subscribed.collect();
        if !subscribed.is_empty() {
            self.pubsub.forget(&subscribed);
        }
        let count = cards.len();
        for card in cards {
            match me.transaction.running {
                true => self.waiting.kill_later(self, card),
                false => self.waiting.kill(self, &card),
            }
        }
        count
    }

    fn pause(&self, until_ms: u64, mode: PauseMode) {
        self.pause.begin(until_ms, mode);
    }

    fn confirm_pause(&self, me: &ClientState, reply: &[u8]) -> bool {
        Server::confirm_pause(self, me, reply)
    }

    fn unpause(&self) {
        if self.pause.end() {
            self.post_all(|| Mail::Resume);
        }
    }

    fn list_grew(&self, db: Db, key: &[u8]) {
        self.waiting.list_grew(db, key);
    }

    fn wait_for_list(
        &self,
        me: &ClientState,
        waiting: Waiting,
        once_more: &mut dyn FnMut(&Waiting) -> bool,
    ) -> bool {
        match self.clients.find(me.id) {
            Some(card) => self.waiting.enter(&card, waiting, once_more),
            // It is being closed.
            None => false,
        }
    }

    fn databases_swapped(&self, a: Db, b: Db) {
        self.waiting.databases_changed([a, b]);
    }

    fn unblock(&self, me: &ClientState, client: u64, with_error: bool) -> bool {
        if me.transaction.running {
            return self.waiting.unblock_later(client, with_error);
        }
        self.waiting.unblock(self, client, with_error)
    }

    fn intset_members_max(&self) -> usize {
        self.config.live.intset_members_max.load(Relaxed) as usize
    }

    fn publish(&self, channel: &[u8], payload: &[u8]) -> usize {
        // Who hears of both hears of earlier changes first, as far as they can be read by now.
        self.announce_changes();
        self.pubsub.publish(&self.posts, channel, payload)
    }

    fn subscribe(&self, client: u64, kind: Subscription, name: &[u8]) {
        if let Some(card) = self.clients.find(client) {
            // What was changed before, perhaps by this client and in this batch, is not for it, as far as it can
            // be read by now.
            self.announce_changes();
            self.pubsub.subscribe(&card, kind, name);
        }
    }

    fn unsubscribe(&self, client: u64, kind: Subscription, name: &[u8]) {
        self.pubsub.unsubscribe(client, kind, name);
    }

    fn channels(&self, visit: &mut dyn FnMut(&[u8])) {
        self.pubsub.channels(visit);
    }

    fn channel_subscribers(&self, channel: &[u8]) -> usize {
        self.pubsub.channel_subscribers(channel)
    }

    fn pattern_count(&self) -> usize {
        self.pubsub.pattern_count()
    }

    fn thread_of(&self, me: &ClientState) -> usize {
        // Whoever runs a command has a card.
        self.clients.find(me.id).map_or(0, |card| card.thread)
    }

    fn count_executed(&self, thread: usize, me: &ClientState, command: &Executed<'_>) {
        self.note_executed(thread, me, command);
    }

    fn slowlog(&self, count: usize) -> Vec<SlowEntry> {
        self.slowlog.newest(count)
    }

    fn slowlog_len(&self) -> usize {
        self.slowlog.len()
    }

    fn reset_slowlog(&self) {
        self.slowlog.reset();
    }

    fn latency_latest(&self) -> Vec<LatencyEvent> {
        self.latency.latest()
    }

    fn latency_history(&self, event: &[u8]) -> Vec<(u64, u64)> {
        self.latency.history(event)
    }

    fn reset_latency(&self, events: &[&[u8]]) -> usize {
        self.latency.reset(events)
    }

    fn latency_histogram(&self, row: &'static Row) -> Option<(u64, Vec<(u64, u64)>)> {
        self.histogram_of(row)
    }

    fn shutdown(&self, how: Shutdown) -> Result<(), String> {
        if how.save == Some(true) {
            let reason = "Dolium cannot save to disk yet: use SHUTDOWN NOSAVE";
            tracing::warn!(reason, "SHUTDOWN SAVE is refused");
            return Err(reason.into());
        }
        tracing::info!(by = "SHUTDOWN", "stopping");
        self.stop();
        Ok(())
    }

    fn abort_shutdown(&self) -> bool {
        // A shutdown waits for nothing that could take long, so there is none to abort.
        false
    }
}

/// Has the client connected from this machine, by a Unix socket or the loopback's own address?
fn is_local(client: &ClientState) -> bool {
    ["/", "127.0.0.1:", "[::1]:"].iter().any(|start| client.addr.starts_with(start))
}

/// In time that depends on the lengths alone.
pub(crate) fn same_bytes(right: &[u8], given: &[u8]) -> bool {
    let differences = right
        .iter()
        .enumerate()
        .fold(0, |acc, (i, b)| acc | (b ^ given.get(i).copied().unwrap_or(!b)));
    differences == 0 && right.len() == given.len()
}
