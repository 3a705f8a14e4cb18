//! SRANDMEMBER of a negative count, whose reply may be as long as a client likes: while it is written,
//! others go on.
//!
//! It was written under the lock of the set's shard. Of a thousand members ten million were asked for, and
//! for seconds nobody else could write to any key of that shard.

mod conversation;
mod host;

use conversation::Conversation;
use std::sync::mpsc::channel;
use std::time::Duration;

pub const NOW: u64 = 1_700_000_000_000;

const MEMBERS: usize = 1000;
/// Longer than anything takes, but for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// A set of numbers, and another client.
fn begun() -> (Conversation, Conversation) {
    let mut talk = Conversation::begin();
    let numbers: Vec<String> = (0..MEMBERS).map(|number| number.to_string()).collect();
    assert_eq!(talk.ask(&format!("SADD s {}", numbers.join(" "))), format!(":{MEMBERS}\r\n"));
    let other = Conversation::beside(&talk);
    (talk, other)
}

/// Asks for so many members; when the first of them is drawn another client adds one to the set.
fn drawn_while_another_writes(count: usize) -> Vec<usize> {
    let (mut talk, mut other) = begun();
    host::AT_RANDOM.set(Some(Box::new(move || {
        let (done, is_done) = channel();
        // Not joined: it may have to wait for the lock until this thread has ended.
        std::thread::spawn(move || done.send(other.ask("SADD s 1000")));
        let answer = is_done.recv_timeout(PATIENCE);
        assert_eq!(
            answer.as_deref(),
            Ok(":1\r\n"),
            "of {count} members one is drawn under the lock"
        );
    })));
    let reply = talk.ask(&format!("SRANDMEMBER s -{count}"));
    assert!(host::AT_RANDOM.take().is_none(), "no random number was asked for");
    assert_eq!(talk.ask("SCARD s"), format!(":{}\r\n", MEMBERS + 1));
    let mut lines = reply.split("\r\n");
    assert_eq!(lines.next(), Some(format!("*{count}").as_str()));
    let members = lines.filter(|line| !line.starts_with('$') && !line.is_empty());
    members.map(|member| member.parse().expect("a number")).collect()
}

#[test]
fn others_write_while_members_are_drawn() {
    for count in [1, MEMBERS / 10, MEMBERS, 100_000] {
        let drawn = drawn_while_another_writes(count);
        assert_eq!(drawn.len(), count);
        assert!(drawn.iter().all(|member| *member <= MEMBERS));
    }
}

/// Drawn from copies, each member is still as likely as another.
#[test]
fn every_member_is_drawn_about_as_often() {
    let (mut talk, _) = begun();
    for (count, times) in [(MEMBERS / 10, 1000), (100 * MEMBERS, 1)] {
        let mut often = vec![0; MEMBERS];
        for _ in 0..times {
            let reply = talk.ask(&format!("SRANDMEMBER s -{count}"));
            let members = reply.split("\r\n").skip(1).filter(|line| !line.starts_with('$'));
            for member in members.filter(|line| !line.is_empty()) {
                often[member.parse::<usize>().expect("a number")] += 1;
            }
        }
        // A hundred of each are expected, give or take ten.
        assert_eq!(often.iter().sum::<usize>(), 100 * MEMBERS);
        assert!(often.iter().all(|often| (40..200).contains(often)), "{often:?}");
    }
}
