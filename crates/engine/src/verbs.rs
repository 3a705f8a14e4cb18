//! The words of the engine's interface: what a caller passes in and gets back.
//!
//! Nothing here touches the arena; these are the shapes in which keys, values, deadlines and
//! outcomes cross the border between the engine and everybody else.

/// Milliseconds since the Unix epoch. The engine reads no clock: every verb is told the time.
pub type Millis = u64;

/// The deadline of an item that never expires.
pub const NEVER: Millis = 0;

/// A logical database (`SELECT`), 0 to `limits::DATABASES_MAX - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Db(pub u16);

/// A key with its placement hash, made once by [`crate::Engine::key`] and carried along.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) hash: u64,
}

impl<'a> Key<'a> {
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Puts a key together again from the parts that [`Key::bytes`] and [`Key::hash`] gave, so
    /// that a batch can keep ranges instead of borrows. The hash must be the one of these bytes.
    pub fn from_parts(bytes: &'a [u8], hash: u64) -> Self {
        Key { bytes, hash }
    }
}

/// The data type of an item, as `TYPE` names it. More arrive with their own structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    String = 0,
    List = 1,
    Set = 2,
}

impl Kind {
    /// Of a code in an item's header. One that a reader met in a block that is being reused means
    /// nothing, and is found out by its final check.
    #[inline(always)]
    pub(crate) fn from_code(code: u8) -> Kind {
        match code {
            0 => Kind::String,
            1 => Kind::List,
            _ => Kind::Set,
        }
    }

    /// As TYPE and SCAN TYPE name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Set => "set",
        }
    }
}

/// How a value is stored, in the words of OBJECT ENCODING. `Raw` marks bytes that Redis would hold
/// in a growable buffer (the result of APPEND or SETRANGE). A collection's bytes are laid out by
/// its type's own code, and the engine does not look into them; what its encoding says is what
/// Redis would have made of such a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    Bytes = 0,
    Int = 1,
    Raw = 2,
    Quicklist = 3,
    Intset = 4,
    Hashtable = 5,
}

impl Encoding {
    #[inline(always)]
    pub(crate) fn from_code(code: u8) -> Encoding {
        match code {
            1 => Encoding::Int,
            2 => Encoding::Raw,
            3 => Encoding::Quicklist,
            4 => Encoding::Intset,
            5 => Encoding::Hashtable,
            _ => Encoding::Bytes,
        }
    }
}

/// What a lookup tells of an item besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub encoding: Encoding,
    /// Length of the value as a client sees it; for `Encoding::Int` the number of characters, for
    /// a collection the bytes that hold it.
    pub len: usize,
    /// Unix milliseconds, or [`NEVER`].
    pub deadline: Millis,
    /// Memcached's client flags; 0 where none were given.
    pub flags: u32,
    /// Memcached's CAS unique, or 0 while nobody has asked for it (see `Guard::unique`).
    pub unique: u64,
    /// Memcached's marks: [`MARK_STALE`] and [`MARK_WON`].
    pub marks: u8,
    /// Unix second of the last use, for items with Memcached flags or a CAS unique; else 0.
    pub last_use_s: u32,
    /// 0 to 3: how often the item was used lately, as eviction sees it.
    pub frequency: u8,
    /// Eviction has found it in use and keeps it while it stays so; before, it is on trial.
    pub is_proven: bool,
    /// From `Session::peek`: generations of eviction since the item came or was last renewed, 0 to
    /// 15 and then from 0 again. From other calls: the last bits of the generation in which it did.
    pub age: u8,
    /// Bytes of the block that holds the item.
    pub block_bytes: usize,
}

/// A value to store.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Bytes(&'a [u8]),
    /// Stored as eight bytes and changed in place while it stays an integer.
    Int(i64),
    /// The concatenation of the parts, stored with `Encoding::Raw`.
    Parts([&'a [u8]; 3]),
    /// A collection of that kind, laid out by its type's own code.
    Packed(Kind, Encoding, &'a [u8]),
}

/// The deadline of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    Never,
    /// Whatever the key has now (KEEPTTL, INCR, APPEND).
    Keep,
    At(Millis),
}

/// Memcached's client flags of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// Whatever the key has now, else 0.
    Keep,
    Set(u32),
}

