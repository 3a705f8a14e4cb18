//! In a full store under an evicting policy, a command that goes by what its keys hold finds it.
//!
//! Room is made before the locks are taken. A large item goes before its time among small ones, and often it was
//! the very one that the command was about: APPEND then made it anew with its own bytes, RENAME said that there is
//! no such key, and the value was gone.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_engine::Policy;

pub const NOW: u64 = 1_700_000_000_000;
const LARGE: usize = 3_000_000;

fn ask(talk: &mut Conversation, words: &[&str]) -> String {
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    talk.ask(&text)
}

/// A full store with a large value of this kind at `k`, which is not the newest.
fn full_store(kind: &str) -> Conversation {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(64 << 20);
    talk.engine().set_policy(Policy::AllKeysLru);
    let small = "s".repeat(20_000);
    let mut number = 0;
    let mut fill = |talk: &mut Conversation| {
        number += 1;
        assert_eq!(ask(talk, &["SET", &format!("other {number}"), &small]), "+OK\r\n");
    };
    while talk.engine().statistics().evicted == 0 {
        fill(&mut talk);
    }
    let large = "x".repeat(LARGE);
    let made = match kind {
        "string" => ask(&mut talk, &["SET", "k", &large]),
        "list" => ask(&mut talk, &["RPUSH", "k", "first", &large]),
        _ => ask(&mut talk, &["SADD", "k", "first", &large]),
    };
    assert!(!made.starts_with('-'), "{made}");
    (0..50).for_each(|_| fill(&mut talk));
    assert_eq!(ask(&mut talk, &["EXISTS", "k"]), ":1\r\n");
    talk
}

#[test]
fn a_command_finds_its_own_key_in_a_full_store() {
    let cases: [(&str, &[&str], &str); 21] = [
        ("string", &["RENAME", "k", "other"], "+OK"),
        ("string", &["RENAMENX", "k", "another"], ":1"),
        ("string", &["MOVE", "k", "1"], ":1"),
        ("string", &["COPY", "k", "copy"], ":1"),
        ("string", &["APPEND", "k", "yy"], ":3000002"),
        ("string", &["SETRANGE", "k", "5", "y"], ":3000000"),
        ("string", &["SETBIT", "k", "7", "1"], ":0"),
        ("string", &["SET", "k", "new", "XX"], "+OK"),
        ("string", &["SET", "k", "new", "NX"], "$-1"),
        ("string", &["SET", "k", "new", "XX", "KEEPTTL"], "+OK"),
        ("string", &["GETSET", "k", "new"], "$3000000"),
        ("string", &["SETNX", "k", "new"], ":0"),
        ("string", &["MSETNX", "j", "new", "k", "new"], ":0"),
        ("string", &["DOLIUM", "SETFLAGS", "k", "7"], ":1"),
        ("string", &["DOLIUM", "CAS", "k"], ":"),
        ("list", &["LPUSH", "k", "new"], ":3"),
        ("list", &["LINSERT", "k", "BEFORE", "first", "new"], ":3"),
        ("list", &["LMOVE", "k", "target", "LEFT", "LEFT"], "$5"),
        ("set", &["SADD", "k", "new"], ":1"),
        ("set", &["SMOVE", "k", "target", "first"], ":1"),
        ("set", &["SUNIONSTORE", "target", "k"], ":2"),
    ];
    for (kind, words, wanted) in cases {
        for in_exec in [false, true] {
            let mut talk = full_store(kind);
            let reply = if in_exec {
                assert_eq!(ask(&mut talk, &["MULTI"]), "+OK\r\n");
                assert_eq!(ask(&mut talk, words), "+QUEUED\r\n");
                ask(&mut talk, &["EXEC"]).split_off("*1\r\n".len())
            } else {
                ask(&mut talk, words)
            };
            let seen = &reply[..reply.len().min(40)];
            assert!(reply.starts_with(wanted), "{words:?}, in EXEC {in_exec}: {seen}");
            talk.engine().verify_at_rest().expect("a sound store");
        }
    }
}

/// A value that is replaced is as good to evict as any: nothing of it is needed.
#[test]
fn a_value_of_most_of_the_memory_can_be_replaced() {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(64 << 20);
    talk.engine().set_policy(Policy::AllKeysLru);
    let large = "x".repeat(40_000_000);
    for _ in 0..3 {
        assert_eq!(ask(&mut talk, &["SET", "k", &large]), "+OK\r\n");
    }
    // But not what is still needed. Its block has no room for so much.
    let appended = ask(&mut talk, &["APPEND", "k", &"y".repeat(20_000)]);
    assert!(appended.starts_with("-OOM"), "{appended}");
    assert_eq!(ask(&mut talk, &["STRLEN", "k"]), ":40000000\r\n");
}

/// RENAME and MOVE were refused where memory is full, although what they bring they take away again.
#[test]
fn a_key_can_be_renamed_and_moved_where_memory_is_full() {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(16 << 20);
    let value = "v".repeat(2_000);
    let stored = (0..).take_while(|number| {
        ask(&mut talk, &["SET", &format!("key {number}"), &value]) == "+OK\r\n"
    });
    assert!(stored.count() > 1_000);
    assert_eq!(ask(&mut talk, &["RENAME", "key 7", "other"]), "+OK\r\n");
    assert_eq!(ask(&mut talk, &["RENAMENX", "key 8", "another"]), ":1\r\n");
    assert_eq!(ask(&mut talk, &["MOVE", "key 9", "1"]), ":1\r\n");
    assert!(ask(&mut talk, &["COPY", "key 10", "more"]).starts_with("-OOM"));
    talk.engine().verify_at_rest().expect("a sound store");
}
