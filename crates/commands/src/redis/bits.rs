//! Command flags and ACL categories as bits, with the names that COMMAND INFO prints.

/// What a command does.
pub mod flag {
    pub const WRITE: u32 = 1;
    pub const READONLY: u32 = 1 << 1;
    /// Needs memory: refused when there is none.
    pub const DENYOOM: u32 = 1 << 2;
    pub const ADMIN: u32 = 1 << 3;
    pub const PUBSUB: u32 = 1 << 4;
    pub const NOSCRIPT: u32 = 1 << 5;
    pub const LOADING: u32 = 1 << 6;
    pub const STALE: u32 = 1 << 7;
    pub const SKIP_SLOWLOG: u32 = 1 << 8;
    pub const FAST: u32 = 1 << 9;
    /// May be called before AUTH.
    pub const NO_AUTH: u32 = 1 << 10;
    /// Refused inside MULTI.
    pub const NO_MULTI: u32 = 1 << 11;
    pub const ALLOW_BUSY: u32 = 1 << 12;

    // The bits from here on have no name outside.

    /// Changes more than data (PUBLISH): held back by CLIENT PAUSE WRITE as a write is.
    pub const MAY_REPLICATE: u32 = 1 << 13;
    /// Only a container of subcommands: not to be run itself.
    pub const CONTAINER: u32 = 1 << 14;
    /// Runs at once inside MULTI instead of being queued.
    pub const NOT_QUEUED: u32 = 1 << 15;
    /// Allowed on a RESP2 connection with subscriptions.
    pub const IN_SUBSCRIBED: u32 = 1 << 16;
    /// Touches keys that it does not declare: a transaction with it locks every shard.
    pub const WHOLE_STORE: u32 = 1 << 17;

    // With names again.

    /// May have the client wait.
    pub const BLOCKING: u32 = 1 << 18;
    /// Where the keys are is not known without looking at the arguments.
    pub const MOVABLE_KEYS: u32 = 1 << 19;

    /// In the order in which COMMAND INFO lists them.
    pub const NAMES: [(u32, &str); 15] = [
        (WRITE, "write"),
        (READONLY, "readonly"),
        (DENYOOM, "denyoom"),
        (ADMIN, "admin"),
        (PUBSUB, "pubsub"),
        (NOSCRIPT, "noscript"),
        (BLOCKING, "blocking"),
        (LOADING, "loading"),
        (STALE, "stale"),
        (SKIP_SLOWLOG, "skip_slowlog"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (NO_MULTI, "no_multi"),
        (MOVABLE_KEYS, "movablekeys"),
        (ALLOW_BUSY, "allow_busy"),
    ];
}

/// ACL categories.
pub mod category {
    use super::flag;

    pub const KEYSPACE: u32 = 1;
    pub const READ: u32 = 1 << 1;
    pub const WRITE: u32 = 1 << 2;
    pub const STRING: u32 = 1 << 3;
    pub const PUBSUB: u32 = 1 << 4;
    pub const ADMIN: u32 = 1 << 5;
    pub const FAST: u32 = 1 << 6;
    pub const SLOW: u32 = 1 << 7;
    pub const DANGEROUS: u32 = 1 << 8;
    pub const CONNECTION: u32 = 1 << 9;
    pub const TRANSACTION: u32 = 1 << 10;
    pub const BITMAP: u32 = 1 << 11;
    pub const LIST: u32 = 1 << 12;
    pub const SET: u32 = 1 << 13;
    pub const BLOCKING: u32 = 1 << 14;

    /// In the order in which COMMAND INFO lists them, after an `@`.
    pub const NAMES: [(u32, &str); 15] = [
        (KEYSPACE, "keyspace"),
        (READ, "read"),
        (WRITE, "write"),
        (SET, "set"),
        (LIST, "list"),
        (STRING, "string"),
        (BITMAP, "bitmap"),
        (PUBSUB, "pubsub"),
        (ADMIN, "admin"),
        (FAST, "fast"),
        (SLOW, "slow"),
        (BLOCKING, "blocking"),
        (DANGEROUS, "dangerous"),
        (CONNECTION, "connection"),
        (TRANSACTION, "transaction"),
    ];

    /// The categories that follow from a command's flags.
    pub(crate) const fn implied(flags: u32) -> u32 {
        let mut categories = if flags & flag::FAST != 0 { FAST } else { SLOW };
        if flags & flag::READONLY != 0 {
            categories |= READ;
        }
        if flags & flag::WRITE != 0 {
            categories |= WRITE;
        }
        if flags & flag::PUBSUB != 0 {
            categories |= PUBSUB;
        }
        if flags & flag::BLOCKING != 0 {
            categories |= BLOCKING;
        }
        if flags & flag::ADMIN != 0 {
            categories |= ADMIN | DANGEROUS;
        }
        categories
    }
}
