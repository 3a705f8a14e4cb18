//! Random and mutated requests over real sockets, for each protocol. The server must answer or hang
//! up, and it must live. The generator is seeded, so a crash can be repeated with the seed that the
//! failure names.

use super::Against;
use crate::servers::{Kind, Server};
use crate::tally::Tally;
use crate::{Result, install};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Requests per protocol and run; `DOLIUM_FUZZ_REQUESTS` overrides it for a long run.
const REQUESTS: usize = 100_000;
/// Requests on one connection before the answers are read and a new one is opened.
const BURST: usize = 50;
const PATIENCE: Duration = Duration::from_millis(500);

/// Valid requests; a mutation flips, cuts, repeats or inserts bytes.
const RESP: &[&[u8]] = &[
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n",
    b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    b"*4\r\n$8\r\nSETRANGE\r\n$1\r\nk\r\n$1\r\n7\r\n$2\r\nab\r\n",
    b"*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n1\r\n$2\r\nEX\r\n$2\r\n10\r\n",
    b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
    b"*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n",
    b"*4\r\n$4\r\nSCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$4\r\n[a-z\r\n",
    b"*5\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$1\r\na\r\n$1\r\nb\r\n$3\r\n300\r\n",
    b"*4\r\n$6\r\nLRANGE\r\n$1\r\nl\r\n$2\r\n-3\r\n$2\r\n-1\r\n",
    b"*4\r\n$4\r\nLREM\r\n$1\r\nl\r\n$1\r\n2\r\n$1\r\na\r\n",
    b"*4\r\n$5\r\nLTRIM\r\n$1\r\nl\r\n$1\r\n0\r\n$2\r\n99\r\n",
    b"*3\r\n$4\r\nLPOP\r\n$1\r\nl\r\n$1\r\n2\r\n",
    b"*5\r\n$4\r\nSADD\r\n$1\r\ns\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\nx\r\n",
    b"*3\r\n$4\r\nSREM\r\n$1\r\ns\r\n$1\r\n2\r\n",
    b"*3\r\n$11\r\nSRANDMEMBER\r\n$1\r\ns\r\n$2\r\n-9\r\n*2\r\n$4\r\nSPOP\r\n$1\r\ns\r\n",
    b"*4\r\n$10\r\nSINTERCARD\r\n$1\r\n2\r\n$1\r\ns\r\n$1\r\nt\r\n",
    b"SET inline \"quoted \\x41\"\r\n",
];
const MEMCACHED: &[&[u8]] = &[
    b"set k 1 0 5\r\nvalue\r\n",
    b"get k other\r\n",
    b"gets k\r\n",
    b"cas k 1 0 1 77\r\nx\r\n",
    b"incr k 18446744073709551615\r\n",
    b"append k 0 0 3 noreply\r\nabc\r\n",
    b"mg k v t f c s k O123 q\r\n",
    b"ms k 3 T30 F5 c\r\nabc\r\n",
    b"ma n N0 J13 D1 v\r\n",
    b"md k q\r\nmn\r\n",
    b"touch k 10\r\n",
];
const HTTP: &[&[u8]] = &[
    b"GET /keys/k HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PUT /keys/k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nvalue",
    b"DELETE /keys/k HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /metrics HTTP/1.0\r\n\r\n",
];

pub fn run(against: Against) -> Result<Tally> {
    if against == Against::Peers {
        install::packages(install::REDIS)?;
        install::packages(install::MEMCACHED)?;
    }
    let requests = std::env::var("DOLIUM_FUZZ_REQUESTS").ok().and_then(|text| text.parse().ok());
    let requests = requests.unwrap_or(REQUESTS);
    let mut tally = Tally::default();
    let mut protocol = |name: &str, kind: Kind, port: fn(&Server) -> u16, valid: &[&[u8]]| {
        let outcome = Server::start(kind).and_then(|mut server| {
            let port = port(&server);
            let answered = attack(port, valid, requests)?;
            if !server.is_alive() {
                return Err(format!("the server died (seed {SEED})\n{}", server.log()));
            }
            TcpStream::connect(("127.0.0.1", port))
                .map_err(|why| format!("no new connection afterwards: {why}"))?;
            let connections = requests.div_ceil(BURST);
            if answered < connections / 4 {
                return Err(format!("only {answered} of {connections} connections were answered"));
            }
            Ok(())
        });
        tally.check(format!("{requests} {name} requests"), outcome);
    };
    protocol("RESP", against.redis(), |server| server.redis_port, RESP);
    protocol("Memcached text", against.memcached(), |server| server.memcached_port, MEMCACHED);
    if against == Against::Dolium {
        protocol("HTTP", Kind::Dolium, |server| server.http_port, HTTP);
    }
    Ok(tally)
}

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// Sends the requests in bursts; answers how many connections got at least one byte back.
fn attack(port: u16, valid: &[&[u8]], requests: usize) -> Result<usize> {
    let mut random = Random(SEED);
    let mut answered = 0;
    for _ in 0..requests.div_ceil(BURST) {
        let mut bytes = Vec::new();
        for _ in 0..BURST {
            request(&mut random, valid, &mut bytes);
        }
        let mut stream = TcpStream::connect(("127.0.0.1", port))
            .map_err(|why| format!("the server stopped accepting (seed {SEED}): {why}"))?;
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        // A server may hang up in the middle of nonsense: neither call's failure is a finding.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        if drain(&mut stream) > 0 {
            answered += 1;
        }
    }
    Ok(answered)
}

fn drain(stream: &mut TcpStream) -> usize {
    let mut buffer = [0; 64 * 1024];
    let mut total = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return total,
            Ok(read) => total += read,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(_) => return total,
        }
    }
}

/// Half of the requests stay valid, so that the parser gets past the first broken one; one in 16 is
/// random bytes.
fn request(random: &mut Random, valid: &[&[u8]], bytes: &mut Vec<u8>) {
    let mut one = valid[random.below(valid.len())].to_vec();
    let choice = random.below(16);
    if choice == 0 {
        one = (0..random.below(200)).map(|_| random.next() as u8).collect();
    } else if choice < 8 {
        for _ in 0..=random.below(3) {
            mutate(random, &mut one);
        }
    }
    bytes.extend_from_slice(&one);
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len().max(1));
    match random.below(6) {
        0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        1 => bytes.truncate(at),
        2 => bytes.insert(at, random.next() as u8),
        3 if !bytes.is_empty() => drop(bytes.remove(at)),
        4 => bytes.extend_from_within(at.min(bytes.len())..),
        _ => {
            let number = [b"-1".as_slice(), b"2147483648", b"99999999999999999999", b"0"];
            let number = number[random.below(number.len())];
            bytes.splice(at..at, number.iter().copied());
        }
    }
}

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
