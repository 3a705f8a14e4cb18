//! Rows of transactions.

use crate::redis::row::{Group, Row, category, flag, row};
use crate::redis::{exec, transaction};

pub(super) const ROWS: &[Row] = &[
    row(
        "multi",
        1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::ALLOW_BUSY
            | flag::NOT_QUEUED,
        transaction::multi,
    )
    .categories(category::TRANSACTION)
    .about(
        Group::Transactions,
        "1.2.0",
        "O(1)",
        "Begins a transaction: commands are queued until EXEC.",
    ),
    row(
        "exec",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::SKIP_SLOWLOG | flag::NOT_QUEUED,
        exec::exec,
    )
    .categories(category::TRANSACTION)
    .about(
        Group::Transactions,
        "1.2.0",
        "Depends on the queued commands",
        "Runs the queued commands as one.",
    ),
    row(
        "discard",
        1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::ALLOW_BUSY
            | flag::NOT_QUEUED,
        transaction::discard,
    )
    .categories(category::TRANSACTION)
    .about(
        Group::Transactions,
        "2.0.0",
        "O(N) with N the number of queued commands",
        "Forgets the queued commands.",
    ),
    row(
        "watch",
        -2,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::ALLOW_BUSY
            | flag::NOT_QUEUED,
        transaction::watch,
    )
    .syntax("key [key ...]")
    .keys(1, -1, 1, &[&["RO"]])
    .categories(category::TRANSACTION)
    .about(
        Group::Transactions,
        "2.2.0",
        "O(N) with N the number of keys",
        "Makes EXEC fail if one of the keys changes before it.",
    ),
    row(
        "unwatch",
        1,
        flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::FAST | flag::ALLOW_BUSY,
        transaction::unwatch,
    )
    .categories(category::TRANSACTION)
    .about(
        Group::Transactions,
        "2.2.0",
        "O(N) with N the number of watched keys",
        "Forgets all watched keys.",
    ),
];
