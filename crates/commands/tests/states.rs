//! Connections in a special state: replies turned off, no password given, killed, out of memory.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_commands::context::Flow;
use dolium_engine::{Engine, Policy};
use host::HAS_PASSWORD;

pub const NOW: u64 = 1_700_000_000_000;

#[test]
fn replies_are_turned_off_on_and_skipped() {
    let mut talk = Conversation::begin();
    assert_eq!(talk.ask("client reply skip"), "");
    assert_eq!(talk.ask("ping one"), "");
    assert_eq!(talk.ask("ping"), "+PONG\r\n");
    assert_eq!(talk.ask("client reply skip"), "");
    assert_eq!(talk.ask("client reply on"), "+OK\r\n");
    assert_eq!(talk.ask("ping"), "+PONG\r\n");
    assert_eq!(talk.ask("client reply skip"), "");
    assert_eq!(talk.ask("client reply skip"), "");
    assert_eq!(talk.ask("ping one"), "");
    assert_eq!(talk.ask("ping"), "+PONG\r\n");
    assert_eq!(talk.ask("client reply off"), "");
    assert_eq!(talk.ask("set k v"), "");
    assert_eq!(talk.ask("no such command"), "");
    assert_eq!(talk.ask("client reply skip"), "");
    assert_eq!(talk.ask("ping"), "");
    assert_eq!(talk.ask("client reply on"), "+OK\r\n");
    assert_eq!(talk.ask("get k"), "$1\r\nv\r\n");
}

