//! Results of sets that a transaction stores, where memory is full of what may go: no more goes than for
//! what they take.
//!
//! The results of one key were added up, although each takes the place of the one before: for sixty of a
//! megabyte a store of 64 lost all that could go. And where their sum was more than there can be, all of
//! it went before that was seen.
//!
//! How much goes for one large block among smaller ones is the engine's choice, so two transactions are
//! compared.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_engine::{Engine, EngineOptions, Policy};

pub const NOW: u64 = 1_700_000_000_000;

/// Of the set `a`, which takes more than a megabyte.
const MEMBERS: usize = 60_000;
const FILLER_BYTES: usize = 10_000;
const MEMORY_BYTES: u64 = 24 << 20;
/// More results than the memory has room for.
const TOO_MANY: usize = 60;

/// A store with two large sets that have nothing in common, and full of strings that may go.
fn full_store() -> Conversation {
    let options = EngineOptions {
        max_bytes: 64 << 20,
        shards: 16,
        policy: Policy::VolatileLru,
        ..Default::default()
    };
    let engine = Engine::create(options).expect("an arena of 64 MiB");
    engine.set_max_memory(MEMORY_BYTES);
    let mut talk = Conversation::with(&engine, 1);
    for (key, numbers) in [("a", 0..MEMBERS), ("b", MEMBERS..2 * MEMBERS)] {
        for first in numbers.clone().step_by(1000) {
            let some: Vec<_> = (first..first + 1000).map(|n| format!("{n:012}")).collect();
            assert_eq!(talk.ask(&format!("SADD {key} {}", some.join(" "))), ":1000\r\n");
        }
    }
    let filler = "x".repeat(FILLER_BYTES);
    for number in 0.. {
        assert_eq!(talk.ask(&format!("SET f{number} {filler} EX 100000")), "+OK\r\n");
        if evicted(&talk) > 50 {
            break;
        }
    }
    talk
}

fn evicted(talk: &Conversation) -> u64 {
    talk.engine().statistics().evicted
}

/// The replies to commands in one transaction on a full store, and how many items went for them.
fn exec(commands: impl Iterator<Item = String>) -> (Vec<String>, u64) {
    let mut talk = full_store();
    let before = evicted(&talk);
    assert_eq!(talk.ask("MULTI"), "+OK\r\n");
    for command in commands {
        assert_eq!(talk.ask(&command), "+QUEUED\r\n");
    }
    let reply = talk.ask("EXEC");
    assert_eq!(talk.engine().verify(), Ok(()));
    let replies = reply.split("\r\n").skip(1).filter(|line| !line.is_empty());
    (replies.map(str::to_owned).collect(), evicted(&talk) - before)
}

/// What goes for the arguments alone, of which nothing is stored.
fn for_the_arguments() -> u64 {
    let (replies, went) = exec((10..10 + TOO_MANY).map(|n| format!("SINTERSTORE t{n} n m")));
    assert_eq!(replies, vec![":0"; TOO_MANY]);
    went
}

#[test]
fn a_key_that_is_stored_again_and_again_takes_what_two_results_take() {
    let unions = |times| {
        let (replies, went) = exec((0..times).map(|_| "SUNIONSTORE t a".to_owned()));
        assert_eq!(replies, vec![format!(":{MEMBERS}"); times]);
        went
    };
    let (twice, often) = (unions(2), unions(12));
    assert!(often < twice + twice / 20 + 50, "{twice} items went for two, {often} for twelve");
}

#[test]
fn for_empty_results_nothing_goes() {
    let (replies, went) = exec((10..10 + TOO_MANY).map(|n| format!("SINTERSTORE t{n} a b")));
    assert_eq!(replies, vec![":0"; TOO_MANY]);
    let arguments = for_the_arguments();
    assert!(went < arguments + arguments / 20 + 50, "{went} items went, {arguments} for arguments");
}

#[test]
fn for_more_than_there_can_be_nothing_goes() {
    let (replies, went) = exec((10..10 + TOO_MANY).map(|n| format!("SUNIONSTORE t{n} a")));
    let refused = replies.iter().filter(|reply| reply.starts_with("-OOM")).count();
    assert!(refused > TOO_MANY / 2, "{replies:?}");
    let arguments = for_the_arguments();
    assert!(went < arguments + arguments / 20 + 50, "{went} items went, {arguments} for arguments");
}
