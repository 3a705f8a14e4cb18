//! What the ring's models play, whichever checker runs them. A sleeper whose bell nobody rings is a
//! deadlock, and both checkers report it.

use crate::end::RingEnd;
use crate::layout::RingPlan;
use crate::{AtomicU64, Condvar, Mutex, every_order, some_orders, thread};
use std::sync::Arc;

type Memory = Arc<Box<[AtomicU64]>>;

fn memory(plan: &RingPlan) -> Memory {
    Arc::new((0..plan.words()).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().into_boxed_slice())
}

/// The doorbell: bytes on a socket. Rung before anybody waits, it is heard at the next wait.
struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn new() -> Arc<Bell> {
        Arc::new(Bell { rung: Mutex::new(false), heard: Condvar::new() })
    }

    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.heard.notify_one();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.heard.wait(rung).unwrap();
        }
        *rung = false;
    }
}

/// One side: its end, its own bell, and the bell of the other.
pub struct Side {
    end: RingEnd<Memory>,
    mine: Arc<Bell>,
    theirs: Arc<Bell>,
}

pub fn sides(plan: &RingPlan) -> (Side, Side) {
    let memory = memory(plan);
    let (a, b) = (Bell::new(), Bell::new());
    (
        Side { end: RingEnd::client(memory.clone(), plan), mine: a.clone(), theirs: b.clone() },
        Side { end: RingEnd::server(memory, plan), mine: b, theirs: a },
    )
}

impl Side {
    fn ring_if_needed(&mut self) {
        if self.end.bell_needed() {
            self.theirs.ring();
        }
    }

    fn sleep(&mut self, more_to_send: bool) {
        if self.end.prepare_sleep(more_to_send).unwrap() {
            self.mine.wait();
            self.end.awake();
        }
    }

    pub fn send_all(&mut self, bytes: &[u8]) {
        let mut sent = 0;
        while sent < bytes.len() {
            let n = self.end.send(&bytes[sent..]).unwrap();
            self.ring_if_needed();
            sent += n;
            if n == 0 {
                self.sleep(true);
            }
        }
    }

    pub fn receive_all(&mut self, len: usize) -> Vec<u8> {
        let mut got = Vec::new();
        while got.len() < len {
            let n = self.end.receive(&mut got, len).unwrap();
            self.ring_if_needed();
            if n == 0 {
                self.sleep(false);
            }
        }
        got
    }
}

/// A message of one word, and a server that sleeps until it comes.
#[test]
fn a_sleeping_server_is_woken_by_data() {
    every_order(|| {
        let (mut client, mut server) = sides(&RingPlan::of(8, 8));
        let sender = thread::spawn(move || client.send_all(b"abc"));
        assert_eq!(server.receive_all(3), b"abc");
        sender.join().unwrap();
    });
}

/// Two messages that share a word: the second store of the word must not hurt the first message.
#[test]
fn messages_that_share_a_word_arrive_whole() {
    every_order(|| {
        let (mut client, mut server) = sides(&RingPlan::of(8, 8));
        let sender = thread::spawn(move || {
            client.send_all(b"ab");
            client.send_all(b"cd");
        });
        assert_eq!(server.receive_all(4), b"abcd");
        sender.join().unwrap();
    });
}

/// More than fits: the sender sleeps for space, the receiver for data, and the lane wraps. Under
/// loom this has too many orders to look at all of them: three preemptions are looked at.
#[test]
fn a_request_longer_than_the_ring_streams_through() {
    some_orders(|| {
        let (mut client, mut server) = sides(&RingPlan::of(8, 8));
        let sender = thread::spawn(move || client.send_all(b"abcdefghij"));
        assert_eq!(server.receive_all(10), b"abcdefghij");
        sender.join().unwrap();
    });
}

/// A request and its reply, each side asleep while the other works.
#[test]
fn an_answer_wakes_who_asked() {
    every_order(|| {
        let (mut client, mut server) = sides(&RingPlan::of(8, 8));
        let asker = thread::spawn(move || {
            client.send_all(b"ask");
            client.receive_all(2)
        });
        assert_eq!(server.receive_all(3), b"ask");
        server.send_all(b"ok");
        assert_eq!(asker.join().unwrap(), b"ok");
    });
}
