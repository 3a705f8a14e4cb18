//! Commands of many keys when memory ends: all of them are stored, or none.
//!
//! Room was made for the bytes of the arguments. Many tiny items take several times as much, so that
//! MSETNX stored the first of them, answered OOM, and found "them" there when it was tried again.

mod conversation;
mod host;

use conversation::Conversation;
use std::fmt::Write;

pub const NOW: u64 = 1_700_000_000_000;

/// Twice what is kept free beside the arguments, as items of 24 bytes and their places in the index.
const PAIRS: usize = 60_000;
const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

fn request(words: impl ExactSizeIterator<Item = String>) -> String {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        // A String takes whatever is written to it.
        let _ = write!(text, "${}\r\n{word}\r\n", word.len());
    }
    text
}

/// Of some pairs, of which an argument has seven bytes.
fn pairs(command: &str, numbers: std::ops::Range<usize>) -> String {
    let mut words = vec![command.to_owned()];
    for number in numbers {
        words.extend([format!("k{number:05}"), "1".to_owned()]);
    }
    request(words.into_iter())
}

fn keys(talk: &mut Conversation) -> usize {
    let answer = talk.ask("dbsize");
    answer[1..].trim_end().parse().expect("a number of keys")
}

/// A store of 8 MiB with so many values of 256 KiB in it, or as many as there is room for.
fn with_little_memory(values: usize) -> Conversation {
    let mut talk = Conversation::begin();
    talk.engine().set_max_memory(8 << 20);
    for number in 0..values {
        let words = ["SET".to_owned(), format!("large {number}"), "x".repeat(256 << 10)];
        let answer = talk.ask(&request(words.into_iter()));
        assert!(answer == "+OK\r\n" || answer == OOM, "{answer}");
    }
    talk
}

#[test]
fn msetnx_of_many_tiny_pairs() {
    let (mut stored, mut refused) = (0, 0);
    for values in (0..30).step_by(2) {
        let mut talk = with_little_memory(values);
        let before = keys(&mut talk);
        let answer = talk.ask(&pairs("MSETNX", 0..PAIRS));
        match answer.as_str() {
            ":1\r\n" => {
                stored += 1;
                assert_eq!(keys(&mut talk), before + PAIRS);
            }
            refusal => {
                refused += 1;
                assert_eq!((refusal, keys(&mut talk)), (OOM, before), "beside {values} values");
            }
        }
        assert_eq!(talk.engine().verify(), Ok(()));
    }
    assert!(stored > 0 && refused > 0, "{stored} times stored, {refused} times refused");
}

#[test]
fn a_transaction_of_many_tiny_pairs() {
    let (mut stored, mut refused) = (0, 0);
    for values in (0..30).step_by(2) {
        let mut talk = with_little_memory(values);
        let before = keys(&mut talk);
        talk.ask("multi");
        talk.ask(&pairs("MSET", 0..PAIRS / 2));
        talk.ask(&pairs("MSET", PAIRS / 2..PAIRS));
        let answer = talk.ask("exec");
        match answer.as_str() {
            "*2\r\n+OK\r\n+OK\r\n" => {
                stored += 1;
                assert_eq!(keys(&mut talk), before + PAIRS);
            }
            refusal => {
                refused += 1;
                assert!(refusal.starts_with("-EXECABORT"), "{refusal} beside {values} values");
                assert_eq!(keys(&mut talk), before);
            }
        }
    }
    assert!(stored > 0 && refused > 0, "{stored} times stored, {refused} times refused");
}
