//! What the exit code of `dolium check` says of a server that cannot be looked at for a while, or not at all: that no
//! fault was found.

mod served;

use dolium_attach::Error;
use served::Served;
use std::process::{Command, Output};

/// A value that takes milliseconds to copy, and how often it is copied in one transaction: seconds, in which nobody
/// who is attached can read.
const LONG_BYTES: usize = 40 << 20;
const COPIES: usize = 60;

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Beside writes that take long it ended with 1, as where it finds faults, and said that there was no server.
#[test]
fn a_long_write_is_waited_for() {
    let served = Served::start(&[]);
    let writer = served.attach();
    writer.execute(&[b"SETRANGE", b"long", (LONG_BYTES - 1).to_string().as_bytes(), b"x"]).unwrap();
    writer.execute(&[b"MULTI"]).unwrap();
    for _ in 0..COPIES {
        writer.execute(&[b"COPY", b"long", b"copy", b"REPLACE"]).unwrap();
    }
    let looker = served.attach();
    std::thread::scope(|scope| {
        let executed = scope.spawn(|| writer.execute(&[b"EXEC"]));
        while !matches!(looker.peek(b"long"), Err(Error::Contended)) {
            assert!(!executed.is_finished(), "it was over before anybody had looked");
        }
        let checked = served.dolium(&["check"]);
        assert_eq!(checked.status.code(), Some(0), "{}", err(&checked));
        executed.join().unwrap().unwrap();
    });
}

/// It was 1 as well.
#[test]
fn what_cannot_be_checked_has_an_exit_code_of_its_own() {
    let nowhere = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .args(["check", "--attach-socket", "/nonexistent/attach"])
        .output()
        .unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    let said = err(&nowhere);
    assert!(
        said.starts_with("dolium: could not be checked: cannot attach at /nonexistent"),
        "{said}"
    );
    let served = Served::start(&[]);
    served.stop();
    let silent = served.dolium(&["check", "--quiet"]);
    served.go_on();
    assert_eq!(silent.status.code(), Some(2), "{}", err(&silent));
    let help = served.dolium(&["check", "--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("2, it could not be checked"));
}
