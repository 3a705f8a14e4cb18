//! What asks for several keys sees a key that is renamed from one of them to another once, at any time.

mod door;

use door::House;

const ROUNDS: usize = 20;
const REQUESTS: usize = 2_000;

/// Each reply was as of as many moments as there are keys: a key that went from `b` to `a` behind the look at `a` and
/// before that at `b` was in neither.
#[test]
fn a_key_that_is_renamed_is_counted_once() {
    let house = House::open(&["threads 2"]);
    // Two clients of which one is on each thread, most likely.
    let mut renamers: Vec<_> = (0..2).map(|_| house.client()).collect();
    let mut askers: Vec<_> = (0..4).map(|_| house.client()).collect();
    renamers[0].ask("set a x\r\n", "+OK\r\n");
    for renamer in &mut renamers {
        for round in 0..ROUNDS {
            renamer.send("rename a b\r\nrename b a\r\n".repeat(REQUESTS).as_bytes());
            for asker in &mut askers {
                asker.send("exists a b\r\ntouch b a\r\n".repeat(REQUESTS).as_bytes());
            }
            for asker in &mut askers {
                let replies = ":1\r\n:1\r\n".repeat(REQUESTS);
                let seen = String::from_utf8(asker.take(replies.len())).unwrap();
                assert_eq!(seen.matches(":1").count(), 2 * REQUESTS, "round {round}: {seen}");
            }
            renamer.expect(&"+OK\r\n+OK\r\n".repeat(REQUESTS));
        }
    }
}
