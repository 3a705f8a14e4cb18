//! A part of a string that is changed where it stands takes no other copy of the string.
//!
//! Room was made for one all the same: five bytes behind ten megabytes drove out ten megabytes of other values, or
//! were refused where nothing may go.

mod conversation;
mod host;
mod memcache_harness;

use conversation::Conversation;
use dolium_engine::{Db, Policy, Put, Value};
use memcache_harness::Connection;

pub const NOW: u64 = 1_700_000_000_000;
const MEMORY: u64 = 64 << 20;
const LARGE: usize = 10_000_000;
const SMALL: usize = 20_000;
/// So many small ones are a fifth of the large one.
const FEW: usize = 100;
const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

const CHANGES: [(&[&str], &str); 4] = [
    (&["APPEND", "k", "12345"], ":10000005\r\n"),
    (&["SETRANGE", "k", "7", "12345"], ":10000000\r\n"),
    (&["SETBIT", "k", "7", "1"], ":0\r\n"),
    (&["SETRANGE", "k", "9999999", "12345"], ":10000004\r\n"),
];

fn ask(talk: &mut Conversation, words: &[&str]) -> String {
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    talk.ask(&text)
}

fn change(talk: &mut Conversation, words: &[&str], in_exec: bool) -> String {
    if !in_exec {
        return ask(talk, words);
    }
    assert_eq!(ask(talk, &["MULTI"]), "+OK\r\n");
    assert_eq!(ask(talk, words), "+QUEUED\r\n");
    let reply = ask(talk, &["EXEC"]);
    reply.strip_prefix("*1\r\n").expect("one reply").to_owned()
}

/// A large string in a store that is full of small ones.
fn full_store(policy: Policy) -> Conversation {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(MEMORY);
    talk.engine().set_policy(policy);
    assert_eq!(ask(&mut talk, &["SET", "k", &"x".repeat(LARGE)]), "+OK\r\n");
    let small = "s".repeat(SMALL);
    for number in 0.. {
        let reply = ask(&mut talk, &["SET", &format!("other {number}"), &small]);
        if talk.engine().statistics().evicted > 0 || reply == OOM {
            break;
        }
        assert_eq!(reply, "+OK\r\n");
    }
    talk
}

#[test]
fn little_is_brought_where_nothing_may_go() {
    for (words, wanted) in CHANGES {
        for in_exec in [false, true] {
            let mut talk = full_store(Policy::NoEviction);
            // There is no room for another of the small ones.
            assert_eq!(change(&mut talk, words, in_exec), wanted, "{words:?}");
            // All of it finds no room.
            let whole = "x".repeat(100_000);
            assert_eq!(ask(&mut talk, &["APPEND", "k", &whole]), OOM);
            // Where memory has ended for the smallest, too, they are refused as any command that may take some.
            let stored = (0..).take_while(|number| {
                ask(&mut talk, &["SET", &format!("tiny {number}"), "tiny"]) == "+OK\r\n"
            });
            assert!(stored.count() > 0);
            assert_eq!(ask(&mut talk, words), OOM, "{words:?}");
            talk.engine().verify_at_rest().expect("a sound store");
        }
    }
}

#[test]
fn little_goes_for_a_little() {
    for (words, wanted) in CHANGES {
        for in_exec in [false, true] {
            let mut talk = full_store(Policy::AllKeysLru);
            let before = talk.engine().statistics().evicted;
            for _ in 0..5 {
                assert!(change(&mut talk, words, in_exec).starts_with(':'), "{words:?}");
            }
            let gone = talk.engine().statistics().evicted - before;
            assert!(gone < FEW as u64, "{words:?}: {gone}");
            // What finds no room where it stands still has it made.
            let longer = LARGE + 10_000_000;
            let reply =
                change(&mut talk, &["SETRANGE", "k", &(longer - 1).to_string(), "x"], in_exec);
            assert_eq!(reply, format!(":{longer}\r\n"));
            let gone = talk.engine().statistics().evicted - before;
            assert!(gone > FEW as u64, "{wanted}: {gone}");
            talk.engine().verify_at_rest().expect("a sound store");
        }
    }
}

#[test]
fn memcached_puts_little_behind_a_large_item() {
    for policy in [Policy::NoEviction, Policy::AllKeysLru] {
        let mut c = Connection::new();
        c.engine.set_max_memory(MEMORY);
        c.engine.set_policy(policy);
        let store = |name: &str, bytes: usize| {
            let (key, value) = (c.engine.key(name.as_bytes()), vec![b'x'; bytes]);
            let has_room = c.session.make_room(bytes, c.now).is_ok();
            let put = Put::plain(Value::Bytes(&value));
            has_room && c.session.write(Db(0), &key, c.now).put(Db(0), &key, &put).is_ok()
        };
        assert!(store("k", 900_000));
        let mut number = 0;
        while c.engine.statistics().evicted == 0 && store(&format!("other {number}"), SMALL) {
            number += 1;
        }
        let before = c.engine.statistics().evicted;
        for _ in 0..5 {
            c.expect("append k 0 0 5\r\n12345\r\n", "STORED\r\n");
        }
        let gone = c.engine.statistics().evicted - before;
        assert!(gone < 12, "{gone}");
        c.engine.verify_at_rest().expect("a sound store");
    }
}
