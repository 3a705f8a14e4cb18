//! Messages to subscribers who do not read: memory stays near `client-buffers-max`, however many there are.
//!
//! Once all that had been published in a row was written to each subscriber before anybody was closed for it, and
//! those who had been chosen to go were written to as well: 200 silent subscribers and 30 MB of messages took
//! 1.9 GB beside a budget of 64 MB. One test alone in its process, for it looks at the memory of that.

mod door;

use door::House;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::time::{Duration, Instant};

const MB: usize = 1 << 20;
const SUBSCRIBERS: usize = 100;
const MESSAGES: usize = 40;
const MESSAGE: usize = MB / 2;

/// Memory of this process that is its own, at most so far.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse::<usize>().expect("kB") * 1024
}

#[test]
fn memory_stays_near_the_budget_where_many_subscribers_do_not_read() {
    let house = House::open(&["threads 2", "maxmemory 64mb", "client-buffers-max 8mb"]);
    let mut silent: Vec<door::Client> = (0..SUBSCRIBERS)
        .map(|_| {
            let client = house.client();
            set_socket_recv_buffer_size(&client.socket, 4096).expect("a small socket");
            client
        })
        .collect();
    for client in &mut silent {
        client.ask("SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    }
    let mut reader = house.client();
    reader.ask("PING\r\n", "+PONG\r\n");
    let mut publisher = house.client();
    let payload = "m".repeat(MESSAGE);
    let request = format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n${MESSAGE}\r\n{payload}\r\n");
    let before = peak();
    for _ in 0..MESSAGES {
        publisher.send(request.as_bytes());
    }
    let begun = Instant::now();
    reader.ask("PING\r\n", "+PONG\r\n");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // It gets as far as the last message.
    let mut replies = Vec::new();
    while replies.len() < MESSAGES {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.extend(publisher.take(1));
        }
        replies.push(line);
    }
    let begun = Instant::now();
    let buffers = &house.running.server.buffers;
    while buffers.used() > 8 * MB as u64 || buffers.leaving() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} bytes", buffers.used());
        std::thread::sleep(Duration::from_millis(5));
    }
    // Beside the budget there are the messages that lie in the threads' mail, once each, the publisher's requests and
    // one message a thread that is being written; and what the allocator has not given back.
    let took = (peak() - before) / MB;
    let surplus = MESSAGES * MESSAGE / MB + 16;
    assert!(took < 8 + surplus + 8, "{took} MiB");
    assert!(house.running.server.clients.len() < 2 + SUBSCRIBERS as u64, "somebody was closed");
    reader.ask("PING\r\n", "+PONG\r\n");
}
