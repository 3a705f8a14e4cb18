//! A C program that asks whether its server is there, reads what it left, and calls at odd times and with
//! odd arguments.

use dolium_server::{Running, read_config};
use std::path::Path;
use std::process::Command;

const EXPECTED: &str = "\
served: 1, and no store: 0
many: 5 3, 7, error 1, 14
many refused: 1 1 1 1
no length: dolium_get needs a place for the length
visit 0: v
visit 1: (none)
visit 2: (none)
visit 3: w
steps of none: 4 keys
nothing: a pointer is NULL though its length is 100: an empty string has length 0
negative: a length is 18446744073709551615, which is more than there can be in memory: was it negative?
refused: 1 1 1 1 1 1 1
late: v
ended
served: 0
still: v
";

#[test]
fn a_program_learns_that_its_server_has_gone() {
    let folder = std::env::temp_dir().join(format!("dolium-c-served-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let (program, attach) = (folder.join("served"), folder.join("attach"));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(here.join("../../include"))
        .arg(here.join("tests/served.c"))
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
    assert!(done.status.success(), "{}", done.status);
}