/// One store.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    pub value: Value<'a>,
    pub deadline: Deadline,
    pub flags: Flags,
    /// Give the item a CAS unique at once (`ms ... c`, `cas`); else it gets one when first asked.
    pub unique: bool,
    /// Memcached's marks of the new item; 0 for everybody else.
    pub marks: u8,
    pub event: Event,
}

/// The item is out of date and waits for somebody to renew it (`md I`).
pub const MARK_STALE: u8 = 1;
/// Somebody has been told to renew the item.
pub const MARK_WON: u8 = 2;

impl<'a> Put<'a> {
    /// A plain SET: no deadline, flags 0.
    pub fn plain(value: Value<'a>) -> Self {
        Put {
            value,
            deadline: Deadline::Never,
            flags: Flags::Set(0),
            unique: false,
            marks: 0,
            event: Event::Set,
        }
    }
}

/// Why a key changed: what the journal records and keyspace notifications name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Event {
    Set = 1,
    SetRange,
    Append,
    IncrBy,
    IncrByFloat,
    Del,
    Expire,
    Persist,
    Expired,
    Evicted,
    RenameFrom,
    RenameTo,
    MoveFrom,
    MoveTo,
    CopyTo,
    Flush,
    SwapDb,
    /// A change that no notification names (a CAS unique made, say). Still in the journal.
    Quiet,
    /// A store that gives a new deadline (SET EX, GETEX): `set`, then `expire`.
    SetExpire,
    SetBit,
    LPush,
    RPush,
    LPop,
    RPop,
    LSet,
    LRem,
    LTrim,
    LInsert,
    SAdd,
    SRem,
    SPop,
    SInterStore,
    SUnionStore,
    SDiffStore,
}

impl Event {
    /// The event of a journal byte.
    pub fn from_code(code: u8) -> Option<Event> {
        const ALL: [Event; 34] = [
            Event::Set,
            Event::SetRange,
            Event::Append,
            Event::IncrBy,
            Event::IncrByFloat,
            Event::Del,
            Event::Expire,
            Event::Persist,
            Event::Expired,
            Event::Evicted,
            Event::RenameFrom,
            Event::RenameTo,
            Event::MoveFrom,
            Event::MoveTo,
            Event::CopyTo,
            Event::Flush,
            Event::SwapDb,
            Event::Quiet,
            Event::SetExpire,
            Event::SetBit,
            Event::LPush,
            Event::RPush,
            Event::LPop,
            Event::RPop,
            Event::LSet,
            Event::LRem,
            Event::LTrim,
            Event::LInsert,
            Event::SAdd,
            Event::SRem,
            Event::SPop,
            Event::SInterStore,
            Event::SUnionStore,
            Event::SDiffStore,
        ];
        ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }
}

/// What a store did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The key was there (and not expired) before.
    pub replaced: bool,
    /// The new CAS unique if the item has one, else 0.
    pub unique: u64,
}

/// Why a store was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// No memory within `maxmemory`, and the policy found nothing to evict.
    Full,
    KeyTooLong,
    ValueTooLong,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StoreError::Full => "command not allowed when used memory > 'maxmemory'.",
            StoreError::KeyTooLong => "key is longer than 65535 bytes",
            StoreError::ValueTooLong => "string exceeds maximum allowed size (512MB)",
        })
    }
}

impl std::error::Error for StoreError {}

/// What to do when memory is short: Redis' policy names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Policy {
    #[default]
    NoEviction = 0,
    AllKeysLru,
    AllKeysLfu,
    AllKeysRandom,
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
}

impl Policy {
    pub const NAMES: [(&'static str, Policy); 8] = [
        ("noeviction", Policy::NoEviction),
        ("allkeys-lru", Policy::AllKeysLru),
        ("allkeys-lfu", Policy::AllKeysLfu),
        ("allkeys-random", Policy::AllKeysRandom),
        ("volatile-lru", Policy::VolatileLru),
        ("volatile-lfu", Policy::VolatileLfu),
        ("volatile-random", Policy::VolatileRandom),
        ("volatile-ttl", Policy::VolatileTtl),
    ];

    pub fn from_name(name: &str) -> Option<Policy> {
        Self::NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, p)| *p)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Only keys with a TTL may go.
    pub fn only_volatile(self) -> bool {
        matches!(
            self,
            Policy::VolatileLru
                | Policy::VolatileLfu
                | Policy::VolatileRandom
                | Policy::VolatileTtl
        )
    }
}
