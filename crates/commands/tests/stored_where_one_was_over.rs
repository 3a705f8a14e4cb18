//! What is told of a result that is stored where a key was over, which nobody had met: the events of Redis
//! 7.0.15, in its order.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_engine::{Delivery, Engine, EngineOptions, Event, Next};

pub const NOW: u64 = 1_700_000_000_000;

#[test]
fn an_empty_result_deletes_what_was_over_and_another_takes_its_place() {
    use Event::{Del, Expired, SDiffStore, SInterStore, SUnionStore};
    let cases: [(&str, &str, &[Event]); 9] = [
        ("SINTERSTORE d a e", ":0\r\n", &[Del]),
        ("SUNIONSTORE d n m", ":0\r\n", &[Del]),
        ("SDIFFSTORE d n a", ":0\r\n", &[Del]),
        // Who reads it finds that it is over.
        ("SINTERSTORE d d a", ":0\r\n", &[Expired]),
        ("SDIFFSTORE d a d", ":2\r\n", &[Expired, SDiffStore]),
        ("SUNIONSTORE d d a", ":2\r\n", &[Expired, SUnionStore]),
        ("SINTERSTORE d a b", ":1\r\n", &[Expired, SInterStore]),
        ("SUNIONSTORE d a b", ":3\r\n", &[Expired, SUnionStore]),
        ("SDIFFSTORE d a b", ":1\r\n", &[Expired, SDiffStore]),
    ];
    for (command, reply, told) in cases {
        for old in ["SADD d 7", "SET d x"] {
            let options = EngineOptions {
                max_bytes: 64 << 20,
                shards: 16,
                journal_bytes: 1 << 20,
                ..EngineOptions::default()
            };
            let engine = Engine::create(options).expect("an arena");
            let mut talk = Conversation::with(&engine, 1);
            for words in ["SADD a 1 2", "SADD b 2 3", "SADD e 9", old, "PEXPIRE d 10"] {
                assert!(!talk.ask(words).starts_with('-'), "{words}");
            }
            talk.now += 11;
            let mut changes = engine.names_of_changes(Delivery::Lossless).expect("memory");
            assert_eq!(talk.ask(command), reply, "{command}");
            let mut events = Vec::new();
            while let Next::Change(change) = changes.next() {
                assert_eq!(change.key, b"d", "{command}");
                events.push(change.event);
            }
            assert_eq!(events, told, "{command} over what {old} made");
            engine.verify_at_rest().expect("a sound store");
        }
    }
}
