//! Who is subscribed to what, over all threads.

use crate::clients::{Card, Token};
use crate::mailbox::{Mail, Mailbox, Message};
use dolium_commands::host::Subscription;
use dolium_commands::redis::glob::{Case, matches};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

#[derive(Clone, Copy, Debug)]
struct Subscriber {
    client: u64,
    thread: usize,
    token: Token,
}

#[derive(Debug, Default)]
struct Index {
    channels: HashMap<Vec<u8>, Vec<Subscriber>>,
    patterns: BTreeMap<Vec<u8>, Vec<Subscriber>>,
}

#[derive(Debug, Default)]
pub struct PubSub {
    index: RwLock<Index>,
    /// Held while a message is posted to threads: all subscribers get messages in the same order.
    posting: Mutex<()>,
}

impl PubSub {
    pub fn subscribe(&self, card: &Card, kind: Subscription, name: &[u8]) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        // It is marked before `forget` takes the lock: one of the two sees to it.
        if card.is_killed() {
            return;
        }
        let (client, thread, token) = (card.id, card.thread, card.token);
        let list = match kind {
            Subscription::Channel => index.channels.entry(name.to_vec()).or_default(),
            Subscription::Pattern => index.patterns.entry(name.to_vec()).or_default(),
        };
        if list.iter().all(|s| s.client != client) {
            list.push(Subscriber { client, thread, token });
        }
    }

    pub fn unsubscribe(&self, client: u64, kind: Subscription, name: &[u8]) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let is_empty = |list: &mut Vec<Subscriber>| {
            list.retain(|s| s.client != client);
            list.is_empty()
        };
        match kind {
            Subscription::Channel => {
                if index.channels.get_mut(name).is_some_and(is_empty) {
                    index.channels.remove(name);
                }
            }
            Subscription::Pattern => {
                if index.patterns.get_mut(name).is_some_and(is_empty) {
                    index.patterns.remove(name);
                }
            }
        }
    }

    /// Clients who were killed hear nothing that is published from now on, although they are not closed yet.
    pub fn forget(&self, clients: &HashSet<u64>) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let has_others = |list: &mut Vec<Subscriber>| {
            list.retain(|s| !clients.contains(&s.client));
            !list.is_empty()
        };
        index.channels.retain(|_, list| has_others(list));
        index.patterns.retain(|_, list| has_others(list));
    }

    /// Posts a message to everyone it concerns; how many that are.
    pub fn publish(&self, posts: &[Arc<Mailbox>], channel: &[u8], payload: &[u8]) -> usize {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        if index.channels.is_empty() && index.patterns.is_empty() {
            return 0;
        }
        let _posting = self.posting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = 0;
        let mut shared: Option<(Arc<[u8]>, Arc<[u8]>)> = None;
        let mut send = |list: &[Subscriber], pattern: Option<&[u8]>| {
            let (channel, payload) =
                shared.get_or_insert_with(|| (channel.into(), payload.into())).clone();
            let pattern = pattern.map(<[u8]>::to_vec);
            let message = Arc::new(Message { pattern, channel, payload });
            for (thread, post) in posts.iter().enumerate() {
                let to: Vec<Token> =
                    list.iter().filter(|s| s.thread == thread).map(|s| s.token).collect();
                if !to.is_empty() {
                    count += to.len();
                    post.post(Mail::Deliver { to, message: message.clone() });
                }
            }
        };
        if let Some(list) = index.channels.get(channel) {
            send(list, None);
        }
        for (pattern, list) in &index.patterns {
            if matches(pattern, channel, Case::Sensitive) {
                send(list, Some(pattern));
            }
        }
        count
    }

    pub fn channels(&self, visit: &mut dyn FnMut(&[u8])) {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.channels.keys().for_each(|name| visit(name));
    }

    pub fn channel_count(&self) -> usize {
        self.index.read().unwrap_or_else(PoisonError::into_inner).channels.len()
    }

    pub fn channel_subscribers(&self, channel: &[u8]) -> usize {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.channels.get(channel).map_or(0, Vec::len)
    }

    pub fn pattern_count(&self) -> usize {
        self.index.read().unwrap_or_else(PoisonError::into_inner).patterns.len()
    }
}
