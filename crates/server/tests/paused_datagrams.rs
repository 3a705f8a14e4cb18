//! CLIENT PAUSE and requests that come as datagrams.

#[allow(dead_code)]
mod door;

use dolium_server::memcached::{Place, Setup};
use door::House;
use std::net::UdpSocket;
use std::time::Duration;

/// Long enough for an answer, were there to be one.
const MOMENT: Duration = Duration::from_millis(300);

fn binary_set(value: &[u8]) -> Vec<u8> {
    let body = (9 + value.len() as u32).to_be_bytes();
    [&[0x80, 0x01, 0, 1, 8, 0, 0, 0][..], &body, &[0; 20], b"k", value].concat()
}

/// Datagrams stored and deleted throughout a pause, whose caller had been told that nobody does.
#[test]
fn a_datagram_changes_nothing_in_a_pause() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let hosts = vec![Place { host: "127.0.0.1".into(), port: None, is_plain: true }];
    let setup = Setup { hosts, udp_port: i32::from(free), ..Setup::default() };
    let house = House::open_for_memcached(&[], setup);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", free)).unwrap();
    let ask = |request: &[u8], wait| {
        socket.set_read_timeout(Some(wait)).unwrap();
        socket.send(&[&[0, 1, 0, 0, 0, 1, 0, 0], request].concat()).unwrap();
        let mut bytes = [0; 1400];
        socket.recv(&mut bytes).ok().map(|len| String::from_utf8_lossy(&bytes[8..len]).into_owned())
    };
    let patience = Duration::from_secs(20);
    let mut other = house.client();
    other.ask("SET k v\r\nCLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n+OK\r\n");
    assert_eq!(ask(b"set k 0 0 1\r\nw\r\n", MOMENT), None);
    assert_eq!(ask(b"delete k\r\n", MOMENT), None);
    assert_eq!(ask(&binary_set(b"w"), MOMENT), None);
    // What came before it in the same datagram is answered, and reads go on.
    let there = Some("VALUE k 0 1\r\nv\r\nEND\r\n".to_owned());
    assert_eq!(ask(b"get k\r\nset k 0 0 1\r\nw\r\nget k\r\n", patience), there);
    other.ask("CLIENT UNPAUSE\r\nCLIENT PAUSE 3000 ALL\r\n", "+OK\r\n+OK\r\n");
    assert_eq!(ask(b"get k\r\n", MOMENT), None);
    // It waits for the end.
    other.ask("PING\r\n", "+PONG\r\n");
    assert_eq!(ask(b"get k\r\n", patience), there);
    assert_eq!(ask(b"set k 0 0 1\r\nw\r\n", patience), Some("STORED\r\n".to_owned()));
}
