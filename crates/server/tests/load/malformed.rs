//! Requests that are none, or hardly: lengths that lie, keys and lines too long, pieces, floods of
//! quiet requests, sockets shut on one side. Made from a seed. What comes back is not looked at;
//! that the server goes on as if nothing had been is what others look at.

use super::Random;
use rustix::net::sockopt::set_socket_linger;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a broken request waits for an answer that may never come.
const LISTEN: Duration = Duration::from_millis(5);

/// One connection and what it sends. False: there was none, for the server took no more.
pub fn visit(address: SocketAddr, random: &mut Random) -> bool {
    let Ok(mut socket) = TcpStream::connect(address) else { return false };
    let mut bytes = Vec::new();
    for _ in 0..1 + random.below(6) {
        match random.below(4) {
            0 => binary(random, &mut bytes),
            1 => text(random, &mut bytes),
            2 => meta(random, &mut bytes),
            _ => flood(random, &mut bytes),
        }
    }
    if random.one_in(3) {
        damage(random, &mut bytes);
    }
    // The server may hang up in the middle of it: an error is one of the answers.
    let _ = send(&mut socket, &bytes, random);
    let _ = socket.set_read_timeout(Some(LISTEN));
    if random.one_in(4) {
        let _ = socket.shutdown(Shutdown::Write);
    }
    let mut some = [0; 4096];
    for _ in 0..random.below(4) {
        if !matches!(socket.read(&mut some), Ok(1..)) {
            break;
        }
    }
    if random.one_in(3) {
        // Closed by a reset.
        let _ = set_socket_linger(&socket, Some(Duration::ZERO));
    }
    true
}

fn send(socket: &mut TcpStream, bytes: &[u8], random: &mut Random) -> std::io::Result<()> {
    socket.set_write_timeout(Some(Duration::from_secs(2)))?;
    if !random.one_in(4) {
        return socket.write_all(bytes);
    }
    socket.set_nodelay(true)?;
    let mut rest = bytes;
    for _ in 0..20 {
        let n = (1 + random.below(7) as usize).min(rest.len());
        socket.write_all(&rest[..n])?;
        rest = &rest[n..];
        if random.one_in(4) {
            std::thread::yield_now();
        }
    }
    socket.write_all(rest)
}

/// Bits turned, pieces missing, the end missing.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(8) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *random.choose(b"\r\n \0\x80\x81*$-")),
            _ => bytes.truncate(at),
        }
    }
}

fn key(random: &mut Random) -> Vec<u8> {
    let len = *random.choose(&[0, 1, 10, 249, 250, 251, 300, 2040, 2050, 70_000]);
    let byte = *random.choose(b"kkkkkk\0\x7f\xff\t");
    let mut key = b"bad:".to_vec();
    key.resize(len.max(4), byte);
    key
}

const NUMBERS: [&str; 18] = [
    "0",
    "1",
    "5",
    "-1",
    "-0",
    "+5",
    "007",
    "1048576",
    "1048577",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "-2147483649",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "5x",
];

fn text(random: &mut Random, out: &mut Vec<u8>) {
    const VERBS: [&str; 24] = [
        "set",
        "add",
        "replace",
        "append",
        "prepend",
        "cas",
        "get",
        "gets",
        "gat",
        "gats",
        "delete",
        "incr",
        "decr",
        "touch",
        "verbosity",
        "stats",
        "version",
        "lru",
        "slabs",
        "lru_crawler",
        "watch",
        "cache_memlimit",
        "mop",
        "SET",
    ];
    let verb = *random.choose(&VERBS);
    // These with wild numbers would act on what others check the bounds of.
    if verb == "cache_memlimit" {
        return out.extend_from_slice(b"cache_memlimit 5x\r\n");
    }
    out.extend_from_slice(verb.as_bytes());
    out.push(b' ');
    out.extend_from_slice(&key(random));
    for _ in 0..random.below(7) {
        out.push(b' ');
        out.extend_from_slice(random.choose(&NUMBERS).as_bytes());
    }
    if random.one_in(4) {
        out.extend_from_slice(b" noreply");
    }
    out.extend_from_slice(random.choose(&["\r\n", "\n", "\r", "\r\r\n", ""]).as_bytes());
    if random.one_in(2) {
        let len = *random.choose(&[0, 1, 5, 7, 1000, 100_000]);
        out.extend(std::iter::repeat_n(b'v', len));
        out.extend_from_slice(random.choose(&["\r\n", "\n", "xx", ""]).as_bytes());
    }
}

