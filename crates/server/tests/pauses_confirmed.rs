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

/// While a long write of another thread runs, a client pauses writes by this request. When it is answered, the write
/// has run, or is held: it does not run on.
fn nothing_runs_on_behind(pause: &str, confirmed: &str) {
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
        other.ask(&format!("{pause}GET n\r\n"), &format!("{confirmed}$-1\r\n"));
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

/// It was answered at once, and what other threads had begun was stored behind the reply.
#[test]
fn what_had_begun_on_another_thread_is_done_when_a_pause_is_confirmed() {
    nothing_runs_on_behind("CLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n");
}

/// EXEC was answered at once, whatever other threads were about to store.
#[test]
fn what_had_begun_on_another_thread_is_done_when_a_transaction_that_pauses_is_answered() {
    nothing_runs_on_behind(
        "MULTI\r\nCLIENT PAUSE 100000 WRITE\r\nGET n\r\nEXEC\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$-1\r\n",
    );
}

/// The pause is for what comes behind the transaction, and one that nobody is to be told of holds nothing up.
#[test]
fn a_transaction_that_pauses_runs_to_its_end() {
    for threads in ["threads 1", "threads 4"] {
        let house = House::open(&[threads]);
        let (mut client, mut other) = (house.client(), house.client());
        let request = "MULTI\r\nCLIENT PAUSE 100000 WRITE\r\nSET m 1\r\nGET n\r\nEXEC\r\n";
        let queued = "+QUEUED\r\n".repeat(3);
        client.ask(request, &format!("+OK\r\n{queued}*3\r\n+OK\r\n+OK\r\n$-1\r\n"));
        other.send(b"SET n 1\r\n");
        client.ask("CLIENT PAUSE 100000 WRITE\r\nGET n\r\n", "+OK\r\n$-1\r\n");
        client.ask("CLIENT REPLY SKIP\r\nCLIENT PAUSE 1000 WRITE\r\nPING\r\n", "+PONG\r\n");
        let pause = "MULTI\r\nCLIENT PAUSE 1000 WRITE\r\n";
        let skipped = format!("{pause}CLIENT REPLY SKIP\r\nEXEC\r\nPING\r\nGET n\r\n");
        client.ask(&skipped, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$-1\r\n");
        // It is closed behind its reply.
        let mut last = house.client();
        let closing = format!("{pause}CLIENT KILL TYPE pubsub\r\nQUIT\r\n");
        last.ask(&closing, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n");
        client.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
        other.expect("+OK\r\n");
    }
}
