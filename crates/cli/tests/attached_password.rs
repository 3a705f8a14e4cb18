//! The program's own verbs and DOLIUM_PASSWORD: said where a server wants it, and no hindrance
//! where a server does not.

mod served;

use served::Served;
use std::process::{Command, Output};

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// As from the shell of somebody who has set the variable.
fn with_password(password: &str, place: &[&str], words: &[&str]) -> Output {
    let (verb, rest) = words.split_first().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    command.arg(verb).args(place).args(rest).env("DOLIUM_PASSWORD", password);
    command.output().expect("the program starts")
}

/// AUTH is an error where there is no password, and `set` and `exec` gave up because of it.
#[test]
fn a_password_that_nobody_asked_for_is_no_reason_to_stop() {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let served = Served::start(&["--port", &port]);
    let (path, server) = (served.attach_path(), format!("127.0.0.1:{port}"));
    let attached = ["--attach-socket", path.to_str().unwrap()];
    let by_port = ["--attach-socket", "/nonexistent/attach", "--server", &server];
    for place in [&attached[..], &by_port[..]] {
        let set = with_password("secret", place, &["set", "greeting", "salve"]);
        assert_eq!(out(&set), "OK\n", "{}", err(&set));
        let note = "note: DOLIUM_PASSWORD was not needed: the server has no password\n";
        assert!(err(&set).ends_with(note), "{}", err(&set));
        let got = with_password("secret", place, &["exec", "GET", "greeting"]);
        assert_eq!(out(&got), "\"salve\"\n", "{}", err(&got));
        let got = with_password("secret", place, &["get", "greeting"]);
        assert_eq!(out(&got), "salve\n", "{}", err(&got));
    }
}

/// The server's error was all that was said.
#[test]
fn who_says_no_password_is_told_how_to() {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let served = Served::start(&["--port", &port, "--requirepass", "secret"]);
    let by_port = ["--attach-socket", "/nonexistent/attach", "--server"];
    let server = format!("127.0.0.1:{port}");
    for words in [&["set", "k", "v"][..], &["set", "-n", "3", "k", "v"], &["exec", "GET", "k"]] {
        let attached = served.dolium(words);
        let mut by_port = [&words[..1], &by_port, &[server.as_str()], &words[1..]].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        let over_tcp = command.args(by_port.drain(..)).output().unwrap();
        for refused in [attached, over_tcp] {
            assert_eq!(refused.status.code(), Some(1), "{words:?}");
            let said = out(&refused) + &err(&refused);
            assert!(said.contains("NOAUTH") && said.contains("DOLIUM_PASSWORD="), "{said}");
        }
    }
}

#[test]
fn a_wrong_password_is_one() {
    let served = Served::start(&["--requirepass", "secret"]);
    let path = served.attach_path();
    let place = ["--attach-socket", path.to_str().unwrap()];
    let set = with_password("secret", &place, &["set", "greeting", "salve"]);
    assert_eq!((out(&set).as_str(), err(&set).as_str()), ("OK\n", ""));
    let refused = with_password("mistaken", &place, &["set", "greeting", "ave"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("WRONGPASS"), "{}", err(&refused));
    assert_eq!(served.attach().get(b"greeting").unwrap().as_deref(), Some(&b"salve"[..]));
}
