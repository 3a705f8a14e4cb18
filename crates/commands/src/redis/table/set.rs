//! Rows of the set commands.

use crate::redis::row::{Group, Row, category, flag, row};
use crate::redis::set::{change, combine, random, read};

pub(super) const ROWS: &[Row] = &[
    row("sadd", -3, flag::WRITE | flag::DENYOOM | flag::FAST, change::sadd)
        .syntax("key member [member ...]")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the number of members given",
            "Adds members to a set.",
        ),
    row("srem", -3, flag::WRITE | flag::FAST, change::srem)
        .syntax("key member [member ...]")
        .keys(1, 1, 1, &[&["RW", "delete"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the number of members given",
            "Removes members of a set.",
        ),
    row("smove", 4, flag::WRITE | flag::FAST, change::smove)
        .syntax("source destination member")
        .keys(1, 2, 1, &[&["RW", "access", "delete"], &["RW", "insert"]])
        .categories(category::SET)
        .about(Group::Set, "1.0.0", "O(1)", "Moves a member from one set to another."),
    row("scard", 2, flag::READONLY | flag::FAST, read::scard)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO"]])
        .categories(category::SET)
        .about(Group::Set, "1.0.0", "O(1)", "The number of members of a set."),
    row("sismember", 3, flag::READONLY | flag::FAST, read::sismember)
        .syntax("key member")
        .keys(1, 1, 1, &[&["RO"]])
        .categories(category::SET)
        .about(Group::Set, "1.0.0", "O(1)", "Whether a set has a member."),
    row("smismember", -3, flag::READONLY | flag::FAST, read::smismember)
        .syntax("key member [member ...]")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "6.2.0",
            "O(N) with N the number of members given",
            "Whether a set has each of several members.",
        ),
    row("smembers", 2, flag::READONLY, read::smembers)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output_order"])
        .about(Group::Set, "1.0.0", "O(N) with N the size of the set", "All members of a set."),
    row("sscan", -3, flag::READONLY, read::sscan)
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output"])
        .about(Group::Set, "2.8.0", "O(1) a call", "Some members of a set, and where to go on."),
    row("srandmember", -2, flag::READONLY, random::srandmember)
        .syntax("key [count]")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output"])
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the number of members",
            "Members of a set chosen at random.",
        ),
    row("spop", -2, flag::WRITE | flag::FAST, random::spop)
        .syntax("key [count]")
        .keys(1, 1, 1, &[&["RW", "access", "delete"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output"])
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the number of members",
            "Members of a set chosen at random, which are removed.",
        ),
    row("sinter", -2, flag::READONLY, combine::sinter)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Set,
            "1.0.0",
            "O(N*M) with N the size of the smallest set, M the number of sets",
            "The members that all of several sets have.",
        ),
    row("sinterstore", -3, flag::WRITE | flag::DENYOOM, combine::sinterstore)
        .syntax("destination key [key ...]")
        .keys(1, -1, 1, &[&["RW", "update"], &["RO", "access"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "1.0.0",
            "O(N*M) with N the size of the smallest set, M the number of sets",
            "Stores the members that all of several sets have.",
        ),
    row("sunion", -2, flag::READONLY, combine::sunion)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the sizes of all sets",
            "The members that any of several sets has.",
        ),
    row("sunionstore", -3, flag::WRITE | flag::DENYOOM, combine::sunionstore)
        .syntax("destination key [key ...]")
        .keys(1, -1, 1, &[&["OW", "update"], &["RO", "access"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the sizes of all sets",
            "Stores the members that any of several sets has.",
        ),
    row("sdiff", -2, flag::READONLY, combine::sdiff)
        .syntax("key [key ...]")
        .keys(1, -1, 1, &[&["RO", "access"]])
        .categories(category::SET)
        .tips(&["nondeterministic_output_order"])
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the sizes of all sets",
            "The members of a set that no other one has.",
        ),
    row("sdiffstore", -3, flag::WRITE | flag::DENYOOM, combine::sdiffstore)
        .syntax("destination key [key ...]")
        .keys(1, -1, 1, &[&["OW", "update"], &["RO", "access"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "1.0.0",
            "O(N) with N the sizes of all sets",
            "Stores the members of a set that no other one has.",
        ),
    row("sintercard", -3, flag::READONLY, combine::sintercard)
        .syntax("numkeys key [key ...] [LIMIT limit]")
        .counted_keys(2, &[&["RO", "access"]])
        .categories(category::SET)
        .about(
            Group::Set,
            "7.0.0",
            "O(N*M) with N the size of the smallest set, M the number of sets",
            "How many members all of several sets have.",
        ),
];
