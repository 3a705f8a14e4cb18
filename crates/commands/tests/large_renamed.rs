//! A large value gets another key where there is no room for another copy of it, and nothing goes for that.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_engine::Policy;

pub const NOW: u64 = 1_700_000_000_000;
const LARGE: usize = 40_000_000;
/// For a store of this length there is no room beside such a value.
const MEMORY: u64 = 64 << 20;

fn ask(talk: &mut Conversation, words: &[&str]) -> String {
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    talk.ask(&text)
}

/// The reply of a command by itself, or of the only one of a transaction.
fn ask_in(talk: &mut Conversation, in_exec: bool, words: &[&str]) -> String {
    if !in_exec {
        return ask(talk, words);
    }
    assert_eq!(ask(talk, &["MULTI"]), "+OK\r\n");
    assert_eq!(ask(talk, words), "+QUEUED\r\n");
    ask(talk, &["EXEC"]).split_off("*1\r\n".len())
}

fn store(policy: Policy, kind: &str) -> Conversation {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(MEMORY);
    talk.engine().set_policy(policy);
    let large = "x".repeat(LARGE);
    let made = match kind {
        "string" => ask(&mut talk, &["SET", "x:tmp", &large]),
        "list" => ask(&mut talk, &["RPUSH", "x:tmp", &large]),
        _ => ask(&mut talk, &["SADD", "x:tmp", &large]),
    };
    assert!(!made.starts_with('-'), "{made}");
    talk
}

#[test]
fn a_value_of_most_of_the_memory_is_renamed_and_moved() {
    for kind in ["string", "list", "set"] {
        for in_exec in [false, true] {
            let mut talk = store(Policy::NoEviction, kind);
            let mut ask = |words: &[&str]| ask_in(&mut talk, in_exec, words);
            assert!(ask(&["COPY", "x:tmp", "x"]).starts_with("-OOM"), "there is room for a copy");
            assert_eq!(ask(&["RENAME", "x:tmp", "x"]), "+OK\r\n");
            assert_eq!(ask(&["RENAMENX", "x", "another name"]), ":1\r\n");
            assert_eq!(ask(&["MOVE", "another name", "1"]), ":1\r\n");
            assert_eq!(ask(&["EXISTS", "x:tmp", "x", "another name"]), ":0\r\n");
            talk.engine().verify_at_rest().expect("a sound store");
            let mut ask = |words: &[&str]| ask_in(&mut talk, false, words);
            assert_eq!(ask(&["SELECT", "1"]), "+OK\r\n");
            let (command, reply) = match kind {
                "string" => ("STRLEN", ":40000000\r\n"),
                "list" => ("LLEN", ":1\r\n"),
                _ => ("SCARD", ":1\r\n"),
            };
            assert_eq!(ask(&[command, "another name"]), reply);
        }
    }
}

/// Room was made for a copy, before it was known that there would be none.
#[test]
fn nothing_goes_for_a_copy_that_is_not_made() {
    for in_exec in [false, true] {
        let mut talk = store(Policy::AllKeysLru, "list");
        let small = "s".repeat(2_000);
        let mut number = 0;
        while talk.engine().statistics().evicted == 0 {
            number += 1;
            assert_eq!(ask(&mut talk, &["SET", &format!("other {number}"), &small]), "+OK\r\n");
        }
        let evicted = talk.engine().statistics().evicted;
        assert_eq!(ask(&mut talk, &["EXISTS", "x:tmp"]), ":1\r\n");
        assert_eq!(ask_in(&mut talk, in_exec, &["RENAME", "x:tmp", "x"]), "+OK\r\n");
        assert_eq!(ask_in(&mut talk, in_exec, &["MOVE", "x", "1"]), ":1\r\n");
        let gone = talk.engine().statistics().evicted - evicted;
        assert!(gone < 200, "{gone} went");
    }
}

/// Every write changes it, and so no client can hold one that is another value's by now.
#[test]
fn a_unique_number_is_another_one_at_another_key() {
    let mut talk = Conversation::begin();
    for value in ["short", &"x".repeat(20_000)] {
        assert_eq!(ask(&mut talk, &["SET", "one", value]), "+OK\r\n");
        let mut seen = vec![ask(&mut talk, &["DOLIUM", "CAS", "one"])];
        for (from, to) in [("one", "two"), ("two", "one"), ("one", "a third name")] {
            assert_eq!(ask(&mut talk, &["RENAME", from, to]), "+OK\r\n");
            let unique = ask(&mut talk, &["DOLIUM", "CAS", to]);
            assert!(unique.starts_with(':') && !seen.contains(&unique), "{unique} of {seen:?}");
            seen.push(unique);
        }
        assert_eq!(ask(&mut talk, &["DEL", "a third name"]), ":1\r\n");
    }
}
