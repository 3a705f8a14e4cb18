//! A change of a key that is there does not evict that key, where memory is in pieces too small for its copy.
#![cfg(not(miri))]

use dolium_engine::*;

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const LARGE: usize = 1_000_000;
const LIMIT: u64 = 64 << 20;

fn put(session: &Session, name: &str, bytes: usize, deadline: Millis) -> Result<(), StoreError> {
    let key = session.engine().key(name.as_bytes());
    let value = vec![7; bytes];
    let put = Put { deadline: Deadline::At(deadline), ..Put::plain(Value::Bytes(&value)) };
    session.write(DB, &key, NOW).put(DB, &key, &put).map(drop)
}

#[test]
fn a_large_key_does_not_go_for_its_own_copy() {
    let mut lost = Vec::new();
    for (filler, lead) in [350_000, 450_000, 500_000, 560_000, 600_000, 700_000, 800_000]
        .into_iter()
        .flat_map(|filler| (0..14).map(move |lead| (filler, lead)))
    {
        let options = EngineOptions { max_bytes: LIMIT, shards: 16, ..Default::default() };
        let engine = Engine::create(options).expect("an arena");
        let session = engine.session().expect("a slot");
        let mut fillers = Vec::new();
        let mut fill = |number: usize| {
            let name = format!("f {number}");
            let is_stored = session.make_room(filler, NOW).is_ok()
                && put(&session, &name, filler, 1_000_000 + number as u64).is_ok();
            if is_stored {
                fillers.push(name);
            }
            is_stored
        };
        (0..lead).for_each(|number| assert!(fill(number)));
        put(&session, "large", LARGE, 9_000_000).expect("memory");
        assert!((lead..).take_while(|number| fill(*number)).count() > 50);
        // What is left at the end.
        for number in 0.. {
            let name = format!("small {number}");
            if put(&session, &name, 100_000, 5_000_000).is_err() {
                break;
            }
        }
        // Its neighbours go, and every third of the others.
        for (number, name) in fillers.iter().enumerate() {
            let is_beside = number + 1 == lead || number == lead;
            if is_beside || number.abs_diff(lead) > 3 && number % 3 == 0 {
                let key = engine.key(name.as_bytes());
                assert!(session.write(DB, &key, NOW).remove(DB, &key, Event::Del));
            }
        }
        engine.set_policy(Policy::VolatileTtl);
        let key = engine.key(b"large");
        let before = engine.statistics();
        let room = session.make_room_beside(DB, &key, LARGE, NOW);
        let after = engine.statistics();
        if session.peek(DB, &key, NOW).is_none() {
            lost.push((
                filler,
                lead,
                room,
                after.evicted - before.evicted,
                after.moved - before.moved,
            ));
        }
        engine.verify_at_rest().expect("a sound store");
    }
    assert!(
        lost.is_empty(),
        "it went for its own copy: {lost:?} (filler, lead, outcome, evicted, moved)"
    );
}
