//! Large values of Memcached's protocols are received into their items: cut anywhere, in any company,
//! and given up halfway.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::time::{Duration, Instant};

const LARGE: usize = 100_000;

/// A value in which every place is told from its neighbours.
fn value(first: usize, len: usize) -> Vec<u8> {
    (first..first + len).map(|n| b'a' + (n % 23) as u8).collect()
}

fn set(key: &str, flags: u32, exptime: i64, value: &[u8]) -> Vec<u8> {
    let line = format!("set {key} {flags} {exptime} {}\r\n", value.len());
    [line.as_bytes(), value, b"\r\n"].concat()
}

fn expect_value(client: &mut Client, key: &str, flags: u32, value: &[u8]) {
    client.ask(&format!("get {key}\r\n"), &format!("VALUE {key} {flags} {}\r\n", value.len()));
    assert!(client.take(value.len()) == value, "the value of {key}");
    client.expect("\r\nEND\r\n");
}

/// Waits a little, so that the server has to begin with what it has.
fn send_in_pieces(client: &mut Client, bytes: &[u8], cuts: &[usize]) {
    let mut from = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        client.send(&bytes[from..cut]);
        std::thread::sleep(Duration::from_millis(3));
        from = cut;
    }
}

#[test]
fn a_request_may_be_cut_anywhere() {
    let house = House::open(&[]);
    let mut client = house.client_of(Door::Memcached);
    client.socket.set_nodelay(true).expect("a socket");
    for (n, (flags, exptime)) in [(0, 0), (9, 0), (0, 1000), (7, 1000)].into_iter().enumerate() {
        let value = value(n, LARGE);
        let request = set("k", flags, exptime, &value);
        let (line, end) = (request.len() - LARGE - 2, request.len());
        for cuts in [
            vec![line - 1],
            vec![line],
            vec![line + 1, end - 3],
            vec![3, line + 5000, end - 2],
            vec![line + 50_000, end - 1],
            vec![end - 2, end - 1],
        ] {
            send_in_pieces(&mut client, &request, &cuts);
            client.expect("STORED\r\n");
            expect_value(&mut client, "k", flags, &value);
        }
    }
}

#[test]
fn what_is_stored_otherwise_than_foreseen_is_stored_all_the_same() {
    let house = House::open(&[]);
    let mut client = house.client_of(Door::Memcached);
    let (old, new) = (value(0, LARGE), value(5, 50_000));
    let ask = |client: &mut Client, line: &str, reply: &str| {
        client.send(&[line.as_bytes(), b" 50000\r\n", &new, b"\r\n"].concat());
        client.expect(reply);
    };
    client.send(&set("k", 3, 0, &old));
    client.expect("STORED\r\n");
    ask(&mut client, "append k 0 0", "STORED\r\n");
    ask(&mut client, "prepend k 0 0", "STORED\r\n");
    expect_value(&mut client, "k", 3, &[&new[..], &old, &new].concat());
    ask(&mut client, "add k 0 0", "NOT_STORED\r\n");
    ask(&mut client, "replace none 0 0", "NOT_STORED\r\n");
    ask(&mut client, "replace k 1 0", "STORED\r\n");
    expect_value(&mut client, "k", 1, &new);
    client.send(b"set k 0 0 50000 noreply\r\n");
    client.send(&[&new[..], b"\r\n"].concat());
    expect_value(&mut client, "k", 0, &new);
    ask(&mut client, "set gone 0 -1", "STORED\r\n");
    client.ask("get gone\r\n", "END\r\n");
    // In base64, with a unique number, a time to live and an opaque; then compared with the wrong one.
    client.send(&[b"ms a2V5 50000 b T60 F5 c O1\r\n", &new[..], b"\r\n"].concat());
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n") {
        reply.extend(client.take(1));
    }
    let reply = String::from_utf8(reply).expect("text");
    assert!(reply.starts_with("HD c") && reply.ends_with(" O1\r\n"), "{reply}");
    expect_value(&mut client, "key", 5, &new);
    client.send(&[b"ms key 50000 C1 k\r\n", &old[..50_000], b"\r\n"].concat());
    client.expect("EX kkey\r\n");
    client.send(&[b"ms key 50000 MA q\r\n", &old[..50_000], b"\r\nmn\r\n"].concat());
    client.expect("MN\r\n");
    expect_value(&mut client, "key", 5, &[&new[..], &old[..50_000]].concat());
}

#[test]
fn a_value_that_does_not_end_as_it_must_is_refused() {
    let house = House::open(&[]);
    let mut client = house.client_of(Door::Memcached);
    let old = value(1, LARGE);
    client.send(&set("k", 0, 0, &old));
    client.expect("STORED\r\n");
    // The line end is two bytes further than announced.
    client.send(&[b"set k 0 0 99998\r\n", &value(2, LARGE)[..], b"\r\n"].concat());
    client.expect("CLIENT_ERROR bad data chunk\r\n");
    let mut other = house.client_of(Door::Memcached);
    expect_value(&mut other, "k", 0, &old);
}

