//! A server on free ports within the test's process, and a plain client of it.

use dolium_server::listener::Door;
use dolium_server::memcached::Setup;
use dolium_server::{Running, read_config};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server that neither takes nor answers anything for so long has failed the test.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct House {
    pub running: Running,
}

impl House {
    /// Directives as on the command line, without the dashes: `["threads 2", "timeout 1"]`.
    pub fn open(directives: &[&str]) -> House {
        House::open_with(directives, None)
    }

    /// And with what `dolium memcached` adds.
    #[allow(dead_code)]
    pub fn open_for_memcached(directives: &[&str], setup: Setup) -> House {
        House::open_with(directives, Some(setup))
    }

    fn open_with(directives: &[&str], setup: Option<Setup>) -> House {
        let mut words: Vec<String> = "--port 0 --memcached-port 0 --http-port 0 --bind 127.0.0.1 \
                                      --threads 1 --pin-threads no --loglevel nothing \
                                      --attach-socket"
            .split_whitespace()
            .map(String::from)
            .collect();
        words.push(String::new());
        for directive in directives {
            let mut parts = directive.split(' ').map(String::from);
            words.extend(parts.next().map(|name| format!("--{name}")));
            words.extend(parts);
        }
        let mut config = read_config(None, &words).expect("a good configuration");
        config.takes_free_ports = true;
        config.memcached = setup;
        House { running: Running::start(config).expect("a server") }
    }

    pub fn client(&self) -> Client {
        self.client_of(Door::Redis)
    }

    pub fn client_of(&self, door: Door) -> Client {
        let address = self.running.tcp(door).expect("a door");
        let socket = TcpStream::connect(address).expect("a connection");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        socket.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Client { socket, rest: Vec::new() }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.running.server.stop();
        self.running.wait();
    }
}

pub struct Client {
    pub socket: TcpStream,
    rest: Vec<u8>,
}

impl Client {
    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the server takes it");
    }

    /// Exactly this many bytes.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = vec![0; 64 * 1024];
        while self.rest.len() < len {
            match self.socket.read(&mut buffer) {
                Ok(0) => panic!("closed after {}", self.rest.escape_ascii()),
                Ok(n) => self.rest.extend_from_slice(&buffer[..n]),
                // As when the process was stopped for a while.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error} after {}", self.rest.escape_ascii()),
            }
        }
        self.rest.drain(..len).collect()
    }

    pub fn expect(&mut self, reply: &str) {
        let got = self.take(reply.len());
        assert_eq!(String::from_utf8_lossy(&got), reply);
    }

    /// Sends a request and expects exactly this reply.
    pub fn ask(&mut self, request: &str, reply: &str) {
        self.send(request.as_bytes());
        self.expect(reply);
    }

    /// Everything up to the end of the stream.
    #[allow(dead_code)]
    pub fn take_all(mut self) -> Vec<u8> {
        // A reset is an end too: the server may close with our bytes unread.
        if let Err(error) = self.socket.read_to_end(&mut self.rest)
            && error.kind() == ErrorKind::WouldBlock
        {
            panic!("it does not end after {}", self.rest.escape_ascii());
        }
        self.rest
    }
}

/// CPU time of this process' threads of that name, in the system's hundredths of a second.
#[allow(dead_code)]
pub fn cpu_of(name: &str) -> u64 {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task").expect("tasks").flatten() {
        let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
        let (head, fields) = stat.rsplit_once(')').expect("a name in brackets");
        if head.ends_with(&format!("({name}")) {
            let fields: Vec<&str> = fields.split_whitespace().collect();
            ticks += fields[11].parse::<u64>().expect("user time");
            ticks += fields[12].parse::<u64>().expect("system time");
        }
    }
    ticks
}
