//! Whom the program's verbs ask if they cannot attach: nobody but the server that was meant.

mod served;

use dolium_attach::{Error, Store};
use served::Served;
use std::path::Path;
use std::process::{Command, Output};

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `dolium set k v` there, and elsewhere if that is said.
fn set(attach: &Path, server: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    command.arg("set").arg("--attach-socket").arg(attach).args(["k", "v"]);
    if let Some(server) = server {
        command.args(["--server", server]);
    }
    command.env("DOLIUM_PASSWORD", "secret").output().expect("the program starts")
}

/// A server with a port, and its address.
fn with_port() -> (Served, String) {
    let port = dolium_lab::stores::free_port().unwrap().to_string();
    let served = Served::start(&["--port", &port]);
    (served, format!("127.0.0.1:{port}"))
}

fn is_empty(served: &Served) -> bool {
    served.attach().is_empty()
}

/// It was written to whoever listened at Redis' port, who was told the password first.
#[test]
fn where_one_server_is_named_no_other_is_asked() {
    let refused = set(Path::new("/nonexistent/attach"), None);
    assert_eq!(refused.status.code(), Some(1));
    let said = err(&refused);
    assert!(said.starts_with("dolium: cannot attach at /nonexistent/attach"), "{said}");
    assert!(said.contains("Nobody else was asked"), "{said}");
    assert!(!said.contains("6379"), "{said}");
}

/// The server that was named lived, and another one got the write.
#[test]
fn a_server_that_says_no_has_answered() {
    let (other, server) = with_port();
    let full = Served::start(&["--maxclients", "1"]);
    // The one that waited for the start may be there for a moment yet.
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let _only = loop {
        match Store::attach(full.attach_path()) {
            Ok(store) => break store,
            Err(error) => assert!(std::time::Instant::now() < limit, "{error}"),
        }
    };
    let refused = set(&full.attach_path(), Some(&server));
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("no room for another client"), "{}", err(&refused));
    assert!(is_empty(&other));
}

/// It was called no Dolium server, and another one was asked.
#[test]
fn a_server_that_is_stopped_is_not_taken_for_none() {
    let (other, server) = with_port();
    let stopped = Served::start(&[]);
    stopped.stop();
    let begun = std::time::Instant::now();
    let refused = set(&stopped.attach_path(), Some(&server));
    let silent = Store::attach(stopped.attach_path()).unwrap_err();
    stopped.go_on();
    assert!(matches!(silent, Error::Silent { .. }), "{silent}");
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("does not answer"), "{}", err(&refused));
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    assert!(is_empty(&other));
    // Those who gave up have left nothing behind.
    stopped.attach().execute(&[b"PING"]).unwrap();
}
