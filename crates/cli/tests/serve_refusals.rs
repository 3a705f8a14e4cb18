//! What `dolium serve` says where it does not start: the cause, by the name of what was given, and what
//! to do about it.

use std::process::Command;

/// The last line on the standard error of a server that does not start.
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().last().unwrap_or_default().to_owned()
}

/// A smaller `maxmemory` was recommended, which needs as many addresses.
#[test]
fn too_few_addresses_are_said_to_be_those() {
    let program = env!("CARGO_BIN_EXE_dolium");
    let words = "--memcached-port 0 --http-port 0 --attach-socket '' --threads 1 --maxmemory 64mb";
    let line = format!("ulimit -v 8000000; exec {program} --port 0 --unixsocket no.sock {words}");
    let said = refused(Command::new("sh").current_dir(std::env::temp_dir()).args(["-c", &line]));
    assert!(said.contains("cannot reserve 37 GiB of address space"), "{said}");
    assert!(said.contains("ulimit -v") && said.contains("LimitAS="), "{said}");
}
