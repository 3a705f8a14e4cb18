//! What is told of keys that are over and have not been met yet, as Redis 7.0.15 tells it. The cases under `spec`
//! cannot: the servers remove such keys by themselves, within moments.

mod conversation;
mod host;

use conversation::Conversation;

pub const NOW: u64 = 1_700_000_000_000;

fn counted(talk: &Conversation) -> (u64, u64, u64) {
    let counted = talk.engine().statistics();
    (counted.hits, counted.misses, counted.expired)
}

#[test]
fn scan_misses_keys_whose_type_it_wants_to_know() {
    for (request, names, told) in [
        ("SCAN 0 COUNT 1000", 2, (0, 0, 0)),
        ("SCAN 0 COUNT 1000 MATCH *", 2, (0, 0, 0)),
        ("SCAN 0 COUNT 1000 TYPE string", 1, (2, 3, 3)),
        ("SCAN 0 COUNT 1000 TYPE list", 0, (2, 3, 3)),
        ("SCAN 0 COUNT 1000 TYPE string MATCH k*", 1, (1, 2, 2)),
        ("SCAN 0 COUNT 1000 TYPE string MATCH z*", 0, (0, 0, 0)),
    ] {
        let mut talk = Conversation::begin();
        for words in ["PSETEX k1 10 v", "PSETEX k2 10 v", "PSETEX o 10 v", "SET k3 v", "SADD s a"] {
            assert!(!talk.ask(words).starts_with('-'), "{words}");
        }
        talk.now += 11;
        // The first removes what it has missed, and the second does not miss it again.
        for (misses, expired) in [(told.1, told.2), (0, 0)] {
            let before = counted(&talk);
            let reply = talk.ask(request);
            assert!(reply.starts_with(&format!("*2\r\n$1\r\n0\r\n*{names}\r\n")), "{reply}");
            let after = counted(&talk);
            let since = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
            assert_eq!(since, (told.0, misses, expired), "{request}");
        }
    }
}

#[test]
fn memory_usage_tells_of_it_while_it_takes_memory() {
    let mut talk = Conversation::begin();
    talk.ask("PSETEX k 10 v");
    let usage = talk.ask("MEMORY USAGE k");
    assert!(usage.starts_with(':'), "{usage}");
    talk.now += 11;
    let before = counted(&talk);
    assert_eq!(talk.ask("MEMORY USAGE k"), usage);
    assert_eq!(counted(&talk), before, "it is no look at the key");
    talk.ask("GET k");
    assert_eq!(talk.ask("MEMORY USAGE k"), "$-1\r\n");
}