#[test]
fn binary_stores_are_received_too() {
    let house = House::open(&[]);
    let mut client = house.client_of(Door::Memcached);
    let store = |opcode: u8, opaque: u8, exptime: u8, value: &[u8]| {
        let body = (8 + 1 + value.len()) as u32;
        let mut request = vec![0x80, opcode, 0, 1, 8, 0, 0, 0];
        request.extend(body.to_be_bytes());
        request.extend([0, 0, 0, opaque, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, exptime]);
        [&request[..], b"k", value].concat()
    };
    for round in 0..4 {
        let (loud, quiet) = (value(round, LARGE), value(round + 9, LARGE));
        let requests = [
            store(0x01, 1, 0, &loud),
            store(0x11, 2, 100, &quiet),
            store(0x01, 3, 100, &loud),
            store(0x02, 4, 0, &quiet),
        ]
        .concat();
        match round {
            0 => client.send(&requests),
            _ => send_in_pieces(&mut client, &requests, &[20, 33, 70_000, 100_033, 250_000]),
        }
        for (opaque, status) in [(1, 0), (3, 0), (4, 2)] {
            let header = client.take(24);
            assert_eq!((header[0], header[15], header[7]), (0x81, opaque, status));
            client.take(usize::from(header[10]) << 8 | usize::from(header[11]));
        }
        let mut other = house.client_of(Door::Memcached);
        expect_value(&mut other, "k", 7, &loud);
    }
}

#[test]
fn a_pipeline_of_large_and_small_values_keeps_its_order() {
    let house = House::open(&["memcached-item-size-max 8mb"]);
    let mut client = house.client_of(Door::Memcached);
    let sizes = [LARGE, 10, 40_000, 2_000_000, 32 * 1024, 32 * 1024 + 1, 0, 70_000];
    let mut requests = Vec::new();
    let mut replies = String::new();
    for round in 0..12 {
        for (n, len) in sizes.into_iter().enumerate() {
            requests.extend(set(&format!("k{n}"), round, 0, &value(n + round as usize, len)));
            requests.extend(format!("touch k{n} 0\r\nincr none 1\r\n").as_bytes());
            replies += "STORED\r\nTOUCHED\r\nNOT_FOUND\r\n";
        }
    }
    let mut writer = client.socket.try_clone().expect("a socket");
    let sender = std::thread::spawn(move || {
        for piece in requests.chunks(333_333) {
            std::io::Write::write_all(&mut writer, piece).expect("the server takes it");
        }
    });
    client.expect(&replies);
    sender.join().expect("sent");
    for (n, len) in sizes.into_iter().enumerate() {
        expect_value(&mut client, &format!("k{n}"), 11, &value(n + 11, len));
    }
}

/// More than the share is announced by clients that never send it: the others are received as other
/// requests are, within the budget of buffers.
#[test]
fn unfinished_values_take_a_share_of_the_memory_and_give_it_back() {
    let house = House::open(&["maxmemory 64mb", "maxmemory-policy allkeys-lru"]);
    let mut client = house.client_of(Door::Memcached);
    let value = value(4, 900_000);
    let half = &set("half", 0, 0, &value)[..500_000];
    for _ in 0..3 {
        let mut idle: Vec<Client> = (0..24).map(|_| house.client_of(Door::Memcached)).collect();
        idle.iter_mut().for_each(|client| client.send(half));
        for n in 0..100 {
            client.send(&set(&format!("k{n}"), 0, 0, &value));
            client.expect("STORED\r\n");
        }
        expect_value(&mut client, "k99", 0, &value);
        client.ask("get half\r\n", "END\r\n");
        // Half of them go on as if nothing had been.
        for client in &mut idle[..12] {
            client.send(&set("half", 0, 0, &value)[500_000..]);
        }
        idle[..12].iter_mut().for_each(|client| client.expect("STORED\r\n"));
        expect_value(&mut client, "half", 0, &value);
        client.ask("delete half\r\n", "DELETED\r\n");
    }
    client.send(b"flush_all\r\n");
    client.expect("OK\r\n");
    await_dataset(&mut house.client(), 2 << 20);
}

