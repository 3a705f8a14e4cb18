//! What happens to a key between the look that finds a large value and its being lent.

mod conversation;
mod host;

use conversation::Conversation;
use dolium_commands::outlet::Outlet;
use dolium_engine::{Db, Found, Key, Millis};

pub const NOW: u64 = 1_700_000_000_000;

/// Lends nothing: before it looks, another client has done this.
struct Meddled<'a> {
    other: Conversation,
    requests: &'a [&'a str],
}

impl Outlet for Meddled<'_> {
    fn has_room(&self) -> bool {
        true
    }

    fn lend(
        &mut self,
        _: Db,
        _: &Key<'_>,
        _: Millis,
        _: &mut Vec<u8>,
        _: &mut dyn FnMut(&Found, &mut Vec<u8>) -> bool,
    ) -> bool {
        for request in self.requests {
            self.other.ask(request);
        }
        false
    }

    fn may_ask_again(&mut self, _: usize) {}

    fn bytes(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        0
    }

    fn take_back(&mut self, _: usize) {}

    fn close(&mut self) {}
}

/// Of a key that had become a list the answer was a length, and no bytes: the client took the
/// replies that followed for the value.
#[test]
fn get_answers_what_the_key_has_become() {
    let large = "v".repeat(20_000);
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    let cases: [(&[&str], &str); 4] = [
        (&["del k", "rpush k x"], wrong_type),
        (&["del k"], "$-1\r\n"),
        (&["set k short"], "$5\r\nshort\r\n"),
        (&["set k 17"], "$2\r\n17\r\n"),
    ];
    for (requests, answer) in cases {
        let mut talk = Conversation::begin();
        assert_eq!(talk.ask(&format!("set k {large}")), "+OK\r\n");
        let mut meddled = Meddled { other: Conversation::beside(&talk), requests };
        assert_eq!(talk.ask_past(Some(&mut meddled), "get k"), answer, "after {requests:?}");
    }
}
