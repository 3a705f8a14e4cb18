//! What `dolium get` writes to a terminal, and what to anything else.

mod served;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use served::Served;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a terminal is sent, and what the standard error gets.
fn on_terminal(command: &mut Command) -> (String, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
    command.stdout(Stdio::from(theirs)).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // It keeps its end of the terminal open, of which nobody else's hears an end.
    command.stdout(Stdio::null());
    let (mut ours, mut sent) = (File::from(ours), Vec::new());
    let mut buffer = [0; 4096];
    // Without anybody at its other end a terminal fails.
    while let Ok(got @ 1..) = ours.read(&mut buffer) {
        sent.extend_from_slice(&buffer[..got]);
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    // The terminal makes two of the line ends.
    (text(sent).replace("\r\n", "\n"), text(output.stderr))
}

/// Whoever stored a value could retitle, recolour or otherwise command the terminal of who looked at it.
#[test]
fn a_terminal_is_not_sent_a_values_control_characters() {
    let served = Served::start(&[]);
    let value = b"\x1b]0;owned\x07\x1b[31mred\xff";
    served.attach().execute(&[b"SET", b"strange", value]).unwrap();
    served.attach().execute(&[b"SET", b"plain", "gr\u{fc}\u{df}e\n\tC:\\".as_bytes()]).unwrap();
    let get = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.arg("get").arg("--attach-socket").arg(served.attach_path()).arg(name);
        command
    };
    let (sent, said) = on_terminal(&mut get("strange"));
    assert_eq!(sent, "\\x1b]0;owned\\x07\\x1b[31mred\\xff\n");
    assert!(said.starts_with("note: shown escaped"), "{said}");
    let (sent, said) = on_terminal(&mut get("plain"));
    // The terminal may widen the tab.
    assert!(sent.starts_with("gr\u{fc}\u{df}e\n") && sent.ends_with("C:\\\n"), "{sent:?}");
    assert_eq!(said, "");
    let piped = get("strange").output().unwrap();
    assert_eq!(piped.stdout, [&value[..], b"\n"].concat());
    assert_eq!(piped.stderr, b"");
}
