//! Under a limit on the length of files (`ulimit -f`): whoever writes more is sent a signal, which ended the
//! server without a word.

mod cached;

use cached::Cached;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dolium-longest-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn must_end_in_order(ended: ExitStatus, said: &str, sentence: &str) {
    assert_eq!(ended.code(), Some(1), "{ended}: {said}");
    assert!(said.contains(sentence), "{said}");
}

#[test]
fn items_that_a_file_cannot_hold_are_told_of() {
    const VALUE_BYTES: usize = 200 << 10;
    let folder = folder("items");
    let (file, said) = (folder.join("items"), folder.join("said"));
    let said_to = std::fs::File::create(&said).expect("a file");
    let options = ["-e", file.to_str().expect("text")];
    let mut server = Cached::start_saying(&options, said_to.into());
    let mut socket = TcpStream::connect(server.address).expect("a connection");
    let value = "x".repeat(VALUE_BYTES);
    write!(socket, "set k 0 0 {VALUE_BYTES}\r\n{value}\r\n").expect("a request");
    let mut reply = [0; "STORED\r\n".len()];
    socket.read_exact(&mut reply).expect("a reply");
    // Not from the start: its memory is a file, too, and the longest of all.
    let longest = Rlimit { current: Some(100 << 10), maximum: Some(100 << 10) };
    let process = Pid::from_child(&server.child);
    prlimit(Some(process), Resource::Fsize, longest).expect("our child");
    kill_process(process, Signal::USR1).expect("our child");
    let ended = server.child.wait().expect("our child");
    let said = std::fs::read_to_string(&said).expect("text");
    must_end_in_order(ended, &said, "the items could not be kept: File too large");
    assert!(!folder.join("items.meta").exists());
    std::fs::remove_dir_all(folder).expect("our folder");
}

#[test]
fn a_start_whose_memory_may_not_be_a_file_says_what_to_raise() {
    for words in [
        "memcached -u root -p -1 -l 127.0.0.1",
        "serve --port 0 --memcached-port 0 --http-port 0 --attach-socket attach",
    ] {
        let folder = folder("start");
        let program = env!("CARGO_BIN_EXE_dolium");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f 1000; exec {program} {words}")]);
        let ended = command.current_dir(&folder).env("XDG_RUNTIME_DIR", &folder).output();
        let ended = ended.expect("a shell");
        let said = String::from_utf8_lossy(&ended.stderr);
        must_end_in_order(ended.status, &said, "Raise ulimit -f");
        std::fs::remove_dir_all(folder).expect("our folder");
    }
}
