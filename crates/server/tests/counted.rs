//! What counts as a call of a command, and what the slow log shows of it: a request that was refused before
//! it ran, or that MULTI has queued, is none; what EXEC runs is. Nobody's password is shown.

#[allow(dead_code)]
mod door;

use door::{Client, House};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";

fn bulk(client: &mut Client) -> String {
    let mut header = Vec::new();
    while !header.ends_with(b"\r\n") {
        header.extend(client.take(1));
    }
    let header = String::from_utf8(header).expect("text");
    let len: usize = header.trim().trim_start_matches('$').parse().expect("a length");
    let text = String::from_utf8(client.take(len + 2)).expect("text");
    text[..len].to_string()
}

fn ask_text(client: &mut Client, request: &str) -> String {
    client.send(format!("{request}\r\n").as_bytes());
    bulk(client)
}

/// How often a command was called, rejected, and failed.
fn counts(client: &mut Client, command: &str) -> [u64; 3] {
    let text = ask_text(client, "INFO commandstats");
    let name = format!("cmdstat_{command}:");
    let Some(line) = text.lines().find_map(|line| line.strip_prefix(name.as_str())) else {
        return [0; 3];
    };
    ["calls", "rejected_calls", "failed_calls"].map(|name| {
        let number = line.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        number.and_then(|number| number.parse().ok()).expect("a number")
    })
}

#[test]
fn a_queued_command_counts_when_exec_runs_it() {
    let house = House::open(&["threads 2"]);
    let mut client = house.client();
    client.ask("RPUSH list a\r\n", ":1\r\n");
    client.ask("CONFIG RESETSTAT\r\n", "+OK\r\n");
    client.ask(
        "MULTI\r\nSET x 1\r\nINCR list\r\nEXEC\r\n",
        &format!("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n{WRONG_TYPE}"),
    );
    client.ask("MULTI\r\nSET y 1\r\nDISCARD\r\n", "+OK\r\n+QUEUED\r\n+OK\r\n");
    let stats = ask_text(&mut client, "INFO stats");
    // CONFIG, and what ran of the two transactions.
    assert!(stats.contains("total_commands_processed:7\r\n"), "{stats}");
    assert!(stats.contains("total_error_replies:1\r\n"), "{stats}");
    for (command, expected) in [
        ("set", [1, 0, 0]),
        ("incr", [1, 0, 1]),
        ("multi", [2, 0, 0]),
        ("exec", [1, 0, 0]),
        ("discard", [1, 0, 0]),
    ] {
        assert_eq!(counts(&mut client, command), expected, "{command}");
    }
    let errors = ask_text(&mut client, "INFO errorstats");
    assert!(errors.contains("errorstat_WRONGTYPE:count=1\r\n"), "{errors}");
}

#[test]
fn who_asks_within_a_transaction_sees_what_ran_before() {
    let house = House::open(&[]);
    let mut client = house.client();
    client.send(b"MULTI\r\nGET k\r\nINFO commandstats\r\nEXEC\r\n");
    client.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$-1\r\n");
    let text = bulk(&mut client);
    assert!(text.contains("cmdstat_get:calls=1,"), "{text}");
}

#[test]
fn what_is_refused_before_it_runs_is_no_call() {
    let house = House::open(&["threads 2"]);
    let mut client = house.client();
    client.ask("GET\r\n", "-ERR wrong number of arguments for 'get' command\r\n");
    client.ask("CONFIG nosuch\r\n", "-ERR unknown subcommand 'nosuch'. Try CONFIG HELP.\r\n");
    client.ask("SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    client.ask(
        "GET k\r\n",
        "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
         are allowed in this context\r\n",
    );
    client.ask("UNSUBSCRIBE\r\n", "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n");
    client.ask("MULTI\r\nGET\r\n", "+OK\r\n-ERR wrong number of arguments for 'get' command\r\n");
    client.ask("EXEC\r\n", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    let stats = ask_text(&mut client, "INFO stats");
    // SUBSCRIBE, UNSUBSCRIBE, MULTI and EXEC.
    assert!(stats.contains("total_commands_processed:4\r\n"), "{stats}");
    assert!(stats.contains("total_error_replies:5\r\n"), "{stats}");
    assert_eq!(counts(&mut client, "get"), [0, 3, 0]);
    assert_eq!(counts(&mut client, "exec"), [1, 0, 1]);
    let commands = ask_text(&mut client, "INFO commandstats");
    assert!(commands.contains("cmdstat_get:calls=0,usec=0,usec_per_call=0.00,"), "{commands}");
    assert!(!commands.contains("cmdstat_config:"), "{commands}");
}

#[test]
fn the_slow_log_has_what_exec_ran_and_no_password() {
    let house = House::open(&[]);
    let mut client = house.client();
    client.send(
        b"CONFIG SET slowlog-log-slower-than 0\r\nAUTH default sesame\r\nAUTH a sesame b sesame\r\n\
          HELLO 2 AUTH default sesame\r\nHELLO 2 AUTH sesame\r\nCONFIG SET masterauth sesame hz 10\r\n\
          CONFIG SET requirepass sesame\r\nMULTI\r\nAUTH default sesame\r\nSET slow 1\r\nEXEC\r\n\
          SLOWLOG GET 100\r\nQUIT\r\n",
    );
    let answer = String::from_utf8(client.take_all()).expect("text");
    assert!(!answer.contains("sesame"), "{answer}");
    assert_eq!(answer.matches("(redacted)").count(), 13, "{answer}");
    assert_eq!(answer.matches("$4\r\nslow\r\n").count(), 1, "{answer}");
}

#[test]
fn others_see_that_a_watched_key_was_changed() {
    let house = House::open(&["threads 2"]);
    let (mut watcher, mut other) = (house.client(), house.client());
    let flags = |other: &mut Client| {
        let list = ask_text(other, "CLIENT LIST");
        let line = list.lines().find(|line| line.contains(" name=watcher ")).expect("its line");
        let flags = line.split(' ').find_map(|field| field.strip_prefix("flags="));
        flags.expect("its flags").to_string()
    };
    watcher.ask("CLIENT SETNAME watcher\r\n", "+OK\r\n");
    watcher.ask("WATCH k\r\n", "+OK\r\n");
    assert_eq!(flags(&mut other), "N");
    other.ask("SET k 1\r\n", "+OK\r\n");
    assert_eq!(flags(&mut other), "d");
    watcher.ask("MULTI\r\n", "+OK\r\n");
    assert_eq!(flags(&mut other), "xd");
    watcher.ask("EXEC\r\n", "*-1\r\n");
    assert_eq!(flags(&mut other), "N");
}
