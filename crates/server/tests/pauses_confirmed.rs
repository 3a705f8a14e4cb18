//! CLIENT PAUSE is answered when nothing runs any more that has not looked for the pause.

#[allow(dead_code)]
mod door;

use door::{Client, House};
use std::time::Duration;

const MEMBERS: usize = 400_000;

fn fill(client: &mut Client, key: &str) {
    for from in (0..MEMBERS).step_by(10_000) {
        let members = (from..from + 10_000).map(|n| format!("$7\r\n{n:07}\r\n"));
        let members: String = members.collect();
        client.ask(&format!("*10002\r\n$4\r\nSADD\r\n$1\r\n{key}\r\n{members}"), ":10000\r\n");
    }
}

/// Whether a command of that name has run to its end, and whether one is held back.
fn state(client: &mut Client, command: &str) -> (bool, bool) {
    client.send(b"INFO commandstats clients\r\nPING\r\n");
    let mut text = Vec::new();
    while !text.ends_with(b"+PONG\r\n") {
        text.extend(client.take(1));
    }
    let text = String::from_utf8(text).expect("text");
    (text.contains(&format!("cmdstat_{command}:")), text.contains("blocked_clients:1\r\n"))
}

/// It was answered at once, and what other threads had begun was stored behind the reply.
#[test]
fn what_had_begun_on_another_thread_is_done_when_a_pause_is_confirmed() {
    let house = House::open(&["threads 2", "maxmemory 900mb"]);
    let mut writer = house.client();
    fill(&mut writer, "a");
    fill(&mut writer, "b");
    // One of them at least is of another thread than the writer.
    for _ in 0..4 {
        let mut other = house.client();
        other.ask("CONFIG RESETSTAT\r\n", "+OK\r\n");
        writer.send(b"SUNIONSTORE d a b\r\n");
        std::thread::sleep(Duration::from_millis(20));
        // What comes behind it in one piece waits with it.
        other.ask("CLIENT PAUSE 100000 WRITE\r\nGET n\r\n", "+OK\r\n$-1\r\n");
        // It has run, or the pause came first and it is held: but it does not run on.
        let mut is_over = state(&mut other, "sunionstore").0;
        while !is_over {
            let (has_run, is_held) = state(&mut other, "sunionstore");
            assert!(!has_run, "the pause was confirmed before");
            is_over = is_held;
        }
        other.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
        writer.expect(&format!(":{MEMBERS}\r\n"));
    }
}

/// Nobody waits in a transaction, nor for other threads where there are none.
#[test]
fn a_pause_in_a_transaction_is_confirmed_at_once() {
    for threads in ["threads 1", "threads 4"] {
        let house = House::open(&[threads]);
        let (mut client, mut other) = (house.client(), house.client());
        let request = "MULTI\r\nCLIENT PAUSE 100000 WRITE\r\nGET n\r\nEXEC\r\n";
        client.ask(request, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$-1\r\n");
        other.send(b"SET n 1\r\n");
        client.ask("CLIENT PAUSE 100000 WRITE\r\nGET n\r\n", "+OK\r\n$-1\r\n");
        client.ask("CLIENT REPLY SKIP\r\nCLIENT PAUSE 1000 WRITE\r\nPING\r\n", "+PONG\r\n");
        client.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
        other.expect("+OK\r\n");
    }
}
