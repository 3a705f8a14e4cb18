//! Large values from several threads at once, in a store that is full: others go for them, and no store
//! is refused.
//!
//! Room was made for one, and another thread found it and took it: the one for which it was made was
//! told that memory is full, although nine others could still go.

mod conversation;
mod host;
mod http_harness;

use conversation::Conversation;
use dolium_engine::{Engine, EngineOptions, Policy};
use http_harness::{FakeServer, Web};
use std::sync::Arc;

pub const NOW: u64 = 1_700_000_000_000;

const THREADS: u64 = 4;
const STORES: u64 = 300;
/// More than the store has room for.
const KEYS: u64 = 40;
const VALUE_BYTES: usize = 1_000_000;

/// A store of about ten of the values.
fn small_store() -> Arc<Engine> {
    let options = EngineOptions {
        max_bytes: 64 << 20,
        shards: 16,
        policy: Policy::AllKeysLru,
        ..Default::default()
    };
    let engine = Engine::create(options).expect("an arena of 64 MiB");
    engine.set_max_memory(12 << 20);
    engine
}

/// Runs `client` in several threads, each with its number.
fn at_once(engine: &Arc<Engine>, client: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 1..=THREADS {
            let client = &client;
            scope.spawn(move || client(thread));
        }
    });
    assert!(engine.statistics().evicted > 0, "memory has never been full");
    assert_eq!(engine.verify(), Ok(()));
}

fn request(words: &[&str]) -> String {
    let bulks = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), bulks.collect::<String>())
}

/// The reply, or how it begins and how long it is.
fn shortened(reply: &str) -> String {
    match reply.len() {
        0..200 => format!("{reply:?}"),
        len => format!("{:?} and so on, {len} bytes", &reply[..80]),
    }
}

/// Nothing, or one whole value.
fn is_old_value(reply: &str, value: &str) -> bool {
    reply == "$-1\r\n" || reply == format!("${VALUE_BYTES}\r\n{value}\r\n")
}

#[test]
fn redis_commands_get_their_room() {
    let engine = small_store();
    let value = "x".repeat(VALUE_BYTES);
    at_once(&engine, |thread| {
        let mut talk = Conversation::with(&engine, thread);
        for number in 0..STORES {
            let key = format!("key {}", (number * 7 + thread) % KEYS);
            let (key, value) = (key.as_str(), value.as_str());
            // Every thread does all of it, each at its own time.
            let words: &[&str] = match (number + 3 * thread) % 14 {
                0..4 => &["SET", key, value],
                4 => &["SET", key, value, "GET"],
                5 => &["SET", key, value, "EX", "100", "GET"],
                6 => &["SETEX", key, "100", value],
                7 => &["GETSET", key, value],
                8 => &["SETNX", key, value],
                9 => &["MSETNX", key, value],
                10 => &["MSET", key, value],
                11 => &["SETRANGE", key, "0", value],
                // A first time to live makes another item of it.
                12 => &["EXPIRE", key, "100"],
                _ => &["GETEX", key, "PERSIST"],
            };
            let reply = talk.ask(&request(words));
            let is_right = match words[0] {
                "SET" if words.len() == 3 => reply == "+OK\r\n",
                "SETEX" | "MSET" => reply == "+OK\r\n",
                "SET" | "GETSET" | "GETEX" => is_old_value(&reply, value),
                "SETRANGE" => reply == format!(":{VALUE_BYTES}\r\n"),
                _ => reply == ":0\r\n" || reply == ":1\r\n",
            };
            assert!(is_right, "{} {key}: {}", words[0], shortened(&reply));
        }
    });
}

#[test]
fn a_value_put_over_http_gets_its_room() {
    let engine = small_store();
    let value = "x".repeat(VALUE_BYTES);
    at_once(&engine, |thread| {
        let session = engine.session().expect("a session");
        let mut web = Web { session, server: FakeServer { password: false }, now: NOW };
        for number in 0..STORES {
            let path = format!("/keys/{}", (number * 7 + thread) % KEYS);
            let is_conditional = number % 4 == 3;
            let headers = if is_conditional { "If-None-Match: *\r\n" } else { "" };
            let (status, _, body) = web.put(&path, headers, &value);
            let is_right = match status {
                201 => true,
                204 => !is_conditional,
                412 => is_conditional,
                _ => false,
            };
            assert!(is_right, "{path} {headers}: {status} {body}");
        }
    });
}

/// Nothing goes under `noeviction`: what has no room is refused, and once.
#[test]
fn where_nothing_may_go_a_store_is_refused_once() {
    let engine = small_store();
    engine.set_policy(Policy::NoEviction);
    let mut talk = Conversation::with(&engine, 1);
    let value = "x".repeat(VALUE_BYTES);
    let replies: Vec<String> = (0..KEYS)
        .map(|number| talk.ask(&request(&["SET", &format!("key {number}"), &value, "GET"])))
        .collect();
    let oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    let stored = replies.iter().filter(|reply| *reply == "$-1\r\n").count();
    let refused = replies.iter().filter(|reply| *reply == oom).count();
    assert!(stored > 5 && refused > 5, "{stored} stored, {refused} refused");
    assert_eq!(stored + refused, replies.len());
}
