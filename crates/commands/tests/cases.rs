//! What commands answer, byte by byte: the cases were recorded from Redis 7.0.15.
//!
//! A case file is a conversation. `# title` begins a new connection to an empty store, `> ...` is
//! a request as one would type it, and the lines under it are the reply as it travels.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_protocol::resp::Version;

/// One moment for all: nothing in a case may depend on time passing.
pub const NOW: u64 = 1_700_000_000_000;

fn check(cases: &str, version: Version) {
    let mut conversation = Conversation::speaking(version);
    let mut lines = cases.lines().peekable();
    let (mut title, mut wrong) = ("", String::new());
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("# ") {
            title = name;
            conversation = Conversation::speaking(version);
            continue;
        }
        let request = line.strip_prefix("> ").expect("a case begins with `> `");
        let mut expected = String::new();
        while let Some(reply) = lines.next_if(|l| !l.starts_with("> ") && !l.starts_with("# ")) {
            expected.push_str(reply);
            expected.push_str("\r\n");
        }
        let answer = conversation.ask(request);
        if answer != expected {
            wrong += &format!("{title}: > {request}\n  is  {answer:?}\n  not {expected:?}\n");
        }
        assert_eq!(conversation.engine().verify(), Ok(()), "{title}: > {request}");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn strings() {
    check(include_str!("cases/strings.case"), Version::V2);
}

#[test]
fn keys() {
    check(include_str!("cases/keys.case"), Version::V2);
}

#[test]
fn sessions() {
    check(include_str!("cases/session.case"), Version::V2);
}

#[test]
fn version_3() {
    check(include_str!("cases/resp3.case"), Version::V3);
}
