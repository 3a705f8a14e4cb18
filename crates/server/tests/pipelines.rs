//! However a stream of requests is cut, and whatever comes with it, the replies are the same.

mod door;

use dolium_server::listener::Door;
use door::House;

/// A small generator: the same cuts every time.
struct Cuts(u64);

impl Cuts {
    fn next(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

fn resp(words: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Requests and the replies that they must get.
fn redis_stream(seed: u64) -> (Vec<u8>, Vec<u8>) {
    let mut cuts = Cuts(seed);
    let (mut requests, mut replies) = (Vec::new(), Vec::new());
    let mut values: Vec<Option<Vec<u8>>> = vec![None; 20];
    for _ in 0..3000 {
        let at = cuts.next(20);
        let key = format!("cut:{seed}:{at}");
        match cuts.next(8) {
            0..=2 => {
                let long = cuts.next(40) == 0;
                let len = cuts.next(if long { 90_000 } else { 200 });
                let value = vec![b'a' + (at as u8 % 26); len];
                requests.extend(resp(&[b"SET", key.as_bytes(), &value]));
                replies.extend(b"+OK\r\n");
                values[at] = Some(value);
            }
            3..=5 => {
                requests.extend(resp(&[b"GET", key.as_bytes()]));
                bulk(&mut replies, values[at].as_deref());
            }
            6 => {
                let other = cuts.next(20);
                let other_key = format!("cut:{seed}:{other}");
                requests.extend(resp(&[b"MGET", key.as_bytes(), other_key.as_bytes()]));
                replies.extend(b"*2\r\n");
                bulk(&mut replies, values[at].as_deref());
                bulk(&mut replies, values[other].as_deref());
            }
            _ => {
                requests.extend(format!("del {key}\r\n").as_bytes());
                let was = u8::from(values[at].take().is_some());
                replies.extend(format!(":{was}\r\n").as_bytes());
            }
        }
    }
    (requests, replies)
}

fn bulk(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        None => out.extend(b"$-1\r\n"),
        Some(value) => {
            out.extend(format!("${}\r\n", value.len()).as_bytes());
            out.extend(value);
            out.extend(b"\r\n");
        }
    }
}

fn run_cut(house: &House, seed: u64) {
    let (requests, replies) = redis_stream(seed);
    let mut client = house.client();
    let mut writer = client.socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        use std::io::Write;
        let mut cuts = Cuts(seed ^ 99);
        let mut at = 0;
        while at < requests.len() {
            let most = [3, 100, 5000, 200_000][cuts.next(4)];
            let end = (at + 1 + cuts.next(most)).min(requests.len());
            writer.write_all(&requests[at..end]).unwrap();
            at = end;
        }
    });
    let got = client.take(replies.len());
    sender.join().unwrap();
    if let Some(at) = (0..got.len()).find(|i| got[*i] != replies[*i]) {
        let show = |bytes: &[u8]| {
            bytes[at.saturating_sub(60)..(at + 60).min(bytes.len())].escape_ascii().to_string()
        };
        panic!("seed {seed}: differs at {at}: {} not {}", show(&got), show(&replies));
    }
}

#[test]
fn cuts_at_random_bytes_change_no_reply() {
    let house = House::open(&[]);
    for seed in 1..6 {
        run_cut(&house, seed);
    }
}

#[test]
fn several_connections_at_once_over_two_threads() {
    let house = House::open(&["threads 2"]);
    std::thread::scope(|scope| {
        for seed in 10..18 {
            let house = &house;
            scope.spawn(move || run_cut(house, seed));
        }
    });
}

