//! Workers that only read may use their parent's store, also while others write: what a read in a child says
//! then was that it needs its own, for a command that nobody had given.

use dolium_server::{Running, read_config};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_read_in_a_forked_child_that_loses_against_writers_may_be_tried_again() {
    let folder = std::env::temp_dir().join(format!("dolium-c-contended-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let (program, attach) = (folder.join("contended"), folder.join("attach"));
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(here.join("../../include"))
        .arg(here.join("tests/contended.c"))
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
    let mut child = Command::new(&program)
        .arg(&attach)
        .env("LD_LIBRARY_PATH", &libraries)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut go = child.stdin.take().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(said.next().as_deref(), Some("ready"));
    // A write of several keys, which goes on as long as the read tries.
    let session = running.server.engine.session().unwrap();
    session.begin_transaction(None, 0);
    go.write_all(b"\n").unwrap();
    let lost = [said.next(), said.next()];
    session.end_transaction();
    drop(session);
    go.write_all(b"\n").unwrap();
    let found = said.next();
    let ended = child.wait().unwrap();
    running.server.stop();
    running.wait();
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(
        lost[0].as_deref(),
        Some("child: what is to be read is written to faster than that")
    );
    assert_eq!(lost[1].as_deref(), Some("ready"));
    assert_eq!(found.as_deref(), Some("child: got one"));
    assert!(ended.success(), "{ended}");
}
