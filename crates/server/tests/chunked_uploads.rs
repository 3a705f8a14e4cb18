//! What an upload in chunks takes of memory. Nobody says how long it will be, so its buffer grew with each
//! chunk; and its chunks were put together in a copy, beside the buffer and beside the value: five to seven
//! times the value's length at the worst, for a moment.

mod door;

use dolium_server::listener::Door;
use door::House;

const MIB: usize = 1 << 20;
const UPLOAD: usize = 64 * MIB;
const CHUNK: usize = 64 << 10;

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse::<usize>().expect("a number") << 10
}

/// Alone in this file: the peak is the process's, and other tests have theirs.
#[test]
fn an_upload_in_chunks_takes_its_length_in_the_buffer_and_as_a_value() {
    let house = House::open(&["maxmemory 256mb", "client-buffers-max 256mb"]);
    let before = peak();
    let mut client = house.client_of(Door::Http);
    client.send(b"PUT /keys/k HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = [format!("{CHUNK:x}\r\n").as_bytes(), &vec![b'v'; CHUNK], b"\r\n"].concat();
    for _ in 0..UPLOAD / CHUNK {
        client.send(&chunk);
    }
    client.send(b"0\r\n\r\n");
    client.expect("HTTP/1.1 201 Created\r\n");
    let more = peak() - before;
    assert!(more < UPLOAD * 5 / 2, "{} MiB for {} MiB", more / MIB, UPLOAD / MIB);
    house.client().ask("STRLEN k\r\n", &format!(":{UPLOAD}\r\n"));
    house.client().ask("GETRANGE k 67108860 -1\r\n", "$4\r\nvvvv\r\n");
}