#[test]
fn memcached_streams_may_be_cut_too() {
    let house = House::open(&[]);
    let mut requests = Vec::new();
    let mut replies = Vec::new();
    for n in 0..500 {
        let value = "v".repeat(n * 7 % 3000);
        requests.extend(format!("set m{n} {n} 0 {}\r\n{value}\r\n", value.len()).bytes());
        replies.extend(b"STORED\r\n");
        requests.extend(format!("get m{n} missing\r\nmg m{n} v f\r\n").bytes());
        let line = format!("VALUE m{n} {n} {}\r\n{value}\r\nEND\r\n", value.len());
        replies.extend(line.bytes());
        replies.extend(format!("VA {} f{n}\r\n{value}\r\n", value.len()).bytes());
    }
    for seed in 0..3 {
        let mut client = house.client_of(Door::Memcached);
        let mut writer = client.socket.try_clone().unwrap();
        let (requests, expected) = (requests.clone(), replies.len());
        let sender = std::thread::spawn(move || {
            use std::io::Write;
            let mut cuts = Cuts(seed);
            let mut at = 0;
            while at < requests.len() {
                let end = (at + 1 + cuts.next(9000)).min(requests.len());
                writer.write_all(&requests[at..end]).unwrap();
                at = end;
            }
        });
        let got = client.take(expected);
        sender.join().unwrap();
        assert!(got == replies, "seed {seed}");
    }
}

#[test]
fn large_values_come_and_go_whole() {
    let house = House::open(&["maxmemory 300mb"]);
    let value: Vec<u8> = (0..30_000_000u32).map(|n| (n % 251) as u8).collect();
    let mut client = house.client();
    client.send(&resp(&[b"SET", b"large", &value]));
    client.expect("+OK\r\n");
    client.send(b"GET large\r\nPING\r\n");
    client.expect("$30000000\r\n");
    assert!(client.take(value.len()) == value);
    client.expect("\r\n+PONG\r\n");
}

#[test]
fn requests_before_the_end_of_the_stream_are_run() {
    let house = House::open(&[]);
    let mut client = house.client();
    client.send(b"SET last words\r\nGET last\r\n");
    client.socket.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.take_all(), b"+OK\r\n$5\r\nwords\r\n");
}

#[test]
fn what_is_read_after_auth_has_the_limits_of_a_known_client() {
    let house = House::open(&["requirepass secret"]);
    let mut client = house.client();
    client.ask("GET a\r\n", "-NOAUTH Authentication required.\r\n");
    let words: Vec<Vec<u8>> = (0..24).map(|n| format!("k{n}").into_bytes()).collect();
    let mut request: Vec<&[u8]> = vec![b"MSET"];
    request.extend(words.iter().map(Vec::as_slice));
    let mut both = resp(&[b"AUTH", b"secret"]);
    both.extend(resp(&request));
    client.send(&both);
    client.expect("+OK\r\n+OK\r\n");
}

#[test]
fn a_long_line_and_a_body_in_chunks_need_no_announced_length() {
    let house = House::open(&[]);
    let mut memcached = house.client_of(Door::Memcached);
    memcached.ask("set k 0 0 1\r\nx\r\n", "STORED\r\n");
    let mut line = String::from("get");
    for _ in 0..20_000 {
        line.push_str(" missing k");
    }
    memcached.send(line.as_bytes());
    std::thread::sleep(std::time::Duration::from_millis(20));
    memcached.send(b"\r\n");
    let found = "VALUE k 0 1\r\nx\r\n".repeat(20_000);
    memcached.expect(&found);
    memcached.expect("END\r\n");
    let mut http = house.client_of(Door::Http);
    http.send(
        b"PUT /keys/chunks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for _ in 0..200 {
        http.send(b"1388\r\n");
        http.send(&[b'c'; 5000]);
        http.send(b"\r\n");
    }
    http.send(b"0\r\n\r\n");
    http.expect("HTTP/1.1 20");
    let mut redis = house.client();
    redis.ask("STRLEN chunks\r\n", ":1000000\r\n");
    // A large value, then a request that arrives in two pieces: the small path takes over again.
    let large = vec![b'l'; 200_000];
    let mut request = resp(&[b"SET", b"large", &large]);
    request.extend(b"*1\r\n$4\r\nPI");
    redis.send(&request);
    redis.expect("+OK\r\n");
    redis.ask("NG\r\n", "+PONG\r\n");
}
