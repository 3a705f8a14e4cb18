//! Rows of the string commands, those for its bits included.

use crate::redis::row::{Group, Row, category, flag, row};
use crate::redis::string::{bit, count, lcs, many, part, read, write};

pub(super) const ROWS: &[Row] = &[
    row("get", 2, flag::READONLY | flag::FAST, read::get)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::STRING)
        .about(Group::String, "1.0.0", "O(1)", "The string at a key."),
    row("set", -3, flag::WRITE | flag::DENYOOM, write::set)
        .syntax(
            "key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|\
             PXAT unix-time-milliseconds|KEEPTTL]",
        )
        .keys(1, 1, 1, &[&["RW", "access", "update", "variable_flags"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "1.0.0",
            "O(1)",
            "Stores a string, with conditions, a time to live, and the old value if asked for.",
        ),
    row("setnx", 3, flag::WRITE | flag::DENYOOM | flag::FAST, write::setnx)
        .syntax("key value")
        .keys(1, 1, 1, &[&["OW", "insert"]])
        .categories(category::STRING)
        .about(Group::String, "1.0.0", "O(1)", "Stores a string if the key does not exist."),
    row("setex", 4, flag::WRITE | flag::DENYOOM, write::setex)
        .syntax("key seconds value")
        .keys(1, 1, 1, &[&["OW", "update"]])
        .categories(category::STRING)
        .about(Group::String, "2.0.0", "O(1)", "Stores a string with a time to live in seconds."),
    row("psetex", 4, flag::WRITE | flag::DENYOOM, write::psetex)
        .syntax("key milliseconds value")
        .keys(1, 1, 1, &[&["OW", "update"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "2.6.0",
            "O(1)",
            "Stores a string with a time to live in milliseconds.",
        ),
    row("getset", 3, flag::WRITE | flag::DENYOOM | flag::FAST, write::getset)
        .syntax("key value")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .replaced_by("6.2.0", "`SET` with the `!GET` argument")
        .about(Group::String, "1.0.0", "O(1)", "Stores a string and answers with the old one."),
    row("getdel", 2, flag::WRITE | flag::FAST, write::getdel)
        .syntax("key")
        .keys(1, 1, 1, &[&["RW", "access", "delete"]])
        .categories(category::STRING)
        .about(Group::String, "6.2.0", "O(1)", "The string at a key, which is then deleted."),
    row("getex", -2, flag::WRITE | flag::FAST, write::getex)
        .syntax(
            "key [EX seconds|PX milliseconds|EXAT unix-time-seconds|\
             PXAT unix-time-milliseconds|PERSIST]",
        )
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "6.2.0",
            "O(1)",
            "The string at a key, whose time to live is then changed.",
        ),
    row("mget", -2, flag::READONLY | flag::FAST, read::mget)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RO", "access"]])
        .categories(category::STRING)
        .tips(&["request_policy:multi_shard"])
        .about(
            Group::String,
            "1.0.0",
            "O(N) with N the number of keys",
            "The strings at several keys, as of one moment.",
        ),
    row("mset", -3, flag::WRITE | flag::DENYOOM, many::mset)
        .syntax("key value [key value ...]")
        .keys(1, -1, 2, &[&["OW", "update"]])
        .categories(category::STRING)
        .tips(&["request_policy:multi_shard", "response_policy:all_succeeded"])
        .about(
            Group::String,
            "1.0.1",
            "O(N) with N the number of keys",
            "Stores several strings as one change.",
        ),
    row("msetnx", -3, flag::WRITE | flag::DENYOOM, many::msetnx)
        .syntax("key value [key value ...]")
        .keys(1, -1, 2, &[&["OW", "insert"]])
        .categories(category::STRING)
        .tips(&["request_policy:multi_shard", "response_policy:agg_min"])
        .about(
            Group::String,
            "1.0.1",
            "O(N) with N the number of keys",
            "Stores several strings if none of the keys exists.",
        ),
    row("append", 3, flag::WRITE | flag::DENYOOM | flag::FAST, part::append)
        .syntax("key value")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "2.0.0",
            "O(N) with N the length of the result",
            "Appends to the string at a key.",
        ),
    row("strlen", 2, flag::READONLY | flag::FAST, read::strlen)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO"]])
        .categories(category::STRING)
        .about(Group::String, "2.2.0", "O(1)", "The length of the string at a key."),
    row("incr", 2, flag::WRITE | flag::DENYOOM | flag::FAST, count::incr)
        .syntax("key")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .about(Group::String, "1.0.0", "O(1)", "Adds one to the integer at a key."),
    row("decr", 2, flag::WRITE | flag::DENYOOM | flag::FAST, count::decr)
        .syntax("key")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .about(Group::String, "1.0.0", "O(1)", "Subtracts one from the integer at a key."),
    row("incrby", 3, flag::WRITE | flag::DENYOOM | flag::FAST, count::incrby)
        .syntax("key increment")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .about(Group::String, "1.0.0", "O(1)", "Adds to the integer at a key."),
    row("decrby", 3, flag::WRITE | flag::DENYOOM | flag::FAST, count::decrby)
        .syntax("key decrement")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .about(Group::String, "1.0.0", "O(1)", "Subtracts from the integer at a key."),
    row("incrbyfloat", 3, flag::WRITE | flag::DENYOOM | flag::FAST, count::incrbyfloat)
        .syntax("key increment{double}")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::STRING)
        .about(Group::String, "2.6.0", "O(1)", "Adds to the decimal number at a key."),
    row("getrange", 4, flag::READONLY, read::getrange)
        .syntax("key start end")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "2.4.0",
            "O(N) with N the length of the reply",
            "A part of the string at a key.",
        ),
    row("substr", 4, flag::READONLY, read::getrange)
        .syntax("key start end")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::STRING)
        .replaced_by("2.0.0", "`GETRANGE`")
        .about(
            Group::String,
            "1.0.0",
            "O(N) with N the length of the reply",
            "A part of the string at a key.",
        ),
    row("setrange", 4, flag::WRITE | flag::DENYOOM, part::setrange)
        .syntax("key offset value")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "2.2.0",
            "O(N) with N the length of the result",
            "Overwrites a part of the string at a key.",
        ),
    row("setbit", 4, flag::WRITE | flag::DENYOOM, bit::setbit)
        .syntax("key offset value{integer}")
        .keys(1, 1, 1, &[&["RW", "access", "update"]])
        .categories(category::BITMAP)
        .about(
            Group::Bitmap,
            "2.2.0",
            "O(N) with N the length of the string",
            "Sets or clears one bit of the string at a key.",
        ),
    row("getbit", 3, flag::READONLY | flag::FAST, bit::getbit)
        .syntax("key offset")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::BITMAP)
        .about(Group::Bitmap, "2.2.0", "O(1)", "One bit of the string at a key."),
    row("lcs", -3, flag::READONLY, lcs::lcs)
        .syntax("key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]")
        .keys(1, 2, 1, &[&["RO", "access"]])
        .categories(category::STRING)
        .about(
            Group::String,
            "7.0.0",
            "O(N*M) with N and M the lengths of the strings",
            "The longest common subsequence of two strings.",
        ),
];
