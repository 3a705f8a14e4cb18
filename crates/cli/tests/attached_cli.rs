//! The program's own verbs on a server's memory, as from a shell.

mod served;

use served::Served;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn get_set_and_exec_work_without_a_port() {
    let served = Served::start(&[]);
    assert_eq!(out(&served.dolium(&["set", "greeting", "salve"])), "OK\n");
    let got = served.dolium(&["get", "greeting"]);
    assert_eq!((out(&got).as_str(), err(&got).as_str()), ("salve\n", ""));
    let missing = served.dolium(&["get", "nothing"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(err(&missing).contains("no key \"nothing\""));
    assert_eq!(out(&served.dolium(&["exec", "INCRBY", "n", "-5"])), "(integer) -5\n");
    let many = served.dolium(&["exec", "MGET", "n", "nothing", "greeting"]);
    assert_eq!(out(&many), "1) \"-5\"\n2) (nil)\n3) \"salve\"\n");
    let wrong = served.dolium(&["exec", "INCR", "greeting"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(out(&wrong).starts_with("(error) ERR value is not an integer"));
    assert_eq!(out(&served.dolium(&["set", "--db", "3", "greeting", "ave"])), "OK\n");
    assert_eq!(out(&served.dolium(&["get", "-n", "3", "greeting"])), "ave\n");
}

#[test]
fn without_an_attach_socket_the_program_asks_over_tcp_and_says_so() {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let _served = Served::start(&["--port", &port]);
    let server = format!("127.0.0.1:{port}");
    let dolium = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        let (verb, rest) = words.split_first().unwrap();
        command.args([verb, "--attach-socket", "/nonexistent/attach", "--server", &server]);
        command.args(rest).output().unwrap()
    };
    assert_eq!(out(&dolium(&["set", "greeting", "salve"])), "OK\n");
    let got = dolium(&["get", "greeting"]);
    assert_eq!(out(&got), "salve\n");
    assert!(err(&got).starts_with("note: cannot attach at /nonexistent/attach"), "{}", err(&got));
    assert!(err(&got).contains(&format!("note: {server} is asked instead")), "{}", err(&got));
    assert_eq!(dolium(&["get", "nothing"]).status.code(), Some(1));
}

#[test]
fn top_shows_counters_and_percentiles() {
    let served = Served::start(&[]);
    for _ in 0..10 {
        served.dolium(&["set", "greeting", "salve"]);
    }
    let page = out(&served.dolium(&["top", "--count", "1", "--interval", "0.1"]));
    for word in ["committed", "hits", "changes", "commands", "p99.9", "writes"] {
        assert!(page.contains(word), "{word} in\n{page}");
    }
    assert!(page.lines().all(|line| line.len() <= 80), "{page}");
    let changes = page.lines().find(|line| line.starts_with("changes")).unwrap();
    assert!(changes.trim_end().ends_with("10"), "{changes}");
}

fn exec_over_tcp(port: &str, words: &[&str]) -> Output {
    let server = format!("127.0.0.1:{port}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    command.args(["exec", "--attach-socket", "/nonexistent/attach", "--server", &server]);
    command.args(words).output().unwrap()
}

/// Over a socket they were sent: the program waited for ever for a reply to CLIENT REPLY OFF.
#[test]
fn what_has_not_one_reply_is_refused_by_either_way() {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let served = Served::start(&["--port", &port]);
    let over_tcp = |words: &[&str]| exec_over_tcp(&port, words);
    for (words, reason) in [
        (&["client", "reply", "off"][..], "dolium: CLIENT REPLY does not answer once and at once"),
        (&["SUBSCRIBE", "news"], "dolium: SUBSCRIBE does not answer once and at once"),
        // The server was said to have closed the connection for one of three reasons, none of them this.
        (&["POST", "/"], "dolium: POST is no command but a word of web requests"),
        (&["host:", "here"], "dolium: Host: is no command but a word of web requests"),
    ] {
        for refused in [over_tcp(words), served.dolium(&[&["exec"], words].concat())] {
            assert_eq!(refused.status.code(), Some(1), "{words:?}");
            assert_eq!(out(&refused), "");
            let said = err(&refused);
            assert!(said.lines().any(|line| line.starts_with(reason)), "{words:?}: {said}");
        }
    }
}

/// The command that was recommended named another key in the shell, and no server.
#[test]
fn what_is_recommended_for_a_list_can_be_run() {
    let served = Served::start(&[]);
    served.dolium(&["exec", "-n", "3", "RPUSH", "it's a list", "x"]);
    let refused = served.dolium(&["get", "-n", "3", "it's a list"]);
    let said = err(&refused);
    let command =
        said.split('`').nth(1).and_then(|line| line.strip_prefix("dolium ")).expect(&said);
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_dolium"));
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!((out(&output).as_str(), err(&output).as_str()), ("list\n", ""), "{said}");
}

/// They were one line between quotes, with `\\r\\n` for the ends of lines.
#[test]
fn texts_for_people_are_shown_as_their_lines() {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let served = Served::start(&["--port", &port]);
    let over_tcp = |words: &[&str]| exec_over_tcp(&port, words);
    for (words, first) in [
        (&["INFO", "server"][..], "# Server\nredis_version:"),
        (&["client", "list"], "id="),
        (&["MEMORY", "MALLOC-STATS"], ""),
        (&["LOLWUT"], ""),
    ] {
        for shown in [over_tcp(words), served.dolium(&[&["exec"], words].concat())] {
            let text = out(&shown);
            assert!(text.starts_with(first) && !text.starts_with('"'), "{words:?}: {text}");
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{words:?}: {text}");
            assert!(!text.contains('\r'), "{words:?}: {text}");
        }
    }
    served.dolium(&["set", "k", "two\r\nlines\r\n"]);
    assert_eq!(out(&served.dolium(&["exec", "GET", "k"])), "\"two\\r\\nlines\\r\\n\"\n");
}

/// They were said to need a connection of their own, which would not have helped.
#[test]
fn a_command_that_the_server_does_not_have_is_one() {
    let served = Served::start(&[]);
    for name in ["MONITOR", "SSUBSCRIBE", "NOTHING"] {
        let unknown = served.dolium(&["exec", name, "x"]);
        assert_eq!(unknown.status.code(), Some(1), "{name}");
        let start = format!("(error) ERR unknown command '{name}'");
        assert!(out(&unknown).starts_with(&start), "{}", out(&unknown));
    }
}

/// MULTI was answered with OK, and the commands that followed were no part of anything.
#[test]
fn what_would_be_over_with_its_reply_is_not_sent() {
    let served = Served::start(&[]);
    for (words, reason) in [
        (
            &["multi"][..],
            "dolium: MULTI lasts as long as its connection, which ends here: redis-cli",
        ),
        (
            &["SELECT", "3"],
            "dolium: SELECT lasts as long as its connection, which ends here: -n NUMBER",
        ),
        (&["CLIENT", "setname", "me"], "dolium: CLIENT SETNAME lasts as long as its connection"),
    ] {
        let refused = served.dolium(&[&["exec"], words].concat());
        assert_eq!(refused.status.code(), Some(1), "{words:?}");
        assert!(err(&refused).starts_with(reason), "{}", err(&refused));
    }
}

/// `exec DEL greeting -n 3` deleted the key of database 0, in silence.
#[test]
fn an_option_behind_the_command_is_sent_and_told_of() {
    let served = Served::start(&[]);
    for db in ["0", "3"] {
        served.dolium(&["set", "-n", db, "greeting", "salve"]);
    }
    let deleted = served.dolium(&["exec", "DEL", "greeting", "-n", "3"]);
    assert_eq!(out(&deleted), "(integer) 1\n");
    assert!(err(&deleted).starts_with("note: -n stands behind the command"), "{}", err(&deleted));
    let deleted = served.dolium(&["exec", "-n", "3", "DEL", "greeting"]);
    assert_eq!((out(&deleted).as_str(), err(&deleted).as_str()), ("(integer) 1\n", ""));
}

/// `foo` was said not to answer, and had not been asked.
#[test]
fn a_server_to_ask_has_a_host_and_a_port() {
    for place in ["foo", "foo:", ":6379", "foo:0", "foo:70000"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        let refused = command.args(["get", "k", "--server", place]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{place}");
        assert!(err(&refused).contains("such as 127.0.0.1:6379"), "{}", err(&refused));
    }
}

/// Commands of the time before somebody looked were counted as the first second's: attaching wakes the
/// threads, which only then publish what they have done.
#[test]
fn tops_first_rates_are_of_its_first_second() {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let served = Served::start(&["--port", &port]);
    let mut socket = dolium_attach::Socket::tcp(format!("127.0.0.1:{port}")).unwrap();
    for _ in 0..2000 {
        socket.execute(&[b"PING"]).unwrap();
    }
    drop(socket);
    let page = out(&served.dolium(&["top", "--count", "1"]));
    let commands = page.lines().find(|line| line.starts_with("commands")).unwrap();
    let columns: Vec<f64> =
        commands.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    assert!(columns[0] < 100.0 && columns[1] >= 2000.0, "{page}");
}

/// They were shown in the help of both, taken, and without any effect.
#[test]
fn who_only_looks_at_the_memory_takes_no_database_and_no_server() {
    let served = Served::start(&[]);
    for verb in ["top", "check"] {
        for option in [["--db", "1"], ["--server", "127.0.0.1:1"]] {
            let refused = served.dolium(&[&[verb][..], &option[..]].concat());
            assert_eq!(refused.status.code(), Some(2), "{verb} {option:?}");
            assert!(err(&refused).contains("unexpected argument"), "{}", err(&refused));
        }
    }
}

#[test]
fn check_finds_a_sound_arena_sound() {
    let served = Served::start(&[]);
    for n in 0..50 {
        served.attach().execute(&[b"SET", format!("key:{n}").as_bytes(), b"value"]).unwrap();
    }
    let checked = served.dolium(&["check"]);
    assert_eq!(checked.status.code(), Some(0), "{}", err(&checked));
    assert!(out(&checked).contains("50 keys"), "{}", out(&checked));
    assert!(out(&checked).ends_with("all holds together\n"));
}

#[test]
fn the_tour_reads_through_every_door_and_leaves_nothing_behind() {
    let output = Command::new(env!("CARGO_BIN_EXE_dolium")).arg("tour").output().unwrap();
    let page = out(&output);
    assert!(output.status.success(), "{page}\n{}", err(&output));
    let read = page.lines().filter(|line| line.trim_end().ends_with("salve")).count();
    assert_eq!(read, 7 + 1, "one write and seven doors in\n{page}");
    let timed = page.lines().filter(|line| line.contains('#')).count();
    assert_eq!(timed, 7, "{page}");
    assert!(!page.contains('\x1b'), "no colour for a pipe");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn an_interrupted_tour_takes_its_server_away() {
    let mut tour = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .arg("tour")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tour.stdout.take().unwrap());
    let server = loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the tour ended early");
        if let Some((_, rest)) = line.split_once("runs as process ") {
            break rest.split(',').next().unwrap().to_owned();
        }
    };
    let folder = std::env::temp_dir().join(format!("dolium-tour-{}", tour.id()));
    assert!(folder.exists());
    // In the midst of it, so that reads are under way.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = rustix::process::Pid::from_child(&tour);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    lines.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(tour.wait().unwrap().code(), Some(130));
    assert!(!folder.exists());
    assert!(!std::path::Path::new("/proc").join(server).exists(), "the server is still there");
}
