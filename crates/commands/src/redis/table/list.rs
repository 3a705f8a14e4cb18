//! Rows of the list commands.

use crate::redis::list::{blocking, change, pop, position, push, read, relay, several};
use crate::redis::row::{Group, Row, category, flag, row};

pub(super) const ROWS: &[Row] = &[
    row("lpush", -3, flag::WRITE | flag::DENYOOM | flag::FAST, push::lpush)
        .syntax("key element [element ...]")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the number of new elements",
            "Puts elements before the first one of a list.",
        ),
    row("rpush", -3, flag::WRITE | flag::DENYOOM | flag::FAST, push::rpush)
        .syntax("key element [element ...]")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the number of new elements",
            "Puts elements behind the last one of a list.",
        ),
    row("lpushx", -3, flag::WRITE | flag::DENYOOM | flag::FAST, push::lpushx)
        .syntax("key element [element ...]")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "2.2.0",
            "O(N) with N the number of new elements",
            "Puts elements before the first one of a list that exists.",
        ),
    row("rpushx", -3, flag::WRITE | flag::DENYOOM | flag::FAST, push::rpushx)
        .syntax("key element [element ...]")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "2.2.0",
            "O(N) with N the number of new elements",
            "Puts elements behind the last one of a list that exists.",
        ),
    row("lpop", -2, flag::WRITE | flag::FAST, pop::lpop)
        .syntax("key [count]")
        .keys(1, 1, 1, &[&["RW", "access", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the number of elements",
            "The first elements of a list, which are removed.",
        ),
    row("rpop", -2, flag::WRITE | flag::FAST, pop::rpop)
        .syntax("key [count]")
        .keys(1, 1, 1, &[&["RW", "access", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the number of elements",
            "The last elements of a list, which are removed.",
        ),
    row("llen", 2, flag::READONLY | flag::FAST, read::llen)
        .syntax("key")
        .keys(1, 1, 1, &[&["RO"]])
        .categories(category::LIST)
        .about(Group::List, "1.0.0", "O(1)", "The number of elements of a list."),
    row("lrange", 4, flag::READONLY, read::lrange)
        .syntax("key start stop")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the number of elements",
            "The elements of a list between two positions.",
        ),
    row("lindex", 3, flag::READONLY, read::lindex)
        .syntax("key index")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::LIST)
        .about(Group::List, "1.0.0", "O(1)", "The element of a list at a position."),
    row("lpos", -3, flag::READONLY, position::lpos)
        .syntax("key element [RANK rank] [COUNT num-matches] [MAXLEN len]")
        .keys(1, 1, 1, &[&["RO", "access"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "6.0.6",
            "O(N) with N the length of the list",
            "The positions at which a list has an element.",
        ),
    row("lset", 4, flag::WRITE | flag::DENYOOM, change::lset)
        .syntax("key index element")
        .keys(1, 1, 1, &[&["RW", "update"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the length of the list",
            "Replaces the element of a list at a position.",
        ),
    row("linsert", 5, flag::WRITE | flag::DENYOOM, change::linsert)
        .syntax("key (BEFORE|AFTER) pivot element")
        .keys(1, 1, 1, &[&["RW", "insert"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "2.2.0",
            "O(N) with N the length of the list",
            "Puts an element before or behind another one of a list.",
        ),
    row("lrem", 4, flag::WRITE, change::lrem)
        .syntax("key count element")
        .keys(1, 1, 1, &[&["RW", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(N) with N the length of the list",
            "Removes elements that are equal to one given.",
        ),
    row("ltrim", 4, flag::WRITE, change::ltrim)
        .syntax("key start stop")
        .keys(1, 1, 1, &[&["RW", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "1.0.0",
            "O(1), or O(N) where N elements are kept and the rest was three times as long",
            "Removes the elements of a list that are not between two positions.",
        ),
    row("rpoplpush", 3, flag::WRITE | flag::DENYOOM, relay::rpoplpush)
        .syntax("source destination")
        .keys(1, 2, 1, &[&["RW", "access", "delete"], &["RW", "insert"]])
        .categories(category::LIST)
        .replaced_by("6.2.0", "`LMOVE` with the `RIGHT` and `LEFT` arguments")
        .about(
            Group::List,
            "1.2.0",
            "O(1)",
            "Takes the last element of a list and puts it before the first one of another.",
        ),
    row("lmove", 5, flag::WRITE | flag::DENYOOM, relay::lmove)
        .syntax("source destination (LEFT|RIGHT) (LEFT|RIGHT)")
        .keys(1, 2, 1, &[&["RW", "access", "delete"], &["RW", "insert"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "6.2.0",
            "O(1)",
            "Takes an element of a list and puts it at an end of another.",
        ),
    row("blpop", -3, flag::WRITE | flag::NOSCRIPT | flag::BLOCKING, blocking::blpop)
        .syntax("key [key ...] timeout")
        .keys(1, -2, 1, &[&["RW", "access", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "2.0.0",
            "O(N) with N the number of keys",
            "The first element of the first list that has one, waited for if none has.",
        ),
    row("brpop", -3, flag::WRITE | flag::NOSCRIPT | flag::BLOCKING, blocking::brpop)
        .syntax("key [key ...] timeout")
        .keys(1, -2, 1, &[&["RW", "access", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "2.0.0",
            "O(N) with N the number of keys",
            "The last element of the first list that has one, waited for if none has.",
        ),
    row(
        "brpoplpush",
        4,
        flag::WRITE | flag::DENYOOM | flag::NOSCRIPT | flag::BLOCKING,
        blocking::brpoplpush,
    )
    .syntax("source destination timeout")
    .keys(1, 2, 1, &[&["RW", "access", "delete"], &["RW", "insert"]])
    .categories(category::LIST)
    .replaced_by("6.2.0", "`BLMOVE` with the `RIGHT` and `LEFT` arguments")
    .about(
        Group::List,
        "2.2.0",
        "O(1)",
        "As RPOPLPUSH, waiting for an element if there is none.",
    ),
    row(
        "blmove",
        6,
        flag::WRITE | flag::DENYOOM | flag::NOSCRIPT | flag::BLOCKING,
        blocking::blmove,
    )
    .syntax("source destination (LEFT|RIGHT) (LEFT|RIGHT) timeout")
    .keys(1, 2, 1, &[&["RW", "access", "delete"], &["RW", "insert"]])
    .categories(category::LIST)
    .about(Group::List, "6.2.0", "O(1)", "As LMOVE, waiting for an element if there is none."),
    row("lmpop", -4, flag::WRITE, several::lmpop)
        .syntax("numkeys key [key ...] (LEFT|RIGHT) [COUNT count]")
        .counted_keys(2, &[&["RW", "access", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "7.0.0",
            "O(N+M) with N the number of keys, M that of elements",
            "Elements of the first list that has any, which are removed.",
        ),
    row("blmpop", -5, flag::WRITE | flag::BLOCKING, several::blmpop)
        .syntax("timeout numkeys key [key ...] (LEFT|RIGHT) [COUNT count]")
        .counted_keys(3, &[&["RW", "access", "delete"]])
        .categories(category::LIST)
        .about(
            Group::List,
            "7.0.0",
            "O(N+M) with N the number of keys, M that of elements",
            "As LMPOP, waiting for an element if there is none.",
        ),
];
