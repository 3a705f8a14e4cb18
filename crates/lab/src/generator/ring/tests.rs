//! A ring by itself: what it receives into few buffers, the kernel's note, and what is left behind.
//! Where the machine has no such ring the tests say that they are skipped.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, recv};

use super::*;
use crate::clock::Clock;
use crate::generator::arrival::Arrivals;
use crate::workload::{Distribution, Mix, Protocol, RequestPool, Workload};

const PATIENCE: Duration = Duration::from_secs(10);

fn pool() -> RequestPool {
    let workload = Workload {
        protocol: Protocol::Resp,
        mix: Mix::Get,
        keys: 100,
        key_bytes: 16.into(),
        value_bytes: 64.into(),
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: 1,
    };
    RequestPool::build(&workload).unwrap()
}

/// Whether the kernel (of 6.15 or younger) lets this process have a ring.
fn is_there() -> bool {
    let mut ring = IoUring::builder();
    let ring: io::Result<IoUring> = ring.setup_single_issuer().setup_defer_taskrun().build(8);
    let is_there = ring.is_ok_and(|ring| ring.params().is_feature_no_iowait());
    if !is_there {
        // Not by a macro, whose output is shown of failed tests only.
        let _ = writeln!(
            io::stderr(),
            "skipped: this kernel is older than 6.15 or lets the test have no io_uring"
        );
    }
    is_there
}

/// One connection and its server's end.
fn connected(pool: &RequestPool, timed: bool) -> (Vec<Connection>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    server.set_nodelay(true).unwrap();
    let socket = OwnedFd::from(listener.accept().unwrap().0);
    arrival::note(&socket);
    let mut connection =
        Connection::new(Link::Plain(socket), pool.walk(0, 1, 1), 1, Protocol::Resp);
    connection.timed = timed;
    (vec![connection], server)
}

#[test]
fn what_finds_no_buffer_comes_when_one_is_given_back() {
    if !is_there() {
        return;
    }
    let pool = pool();
    let (connections, mut server) = connected(&pool, false);
    let mut ring = Ring::open(&connections, 0).unwrap();
    let sent: Vec<u8> = (0..3 * BUFFER_LEAST).map(|at| (at % 251) as u8).collect();
    server.write_all(&sent).unwrap();
    let (mut came, mut starved) = (Vec::new(), 0);
    while came.len() < sent.len() {
        assert!(ring.wait(PATIENCE).unwrap() > 0, "only {} bytes came", came.len());
        for number in 0..ring.completions.len() {
            match ring.event(number) {
                Event::Came { buffer, len, armed, .. } => {
                    came.extend_from_slice(ring.buffers.filled(buffer, len));
                    ring.give_back(buffer);
                    if !armed {
                        ring.arm(0, false).unwrap();
                    }
                }
                Event::Starved { .. } => {
                    starved += 1;
                    ring.arm(0, false).unwrap();
                }
                _ => panic!("the connection is up"),
            }
        }
    }
    assert!(came == sent, "the bytes came in another order");
    assert!(starved > 0, "one buffer was enough for three");
}

#[test]
fn a_reply_over_a_ring_counts_from_its_coming() {
    if !is_there() {
        return;
    }
    const WAIT: Duration = Duration::from_millis(40);
    let pool = pool();
    let (connections, mut server) = connected(&pool, true);
    let mut ring = Ring::open(&connections, 0).unwrap();
    let clock = Clock::start();
    let arrivals = Arrivals::new(clock);
    // The kernel begins to note a moment after it was asked for the first time.
    thread::sleep(WAIT);
    let before = clock.now();
    server.write_all(b"+OK\r\n").unwrap();
    let sent = clock.now();
    thread::sleep(WAIT);
    assert_eq!(ring.wait(PATIENCE).unwrap(), 1);
    let Event::Came { index: 0, buffer, len, armed: true } = ring.event(0) else {
        panic!("a reply came")
    };
    let (bytes, note) = ring.noted(buffer, len).unwrap();
    assert_eq!(bytes, b"+OK\r\n");
    let at = arrivals.of_note(note).expect("TCP has notes");
    // The two clocks are compared to within a millisecond.
    assert!(before <= at + 1_000_000 && at <= sent + 1_000_000, "{before} {at} {sent}");
}

#[test]
fn a_ring_that_ended_takes_nothing_more_and_leaves_the_connection_up() {
    if !is_there() {
        return;
    }
    let pool = pool();
    let (connections, mut server) = connected(&pool, false);
    let mut ring = Ring::open(&connections, 0).unwrap();
    assert_eq!(ring.armed, 1);
    assert!(ring.end());
    server.write_all(b"+OK\r\n").unwrap();
    // A receive that was left would have it.
    assert_eq!(ring.wait(Duration::from_millis(100)).unwrap(), 0);
    drop(ring);
    let socket = connections[0].link.socket();
    set_socket_timeout(socket, Timeout::Recv, Some(PATIENCE)).unwrap();
    let mut into = [0; 16];
    let got = rustix::io::retry_on_intr(|| recv(socket, &mut into, RecvFlags::empty()));
    assert_eq!(&into[..got.unwrap().0], b"+OK\r\n");
}

#[test]
fn waiting_ends_when_it_is_to_however_it_began() {
    if !is_there() {
        return;
    }
    let pool = pool();
    let (connections, _server) = connected(&pool, false);
    let mut ring = Ring::open(&connections, 0).unwrap();
    let begun = Instant::now();
    // What is handed over makes the call succeed that nobody answers.
    ring.send(0, pool.slice(0, 1), false).unwrap();
    assert_eq!(ring.wait(Duration::from_secs(1)).unwrap(), 0);
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(1) && took < Duration::from_millis(1_900), "{took:?}");
}
