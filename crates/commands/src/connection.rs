//! What the server keeps for each connection between two commands.

use crate::host::Subscription;
use crate::limits::KEPT_NAME_BYTES;
use crate::redis::row::Row;
use crate::redis::transaction::Transaction;
use dolium_engine::Db;
use dolium_protocol::resp::Version;
use std::collections::BTreeSet;

/// Conditions under which a command may not simply run. Zero on the ordinary path, so that it is
/// left after one comparison.
pub mod gate {
    /// A password is needed and was not given.
    pub const UNAUTHENTICATED: u8 = 1;
    /// MULTI was called: commands are queued.
    pub const MULTI: u8 = 2;
    /// RESP2 with subscriptions: only pub/sub commands are allowed.
    pub const SUBSCRIBED: u8 = 4;
    /// CLIENT REPLY OFF or SKIP is in force.
    pub const REPLY: u8 = 8;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReplyMode {
    #[default]
    On,
    Off,
    /// CLIENT REPLY SKIP: the reply of the next command is not sent.
    SkipNext,
    /// The command that runs now is the one whose reply is not sent, unless it is CLIENT REPLY ON.
    Skipping,
}

/// In the order in which it stands in memory: what every request looks at is first, so that it lies together.
#[derive(Debug)]
#[repr(C)]
pub struct ClientState {
    /// The command that ran last, for CLIENT LIST.
    pub last_command: Option<&'static Row>,
    pub db: Db,
    pub resp: Version,
    /// See [`gate`].
    pub gate: u8,
    pub reply_mode: ReplyMode,
    /// A command asked for the connection to be closed after its reply.
    pub close: bool,
    /// A command waits for a list to have an element, see `redis::list::waiting`, or CLIENT PAUSE for other threads.
    pub waits: bool,
    pub no_evict: bool,
    /// Memory of all that is kept for this client: names, subscriptions, what MULTI has queued, watched keys and
    /// those it waits for. A sum that whoever adds to these or takes from them keeps: it is looked at often.
    pub kept_bytes: usize,
    pub id: u64,
    pub fd: i32,
    /// `ip:port`, or the path of the Unix socket and `:0`.
    pub addr: String,
    pub laddr: String,
    pub name: Vec<u8>,
    pub lib_name: Vec<u8>,
    pub lib_ver: Vec<u8>,
    /// What a command whose reply is not sent has to tell all the same; see `dispatch`.
    pub pushes: Vec<u8>,
    pub channels: BTreeSet<Vec<u8>>,
    pub patterns: BTreeSet<Vec<u8>>,
    pub transaction: Transaction,
    /// What of `kept_bytes` is of the keys that it waits for.
    pub waited_bytes: usize,
}

/// What it takes to keep a name or a key for a client: once with the client, and once in the table in which others
/// look for it.
pub fn kept_name_bytes(name: &[u8]) -> usize {
    2 * name.len() + KEPT_NAME_BYTES
}

impl ClientState {
    pub fn new(id: u64, addr: String, laddr: String, fd: i32, authenticated: bool) -> Self {
        ClientState {
            id,
            addr,
            laddr,
            fd,
            db: Db(0),
            resp: Version::V2,
            gate: if authenticated { 0 } else { gate::UNAUTHENTICATED },
            name: Vec::new(),
            lib_name: Vec::new(),
            lib_ver: Vec::new(),
            no_evict: false,
            kept_bytes: 0,
            reply_mode: ReplyMode::On,
            pushes: Vec::new(),
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            transaction: Transaction::default(),
            waited_bytes: 0,
            close: false,
            waits: false,
            last_command: None,
        }
    }

    pub fn authenticated(&self) -> bool {
        self.gate & gate::UNAUTHENTICATED == 0
    }

    pub fn set_gate(&mut self, bit: u8, on: bool) {
        if on {
            self.gate |= bit;
        } else {
            self.gate &= !bit;
        }
    }

    /// The reply that CLIENT REPLY SKIP was about has not been sent.
    pub fn end_skipping(&mut self) {
        self.reply_mode = ReplyMode::On;
        self.set_gate(gate::REPLY, false);
    }

    pub fn rename(&mut self, name: &[u8]) {
        replace(&mut self.name, name, &mut self.kept_bytes);
    }

    pub fn rename_lib(&mut self, name: &[u8]) {
        replace(&mut self.lib_name, name, &mut self.kept_bytes);
    }

    pub fn set_lib_ver(&mut self, version: &[u8]) {
        replace(&mut self.lib_ver, version, &mut self.kept_bytes);
    }

    /// It waits from now on, for keys that take so much memory.
    pub fn begin_wait(&mut self, bytes: usize) {
        self.waited_bytes = bytes;
        self.kept_bytes += bytes;
        self.waits = true;
    }

    pub fn end_wait(&mut self) {
        self.kept_bytes -= std::mem::take(&mut self.waited_bytes);
        self.waits = false;
    }

    pub fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Everything the client is subscribed to: the server takes these out of its index when the
    /// connection closes.
    pub fn subscribed(&self) -> impl Iterator<Item = (Subscription, &[u8])> {
        let channels = self.channels.iter().map(|n| (Subscription::Channel, n.as_slice()));
        channels.chain(self.patterns.iter().map(|n| (Subscription::Pattern, n.as_slice())))
    }
}

/// Another name in place of the one before. Others see a copy.
fn replace(held: &mut Vec<u8>, name: &[u8], kept_bytes: &mut usize) {
    *kept_bytes -= 2 * held.len();
    *held = name.to_vec();
    *kept_bytes += 2 * held.len();
}
