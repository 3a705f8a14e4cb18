//! Rows of the commands about the server as a whole.

use crate::redis::row::{Group, Row, category, container, flag, row};
use crate::redis::server::{
    command, command_list, config, flush, function, info, latency, lolwut, memory, slowlog,
};

pub(super) const ROWS: &[Row] = &[
    row("command", -1, flag::LOADING | flag::STALE, command::all)
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Server,
            "2.8.13",
            "O(N) with N the number of commands",
            "The rows of all commands.",
        ),
    row("command|count", 2, flag::LOADING | flag::STALE, command::count)
        .categories(category::CONNECTION)
        .about(Group::Server, "2.8.13", "O(1)", "The number of commands."),
    row("command|docs", -2, flag::LOADING | flag::STALE, command::docs)
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Server,
            "7.0.0",
            "O(N) with N the number of commands",
            "What commands are for.",
        ),
    row("command|getkeys", -4, flag::LOADING | flag::STALE, command::getkeys)
        .categories(category::CONNECTION)
        .about(
            Group::Server,
            "2.8.13",
            "O(N) with N the number of arguments",
            "The keys of a whole command.",
        ),
    row("command|getkeysandflags", -4, flag::LOADING | flag::STALE, command::getkeysandflags)
        .categories(category::CONNECTION)
        .about(
            Group::Server,
            "7.0.0",
            "O(N) with N the number of arguments",
            "The keys of a whole command and what it does with them.",
        ),
    row("command|help", 2, flag::LOADING | flag::STALE, command::help)
        .categories(category::CONNECTION)
        .about(Group::Server, "5.0.0", "O(1)", "The subcommands of COMMAND."),
    row("command|info", -2, flag::LOADING | flag::STALE, command::info)
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Server,
            "2.8.13",
            "O(N) with N the number of commands",
            "The rows of commands.",
        ),
    row("command|list", -2, flag::LOADING | flag::STALE, command_list::list)
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Server,
            "7.0.0",
            "O(N) with N the number of commands",
            "The names of commands.",
        ),
    row("config", -2, flag::CONTAINER, container).about(
        Group::Server,
        "2.0.0",
        "Depends on the subcommand",
        "The configuration of the running server.",
    ),
    row("config|get", -3, flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE, config::get)
        .about(
            Group::Server,
            "2.0.0",
            "O(N) with N the number of parameters",
            "The parameters that match patterns.",
        ),
    row("config|help", 2, flag::LOADING | flag::STALE, config::help).about(
        Group::Server,
        "5.0.0",
        "O(1)",
        "The subcommands of CONFIG.",
    ),
    row(
        "config|resetstat",
        2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        config::resetstat,
    )
    .about(Group::Server, "2.0.0", "O(1)", "Zeroes the statistics."),
    row(
        "config|rewrite",
        2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        config::rewrite,
    )
    .about(
        Group::Server,
        "2.8.0",
        "O(N) with N the number of parameters",
        "Writes the configuration back to its file.",
    ),
    row("config|set", -4, flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE, config::set)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .about(
            Group::Server,
            "2.0.0",
            "O(N) with N the number of parameters",
            "Changes parameters, all of them or none.",
        ),
    row("dbsize", 1, flag::READONLY | flag::FAST | flag::WHOLE_STORE, flush::dbsize)
        .categories(category::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"])
        .about(Group::Server, "1.0.0", "O(1)", "The number of keys in the database."),
    row("flushall", -1, flag::WRITE | flag::WHOLE_STORE, flush::flushall)
        .categories(category::DANGEROUS | category::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Server, "1.0.0", "O(1)", "Deletes every key of every database."),
    row("flushdb", -1, flag::WRITE | flag::WHOLE_STORE, flush::flushdb)
        .categories(category::DANGEROUS | category::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Server, "1.0.0", "O(1)", "Deletes every key of the database."),
    row("function", -2, flag::CONTAINER, container).about(
        Group::Server,
        "7.0.0",
        "Depends on the subcommand",
        "Functions, of which there can be none yet.",
    ),
    row("function|flush", -2, flag::WRITE | flag::NOSCRIPT, function::flush)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Server, "7.0.0", "O(1)", "Deletes all functions."),
    row("function|help", 2, flag::LOADING | flag::STALE, function::help).about(
        Group::Server,
        "7.0.0",
        "O(1)",
        "The subcommands of FUNCTION.",
    ),
    row("info", -1, flag::LOADING | flag::STALE, info::info)
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
    .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
    .about(
        Group::Server,
        "2.8.13",
        "O(N) with N the number of events",
        "Forgets the spikes of events.",
    ),
    row("lolwut", -1, flag::READONLY | flag::FAST, lolwut::lolwut).about(
        Group::Server,
        "5.0.0",
        "O(1)",
        "Draws a row of jars.",
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
    row("memory|usage", -3, flag::READONLY, memory::usage).keys(2, 2, 1, &[&["RO"]]).about(
        Group::Server,
        "4.0.0",
        "O(1)",
        "The bytes that a key and its value take.",
    ),
    row(
        "shutdown",
        -1,
        flag::ADMIN
            | flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::NO_MULTI
            | flag::ALLOW_BUSY,
        info::shutdown,
    )
    .about(
        Group::Server,
        "1.0.0",
        "O(N) when saving, with N the number of keys",
        "Ends the server.",
    ),
    row("slowlog", -2, flag::CONTAINER, container).about(
        Group::Server,
        "2.2.12",
        "Depends on the subcommand",
        "The log of slow commands.",
    ),
    row("slowlog|get", -2, flag::ADMIN | flag::LOADING | flag::STALE, slowlog::get)
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
    row("swapdb", 3, flag::WRITE | flag::FAST | flag::WHOLE_STORE, flush::swapdb)
        .categories(category::DANGEROUS | category::KEYSPACE)
        .about(Group::Server, "4.0.0", "O(1)", "Exchanges two databases."),
    row("time", 1, flag::LOADING | flag::STALE | flag::FAST, info::time)
        .tips(&["nondeterministic_output"])
        .about(Group::Server, "2.6.0", "O(1)", "The server's clock, in seconds and microseconds."),
];
