//! A process that forks after attaching, as a server with workers does. Parent and child spoke into
//! one ring, each with its own idea of where it stood, and each took the other's replies.

use dolium_server::{Running, read_config};
use std::path::Path;
use std::process::Command;

const EXPECTED: &str = "\
parent: set
child: no reply, this process was forked after attachin
child: got one
child attached again: set
parent: got three
parent: set
parent: got four
";

#[test]
fn a_forked_child_is_told_to_attach_again() {
    let folder = std::env::temp_dir().join(format!("dolium-c-forked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let (program, attach) = (folder.join("forked"), folder.join("attach"));
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(here.join("../../include"))
        .arg(here.join("tests/forked.c"))
        .arg("-L")
        .arg(&libraries)
        .args(["-ldolium", "-o"])
        .arg(&program)
        .output()
        .expect("a C compiler is installed");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut words: Vec<String> = "--port 0 --memcached-port 0 --http-port 0 --threads 1 \
                                  --pin-threads no --loglevel nothing --maxmemory 64mb"
        .split_whitespace()
        .map(String::from)
        .collect();
    words.extend(["--attach-socket".into(), attach.display().to_string()]);
    let mut running = Running::start(read_config(None, &words).unwrap()).unwrap();
    let done = Command::new(&program).arg(&attach).env("LD_LIBRARY_PATH", &libraries).output();
    running.server.stop();
    running.wait();
    let _ = std::fs::remove_dir_all(&folder);
    let done = done.unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), EXPECTED);
    assert!(done.status.success());
}
