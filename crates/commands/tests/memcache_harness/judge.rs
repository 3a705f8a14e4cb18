//! An installed Memcached that judges our replies: each request goes to both.

use super::Connection;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Sent behind each request; its reply ends that of the request.
const MARK: &[u8] = b"mg nothing v Omark\r\n";
const MARK_REPLY: &[u8] = b"EN Omark\r\n";

/// Ends Memcached with the test, however that ends.
struct Process(Child, std::path::PathBuf);

pub struct Judge {
    _process: Process,
    stream: UnixStream,
}

impl Judge {
    pub fn start(name: &str, options: &[&str]) -> Judge {
        let socket =
            std::env::temp_dir().join(format!("dolium-{name}-{}.sock", std::process::id()));
        let mut command = Command::new("memcached");
        command.args(["-u", "nobody", "-a", "0777", "-s"]).arg(&socket).stderr(Stdio::null());
        command.args(options);
        let child = command.spawn().expect("memcached: installed by `cargo xtask test`");
        let process = Process(child, socket);
        for _ in 0..500 {
            if let Ok(stream) = UnixStream::connect(&process.1) {
                stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
                return Judge { _process: process, stream };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("memcached did not come up");
    }

    fn send(&mut self, request: &[u8]) -> Vec<u8> {
        self.stream.write_all(request).expect("memcached takes the request");
        self.stream.write_all(MARK).expect("memcached takes the mark");
        let (mut reply, mut piece) = (Vec::new(), [0; 4096]);
        while !reply.ends_with(MARK_REPLY) {
            let len = self.stream.read(&mut piece).expect("memcached answers");
            assert!(len > 0, "memcached closed after {}", request.escape_ascii());
            reply.extend_from_slice(&piece[..len]);
        }
        reply.truncate(reply.len() - MARK_REPLY.len());
        reply
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(&self.1);
    }
}

/// Line by line, so that a difference names its request.
pub fn compare(name: &str, requests: &[&str]) {
    compare_with(Judge::start(name, &[]), Connection::new(), requests);
}

/// The same with options of Memcached, and a connection that has them, too.
pub fn compare_with(mut judge: Judge, mut ours: Connection, requests: &[&str]) {
    let mut wrong = Vec::new();
    for request in requests {
        let expected = judge.send(request.as_bytes()).escape_ascii().to_string();
        let got = ours.send(request.as_bytes()).escape_ascii().to_string();
        if expected != got {
            wrong.push(format!("{request:?}\n   memcached: {expected}\n   dolium:    {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