#[test]
fn what_is_told_of_subscriptions_is_no_reply() {
    let mut talk = Conversation::begin();
    talk.ask("client reply off");
    assert_eq!(talk.ask("subscribe a"), "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    assert_eq!(talk.ask("subscribe"), "");
    assert_eq!(talk.ask("ping"), "");
    assert_eq!(talk.ask("unsubscribe"), "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
    assert_eq!(talk.ask("reset"), "+RESET\r\n");
    assert_eq!(talk.ask("ping"), "+PONG\r\n");
    assert_eq!(talk.ask("client reply skip"), "");
    assert_eq!(talk.ask("subscribe b"), "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:1\r\n");
    assert_eq!(talk.ask("unsubscribe b"), "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n");
}

#[test]
fn an_exec_that_is_refused_ends_the_transaction() {
    const REFUSED: &str = "-EXECABORT Transaction discarded because of: ";
    let mut talk = Conversation::begin();
    talk.ask("multi");
    let arity = "wrong number of arguments for 'exec' command\r\n";
    assert_eq!(talk.ask("exec x"), format!("{REFUSED}{arity}"));
    assert_eq!(talk.ask("ping"), "+PONG\r\n");
    assert_eq!(talk.ask("exec x"), format!("{REFUSED}{arity}"));
    talk.lock();
    let password = "NOAUTH Authentication required.\r\n";
    assert_eq!(talk.ask("exec"), format!("{REFUSED}{password}"));
}

#[test]
fn hidden_directives_are_shown_by_name_only() {
    let mut talk = Conversation::begin();
    assert!(talk.ask("config get key-load-delay").contains("key-load-delay"));
    assert!(!talk.ask("config get *").contains("key-load-delay"));
}

#[test]
fn nothing_runs_before_the_password_but_what_may() {
    let mut talk = Conversation::begin();
    talk.lock();
    assert_eq!(talk.ask("get k"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(
        talk.ask("hello 3"),
        "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
         AUTH <user> <pass> option can be used to authenticate the client and select the RESP \
         protocol version at the same time\r\n"
    );
    assert!(talk.ask("auth nobody x").starts_with("-WRONGPASS"));
    assert_eq!(talk.ask("auth default right"), "+OK\r\n");
    assert_eq!(talk.ask("get k"), "$-1\r\n");
}

#[test]
fn everything_runs_while_there_is_no_password_any_more() {
    let mut talk = Conversation::begin();
    talk.lock();
    HAS_PASSWORD.set(false);
    assert_eq!(talk.ask("get k"), "$-1\r\n");
    assert_eq!(talk.ask("multi"), "+OK\r\n");
    assert_eq!(talk.ask("set k v"), "+QUEUED\r\n");
    assert_eq!(talk.ask("exec"), "*1\r\n+OK\r\n");
    // As in Redis, which asks of this command's client alone.
    assert!(talk.ask("hello 3").starts_with("-NOAUTH HELLO must be called"));
    HAS_PASSWORD.set(true);
    assert_eq!(talk.ask("get k"), "-NOAUTH Authentication required.\r\n");
}

#[test]
fn quit_closes_after_its_reply() {
    let mut talk = Conversation::begin();
    assert_eq!(talk.ask("quit"), "+OK\r\n");
    assert_eq!(talk.flow, Flow::Close);
}

#[test]
fn what_is_refused_or_queued_is_no_call() {
    let mut talk = Conversation::begin();
    let mut called = |request: &str| {
        talk.ask(request);
        talk.called
    };
    assert_eq!(called("get k"), Some("get"));
    for refused in ["get", "nosuch", "config nosuch", "exec now"] {
        assert_eq!(called(refused), None, "{refused}");
    }
    assert_eq!(called("rpush list a"), Some("rpush"));
    // It ran, and failed.
    assert_eq!(called("incr list"), Some("incr"));
    assert_eq!(called("multi"), Some("multi"));
    assert_eq!(called("set k 1"), None);
    assert_eq!(called("get"), None);
    assert_eq!(called("exec"), Some("exec"));
    assert_eq!(called("client reply off"), Some("client|reply"));
    assert_eq!(called("incr list"), Some("incr"));
    assert_eq!(called("client reply on"), Some("client|reply"));
    assert_eq!(called("subscribe c"), Some("subscribe"));
    assert_eq!(called("get k"), None);
}

#[test]
fn exec_tells_of_each_command_that_it_runs() {
    let mut talk = Conversation::begin();
    talk.ask("rpush list a");
    drop(host::EXECUTED.take());
    for request in ["multi", "set k 1", "incr list", "get k"] {
        talk.ask(request);
    }
    assert!(host::EXECUTED.take().is_empty());
    talk.ask("exec");
    assert_eq!(host::EXECUTED.take(), [("set", false), ("incr", true), ("get", false)]);
    for request in ["multi", "set k 1", "discard", "watch k", "set k 2", "multi", "get k", "exec"] {
        talk.ask(request);
    }
    assert!(host::EXECUTED.take().is_empty());
}

#[test]
fn a_watched_key_that_another_changes_fails_exec() {
    let mut talk = Conversation::begin();
    let mut other = Conversation::beside(&talk);
    talk.ask("set k 1");
    talk.ask("watch k");
    talk.ask("multi");
    talk.ask("set k 2");
    other.ask("set k 3");
    assert_eq!(talk.ask("exec"), "*-1\r\n");
    assert_eq!(talk.ask("get k"), "$1\r\n3\r\n");
}

#[test]
fn a_watched_key_that_comes_due_fails_exec() {
    let mut talk = Conversation::begin();
    talk.ask("set k 1 px 100");
    talk.ask("watch k");
    talk.now += 101;
    talk.ask("multi");
    talk.ask("ping");
    assert_eq!(talk.ask("exec"), "*-1\r\n");
}

#[test]
fn a_key_that_was_due_when_it_was_watched_was_not_there() {
    let mut talk = Conversation::begin();
    let mut other = Conversation::beside(&talk);
    talk.ask("set k 1 pxat 1");
    talk.ask("watch k");
    assert_eq!(other.ask("get k"), "$-1\r\n");
    talk.ask("multi");
    talk.ask("ping");
    assert_eq!(talk.ask("exec"), "*1\r\n+PONG\r\n");
    // But who watched it while it was there is told when another finds it due.
    talk.ask("set k 1 px 100");
    talk.ask("watch k");
    (talk.now, other.now) = (talk.now + 101, talk.now + 101);
    other.ask("watch k");
    talk.ask("multi");
    talk.ask("ping");
    assert_eq!(talk.ask("exec"), "*-1\r\n");
    // And so is who watched it when it was over, of one that is made in its place.
    other.ask("multi");
    talk.ask("set k 2");
    assert_eq!(other.ask("exec"), "*-1\r\n");
}

#[test]
fn without_memory_writes_are_refused_and_reads_go_on() {
    const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    let mut talk = Conversation::begin();
    assert_eq!(talk.ask("set k v"), "+OK\r\n");
    let engine: &Engine = talk.engine();
    engine.set_policy(Policy::NoEviction);
    engine.set_max_memory(1);
    assert_eq!(talk.ask("set k w"), OOM);
    assert_eq!(talk.ask("get k"), "$1\r\nv\r\n");
    talk.ask("multi");
    assert_eq!(talk.ask("set k w"), OOM);
    assert!(talk.ask("exec").starts_with("-EXECABORT"));
    assert_eq!(talk.ask("del k"), ":1\r\n");
    assert_eq!(talk.engine().verify(), Ok(()));
}

#[test]
fn every_page_of_help_is_an_array_of_lines() {
    let mut talk = Conversation::begin();
    for container in [
        "client", "command", "config", "function", "latency", "memory", "object", "pubsub",
        "slowlog",
    ] {
        let help = talk.ask(&format!("{container} help"));
        let lines: usize = help[1..].split("\r\n").next().unwrap().parse().unwrap();
        assert_eq!(help.matches("\r\n").count(), lines + 1, "{container}");
    }
}

#[test]
fn what_the_server_is_told_and_tells_is_passed_on() {
    let mut talk = Conversation::begin();
    assert!(talk.ask("info").contains("# Server"));
    assert!(talk.ask("lolwut").contains("Dolium"));
    assert!(talk.ask("memory stats").contains("keys.count"));
    assert!(talk.ask("config get *").contains("port"));
    assert!(talk.ask("command docs get").contains("summary"));
    assert!(talk.ask("time").starts_with("*2\r\n$10\r\n1700000000\r\n"));
    assert!(talk.ask("shutdown").starts_with("-ERR Errors trying to SHUTDOWN"));
    assert_eq!(talk.ask("client id"), ":1\r\n");
    assert_eq!(talk.ask("client setinfo lib-name x"), "+OK\r\n");
    assert_eq!(talk.ask("client no-evict on"), "+OK\r\n");
    assert_eq!(talk.ask("command count"), talk.ask("command count"));
    talk.ask("set k v");
    assert!(talk.ask("memory usage k").starts_with(':'));
}
