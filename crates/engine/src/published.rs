//! What a server publishes about itself in its sessions' slots, so that an attached process can
//! read it without asking: which place means what.

/// A server's own counter: its name and its place in a session's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum ServerCounter {
    Commands = crate::Counter::SERVER_FIRST,
    Connections,
    BytesIn,
    BytesOut,
    Errors,
}

impl ServerCounter {
    pub const ALL: [(&'static str, ServerCounter); 5] = [
        ("commands", ServerCounter::Commands),
        ("connections", ServerCounter::Connections),
        ("bytes in", ServerCounter::BytesIn),
        ("bytes out", ServerCounter::BytesOut),
        ("errors", ServerCounter::Errors),
    ];
}

/// A latency histogram: how long commands of one sort ran, network apart. Sampled, not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Latency {
    Reads = 0,
    Writes,
    /// Transactions, scripts, administration.
    Others,
}

impl Latency {
    pub const ALL: [(&'static str, Latency); 3] =
        [("reads", Latency::Reads), ("writes", Latency::Writes), ("others", Latency::Others)];
}
