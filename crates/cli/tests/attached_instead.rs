//! What is said where nobody could be attached to and whoever was asked instead is no help either.

use dolium_lab::stores::free_port;
use dolium_lab::stores::tls::Certificate;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");

/// What stands on the standard error of a `dolium get` that cannot attach.
fn refused(server: &str) -> String {
    let mut command = Command::new(DOLIUM);
    command.args(["get", "k", "--attach-socket", "/nonexistent/attach", "--server", server]);
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(said.matches("cannot attach").count(), 1, "{said}");
    assert!(!said.contains("reads go on"), "nothing was attached: {said}");
    said
}

/// What could not be attached to was told of twice, and then that the reads of somebody attached go on.
#[test]
fn one_that_hangs_up_is_told_of_once() {
    for (said, told) in [
        ("", "closed the connection without an answer: a port that is not Redis'"),
        ("SSH-2.0-nobody\r\n", "does not answer as a port of Redis does: a reply cannot begin"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("it is bound").to_string();
        let other = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let _ = socket.read(&mut [0; 256]);
            let _ = socket.write_all(said.as_bytes());
        });
        let refused = refused(&server);
        other.join().expect("no panic");
        let last = refused.lines().last().expect("a line");
        assert!(last.starts_with(&format!("dolium: {server} {told}")), "{refused}");
    }
}

#[test]
fn a_tls_port_is_said_to_be_one_perhaps() {
    let folder = std::env::temp_dir().join(format!("dolium-instead-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let certificate = Certificate::make(&folder).expect("a certificate");
    let port = free_port().expect("a port");
    let mut served = Command::new(DOLIUM)
        .args(["serve", "--port", "0", "--memcached-port", "0", "--http-port", "0"])
        .args(["--threads", "1", "--pin-threads", "no", "--maxmemory", "64mb"])
        .args(["--attach-socket", "", "--tls-port", &port.to_string(), "--tls-auth-clients", "no"])
        .arg("--tls-cert-file")
        .arg(&certificate.chain)
        .arg("--tls-key-file")
        .arg(&certificate.key)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let server = format!("127.0.0.1:{port}");
    let limit = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(&server).is_err() {
        assert!(Instant::now() < limit, "the server does not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
    let said = refused(&server);
    let _ = served.kill();
    let _ = served.wait();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(said.lines().last().is_some_and(|line| line.contains("TLS")), "{said}");
}
