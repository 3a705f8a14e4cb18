//! In a store that is full, what is written all the time stays as well as what is read.
//!
//! Eviction went by reads: a counter that was incremented all the time, a list that was pushed to, a value that was
//! set anew each second went like keys that nobody asks for (decision 157).

mod conversation;
mod host;

use conversation::Conversation;
use dolium_engine::Policy;

pub const NOW: u64 = 1_700_000_000_000;
const MEMORY: u64 = 16 << 20;
const KEYS: usize = 20;
/// What is stored for the sake of nothing between two uses of a key.
const OTHERS: usize = 100;

fn ask(talk: &mut Conversation, words: &[&str]) -> String {
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    talk.ask(&text)
}

/// Uses some keys again and again while others come, some five times as many as fit. Returns how many uses there
/// were, and how many of them found that their key was gone.
fn gone(kind: &str, command: &str) -> (usize, usize) {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(MEMORY);
    talk.engine().set_policy(Policy::AllKeysLru);
    let make = |talk: &mut Conversation, key: &str| {
        let made = match kind {
            "list" => ask(talk, &["RPUSH", key, "a"]),
            "set" => ask(talk, &["SADD", key, "a"]),
            _ => ask(talk, &["SET", key, "1"]),
        };
        assert!(!made.starts_with('-'), "{made}");
    };
    let names: Vec<String> = (0..KEYS).map(|number| format!("key {number}")).collect();
    names.iter().for_each(|key| make(&mut talk, key));
    let value = "o".repeat(4000);
    let (mut uses, mut gone) = (0, 0);
    for round in 0..200 {
        for number in 0..OTHERS {
            let other = format!("other {round} {number}");
            assert_eq!(ask(&mut talk, &["SET", &other, &value]), "+OK\r\n");
        }
        for key in &names {
            uses += 1;
            if ask(&mut talk, &["EXISTS", key]) == ":0\r\n" {
                gone += 1;
                make(&mut talk, key);
            }
            let words: Vec<&str> =
                command.split(' ').map(|word| if word == "KEY" { key } else { word }).collect();
            let reply = ask(&mut talk, &words);
            assert!(!reply.starts_with('-'), "{command}: {reply}");
        }
    }
    assert!(talk.engine().statistics().evicted > 10_000);
    talk.engine().verify_at_rest().expect("a sound store");
    (uses, gone)
}

#[test]
fn whoever_writes_a_key_or_would_have_keeps_it() {
    for (kind, command) in [
        ("string", "GET KEY"),
        ("string", "SET KEY 2"),
        ("string", "SET KEY 2 XX"),
        ("string", "SETNX KEY 2"),
        ("string", "INCR KEY"),
        ("string", "APPEND KEY 1"),
        ("string", "SETRANGE KEY 0 2"),
        ("string", "STRLEN KEY"),
        ("string", "GETEX KEY"),
        ("string", "EXPIRE KEY 1000"),
        ("string", "PERSIST KEY"),
        ("list", "RPUSH KEY a"),
        ("list", "LSET KEY 0 b"),
        ("set", "SADD KEY a"),
        ("set", "SREM KEY b"),
        ("set", "SUNION KEY KEY"),
    ] {
        let (uses, gone) = gone(kind, command);
        // Of what is young, one may go where there is too little that is not.
        assert!(gone * 500 <= uses, "{command}: {gone} of {uses}");
    }
}

/// As in Redis, to ask for nothing but what there is about a key is no use of it.
#[test]
fn whoever_only_asks_about_a_key_does_not_keep_it() {
    for command in ["EXISTS KEY", "EXISTS KEY KEY", "TTL KEY", "TYPE KEY", "OBJECT ENCODING KEY"] {
        let (uses, gone) = gone("string", command);
        assert!(gone >= 2 * KEYS, "{command}: {gone} of {uses}");
    }
}
