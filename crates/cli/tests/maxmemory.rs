//! `maxmemory` is a bound on the process: 2 GiB of writes are offered to a server with
//! `maxmemory 512mb` from 200 connections, values of 1 MB among them, and its resident memory is
//! looked at all the while. With `noeviction` clients get the OOM error and reads go on.

use dolium_lab::stores::free_port;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const MAXMEMORY: u64 = 512 << 20;
/// `client-buffers-max` as the test sets it, and what a process takes for itself.
const BUFFERS: u64 = 64 << 20;
const PROCESS: u64 = 32 << 20;
const OFFERED: u64 = 2 << 30;
const CONNECTIONS: usize = 200;
const THREADS: usize = 8;

struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The child is ours; errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(policy: &str) -> Server {
    let port = free_port().expect("a free port");
    let child = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .args(["serve", "--port", &port.to_string(), "--memcached-port", "0", "--http-port", "0"])
        .args(["--attach-socket", "", "--threads", "2", "--maxmemory", "512mb"])
        .args(["--maxmemory-policy", policy, "--client-buffers-max", "64mb"])
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let server = Server { child, port };
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the server does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).expect("a process has memory");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib << 10
}

fn connect(port: u16) -> BufReader<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    socket.set_nodelay(true).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    BufReader::new(socket)
}

fn set(connection: &mut BufReader<TcpStream>, key: &str, value: &[u8]) -> String {
    let mut request =
        format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n", key.len(), value.len()).into_bytes();
    request.extend_from_slice(value);
    request.extend_from_slice(b"\r\n");
    connection.get_mut().write_all(&request).expect("it reads");
    let mut line = String::new();
    connection.read_line(&mut line).expect("it answers");
    line
}

fn get_len(connection: &mut BufReader<TcpStream>, key: &str) -> i64 {
    let request = format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len());
    connection.get_mut().write_all(request.as_bytes()).expect("it reads");
    let mut line = String::new();
    connection.read_line(&mut line).expect("it answers");
    let len: i64 = line.trim_start_matches('$').trim().parse().unwrap_or_else(|_| panic!("{line}"));
    if len >= 0 {
        let mut value = vec![0; len as usize + 2];
        connection.read_exact(&mut value).expect("the value");
    }
    len
}

/// Offers the writes; returns how many were accepted and refused, and the largest resident size.
fn offer(server: &Server) -> (u64, u64, u64) {
    let (ok, refused, offered) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let pid = server.child.id();
    let peak = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peak = 0;
            while !stop.load(Ordering::Relaxed) {
                peak = peak.max(resident(pid));
                std::thread::sleep(Duration::from_millis(10));
            }
            peak
        });
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (ok, refused, offered) = (&ok, &refused, &offered);
                scope.spawn(move || {
                    let mut connections: Vec<_> =
                        (0..CONNECTIONS / THREADS).map(|_| connect(server.port)).collect();
                    let value = vec![b'v'; 1 << 20];
                    let mut number = 0u64;
                    while offered.load(Ordering::Relaxed) < OFFERED {
                        let bytes = match number % 64 {
                            0 => 1 << 20,
                            n => 1000 + n as usize * 100,
                        };
                        let turn = number as usize % connections.len();
                        let key = format!("key:{thread}:{number}");
                        let reply = set(&mut connections[turn], &key, &value[..bytes]);
                        if reply.starts_with("+OK") {
                            ok.fetch_add(1, Ordering::Relaxed);
                        } else {
                            assert!(reply.starts_with("-OOM "), "{reply}");
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        offered.fetch_add(bytes as u64, Ordering::Relaxed);
                        number += 1;
                    }
                })
            })
            .collect();
        // All of them end before one's failure is told of: the scope waits for the watcher, and a test
        // that failed here went on for ever.
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        let peak = watcher.join().expect("the watcher");
        assert!(outcomes.iter().all(Result::is_ok), "a writer has failed");
        peak
    });
    (ok.into_inner(), refused.into_inner(), peak)
}

#[test]
fn with_eviction_hardly_a_write_is_refused_and_resident_memory_stays_below_the_limit() {
    let server = start("allkeys-lru");
    let (ok, refused, peak) = offer(&server);
    println!("accepted {ok}, refused {refused}, resident at most {} MiB", peak >> 20);
    assert!(peak < MAXMEMORY + BUFFERS + PROCESS, "resident memory reached {} MiB", peak >> 20);
    // None is, where it was measured. One that finds a moment's memory in the hands of the other thread, or
    // of buffers, may be.
    assert!(refused * 1000 <= ok, "{refused} of {} writes were refused", ok + refused);
}

#[test]
fn without_eviction_clients_get_the_oom_error_and_reads_go_on() {
    let server = start("noeviction");
    let mut connection = connect(server.port);
    assert_eq!(set(&mut connection, "first", b"value"), "+OK\r\n");
    let (ok, refused, peak) = offer(&server);
    println!("accepted {ok}, refused {refused}, resident at most {} MiB", peak >> 20);
    assert!(peak < MAXMEMORY + BUFFERS + PROCESS, "resident memory reached {} MiB", peak >> 20);
    assert!(refused > 0 && ok > 10_000);
    assert_eq!(get_len(&mut connection, "first"), 5);
    assert_eq!(get_len(&mut connection, "key:0:1"), 1100);
}
