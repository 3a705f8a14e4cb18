//! What the program is given and where it writes to, at their worst: words that are no text, outputs that
//! nobody reads or that are full. It ended by an abort, which a shell calls a crash.

mod served;

use served::Served;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const NO_TEXT: &[u8] = b"\xff\xfe";

fn dolium() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dolium"))
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has one")
}

/// The end of a pipe whose reader has gone.
fn unread() -> std::io::PipeWriter {
    std::io::pipe().expect("a pipe").1
}

#[test]
fn keys_and_values_may_be_any_bytes() {
    let served = Served::start(&[]);
    let dolium = |words: &[&OsStr]| {
        let (verb, rest) = words.split_first().unwrap();
        let mut command = dolium();
        command.arg(verb).arg("--attach-socket").arg(served.attach_path()).args(rest);
        command.output().unwrap()
    };
    let no_text = OsStr::from_bytes(NO_TEXT);
    let set = dolium(&["set".as_ref(), no_text, no_text]);
    assert_eq!((set.stdout.as_slice(), err(&set).as_str()), (&b"OK\n"[..], ""));
    assert_eq!(served.attach().get(NO_TEXT).unwrap().as_deref(), Some(NO_TEXT));
    let got = dolium(&["get".as_ref(), no_text]);
    assert_eq!((got.stdout.as_slice(), err(&got).as_str()), (&b"\xff\xfe\n"[..], ""));
    let got = dolium(&["exec".as_ref(), "GET".as_ref(), no_text]);
    assert_eq!(got.stdout, b"\"\\xff\\xfe\"\n");
    let missing = dolium(&["get".as_ref(), OsStr::from_bytes(b"\xff")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(err(&missing).contains("there is no key"), "{}", err(&missing));
}

#[test]
fn a_value_may_begin_with_a_hyphen() {
    let served = Served::start(&[]);
    for value in ["-5", "-x", "--unknown", "-"] {
        let set = served.dolium(&["set", "temperature", value]);
        assert!(set.status.success(), "{value}: {}", err(&set));
        assert_eq!(served.attach().get(b"temperature").unwrap().unwrap(), value.as_bytes());
    }
    // What looks like an option of the program is one, unless it stands behind two hyphens.
    let set = served.dolium(&["set", "temperature", "--", "--db"]);
    assert!(set.status.success(), "{}", err(&set));
    assert_eq!(served.attach().get(b"temperature").unwrap().unwrap(), b"--db");
}

#[test]
fn where_text_is_needed_other_bytes_are_refused_in_a_sentence() {
    let no_text = OsStr::from_bytes(NO_TEXT);
    let verbs: [&[&str]; 4] = [&["serve", "--port"], &["memcached", "-p"], &["lab"], &[]];
    for verb in verbs {
        let refused = dolium().args(verb).arg(no_text).output().unwrap();
        assert!(matches!(refused.status.code(), Some(1 | 2)), "{verb:?}: {}", refused.status);
        assert!(!refused.stderr.is_empty() && !err(&refused).contains("panicked"), "{verb:?}");
    }
    // A file may have any name.
    let mut path = std::env::temp_dir().into_os_string();
    path.push(OsStr::from_bytes(b"/no\xffthing.conf"));
    let refused = dolium().arg(path).output().unwrap();
    assert!(err(&refused).contains("thing.conf"), "{}", err(&refused));
}

#[test]
fn an_output_that_nobody_reads_ends_the_program_quietly() {
    let served = Served::start(&[]);
    served.attach().execute(&[b"SET", b"k", b"v"]).unwrap();
    let at = served.attach_path();
    let attached = |words: &[&str], out: Stdio| {
        let (verb, rest) = words.split_first().unwrap();
        let mut command = dolium();
        command.arg(verb).arg("--attach-socket").arg(&at).args(rest).stdout(out).output().unwrap()
    };
    let begun = Instant::now();
    for words in [&["check"][..], &["top", "--interval", "0.1"], &["get", "k"]] {
        let ended = attached(words, unread().into());
        assert_eq!((ended.status.code(), err(&ended).as_str()), (Some(0), ""), "{words:?}");
        if words[0] != "top" {
            let ended = attached(words, full().into());
            // 1 would say that faults were found.
            let code = if words[0] == "check" { 2 } else { 1 };
            assert_eq!(ended.status.code(), Some(code), "{words:?}");
            assert!(err(&ended).contains("cannot be written"), "{}", err(&ended));
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "top went on");
    let help = ["memcached", "-h"];
    let ended = dolium().args(help).stdout(unread()).output().unwrap();
    assert_eq!((ended.status.code(), err(&ended).as_str()), (Some(0), ""));
    assert_eq!(dolium().args(help).stdout(full()).output().unwrap().status.code(), Some(1));
    // Not even the complaint can be written.
    let silent = dolium().args(["check", "--attach-socket", "/nowhere"]).stderr(full()).output();
    assert_eq!(silent.unwrap().status.code(), Some(2));
}

/// They ended as if all had been shown.
#[test]
fn help_and_tour_that_cannot_be_written_have_failed() {
    let usual: [&[&str]; 7] = [
        &["--help"],
        &["--version"],
        &["help", "get"],
        &["serve", "--help"],
        &["tour"],
        &["lab", "--help"],
        &["lab", "run", "--help"],
    ];
    for words in usual {
        let ended = dolium().args(words).stdout(full()).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {}", err(&ended));
        let said = err(&ended);
        let start = match words[0] {
            "lab" => "dolium lab: could not write to the standard output",
            _ => "dolium: the standard output cannot be written to",
        };
        assert!(said.starts_with(start), "{said}");
        if words[0] != "tour" {
            let ended = dolium().args(words).stdout(unread()).output().unwrap();
            assert_eq!((ended.status.code(), err(&ended).as_str()), (Some(0), ""), "{words:?}");
        }
    }
    let nowhere = dolium().arg("tour").env("TMPDIR", "/nonexistent").output().unwrap();
    let said = err(&nowhere);
    assert!(
        said.contains("folder, /nonexistent/dolium-tour-") && said.contains("TMPDIR"),
        "{said}"
    );
    let refused = dolium().args(["get", "--no-such-option"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn an_interval_that_is_no_number_is_refused() {
    for interval in ["nan", "soon"] {
        let refused = dolium().args(["top", "--interval", interval]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains("a number of seconds is needed"), "{}", err(&refused));
    }
}

/// `dolium help lab` and `dolium help memcached` told of nothing but `[WORDS]...`.
#[test]
fn both_ways_of_asking_for_help_lead_to_the_same() {
    for verb in ["lab", "memcached", "get", "serve"] {
        let asked = dolium().args(["help", verb]).output().unwrap();
        assert!(asked.status.success(), "{verb}: {}", err(&asked));
        let other = dolium().args([verb, "--help"]).output().unwrap();
        assert_eq!(asked.stdout, other.stdout, "{verb}");
        assert!(asked.stdout.len() > 200, "{verb}: {}", String::from_utf8_lossy(&asked.stdout));
    }
}

/// The log told of all doors but the one of local processes.
#[test]
fn the_log_tells_of_every_door() {
    let log = std::env::temp_dir().join(format!("dolium-ready-log-{}", std::process::id()));
    let served = Served::start(&["--logfile", log.to_str().unwrap()]);
    let limit = Instant::now() + Duration::from_secs(20);
    let line = loop {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if let Some(line) = text.lines().find(|line| line.contains("ready")) {
            break line.to_owned();
        }
        assert!(Instant::now() < limit, "it is not ready: {text}");
        std::thread::sleep(Duration::from_millis(10));
    };
    std::fs::remove_file(&log).unwrap();
    for path in [served.redis_path(), served.attach_path()] {
        assert!(line.contains(path.to_str().unwrap()), "{line}");
    }
}
