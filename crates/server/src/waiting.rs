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
//! what is to be done, and does it when it has let go. Notes are the thread's own: another one, which comes to
//! them before the transaction is over, would know nothing of a kill that is behind a push in it.
//!
//! A client that is killed is not served any more, also where that is behind a push in the same transaction. Who has been
//! served before is told so before it is closed: both come by mail, in the order in which the table was changed.

use crate::clients::{Card, Token};
use crate::mailbox::Mail;
use crate::server::Server;
use dolium_commands::redis::list::waiting::{self, Waiting};
use dolium_engine::{Db, Session};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Name = (Db, Vec<u8>);

thread_local! {
    /// There are notes. Apart from them: what every write looks at is one byte.
    static HAS_READY: Cell<bool> = const { Cell::new(false) };
    /// What the commands of this thread have noted.
    static READY: RefCell<Vec<Ready>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
pub struct WaitingClients {
    /// Clients that wait, or are about to.
    count: AtomicUsize,
    /// Who is in the table and has not been killed. Held for no longer than a look, so that EXEC may look as well.
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
    Kill(Arc<Card>),
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
        card: &Card,
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
        let client = card.id;
        let mut ids = lock(&self.ids);
        // Whoever kills it marks its card before it looks here: one of the two sees the other.
        if card.is_killed() {
            self.count.fetch_sub(1, SeqCst);
            return true;
        }
        ids.insert(client);
        drop(ids);
        for key in &waiting.keys {
            let order = table.order.entry((waiting.db, key.clone())).or_default();
            if order.back() != Some(&client) {
                order.push_back(client);
            }
        }
        let entry = Entry { waiting: Arc::new(waiting), thread: card.thread, token: card.token };
        table.clients.insert(client, entry);
        true
    }

    /// A client waits no longer. False: it did not, or has been served: its reply is on the way.
    pub fn leave(&self, client: u64) -> bool {
        self.count() > 0 && self.take_out(&mut lock(&self.table), client).is_some()
    }

    /// The client, whose card says so, has been killed: it waits no longer, and its thread is told to close it.
    pub fn kill(&self, server: &Server, card: &Card) {
        // Without a look at the count: it may be about to enter.
        drop(self.take_out(&mut lock(&self.table), card.id));
        server.posts[card.thread].post(Mail::Kill(card.token));
    }

    /// As `kill`, within a transaction: who waits is told when that is done, and nobody serves it meanwhile.
    pub fn kill_later(&self, server: &Server, card: Arc<Card>) {
        if lock(&self.ids).remove(&card.id) {
            self.note(Ready::Kill(card));
        } else {
            server.posts[card.thread].post(Mail::Kill(card.token));
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
        READY.with_borrow_mut(|all| all.push(ready));
        HAS_READY.set(true);
    }

    /// Looked at after every command that may write.
    #[inline(always)]
    pub fn has_ready(&self) -> bool {
        HAS_READY.get()
    }

    /// Serves those who wait for what is ready. No lock of the store may be held.
    #[cold]
    pub fn serve(&self, server: &Server, session: &Session, now: u64) {
        // What is moved on to another list may make that one ready in turn.
        while HAS_READY.replace(false) {
            let mut ready = READY.take();
            // What was pushed in the transaction that killed them is not for the killed.
            ready.sort_by_key(|one| !matches!(one, Ready::Kill(_)));
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
                    Ready::Kill(card) => self.kill(server, &card),
                }
            }
        }
    }

    fn serve_key(&self, server: &Server, session: &Session, now: u64, name: &Name) {
        let mut table = lock(&self.table);
        let first = |table: &Table| {
            let mut order = table.order.get(name)?.iter().copied();
            let ids = lock(&self.ids);
            order.find(|client| ids.contains(client))
        };
        while let Some(client) = first(&table) {
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
