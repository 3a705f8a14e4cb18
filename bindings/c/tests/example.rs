//! The C example is compiled with the system's compiler and run against a server.

use dolium_server::{Running, read_config};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXPECTED: &str = "\
greeting -> hello
SET -> OK
INCR -> 1
MGET -> 2 elements
NOSUCHCOMMAND -> ERR unknown command 'NOSUCHCOMMAND', with args beginning with: 
get -> salve
get with room for 2 -> needs 5
get to where the key is -> salve
ttl -> about a minute
type -> string
exists -> yes
get_many visits -> 1
get_many nothing -> (none)
get_many from:c -> salve
scan -> 3 of 3 keys
db 9999 -> there is no database 9999: this store has 0 to 15
";

/// Where cargo puts libdolium: beside this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn compile(folder: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("example");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(here.join("../../include"))
        .arg(here.join("example.c"))
        .arg("-L")
        .arg(libraries())
        .args(["-ldolium", "-o"])
        .arg(&program)
        .output()
        .expect("a C compiler is installed");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn run(program: &Path, attach: &Path) -> std::process::Output {
    Command::new(program).arg(attach).env("LD_LIBRARY_PATH", libraries()).output().unwrap()
}

#[test]
fn the_example_does_what_it_says() {
    let folder = std::env::temp_dir().join(format!("dolium-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = compile(&folder);
    let attach = folder.join("attach");
    let refused = run(&program, &attach);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.starts_with("attach: cannot attach at "), "{said}");

    let mut words: Vec<String> = "--port 0 --memcached-port 0 --http-port 0 --threads 1 \
                                  --pin-threads no --loglevel nothing --maxmemory 64mb"
        .split_whitespace()
        .map(String::from)
        .collect();
    let door = folder.join("redis");
    words.extend(["--attach-socket".into(), attach.display().to_string()]);
    words.extend(["--unixsocket".into(), door.display().to_string()]);
    let mut running = Running::start(read_config(None, &words).unwrap()).unwrap();
    // As redis-cli would.
    let mut client = UnixStream::connect(&door).unwrap();
    client.write_all(b"SET greeting hello\r\n").unwrap();
    let mut ok = [0; 5];
    client.read_exact(&mut ok).unwrap();
    assert_eq!(&ok, b"+OK\r\n");
    let done = run(&program, &attach);
    running.server.stop();
    running.wait();
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert_eq!(String::from_utf8_lossy(&done.stdout), EXPECTED);
    assert!(done.status.success());
}
