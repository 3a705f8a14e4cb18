//! Rows of the commands that work on keys of any type.

use crate::redis::key::{beside, deadline, delete, expire, iterate, object, presence, relocate};
use crate::redis::row::{Group, Row, category, container, flag, row};

pub(super) const ROWS: &[Row] = &[
    row("del", -2, flag::WRITE, delete::del)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RM", "delete"]])
        .categories(category::KEYSPACE)
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .about(Group::Generic, "1.0.0", "O(N) with N the number of keys", "Deletes keys."),
    row("unlink", -2, flag::WRITE | flag::FAST, delete::del)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RM", "delete"]])
        .categories(category::KEYSPACE)
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .about(
            Group::Generic,
            "4.0.0",
            "O(N) with N the number of keys",
            "Deletes keys; the same as DEL here, which never waits for memory.",
        ),
    row("exists", -2, flag::READONLY | flag::FAST, presence::exists)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .about(
            Group::Generic,
            "1.0.0",
            "O(N) with N the number of keys",
            "How many of the keys exist.",
        ),
    row("type", 2, flag::READONLY | flag::FAST, presence::type_of)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "1.0.0", "O(1)", "The type of the value at a key."),
    row("touch", -2, flag::READONLY | flag::FAST, presence::touch)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .tips(&["request_policy:multi_shard", "response_policy:agg_sum"])
        .about(
            Group::Generic,
            "3.2.1",
            "O(N) with N the number of keys",
            "Counts as a use of each key; how many exist.",
        ),
    row("ttl", 2, flag::READONLY | flag::FAST, deadline::ttl)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .about(Group::Generic, "1.0.0", "O(1)", "The remaining time to live in seconds."),
    row("pttl", 2, flag::READONLY | flag::FAST, deadline::pttl)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .about(Group::Generic, "2.6.0", "O(1)", "The remaining time to live in milliseconds."),
    row("expiretime", 2, flag::READONLY | flag::FAST, deadline::expiretime)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "7.0.0", "O(1)", "When a key expires, in Unix seconds."),
    row("pexpiretime", 2, flag::READONLY | flag::FAST, deadline::pexpiretime)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "7.0.0", "O(1)", "When a key expires, in Unix milliseconds."),
    row("expire", -3, flag::WRITE | flag::FAST, expire::expire)
        .syntax("key seconds [NX|XX|GT|LT]")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "1.0.0", "O(1)", "Sets the time to live in seconds."),
    row("pexpire", -3, flag::WRITE | flag::FAST, expire::pexpire)
        .syntax("key milliseconds [NX|XX|GT|LT]")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "2.6.0", "O(1)", "Sets the time to live in milliseconds."),
    row("expireat", -3, flag::WRITE | flag::FAST, expire::expireat)
        .syntax("key unix-time-seconds [NX|XX|GT|LT]")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "1.2.0", "O(1)", "Sets when a key expires, in Unix seconds."),
    row("pexpireat", -3, flag::WRITE | flag::FAST, expire::pexpireat)
        .syntax("key unix-time-milliseconds [NX|XX|GT|LT]")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "2.6.0", "O(1)", "Sets when a key expires, in Unix milliseconds."),
    row("persist", 2, flag::WRITE | flag::FAST, expire::persist)
        .syntax("key")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "2.2.0", "O(1)", "Takes the time to live away."),
    row("keys", 2, flag::READONLY | flag::WHOLE_STORE, iterate::keys)
        .syntax("pattern")
        .categories(category::DANGEROUS | category::KEYSPACE)
        .tips(&["request_policy:all_shards", "nondeterministic_output_order"])
        .about(
            Group::Generic,
            "1.0.0",
            "O(N) with N the number of keys in the database",
            "The names that match a pattern.",
        ),
    row("scan", -2, flag::READONLY | flag::WHOLE_STORE, iterate::scan)
        .syntax("cursor [MATCH pattern] [COUNT count] [TYPE type]")
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output", "request_policy:special"])
        .about(
            Group::Generic,
            "2.8.0",
            "O(1) a call, O(N) an iteration",
            "Iterates over the names in a database.",
        ),
    row("randomkey", 1, flag::READONLY | flag::WHOLE_STORE, iterate::randomkey)
        .categories(category::KEYSPACE)
        .tips(&["request_policy:all_shards", "nondeterministic_output"])
        .about(Group::Generic, "1.0.0", "O(1)", "A name chosen at random."),
    row("rename", 3, flag::WRITE, relocate::rename)
        .syntax("key newkey")
        .keys(1, 2, 1, &[&["RW", "access", "delete"], &["OW", "update"]])
        .categories(category::KEYSPACE)
        .about(
            Group::Generic,
            "1.0.0",
            "O(1); O(N) with N the length of the value where a key is longer than 128 bytes",
            "Renames a key, replacing the new name.",
        ),
    row("renamenx", 3, flag::WRITE | flag::FAST, relocate::renamenx)
        .syntax("key newkey")
        .keys(1, 2, 1, &[&["RW", "access", "delete"], &["OW", "insert"]])
        .categories(category::KEYSPACE)
        .about(
            Group::Generic,
            "1.0.0",
            "O(1); O(N) with N the length of the value where a key is longer than 128 bytes",
            "Renames a key if the new name is free.",
        ),
    row("copy", -3, flag::WRITE | flag::DENYOOM, relocate::copy)
        .syntax("source destination [DB destination-db] [REPLACE]")
        .keys(1, 2, 1, &[&["RO", "access"], &["OW", "update"]])
        .categories(category::KEYSPACE)
        .about(
            Group::Generic,
            "6.2.0",
            "O(N) with N the length of the value",
            "Copies a value to another key.",
        ),
    row("move", 3, flag::WRITE | flag::FAST | flag::WHOLE_STORE, relocate::move_key)
        .syntax("key db")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "1.0.0", "O(1)", "Moves a key to another database."),
    row("object", -2, flag::CONTAINER, container).about(
        Group::Generic,
        "2.2.3",
        "Depends on the subcommand",
        "What the server knows of a key besides its value.",
    ),
    row("object|encoding", 3, flag::READONLY, object::encoding)
        .syntax("key")
        .keys(2, 2, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .about(Group::Generic, "2.2.3", "O(1)", "How the value is stored, in Redis' words."),
    row("object|freq", 3, flag::READONLY, object::freq)
        .syntax("key")
        .keys(2, 2, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .about(Group::Generic, "4.0.0", "O(1)", "How often the key was used lately, from 0 to 3."),
    row("object|help", 2, flag::LOADING | flag::STALE, object::help)
        .categories(category::KEYSPACE)
        .about(Group::Generic, "6.2.0", "O(1)", "The subcommands of OBJECT."),
    row("object|idletime", 3, flag::READONLY, object::idletime)
        .syntax("key")
        .keys(2, 2, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .about(
            Group::Generic,
            "2.2.3",
            "O(1)",
            "Generations of eviction since the key was stored, written or promoted.",
        ),
    row("object|refcount", 3, flag::READONLY, object::refcount)
        .syntax("key")
        .keys(2, 2, 1, &[&["RO"]])
        .categories(category::KEYSPACE)
        .tips(&["nondeterministic_output"])
        .about(
            Group::Generic,
            "2.2.3",
            "O(1)",
            "The number of references to the value, which is 1.",
        ),
    row("dolium", -2, flag::CONTAINER, container).about(
        Group::Generic,
        "7.0.0",
        "Depends on the subcommand",
        "What Memcached clients keep beside a value. Here only.",
    ),
    row("dolium|cas", 3, flag::WRITE | flag::DENYOOM, beside::cas)
        .syntax("key")
        .keys(2, 2, 1, &[&["RO", "access"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "7.0.0", "O(1)", "The unique number, made if there is none yet."),
    row("dolium|flags", 3, flag::READONLY, beside::flags)
        .syntax("key")
        .keys(2, 2, 1, &[&["RO", "access"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "7.0.0", "O(1)", "The client flags of a key."),
    row("dolium|help", 2, flag::LOADING | flag::STALE, beside::help)
        .categories(category::KEYSPACE)
        .about(Group::Generic, "7.0.0", "O(1)", "The subcommands of DOLIUM."),
    row("dolium|setcas", 5, flag::WRITE | flag::DENYOOM, beside::set_cas)
        .syntax("key unique value")
        .keys(2, 2, 1, &[&["OW", "update"]])
        .categories(category::KEYSPACE)
        .about(
            Group::Generic,
            "7.0.0",
            "O(1)",
            "Stores a string if the unique number is still the one that is given.",
        ),
    row("dolium|setflags", 4, flag::WRITE | flag::DENYOOM, beside::set_flags)
        .syntax("key flags")
        .keys(2, 2, 1, &[&["RW", "update"]])
        .categories(category::KEYSPACE)
        .about(Group::Generic, "7.0.0", "O(N) with N its length", "Other client flags of a key."),
];
