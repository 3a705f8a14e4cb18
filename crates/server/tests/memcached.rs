//! What a server for Memcached's clients does beside answering a connection: datagrams, SASL,
//! watchers.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use dolium_server::memcached::accounts::Accounts;
use dolium_server::memcached::{Place, Setup};
use door::{Client, House};
use std::net::UdpSocket;
use std::time::Duration;

const HEADER_BYTES: usize = 8;
/// Longest datagram of a reply, as Memcached's.
const DATAGRAM_BYTES: usize = 1400;

fn setup() -> Setup {
    Setup {
        hosts: vec![Place { host: "127.0.0.1".into(), port: None, is_plain: true }],
        ..Setup::default()
    }
}

fn with_udp(mut setup: Setup) -> (House, UdpSocket) {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    setup.udp_port = i32::from(free);
    let house = House::open_for_memcached(&["notify-keyspace-events KEA"], setup);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", free)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (house, socket)
}

fn datagram(id: u16, number: u16, count: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in [id, number, count, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(body);
    bytes
}

/// The parts of one reply, which may come in any order, put together.
fn reply(socket: &UdpSocket, id: u16) -> Vec<u8> {
    let mut parts: Vec<Option<Vec<u8>>> = Vec::new();
    loop {
        let mut bytes = [0; 65_536];
        let len = socket.recv(&mut bytes).unwrap();
        assert!(len <= DATAGRAM_BYTES, "a datagram of {len} bytes");
        let field = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!((field(0), field(6)), (id, 0));
        parts.resize(usize::from(field(4)), None);
        parts[usize::from(field(2))] = Some(bytes[HEADER_BYTES..len].to_vec());
        if parts.iter().all(Option::is_some) {
            return parts.into_iter().flatten().flatten().collect();
        }
    }
}

#[test]
fn a_long_reply_comes_in_numbered_datagrams() {
    let (house, socket) = with_udp(setup());
    let value = "v".repeat(10_000);
    house.client_of(Door::Memcached).ask(&format!("set k 3 0 10000\r\n{value}\r\n"), "STORED\r\n");
    socket.send(&datagram(7, 0, 1, b"get k\r\n")).unwrap();
    let got = String::from_utf8(reply(&socket, 7)).unwrap();
    assert_eq!(got, format!("VALUE k 3 10000\r\n{value}\r\nEND\r\n"));
}

#[test]
fn datagrams_that_are_no_request_are_answered_or_dropped() {
    let (_house, socket) = with_udp(setup());
    // Shorter than a header, and a request that has not all come: nothing to say.
    socket.send(b"1234567").unwrap();
    socket.send(&datagram(1, 0, 1, b"set k 0 0 5\r\nab")).unwrap();
    socket.send(&datagram(2, 0, 1, b"")).unwrap();
    // One of two.
    socket.send(&datagram(3, 0, 2, b"get k\r\n")).unwrap();
    assert_eq!(reply(&socket, 3), b"SERVER_ERROR multi-packet request not supported\r\n");
    // What needs a connection.
    socket.send(&datagram(4, 0, 1, b"watch\r\n")).unwrap();
    assert_eq!(reply(&socket, 4), b"ERROR\r\n");
    socket.send(&datagram(5, 0, 1, b"get k\r\n")).unwrap();
    assert_eq!(reply(&socket, 5), b"END\r\n");
}

/// A datagram has room for a large value's name thousands of times, and its reply was built whole,
/// gigabytes of it, before it was found to be more than datagrams can be numbered for. The memory
/// tells whether it was: the same answer could come after all.
#[test]
fn a_reply_that_no_datagrams_can_carry_is_not_built() {
    const LEN: usize = 1_000_000;
    let (house, socket) = with_udp(setup());
    let value = "v".repeat(LEN);
    let client = &mut house.client_of(Door::Memcached);
    client.ask(&format!("set k 0 0 {LEN}\r\n{value}\r\n"), "STORED\r\n");
    let many = format!("get {}\r\n", "k ".repeat(2_000).trim_end());
    let touching = many.replacen("get", "gat 0", 1);
    let pipelined = "mg k v\r\n".repeat(2_000);
    let mut binary = Vec::new();
    for _ in 0..2_000 {
        binary.extend([0x80, 0x00, 0, 1]);
        binary.extend([0; 4]);
        binary.extend(1_u32.to_be_bytes());
        binary.extend([0; 12]);
        binary.extend(b"k");
    }
    for request in [many.as_bytes(), touching.as_bytes(), pipelined.as_bytes(), &binary] {
        socket.send(&datagram(9, 0, 1, request)).unwrap();
        assert_eq!(reply(&socket, 9), b"SERVER_ERROR reply is too long for datagrams\r\n");
    }
    // What datagrams could be numbered for was built once, and sent to whoever the request named for its sender.
    let some = |count| format!("get{}\r\n", " k".repeat(count));
    socket.send(&datagram(9, 0, 1, some(5).as_bytes())).unwrap();
    assert_eq!(reply(&socket, 9), b"SERVER_ERROR reply is too long for datagrams\r\n");
    // The most that is ever there: a reply, the value behind it and as much again where the memory grows.
    let peak = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(kib < 1 << 19, "{kib} kB at most");
    socket.send(&datagram(1, 0, 1, b"mn\r\n")).unwrap();
    assert_eq!(reply(&socket, 1), b"MN\r\n");
}

/// A thread answered sixteen datagrams before it looked at its connections, however long their replies were:
/// forty of 1,200 bytes a second held everybody up for seconds.
#[test]
fn who_is_connected_waits_for_one_long_reply_to_a_datagram() {
    const LEN: usize = 1_000_000;
    let (house, socket) = with_udp(setup());
    let client = &mut house.client_of(Door::Memcached);
    client.ask(&format!("set k 0 0 {LEN}\r\n{}\r\n", "v".repeat(LEN)), "STORED\r\n");
    client.ask("set served 0 0 1\r\n0\r\n", "STORED\r\n");
    // Each takes some milliseconds, and all of them are there before the first has been answered.
    let long = format!("incr served 1\r\nget{}\r\n", " k".repeat(4));
    for id in 0..16 {
        socket.send(&datagram(id, 0, 1, long.as_bytes())).unwrap();
    }
    client.send(b"get served\r\n");
    client.expect("VALUE served 0 ");
    let rest = String::from_utf8(client.take(4)).expect("text");
    let served = rest.split("\r\n").nth(1).unwrap_or_default();
    assert!(rest.starts_with("1\r\n"), "{rest:?}: more than nine were served before");
    assert!(served < "8", "{served} were served before");
}

/// The value of an unknown or a too large request was read as the next requests, where a connection passes it over.
#[test]
fn the_value_of_a_refused_request_in_a_datagram_is_not_run() {
    let (house, socket) = with_udp(setup());
    house.client().ask("CONFIG SET memcached-item-size-max 1024\r\n", "+OK\r\n");
    let set = |value: &[u8]| {
        let body = (9 + value.len() as u32).to_be_bytes();
        [&[0x80, 0x01, 0, 1, 8, 0, 0, 0][..], &body, &[0; 20], b"k", value].concat()
    };
    let large = set(&[set(b"run"), vec![0; 1024]].concat());
    let unknown = [&[0x80, 0x6f], &large[2..]].concat();
    for (request, status) in [(unknown, 0x81), (large, 0x03)] {
        let noop = [&[0x80, 0x0a][..], &[0; 22]].concat();
        socket.send(&datagram(1, 0, 1, &[request, noop].concat())).unwrap();
        let got = reply(&socket, 1);
        assert_eq!((got[7], got[24 + usize::from(got[11]) + 1]), (status, 0x0a), "{got:?}");
        house.client_of(Door::Memcached).ask("get k\r\n", "END\r\n");
    }
}

#[test]
fn changes_by_datagrams_are_announced() {
    let (house, socket) = with_udp(setup());
    let mut subscriber = house.client();
    subscriber.ask(
        "SUBSCRIBE __keyevent@0__:set\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$18\r\n__keyevent@0__:set\r\n:1\r\n",
    );
    socket.send(&datagram(1, 0, 1, b"set k 0 0 1\r\nx\r\n")).unwrap();
    assert_eq!(reply(&socket, 1), b"STORED\r\n");
    subscriber.expect("*3\r\n$7\r\nmessage\r\n$18\r\n__keyevent@0__:set\r\n$1\r\nk\r\n");
}

fn binary(client: &mut Client, opcode: u8, key: &str, value: &[u8]) -> (u16, Vec<u8>) {
    let mut request = vec![0x80, opcode];
    request.extend((key.len() as u16).to_be_bytes());
    request.extend([0; 4]);
    request.extend(((key.len() + value.len()) as u32).to_be_bytes());
    request.extend([0; 12]);
    request.extend(key.as_bytes());
    request.extend(value);
    client.send(&request);
    let head = client.take(24);
    let rest = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    (u16::from_be_bytes([head[6], head[7]]), client.take(rest as usize))
}

#[test]
fn sasl_lets_in_who_knows_a_password() {
    const GET: u8 = 0x00;
    const NOOP: u8 = 0x0a;
    const MECHANISMS: u8 = 0x20;
    const AUTH: u8 = 0x21;
    const OK: u16 = 0x00;
    const NOT_FOUND: u16 = 0x01;
    const DENIED: u16 = 0x20;
    let path = std::env::temp_dir().join(format!("dolium-{}-passwords", std::process::id()));
    std::fs::write(&path, "ada:secret\nbob:other\n").unwrap();
    let mut setup = setup();
    setup.fixed.sasl = true;
    setup.accounts = Accounts::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (house, socket) = with_udp(setup);
    // As by Memcached, who asks for anything else is told so and hung up on.
    let mut stranger = house.client_of(Door::Memcached);
    assert_eq!(binary(&mut stranger, GET, "k", b"").0, DENIED);
    assert_eq!(stranger.take_all(), b"");
    let mut client = house.client_of(Door::Memcached);
    assert_eq!(binary(&mut client, MECHANISMS, "", b"").1, b"PLAIN");
    for wrong in [&b"\0ada\0other"[..], b"\0eve\0secret", b"\0ada\0", b"", b"ada", b"\0\0\0\0"] {
        assert_eq!(binary(&mut client, AUTH, "PLAIN", wrong).0, DENIED, "{wrong:?}");
    }
    assert_eq!(binary(&mut client, AUTH, "PLAIN", b"\0ada\0secret").0, OK);
    assert_eq!(binary(&mut client, GET, "k", b"").0, NOT_FOUND);
    assert_eq!(binary(&mut client, NOOP, "", b"").0, OK);
    // Nobody can log in by datagrams, and another connection is still a stranger's.
    socket.send(&datagram(1, 0, 1, b"get k\r\n")).unwrap();
    assert!(!reply(&socket, 1).starts_with(b"END"));
    assert_eq!(binary(&mut house.client_of(Door::Memcached), GET, "k", b"").0, DENIED);
}

#[test]
fn what_is_appended_to_stays_within_the_largest_item() {
    const APPEND: u8 = 0x0e;
    const PREPEND: u8 = 0x0f;
    const NOT_STORED: u16 = 0x05;
    let house = House::open(&["memcached-item-size-max 1kb"]);
    let mut client = house.client_of(Door::Memcached);
    let half = "h".repeat(600);
    client.ask(&format!("set k 0 0 600\r\n{half}\r\n"), "STORED\r\n");
    client.ask(&format!("append k 0 0 600\r\n{half}\r\n"), "NOT_STORED\r\n");
    client.ask(&format!("ms k 600 MP\r\n{half}\r\n"), "NS\r\n");
    for opcode in [APPEND, PREPEND] {
        let mut other = house.client_of(Door::Memcached);
        let (status, text) = binary(&mut other, opcode, "k", half.as_bytes());
        assert_eq!((status, &text[..]), (NOT_STORED, &b"Not stored."[..]));
    }
    client.ask("mg k s\r\n", "HD s600\r\n");
    house.client().ask("CONFIG SET memcached-item-size-max 2kb\r\n", "+OK\r\n");
    client.ask(&format!("append k 0 0 600\r\n{half}\r\n"), "STORED\r\n");
    client.ask("mg k s\r\n", "HD s1200\r\n");
}

#[test]
fn settings_tell_whether_details_count_and_how_many_threads_serve_datagrams() {
    let house = House::open(&[]);
    let settings = || {
        let mut client = house.client_of(Door::Memcached);
        client.send(b"stats settings\r\nquit\r\n");
        String::from_utf8(client.take_all()).unwrap()
    };
    let told = settings();
    assert!(told.contains("STAT num_threads_per_udp 1\r\n"), "{told}");
    assert!(told.contains("STAT detail_enabled no\r\n"), "{told}");
    house.client_of(Door::Memcached).ask("stats detail on\r\n", "OK\r\n");
    let told = settings();
    assert!(told.contains("STAT detail_enabled yes\r\n"), "{told}");
}

fn line(client: &mut Client) -> String {
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push(char::from(client.take(1)[0]));
    }
    line.trim_end().into()
}

#[test]
fn a_watcher_sees_what_other_clients_do() {
    let (house, _socket) = with_udp(setup());
    let mut watcher = house.client_of(Door::Memcached);
    watcher.ask("watch fetchers mutations deletions\r\n", "OK\r\n");
    let mut client = house.client_of(Door::Memcached);
    client.ask("set k 0 0 1\r\nx\r\n", "STORED\r\n");
    client.ask("get k\r\n", "VALUE k 0 1\r\nx\r\nEND\r\n");
    client.ask("get none\r\n", "END\r\n");
    client.ask("delete k\r\n", "DELETED\r\n");
    for wanted in [
        &["type=item_store", "key=k", "status=stored", "cmd=set"][..],
        &["type=item_get", "key=k", "status=found"],
        &["type=item_get", "key=none", "status=not_found"],
        &["type=deleted", "key=k", "cmd=delete"],
    ] {
        // A store looks at the key first, which is told too.
        let mut seen = line(&mut watcher);
        while seen.contains("type=item_get") && !wanted[0].ends_with("item_get") {
            seen = line(&mut watcher);
        }
        for word in wanted {
            assert!(seen.split(' ').any(|told| told == *word), "{word} is not in {seen}");
        }
    }
}
