//! A server with a client at each of its doors: Redis', Memcached's text and binary, the web, datagrams
//! and the ring of a local process. What they ask for is counted as they ask, and each of the numbers that
//! the server tells (`stats`, INFO, `/metrics`) is read by name.

use super::door::{Client, House};
use dolium_attach::Store;
use dolium_server::listener::Door;
use dolium_server::memcached::{Place, Setup};
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::Duration;

pub type Numbers = BTreeMap<String, f64>;

/// What the test has done so far, counted by the test itself.
#[derive(Debug, Default)]
pub struct Done {
    /// Bytes of requests, all doors together.
    pub sent: f64,
    pub commands: f64,
    pub hits: f64,
    pub misses: f64,
}

pub struct Doors {
    redis: Client,
    text: Client,
    binary: Client,
    http: Client,
    udp: UdpSocket,
    pub store: Store,
    pub done: Done,
}

/// How a request ends up in the numbers of lookups: those of several keys count each.
#[derive(Clone, Copy)]
pub struct Lookups {
    pub hits: u32,
    pub misses: u32,
}

pub const NONE: Lookups = Lookups { hits: 0, misses: 0 };
pub const HIT: Lookups = Lookups { hits: 1, misses: 0 };
pub const MISS: Lookups = Lookups { hits: 0, misses: 1 };

impl Done {
    fn note(&mut self, bytes: usize, lookups: Lookups) {
        self.sent += bytes as f64;
        self.commands += 1.0;
        self.hits += f64::from(lookups.hits);
        self.misses += f64::from(lookups.misses);
    }
}

impl Doors {
    pub fn redis(&mut self, request: &str, reply: &str, lookups: Lookups) {
        self.redis.ask(request, reply);
        self.done.note(request.len(), lookups);
    }

    pub fn text(&mut self, request: &str, reply: &str, lookups: Lookups) {
        self.text.ask(request, reply);
        self.done.note(request.len(), lookups);
    }

    /// A binary request; the status of its reply.
    pub fn binary(
        &mut self,
        opcode: u8,
        extras: &[u8],
        key: &str,
        value: &str,
        lookups: Lookups,
    ) -> u16 {
        let mut request = vec![0x80, opcode];
        request.extend((key.len() as u16).to_be_bytes());
        request.extend([extras.len() as u8, 0, 0, 0]);
        request.extend(((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
        request.extend([0; 12]);
        request.extend(extras);
        request.extend(key.as_bytes());
        request.extend(value.as_bytes());
        self.binary.send(&request);
        let head = self.binary.take(24);
        let rest = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
        self.binary.take(rest as usize);
        self.done.note(request.len(), lookups);
        u16::from_be_bytes([head[6], head[7]])
    }

    pub fn http(&mut self, request: &str, status: &str, lookups: Lookups) -> String {
        self.http.send(request.as_bytes());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(char::from(self.http.take(1)[0]));
        }
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}{head}");
        self.done.note(request.len(), lookups);
        let length = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, length)| length.parse().unwrap());
        String::from_utf8(self.http.take(length)).unwrap()
    }

    pub fn udp(&mut self, request: &str, reply: &str, lookups: Lookups) {
        let mut datagram = vec![0, 7, 0, 0, 0, 1, 0, 0];
        datagram.extend(request.as_bytes());
        self.udp.send(&datagram).unwrap();
        let mut answer = [0; 2048];
        let len = self.udp.recv(&mut answer).unwrap();
        assert_eq!(
            answer[8..len].escape_ascii().to_string(),
            reply.as_bytes().escape_ascii().to_string()
        );
        self.done.note(datagram.len(), lookups);
    }

    /// A command through the ring.
    pub fn ring(&mut self, words: &[&str], lookups: Lookups) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.store.execute(&words).unwrap();
        let bulks: usize =
            words.iter().map(|w| format!("${}\r\n", w.len()).len() + w.len() + 2).sum();
        self.done.note(format!("*{}\r\n", words.len()).len() + bulks, lookups);
    }

    pub fn stats(&mut self) -> Numbers {
        self.text.send(b"stats\r\n");
        self.done.note(b"stats\r\n".len(), NONE);
        let mut numbers = Numbers::new();
        loop {
            let line = line(&mut self.text);
            let mut words = line.split(' ').skip(1);
            match (words.next(), words.next().map(str::parse)) {
                (Some(name), Some(Ok(number))) => drop(numbers.insert(name.into(), number)),
                (Some(_), _) => {}
                (None, _) => return numbers,
            }
        }
    }

    pub fn info(&mut self) -> Numbers {
        self.redis.send(b"INFO everything\r\n");
        self.done.note(b"INFO everything\r\n".len(), NONE);
        let length = line(&mut self.redis)[1..].parse().unwrap();
        let text = String::from_utf8(self.redis.take(length)).unwrap();
        self.redis.expect("\r\n");
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        let number = |value: &str| {
            let value =
                value.strip_prefix("calls=").or(value.strip_prefix("keys=")).unwrap_or(value);
            value.split(',').next()?.parse().ok()
        };
        pairs.filter_map(|(name, value)| Some((name.into(), number(value)?))).collect()
    }

    pub fn metrics(&mut self) -> Numbers {
        let text = self.http("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "200", NONE);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, value)| (name.into(), value.parse().unwrap()))
            .collect()
    }
}

fn line(client: &mut Client) -> String {
    let mut line = String::new();
    while !line.ends_with("\r\n") {
        line.push(char::from(client.take(1)[0]));
    }
    line.trim_end().into()
}

pub fn open(name: &str) -> (House, Doors, PathBuf) {
    let path = std::env::temp_dir().join(format!("dolium-{}-{name}", std::process::id()));
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let setup = Setup {
        hosts: vec![Place { host: "127.0.0.1".into(), port: None, is_plain: true }],
        udp_port: i32::from(free),
        ..Setup::default()
    };
    let attach = format!("attach-socket {}", path.display());
    let house = House::open_for_memcached(&["threads 2", "maxmemory 100mb", &attach], setup);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(("127.0.0.1", free)).unwrap();
    udp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let doors = Doors {
        redis: house.client(),
        text: house.client_of(Door::Memcached),
        binary: house.client_of(Door::Memcached),
        http: house.client_of(Door::Http),
        udp,
        store: Store::attach(&path).unwrap(),
        done: Done::default(),
    };
    (house, doors, path)
}
