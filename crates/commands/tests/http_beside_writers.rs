//! Web requests for a key that another client is writing.
//!
//! A value has no unique number until it is asked for one, and a GET first asks and then reads: a value that came
//! in between was answered without its ETag, and a client that was to send it back under `If-Match` could not.

mod http_harness;

use dolium_engine::{Db, Put, Value};
use http_harness::{Web, tag_of};
use std::sync::atomic::{AtomicBool, Ordering};

const READS: usize = 20_000;

/// Ends the other thread, also when a read was not as it should be.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `reads` while another thread stores values of `/keys/a`.
fn beside_a_writer(value: &[u8], reads: impl FnOnce(&mut Web)) {
    let mut web = Web::new();
    let (engine, now) = (web.session.engine().clone(), web.now);
    assert_eq!(web.put("/keys/a", "", "first").0, 201);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = engine.session().expect("a second session");
            let key = engine.key(b"a");
            while !is_over.load(Ordering::Relaxed) {
                let put = Put::plain(Value::Bytes(value));
                session.write(Db(0), &key, now).put(Db(0), &key, &put).expect("there is room");
            }
        });
        let _ends = Ends(&is_over);
        reads(&mut web);
    });
    assert_eq!(engine.verify(), Ok(()));
}

#[test]
fn a_value_is_never_told_without_its_tag() {
    for method in ["GET", "HEAD"] {
        let request = format!("{method} /keys/a HTTP/1.1\r\nHost: x\r\n\r\n");
        beside_a_writer(b"other", |web| {
            for _ in 0..READS {
                let (status, head, body) = web.send(&request);
                assert_eq!((status, head.contains("\r\nETag: ")), (200, true), "{head}");
                assert!(head.contains("\r\nContent-Length: 5"), "{head}");
                let is_whole =
                    matches!((method, &*body), ("HEAD", "") | ("GET", "first" | "other"));
                assert!(is_whole, "{body}");
            }
        });
    }
}

/// The tag is that of the value that came with it: of the steps of two who count, none is lost.
#[test]
fn a_tag_is_that_of_its_value() {
    let mut web = Web::new();
    let (engine, now) = (web.session.engine().clone(), web.now);
    assert_eq!(web.put("/keys/n", "", "0").0, 201);
    let is_over = AtomicBool::new(false);
    let (by_web, by_other) = std::thread::scope(|scope| {
        let ends = Ends(&is_over);
        let other = scope.spawn(|| {
            let session = engine.session().expect("a second session");
            let key = engine.key(b"n");
            let mut steps = 0;
            while !is_over.load(Ordering::Relaxed) {
                let (mut guard, mut text) = (session.write(Db(0), &key, now), Vec::new());
                guard.value(Db(0), &key, &mut text);
                let text = next(&text);
                let put = Put::plain(Value::Bytes(&text));
                guard.put(Db(0), &key, &put).expect("there is room");
                drop(guard);
                steps += 1;
                // Faster, and no number would hold until it is used.
                (0..200).for_each(|_| std::hint::spin_loop());
            }
            steps
        });
        let mut steps = 0;
        for _ in 0..READS {
            let (status, head, body) = web.get("/keys/n");
            assert_eq!(status, 200);
            let condition = format!("If-Match: {}\r\n", tag_of(&head));
            let body = String::from_utf8(next(body.as_bytes())).expect("text");
            match web.put("/keys/n", &condition, &body).0 {
                204 => steps += 1,
                status => assert_eq!(status, 412),
            }
        }
        drop(ends);
        (steps, other.join().expect("the other one who counts"))
    });
    assert!(by_web > 0, "of {by_other} steps none was the web's");
    assert_eq!(web.get("/keys/n").2, (by_web + by_other).to_string());
}

fn next(text: &[u8]) -> Vec<u8> {
    let number = str::from_utf8(text).expect("text").parse::<u64>().expect("a number");
    (number + 1).to_string().into_bytes()
}
