//! Every row's line is read, agrees with what else the row says, and is shown as it was written.

use super::{Argument, Kind, parse, readable};
use crate::redis::row::Row;
use crate::redis::table;

/// As redis-cli 7.0 puts the answer of COMMAND DOCS together.
fn shown(arguments: &[Argument<'_>], between: &str) -> String {
    arguments.iter().map(shown_one).collect::<Vec<_>>().join(between)
}

fn shown_one(argument: &Argument<'_>) -> String {
    let body = match argument.kind {
        Kind::PureToken => String::new(),
        Kind::OneOf => shown(&argument.parts, "|"),
        Kind::Block => shown(&argument.parts, " "),
        _ => argument.name.clone(),
    };
    let gap = if argument.kind == Kind::PureToken { "" } else { " " };
    let mut text = argument.token.map_or_else(String::new, |token| format!("{token}{gap}"));
    text += &body;
    if argument.multiple {
        text += &format!(" [{body} ...]");
    }
    if argument.optional { format!("[{text}]") } else { text }
}

/// The fewest words that a request can have of it.
fn fewest(argument: &Argument<'_>) -> usize {
    if argument.optional { 0 } else { fewest_if_given(argument) }
}

/// The brackets around what is chosen from are for the eye alone: something has to be chosen.
fn fewest_if_given(argument: &Argument<'_>) -> usize {
    let words = match argument.kind {
        Kind::PureToken => 0,
        Kind::OneOf => argument.parts.iter().map(fewest_if_given).min().unwrap_or(0),
        Kind::Block => argument.parts.iter().map(fewest).sum(),
        _ => 1,
    };
    words + usize::from(argument.token.is_some())
}

fn may_vary(argument: &Argument<'_>) -> bool {
    argument.optional || argument.multiple || argument.parts.iter().any(may_vary)
}

fn begins_with_key(argument: &Argument<'_>) -> bool {
    match argument.kind {
        Kind::Key => true,
        Kind::Block => argument.parts.first().is_some_and(begins_with_key),
        _ => false,
    }
}

fn arguments(row: &Row) -> Vec<Argument<'static>> {
    parse(row.syntax).unwrap_or_else(|| panic!("{}: {}", row.name, row.syntax))
}

fn words_of_name(row: &Row) -> usize {
    row.name.split('|').count()
}

#[test]
fn every_row_says_as_many_arguments_as_it_takes() {
    for row in &table::ROWS {
        let arguments = arguments(row);
        // A container's arguments are its subcommands'. QUIT reads none, however many there are.
        if row.subcommands > 0 || row.name == "quit" {
            assert!(arguments.is_empty(), "{}", row.name);
            continue;
        }
        let fewest = words_of_name(row) + arguments.iter().map(fewest).sum::<usize>();
        assert_eq!(usize::from(row.arity.unsigned_abs()), fewest, "{}", row.name);
        assert_eq!(row.arity < 0, arguments.iter().any(may_vary), "{}", row.name);
    }
}

#[test]
fn keys_stand_where_the_row_has_them() {
    for row in &table::ROWS {
        let arguments = arguments(row);
        let before = arguments.iter().take_while(|argument| !begins_with_key(argument));
        let first = match arguments.iter().any(begins_with_key) {
            true => words_of_name(row) + before.map(fewest).sum::<usize>(),
            false => 0,
        };
        assert_eq!(first, usize::from(row.keys.first), "{}", row.name);
    }
}

#[test]
fn redis_cli_shows_what_the_line_says() {
    for row in &table::ROWS {
        // What is too long to be said twice is shown twice.
        if row.syntax.contains("[...]") {
            continue;
        }
        let plain = readable(row.syntax).replace(['(', ')'], "");
        assert_eq!(shown(&arguments(row), " "), plain, "{}", row.name);
    }
}

/// All but SETINFO, which Redis 7.0 does not have, is what redis-cli shows of Redis 7.0.15.
#[test]
fn some_rows_are_shown_as_those_of_redis() {
    for (name, expected) in [
        (
            "set",
            "key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|\
             PXAT unix-time-milliseconds|KEEPTTL]",
        ),
        ("mget", "key [key ...]"),
        ("mset", "key value [key value ...]"),
        ("expire", "key seconds [NX|XX|GT|LT]"),
        ("scan", "cursor [MATCH pattern] [COUNT count] [TYPE type]"),
        ("lmove", "source destination LEFT|RIGHT LEFT|RIGHT"),
        ("hello", "[protover [AUTH username password] [SETNAME clientname]]"),
        ("client|list", "[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]"),
        (
            "client|kill",
            "ip:port|[ID client-id]|[TYPE NORMAL|MASTER|SLAVE|REPLICA|PUBSUB]|[USER username]|\
             [ADDR ip:port]|[LADDR ip:port]|[SKIPME yes/no] [[ID client-id]|\
             [TYPE NORMAL|MASTER|SLAVE|REPLICA|PUBSUB]|[USER username]|[ADDR ip:port]|\
             [LADDR ip:port]|[SKIPME yes/no] ...]",
        ),
        ("client|setinfo", "LIB-NAME libname|LIB-VER libver"),
    ] {
        let row = table::find_full(name.as_bytes()).expect(name);
        assert_eq!(shown(&arguments(row), " "), expected, "{name}");
    }
}

#[test]
fn arguments_of_several_parts_are_called_as_in_redis() {
    for (name, expected) in [
        ("set", "key value condition get expiration"),
        ("expire", "key seconds condition"),
        ("linsert", "key where pivot element"),
        ("lmove", "source destination wherefrom whereto"),
        ("hello", "arguments"),
        ("client|kill", "filter"),
        ("flushall", "async"),
    ] {
        let arguments = arguments(table::find_full(name.as_bytes()).expect(name));
        let names: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{name}");
    }
    let hello = arguments(table::find(b"hello").unwrap());
    let login = &hello[0].parts[1];
    assert_eq!((login.name.as_str(), login.token), ("username_password", Some("AUTH")));
}

/// One name was of one type: three arguments had other names than Redis' for it.
#[test]
fn a_type_is_said_where_the_name_has_another() {
    let pause = arguments(table::find_full(b"client|pause").expect("a row"));
    assert_eq!((pause[0].name.as_str(), pause[0].kind), ("timeout", Kind::Integer));
    let add = arguments(table::find(b"incrbyfloat").expect("a row"));
    assert_eq!((add[1].name.as_str(), add[1].kind), ("increment", Kind::Double));
    let set = arguments(table::find(b"setbit").expect("a row"));
    assert_eq!((set[2].name.as_str(), set[2].kind), ("value", Kind::Integer));
    let [patterns] = &arguments(table::find(b"psubscribe").expect("a row"))[..] else {
        panic!("one argument");
    };
    assert_eq!((patterns.name.as_str(), patterns.kind), ("pattern", Kind::Block));
    assert_eq!((patterns.multiple, patterns.parts[0].kind), (true, Kind::Pattern));
    assert_eq!(readable("a{double} [b{block} [b{block} ...]] c"), "a [b [b ...]] c");
}

#[test]
fn a_line_that_makes_no_sense_is_not_read() {
    let lines = "[,a|b,[a,(a,a],x),[],(),(a|),[|a],...,[...],a [...,a ...,key [value ...],\
                 key [key key ...],A [b ...],A b [A b ...]";
    for line in lines.split(',') {
        assert_eq!(parse(line), None, "{line}");
    }
}
