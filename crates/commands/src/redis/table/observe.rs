//! Rows of the commands that tell what the server has done and where its memory goes.

use crate::redis::row::{Group, Row, category, container, flag, row};
use crate::redis::server::{info, latency, memory, slowlog};

pub(super) const ROWS: &[Row] = &[
    row("info", -1, flag::LOADING | flag::STALE, info::info)
        .syntax("[section [section ...]]")
        .categories(category::DANGEROUS)
        .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])
        .about(Group::Server, "1.0.0", "O(1)", "Facts and statistics about the server."),
    row("latency", -2, flag::CONTAINER, container).about(
        Group::Server,
        "2.8.13",
        "Depends on the subcommand",
        "The latency monitor.",
    ),
    row("latency|help", 2, flag::LOADING | flag::STALE, latency::help).about(
        Group::Server,
        "2.8.13",
        "O(1)",
        "The subcommands of LATENCY.",
    ),
    row(
        "latency|histogram",
        -2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        latency::histogram,
    )
    .syntax("[command [command ...]]")
    .tips(&["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"])
    .about(
        Group::Server,
        "7.0.0",
        "O(N) with N the number of commands",
        "How long commands took, as a cumulative distribution.",
    ),
    row(
        "latency|history",
        3,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        latency::history,
    )
    .syntax("event")
    .tips(&["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"])
    .about(
        Group::Server,
        "2.8.13",
        "O(N) with N the number of samples",
        "The spikes of an event.",
    ),
    row(
        "latency|latest",
        2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        latency::latest,
    )
    .tips(&["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"])
    .about(
        Group::Server,
        "2.8.13",
        "O(N) with N the number of events",
        "The newest spike of each event.",
    ),
    row(
        "latency|reset",
        -2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        latency::reset,
    )
    .syntax("[event [event ...]]")
    .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
    .about(
        Group::Server,
        "2.8.13",
        "O(N) with N the number of events",
        "Forgets the spikes of events.",
    ),
    row("memory", -2, flag::CONTAINER, container).about(
        Group::Server,
        "4.0.0",
        "Depends on the subcommand",
        "Where the memory goes.",
    ),
    row("memory|help", 2, flag::LOADING | flag::STALE, memory::help).about(
        Group::Server,
        "4.0.0",
        "O(1)",
        "The subcommands of MEMORY.",
    ),
    row("memory|malloc-stats", 2, 0, memory::malloc_stats)
        .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])
        .about(Group::Server, "4.0.0", "O(1)", "The report of the heap's allocator."),
    row("memory|purge", 2, 0, memory::purge)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(
            Group::Server,
            "4.0.0",
            "O(1)",
            "Gives what is free in the heap back to the system.",
        ),
    row("memory|stats", 2, 0, memory::stats)
        .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])
        .about(Group::Server, "4.0.0", "O(1)", "Memory by purpose."),
    row("memory|usage", -3, flag::READONLY, memory::usage)
        .syntax("key [SAMPLES count]")
        .keys(2, 2, 1, &[&["RO"]])
        .about(Group::Server, "4.0.0", "O(1)", "The bytes that a key and its value take."),
    row("slowlog", -2, flag::CONTAINER, container).about(
        Group::Server,
        "2.2.12",
        "Depends on the subcommand",
        "The log of slow commands.",
    ),
    row("slowlog|get", -2, flag::ADMIN | flag::LOADING | flag::STALE, slowlog::get)
        .syntax("[count]")
        .tips(&["request_policy:all_nodes", "nondeterministic_output"])
        .about(Group::Server, "2.2.12", "O(N) with N the number of entries", "The newest entries."),
    row("slowlog|help", 2, flag::LOADING | flag::STALE, slowlog::help).about(
        Group::Server,
        "6.2.0",
        "O(1)",
        "The subcommands of SLOWLOG.",
    ),
    row("slowlog|len", 2, flag::ADMIN | flag::LOADING | flag::STALE, slowlog::len)
        .tips(&["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"])
        .about(Group::Server, "2.2.12", "O(1)", "The number of entries."),
    row("slowlog|reset", 2, flag::ADMIN | flag::LOADING | flag::STALE, slowlog::reset)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .about(Group::Server, "2.2.12", "O(N) with N the number of entries", "Empties the log."),
];
