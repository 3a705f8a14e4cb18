//! Clients that wait for an element of a list, and how a push by anybody reaches the first of them.
//!
//! ```text
//!   BLPOP on thread 1: counted -> looks once more -> entered in the table -> connection held
//!   RPUSH on thread 2: pushes -> sees that somebody is counted -> key noted as ready
//!                      command done -> takes the element for the first who waits -> mail to thread 1
//! ```
//! Nothing is missed: who waits is counted before it takes the key's lock to look once more, and who
//! pushes looks at the count after it has taken that lock. The element is taken at once, before the
//! pushing client's next command, as in Redis. While nobody waits, all this costs one load a push.
//!
//! Locks: the table, then those of the store. So whoever holds locks of the store (EXEC) only notes
//! what is to be done, and does it when it has let go.

use crate::clients::Token;
use crate::mailbox::Mail;
use crate::server::Server;
use dolium_commands::redis::list::waiting::{self, Waiting};
use dolium_engine::{Db, Session};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Name = (Db, Vec<u8>);

#[derive(Default)]
pub struct WaitingClients {
    /// Clients that wait, or are about to.
    count: AtomicUsize,
    has_ready: AtomicBool,
    ready: Mutex<Vec<Ready>>,
    /// Who is in the table. Held for no longer than a look, so that EXEC may look as well.
    ids: Mutex<HashSet<u64>>,
    table: Mutex<Table>,
}

/// What is to be done as soon as no locks of the store are held.
enum Ready {
    /// A list has got elements.
    Key(Name),
    /// Whatever is waited for in these databases may be there now.
    Databases([Db; 2]),
    /// CLIENT UNBLOCK, and whether with an error.
    Unblock(u64, bool),
    /// CLIENT KILL.
    Leave(u64),
}

#[derive(Default)]
struct Table {
    clients: HashMap<u64, Entry>,
    /// Who waits for a key, first come first.
    order: HashMap<Name, VecDeque<u64>>,
}

#[derive(Clone)]
struct Entry {
    waiting: Arc<Waiting>,
    thread: usize,
    token: Token,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WaitingClients {
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Enters a client, unless a last look shows that it need not wait.
    pub fn enter(
        &self,
        client: u64,
        (thread, token): (usize, Token),
        waiting: Waiting,
        once_more: &mut dyn FnMut(&Waiting) -> bool,
    ) -> bool {
        let mut table = lock(&self.table);
        // Before the key's lock is taken: see the top.
        self.count.fetch_add(1, SeqCst);
        if once_more(&waiting) {
            self.count.fetch_sub(1, SeqCst);
            return false;
        }
        for key in &waiting.keys {
            let order = table.order.entry((waiting.db, key.clone())).or_default();
            if order.back() != Some(&client) {
                order.push_back(client);
            }
        }
        let entry = Entry { waiting: Arc::new(waiting), thread, token };
        table.clients.insert(client, entry);
        lock(&self.ids).insert(client);
        true
    }

    /// A client waits no longer. False: it did not, or has been served: its reply is on the way.
    pub fn leave(&self, client: u64) -> bool {
        self.count() > 0 && self.take_out(&mut lock(&self.table), client).is_some()
    }

    /// As `leave`, within a transaction: it is done when that is.
    pub fn leave_later(&self, client: u64) {
        if lock(&self.ids).contains(&client) {
            self.note(Ready::Leave(client));
        }
    }

    /// When the wait of a client ends.
    pub fn until(&self, client: u64) -> Option<u64> {
        lock(&self.table).clients.get(&client).and_then(|entry| entry.waiting.until)
    }

    /// A list at this key has got elements. May be called with locks of the store held.
    pub fn list_grew(&self, db: Db, key: &[u8]) {
        if self.count.load(SeqCst) > 0 {
            self.note(Ready::Key((db, key.to_vec())));
        }
    }

    /// Whatever is waited for in these databases may be there now. As `list_grew`.
    pub fn databases_changed(&self, databases: [Db; 2]) {
        if self.count.load(SeqCst) > 0 {
            self.note(Ready::Databases(databases));
        }
    }

    fn note(&self, ready: Ready) {
        lock(&self.ready).push(ready);
        self.has_ready.store(true, Relaxed);
    }

    /// Looked at after every command that may write.
    #[inline(always)]
    pub fn has_ready(&self) -> bool {
        self.has_ready.load(Relaxed)
    }

    /// Serves those who wait for what is ready. No lock of the store may be held.
    #[cold]
    pub fn serve(&self, server: &Server, session: &Session, now: u64) {
        // What is moved on to another list may make that one ready in turn.
        while self.has_ready.swap(false, Relaxed) {
            let ready = std::mem::take(&mut *lock(&self.ready));
            for one in ready {
                match one {
                    Ready::Key(name) => self.serve_key(server, session, now, &name),
                    Ready::Databases(databases) => {
                        let of_these = |name: &&Name| databases.contains(&name.0);
                        let table = lock(&self.table);
                        let names: Vec<Name> =
                            table.order.keys().filter(of_these).cloned().collect();
                        drop(table);
                        names.iter().for_each(|name| self.serve_key(server, session, now, name));
                    }
                    Ready::Unblock(client, with_error) => {
                        self.unblock(server, client, with_error);
                    }
                    Ready::Leave(client) => {
                        self.leave(client);
                    }
                }
            }
        }
    }

    fn serve_key(&self, server: &Server, session: &Session, now: u64, name: &Name) {
        let mut table = lock(&self.table);
        while let Some(client) = table.order.get(name).and_then(|order| order.front().copied()) {
            let Some(entry) = table.clients.get(&client).cloned() else { return };
            let mut reply = Vec::new();
            if !waiting::serve(session, server, now, &entry.waiting, &name.1, &mut reply) {
                return;
            }
            self.take_out(&mut table, client);
            server.posts[entry.thread].post(Mail::Served { token: entry.token, reply });
        }
    }

    /// CLIENT UNBLOCK within a transaction: it is done when that is.
    pub fn unblock_later(&self, client: u64, with_error: bool) -> bool {
        let waits = lock(&self.ids).contains(&client);
        if waits {
            self.note(Ready::Unblock(client, with_error));
        }
        waits
    }

    /// CLIENT UNBLOCK.
    pub fn unblock(&self, server: &Server, client: u64, with_error: bool) -> bool {
        let Some(entry) = self.take_out(&mut lock(&self.table), client) else { return false };
        let mut reply = Vec::new();
        if with_error {
            reply.extend_from_slice(b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
        } else {
            waiting::time_is_over(entry.waiting.version, &mut reply);
        }
        server.posts[entry.thread].post(Mail::Served { token: entry.token, reply });
        true
    }

    fn take_out(&self, table: &mut Table, client: u64) -> Option<Entry> {
        let entry = table.clients.remove(&client)?;
        self.count.fetch_sub(1, SeqCst);
        lock(&self.ids).remove(&client);
        for key in &entry.waiting.keys {
            let name = (entry.waiting.db, key.clone());
            if let Some(order) = table.order.get_mut(&name) {
                order.retain(|other| *other != client);
                if order.is_empty() {
                    table.order.remove(&name);
                }
            }
        }
        Some(entry)
    }
}