/// Waits until no more than so many bytes are in use.
fn await_dataset(redis: &mut Client, most: u64) {
    let begun = Instant::now();
    loop {
        let bytes = dataset_bytes(redis);
        if bytes <= most {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{bytes} bytes are still in use");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn dataset_bytes(redis: &mut Client) -> u64 {
    redis.send(b"MEMORY STATS\r\n");
    let text = read_some(redis);
    let at = text.find("dataset.bytes").expect("a field");
    let number = text[at..].split("\r\n:").nth(1).expect("its number");
    number.split("\r\n").next().expect("an end").parse().expect("digits")
}

fn read_some(client: &mut Client) -> String {
    std::thread::sleep(Duration::from_millis(50));
    let mut buffer = vec![0; 64 * 1024];
    let n = std::io::Read::read(&mut client.socket, &mut buffer).expect("a reply");
    String::from_utf8_lossy(&buffer[..n]).into_owned()
}

#[test]
fn a_paused_store_runs_when_the_pause_ends() {
    let house = House::open(&[]);
    let mut redis = house.client();
    let mut client = house.client_of(Door::Memcached);
    let value = value(8, LARGE);
    let request = set("k", 0, 0, &value);
    client.send(&request[..50_000]);
    std::thread::sleep(Duration::from_millis(20));
    redis.ask("CLIENT PAUSE 400 WRITE\r\n", "+OK\r\n");
    client.send(&request[50_000..]);
    client.send(&set("k2", 0, 0, &value));
    redis.ask("EXISTS k\r\n", ":0\r\n");
    client.expect("STORED\r\nSTORED\r\n");
    expect_value(&mut client, "k", 0, &value);
    expect_value(&mut client, "k2", 0, &value);
}

/// Small requests before a large one were held while its value had begun to come, and the large one,
/// which was not among them, ran first when the connection went on.
#[test]
fn a_value_waits_for_the_requests_before_it() {
    let house = House::open(&["memcached-item-size-max 8mb"]);
    let large = value(8, LARGE);
    for round in 0..10 {
        let mut redis = house.client();
        let mut client = house.client_of(Door::Memcached);
        client.ask("set k 0 0 1\r\nx\r\n", "STORED\r\n");
        redis.ask("CLIENT PAUSE 150 WRITE\r\n", "+OK\r\n");
        let whole = set("k", 0, 0, &large);
        let cut = [60_000, whole.len()][round % 2];
        client.send(b"set k 0 0 1\r\ny\r\nset b 0 0 1\r\nz\r\n");
        client.send(&whole[..cut]);
        std::thread::sleep(Duration::from_millis(20));
        client.send(&[&whole[cut..], b"get b\r\n"].concat());
        client.expect("STORED\r\nSTORED\r\nSTORED\r\nVALUE b 0 1\r\nz\r\nEND\r\n");
        expect_value(&mut client, "k", 0, &large);
    }
    let mut client = house.client_of(Door::Memcached);
    let huge = value(3, 6_000_000);
    client.send(&set("huge", 0, 0, &huge));
    client.expect("STORED\r\n");
    for _ in 0..5 {
        let mut client = house.client_of(Door::Memcached);
        let asked = ["get huge\r\n", "get b\r\n", "get huge\r\n"].concat();
        // Nothing is read: the first reply fills the socket.
        client.send(&[asked.as_bytes(), &set("k", 0, 0, &large)[..50_000]].concat());
        std::thread::sleep(Duration::from_millis(20));
        client.send(&set("k", 0, 0, &large)[50_000..]);
        for reply in ["VALUE huge", "VALUE b", "VALUE huge"] {
            client.expect(reply);
            if reply == "VALUE b" {
                client.expect(" 0 1\r\nz\r\nEND\r\n");
            } else {
                client.expect(" 0 6000000\r\n");
                assert!(client.take(huge.len()) == huge);
                client.expect("\r\nEND\r\n");
            }
        }
        client.expect("STORED\r\n");
    }
}

/// It kept its item's place for as long as it was connected, in the way of whoever tidies the memory.
#[test]
fn a_value_that_stops_coming_leaves_its_item_and_may_go_on() {
    let house = House::open(&[]);
    let mut redis = house.client();
    let large = value(8, 900_000);
    let whole = set("k", 0, 0, &large);
    let before = dataset_bytes(&mut redis);
    let mut clients: Vec<Client> = (0..3).map(|_| house.client_of(Door::Memcached)).collect();
    // The second and third stop in the line end and in the value's first bytes.
    let cuts = [500_000, whole.len() - 1, 40];
    for (client, cut) in clients.iter_mut().zip(cuts) {
        client.send(&whole[..cut]);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert!(dataset_bytes(&mut redis) > before + 2_700_000, "the items are there");
    await_dataset(&mut redis, before + 100_000);
    for (client, cut) in clients.iter_mut().zip(cuts) {
        client.send(&whole[cut..]);
        client.expect("STORED\r\n");
        expect_value(client, "k", 0, &large);
    }
}

#[test]
fn a_limit_that_is_lowered_meanwhile_counts() {
    let house = House::open(&[]);
    let mut redis = house.client();
    let mut client = house.client_of(Door::Memcached);
    let request = set("k", 0, 0, &value(8, LARGE));
    client.send(&request[..50_000]);
    std::thread::sleep(Duration::from_millis(20));
    redis.ask("CONFIG SET memcached-item-size-max 50kb\r\n", "+OK\r\n");
    client.send(&request[50_000..]);
    client.expect("SERVER_ERROR object too large for cache\r\n");
    client.ask("get k\r\nmn\r\n", "END\r\nMN\r\n");
}
