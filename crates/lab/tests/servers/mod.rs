//! Servers that answer as they are told, in the test's own process.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dolium_lab::LabError;
use dolium_lab::generator::{self, LoadReport, LoadSpec, Target};
use dolium_lab::workload::{Distribution, Mix, Protocol, RequestPool, Workload};

/// Answers every request in `input` that is whole; returns how many bytes it used.
pub type Answer =
    fn(input: &[u8], store: &mut HashMap<Vec<u8>, Vec<u8>>, output: &mut Vec<u8>) -> usize;

/// A server with one thread a connection, which lives until the test process ends. `nap` says
/// when it sleeps, measured from its start.
pub fn server(answer: Answer, nap: Option<(Duration, Duration)>) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let store = Arc::new(Mutex::new(HashMap::new()));
    let begun = Instant::now();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let store = Arc::clone(&store);
            thread::spawn(move || talk(stream.unwrap(), answer, &store, begun, nap));
        }
    });
    Target::Tcp(address)
}

fn talk(
    mut stream: TcpStream,
    answer: Answer,
    store: &Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    begun: Instant,
    nap: Option<(Duration, Duration)>,
) {
    stream.set_nodelay(true).unwrap();
    let (mut input, mut output, mut chunk) = (Vec::new(), Vec::new(), vec![0; 64 << 10]);
    while let Ok(got @ 1..) = stream.read(&mut chunk) {
        if let Some((period, asleep)) = nap {
            let into =
                Duration::from_nanos((begun.elapsed().as_nanos() % period.as_nanos()) as u64);
            thread::sleep(asleep.saturating_sub(into));
        }
        input.extend_from_slice(&chunk[..got]);
        output.clear();
        let used = answer(&input, &mut store.lock().unwrap(), &mut output);
        input.drain(..used);
        // Cut in two at an odd place, as a network may.
        let (one, two) = output.split_at(output.len() / 3);
        if stream.write_all(one).is_err() || stream.write_all(two).is_err() {
            return;
        }
    }
}

fn line(input: &[u8]) -> Option<(&[u8], usize)> {
    let end = input.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&input[..end], end + 2))
}

/// One array of bulk strings at the start of `input`.
fn resp_words(input: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let number = |text: &[u8]| std::str::from_utf8(&text[1..]).unwrap().parse::<usize>().unwrap();
    let (head, mut at) = line(input)?;
    let mut words = Vec::new();
    for _ in 0..number(head) {
        let (head, used) = line(&input[at..])?;
        let len = number(head);
        at += used;
        words.push(input.get(at..at + len)?.to_vec());
        input.get(at + len..at + len + 2)?;
        at += len + 2;
    }
    Some((words, at))
}

pub fn resp(input: &[u8], store: &mut HashMap<Vec<u8>, Vec<u8>>, output: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some((words, used)) = resp_words(&input[at..]) {
        at += used;
        match (words[0].as_slice(), store.get(&words[1])) {
            (b"SET", _) => {
                store.insert(words[1].clone(), words[2].clone());
                output.extend_from_slice(b"+OK\r\n");
            }
            (b"GET", Some(value)) => {
                write!(output, "${}\r\n", value.len()).unwrap();
                output.extend_from_slice(value);
                output.extend_from_slice(b"\r\n");
            }
            (b"GET", None) => output.extend_from_slice(b"$-1\r\n"),
            other => panic!("the generator asked {other:?}"),
        }
    }
    at
}

/// As `resp`, but now and then a value comes back with one byte changed.
pub fn corrupting(
    input: &[u8],
    store: &mut HashMap<Vec<u8>, Vec<u8>>,
    output: &mut Vec<u8>,
) -> usize {
    let used = resp(input, store, output);
    if output.first() == Some(&b'$') && output.len() > 20 {
        output[10] ^= 1;
    }
    used
}

pub fn refusing(
    input: &[u8],
    store: &mut HashMap<Vec<u8>, Vec<u8>>,
    output: &mut Vec<u8>,
) -> usize {
    let used = resp(input, store, output);
    output.clear();
    output.extend_from_slice(b"-OOM no room\r\n");
    used
}

pub fn memcached(
    input: &[u8],
    store: &mut HashMap<Vec<u8>, Vec<u8>>,
    output: &mut Vec<u8>,
) -> usize {
    let mut at = 0;
    while let Some((head, used)) = line(&input[at..]) {
        let words: Vec<&[u8]> = head.split(|&byte| byte == b' ').collect();
        if words[0] == b"set" {
            let len: usize = std::str::from_utf8(words[4]).unwrap().parse().unwrap();
            let body = at + used;
            let Some(value) = input.get(body..body + len + 2) else { return at };
            store.insert(words[1].to_vec(), value[..len].to_vec());
            output.extend_from_slice(b"STORED\r\n");
            at = body + len + 2;
            continue;
        }
        assert_eq!(words[0], b"get");
        if let Some(value) = store.get(words[1]) {
            let key = String::from_utf8_lossy(words[1]);
            write!(output, "VALUE {key} 0 {}\r\n", value.len()).unwrap();
            output.extend_from_slice(value);
            output.extend_from_slice(b"\r\n");
        }
        output.extend_from_slice(b"END\r\n");
        at += used;
    }
    at
}

pub fn workload(protocol: Protocol, mix: Mix) -> Workload {
    Workload {
        protocol,
        mix,
        keys: 2_000,
        key_bytes: 16.into(),
        value_bytes: 64.into(),
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: 3,
    }
}

pub fn ask(spec: &LoadSpec, workload: &Workload) -> Result<LoadReport, LabError> {
    generator::run(spec, &RequestPool::build(workload).unwrap())
}