fn meta(random: &mut Random, out: &mut Vec<u8>) {
    out.extend_from_slice(
        random.choose(&["mg ", "ms ", "md ", "ma ", "me ", "mn", "m"]).as_bytes(),
    );
    out.extend_from_slice(&key(random));
    if random.one_in(2) {
        out.push(b' ');
        out.extend_from_slice(random.choose(&NUMBERS).as_bytes());
    }
    for _ in 0..random.below(24) {
        out.push(b' ');
        out.push(*random.choose(b"abcdefghiklqrstuvxzABCDEFIJMNOQRTVX0-"));
        if random.one_in(2) {
            out.extend_from_slice(random.choose(&NUMBERS).as_bytes());
        }
    }
    out.extend_from_slice(random.choose(&["\r\n", "\n", "\r\nvalue\r\n", ""]).as_bytes());
}

/// A head whose lengths may lie, and a body that may be another.
fn binary(random: &mut Random, out: &mut Vec<u8>) {
    let key = key(random);
    let extras = *random.choose(&[0u8, 4, 8, 20, 21, 255]);
    let value = *random.choose(&[0usize, 1, 5, 1000, 50_000]);
    let honest = key.len() + usize::from(extras) + value;
    let body = *random.choose(&[
        honest as u32,
        honest as u32,
        0,
        1,
        honest.saturating_sub(1) as u32,
        1 << 20,
        (1 << 20) + 1,
        i32::MAX as u32,
        u32::MAX,
    ]);
    let opcode = match random.below(3) {
        // 0x07 and 0x17 are quit; 0x08 and 0x18 flush, which others do.
        0 => random.below(256) as u8,
        _ => *random.choose(&[0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x09, 0x0a, 0x0e, 0x11, 0x1d]),
    };
    out.extend([*random.choose(&[0x80, 0x80, 0x80, 0x81]), opcode]);
    let key_len = match random.one_in(4) {
        true => random.next() as u16,
        false => key.len() as u16,
    };
    out.extend(key_len.to_be_bytes());
    out.extend([extras, random.one_in(8) as u8, 0, 0]);
    out.extend(body.to_be_bytes());
    out.extend(random.next().to_be_bytes()[..4].iter());
    out.extend((random.next() * u64::from(random.one_in(2))).to_be_bytes());
    out.extend(std::iter::repeat_n(0, usize::from(extras)));
    out.extend_from_slice(&key);
    out.extend(std::iter::repeat_n(b'v', value));
}

/// Requests that want no answer, and one line of very many keys.
fn flood(random: &mut Random, out: &mut Vec<u8>) {
    match random.below(4) {
        0 => (0..500).for_each(|n| out.extend(format!("mg bad:{n} v q k\r\n").bytes())),
        1 => (0..500).for_each(|n| {
            out.extend(format!("set bad:{n} 0 1 4 noreply\r\nabcd\r\n").bytes());
        }),
        2 => (0..500).for_each(|_| {
            // GETQ of a key that is not there.
            out.extend(b"\x80\x09\0\x04\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0bad:");
        }),
        _ => {
            out.extend_from_slice(b"get");
            (0..5000).for_each(|n| out.extend(format!(" bad:{n}").bytes()));
            out.extend_from_slice(b"\r\n");
        }
    }
}
