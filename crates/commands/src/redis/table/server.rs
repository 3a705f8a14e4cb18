//! Rows of the commands about the server as a whole.

use crate::redis::row::{Group, Row, category, container, flag, row};
use crate::redis::server::{
    command, command_docs, command_list, config, flush, function, info, lolwut,
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
    row("command|docs", -2, flag::LOADING | flag::STALE, command_docs::docs)
        .syntax("[command-name [command-name ...]]")
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Server,
            "7.0.0",
            "O(N) with N the number of commands",
            "What commands are for.",
        ),
    row("command|getkeys", -4, flag::LOADING | flag::STALE, command::getkeys)
        .syntax("command-name argument [argument ...]")
        .categories(category::CONNECTION)
        .about(
            Group::Server,
            "2.8.13",
            "O(N) with N the number of arguments",
            "The keys of a whole command.",
        ),
    row("command|getkeysandflags", -4, flag::LOADING | flag::STALE, command::getkeysandflags)
        .syntax("command-name argument [argument ...]")
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
        .syntax("[command-name [command-name ...]]")
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Server,
            "2.8.13",
            "O(N) with N the number of commands",
            "The rows of commands.",
        ),
    row("command|list", -2, flag::LOADING | flag::STALE, command_list::list)
        .syntax("[FILTERBY (MODULE module-name|ACLCAT category|PATTERN pattern)]")
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
        .syntax("parameter{block} [parameter{block} ...]")
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
        .syntax("parameter value [parameter value ...]")
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
        .syntax("[ASYNC|SYNC]")
        .categories(category::DANGEROUS | category::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Server, "1.0.0", "O(1)", "Deletes every key of every database."),
    row("flushdb", -1, flag::WRITE | flag::WHOLE_STORE, flush::flushdb)
        .syntax("[ASYNC|SYNC]")
        .categories(category::DANGEROUS | category::KEYSPACE)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Server, "1.0.0", "O(1)", "Deletes every key of the database."),
    row("function", -2, flag::CONTAINER, container).about(
        Group::Scripting,
        "7.0.0",
        "Depends on the subcommand",
        "Functions, of which there can be none yet.",
    ),
    row("function|flush", -2, flag::WRITE | flag::NOSCRIPT, function::flush)
        .syntax("[ASYNC|SYNC]")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Scripting, "7.0.0", "O(1)", "Deletes all functions."),
    row("function|help", 2, flag::LOADING | flag::STALE, function::help).about(
        Group::Scripting,
        "7.0.0",
        "O(1)",
        "The subcommands of FUNCTION.",
    ),
    row("lolwut", -1, flag::READONLY | flag::FAST, lolwut::lolwut)
        .syntax("[VERSION version]")
        .about(Group::Server, "5.0.0", "O(1)", "Draws a row of jars."),
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
    .syntax("[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]")
    .about(
        Group::Server,
        "1.0.0",
        "O(N) when saving, with N the number of keys",
        "Ends the server.",
    ),
    row("swapdb", 3, flag::WRITE | flag::FAST | flag::WHOLE_STORE, flush::swapdb)
        .syntax("index1 index2")
        .categories(category::DANGEROUS | category::KEYSPACE)
        .about(Group::Server, "4.0.0", "O(1)", "Exchanges two databases."),
    row("time", 1, flag::LOADING | flag::STALE | flag::FAST, info::time)
        .tips(&["nondeterministic_output"])
        .about(Group::Server, "2.6.0", "O(1)", "The server's clock, in seconds and microseconds."),
];
