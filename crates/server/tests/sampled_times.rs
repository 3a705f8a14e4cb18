//! The times of commands are those of a sample: every call is counted, and who asks for one thing sees how
//! long it took.

#[allow(dead_code)]
mod door;

use door::{Client, House};

/// The whole number behind `name` in a section of INFO.
fn number(client: &mut Client, section: &str, name: &str) -> u64 {
    client.send(format!("INFO {section}\r\n").as_bytes());
    let mut header = Vec::new();
    while !header.ends_with(b"\r\n") {
        header.extend(client.take(1));
    }
    let len = String::from_utf8_lossy(&header).trim().trim_start_matches('$').parse::<usize>();
    let text = String::from_utf8(client.take(len.expect("a length") + 2)).expect("text");
    let rest = text.split(name).nth(1).unwrap_or_else(|| panic!("no {name} in {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {name} in {text}"))
}

/// One after the other, most of them within the same millisecond.
#[test]
fn a_command_that_ran_once_has_a_time() {
    let house = House::open(&[]);
    let mut client = house.client();
    for round in 0..2 {
        client.ask("SET k one\r\n", "+OK\r\n");
        client.ask("GET k\r\n", "$3\r\none\r\n");
        client.ask("EXISTS k\r\n", ":1\r\n");
        client.ask("TTL k\r\n", ":-1\r\n");
        client.ask("APPEND k x\r\n", ":4\r\n");
        for command in ["set", "get", "exists", "ttl", "append"] {
            let name = format!("latency_percentiles_usec_{command}:p50=");
            let p50 = number(&mut client, "latencystats", &name);
            assert!(p50 > 0, "round {round}: {command} took no time");
        }
        client.ask("CONFIG RESETSTAT\r\n", "+OK\r\n");
    }
}

/// Few of them are timed, and those stand for all.
#[test]
fn the_times_of_a_sample_are_scaled_to_all_calls() {
    const CALLS: u64 = 3000;
    let house = House::open(&[]);
    let mut client = house.client();
    let value = "v".repeat(30_000);
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$30000\r\n{value}\r\n");
    for _ in 0..CALLS {
        client.ask(&set, "+OK\r\n");
    }
    assert_eq!(number(&mut client, "commandstats", "cmdstat_set:calls="), CALLS);
    let p50 = number(&mut client, "latencystats", "latency_percentiles_usec_set:p50=");
    let usec = number(&mut client, "commandstats", &format!("set:calls={CALLS},usec="));
    // The percentile is the upper end of a bucket, which begins at half of it.
    assert!(
        4 * usec >= p50 * CALLS,
        "{usec} us for {CALLS} calls, half of which took {p50} at most"
    );
}
