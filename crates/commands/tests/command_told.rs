//! What COMMAND tells of the commands, and what subcommands say to too many arguments.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_commands::redis::table::ROWS;
use dolium_protocol::resp::Version;

pub const NOW: u64 = 1_700_000_000_000;

/// Texts as they travel.
fn bulks(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("${}\r\n{text}\r\n", text.len())).collect()
}

#[test]
fn all_names_are_listed_and_those_of_subcommands_too() {
    let mut talk = Conversation::begin();
    let list = talk.ask("command list");
    assert!(list.starts_with(&format!("*{}\r\n", ROWS.len())), "{list}");
    for name in ["get", "config", "config|get", "client|no-evict"] {
        assert!(list.contains(&bulks(&[name])), "{name}");
    }
    assert_eq!(talk.ask("command list filterby pattern *"), list);
    assert_eq!(talk.ask("command list filterby module none"), "*0\r\n");
}

/// Byte by byte what Redis 7.0.15 answers.
#[test]
fn the_arguments_of_a_command_are_a_tree() {
    let mut talk = Conversation::speaking(Version::V3);
    let docs = talk.ask("command docs expire");
    let token = |name: &str| {
        let token = name.to_uppercase();
        format!("%3\r\n{}", bulks(&["name", name, "type", "pure-token", "token", &token]))
    };
    let expected = [
        bulks(&["arguments"]) + "*3\r\n",
        format!("%3\r\n{}:0\r\n", bulks(&["name", "key", "type", "key", "key_spec_index"])),
        format!("%2\r\n{}", bulks(&["name", "seconds", "type", "integer"])),
        format!(
            "%5\r\n{}",
            bulks(&["name", "condition", "type", "oneof", "since", "7.0.0", "flags"])
        ),
        format!("~1\r\n+optional\r\n{}*4\r\n", bulks(&["arguments"])),
        ["nx", "xx", "gt", "lt"].map(token).concat(),
    ];
    assert!(docs.ends_with(&expected.concat()), "{docs}");
}

/// Where keys are stored to and read from, each has a specification of its own in COMMAND INFO.
#[test]
fn every_key_says_which_specification_is_its_own() {
    let mut talk = Conversation::begin();
    let rows: [(&str, &[usize]); 8] = [
        ("get", &[0]),
        ("rename", &[0, 1]),
        ("sunionstore", &[0, 1]),
        ("lcs", &[0, 0]),
        ("mset", &[0]),
        ("blmpop", &[0]),
        ("memory|usage", &[0]),
        ("ping", &[]),
    ];
    for (name, expected) in rows {
        let docs = talk.ask(&format!("command docs {name}"));
        let mut found = docs.split("key_spec_index\r\n:").skip(1);
        for index in expected {
            let rest = found.next().unwrap_or_default();
            assert!(rest.starts_with(&format!("{index}\r\n")), "{name}: {docs}");
        }
        assert_eq!(found.next(), None, "{name}: {docs}");
    }
}

#[test]
fn what_has_no_arguments_says_nothing_of_them() {
    let mut talk = Conversation::begin();
    for name in ["dbsize", "client|id", "multi", "quit"] {
        assert!(!talk.ask(&format!("command docs {name}")).contains("arguments"), "{name}");
    }
    // A container's subcommands have theirs.
    let slowlog = talk.ask("command docs slowlog");
    assert_eq!(slowlog.matches("$9\r\narguments\r\n").count(), 1, "{slowlog}");
}

#[test]
fn a_subcommand_that_is_given_too_much_names_its_help() {
    let mut talk = Conversation::begin();
    for (request, subcommand, container) in [
        ("slowlog GET 1 2", "GET", "SLOWLOG"),
        ("SLOWLOG get x y", "get", "SLOWLOG"),
        ("client pause 1 all x", "pause", "CLIENT"),
        ("client PAUSE x never x", "PAUSE", "CLIENT"),
        ("client Unblock x never x", "Unblock", "CLIENT"),
        ("pubsub Channels a b", "Channels", "PUBSUB"),
    ] {
        let expected = format!(
            "-ERR unknown subcommand or wrong number of arguments for '{subcommand}'. \
             Try {container} HELP.\r\n"
        );
        assert_eq!(talk.ask(request), expected, "{request}");
    }
    assert_eq!(
        talk.ask("slowlog len 1"),
        "-ERR wrong number of arguments for 'slowlog|len' command\r\n"
    );
}

#[test]
fn memory_stats_has_the_fields_that_monitors_ask_for() {
    let mut talk = Conversation::begin();
    talk.ask("set k v");
    let stats = talk.ask("memory stats");
    assert!(stats.starts_with("*56\r\n"), "{stats}");
    for zero in ["replication.backlog", "clients.slaves", "cluster.links", "aof.buffer"] {
        assert!(stats.contains(&(bulks(&[zero]) + ":0\r\n")), "{zero}: {stats}");
    }
    let database = format!("{}*6\r\n{}", bulks(&["db.0"]), bulks(&["overhead.hashtable.main"]));
    assert!(stats.contains(&database), "{stats}");
    for field in ["overhead.hashtable.expires", "overhead.hashtable.slot-to-keys"] {
        assert!(stats.contains(&(bulks(&[field]) + ":0\r\n")), "{field}: {stats}");
    }
}
