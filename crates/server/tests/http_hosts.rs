//! `http-hosts`, as somebody writes it who has a web page's address before him.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::House;

/// Names with a port or a last dot were taken, and fitted nothing that a request says.
#[test]
fn a_listed_name_fits_with_a_port_and_with_a_last_dot() {
    let house = House::open(&["http-hosts dolium:8379 Foo.Bar. plain"]);
    let status = |host: &str| {
        let mut client = house.client_of(Door::Http);
        client.send(format!("GET /keys/k HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        String::from_utf8(client.take(12)).expect("text")
    };
    for host in ["dolium", "Dolium:8379", "dolium.:80", "foo.bar", "foo.bar.", "PLAIN:1"] {
        assert_eq!(status(host), "HTTP/1.1 404", "{host}");
    }
    for host in ["evil.example", "dolium.evil.example", "foo", "8379", "dolium8379"] {
        assert_eq!(status(host), "HTTP/1.1 421", "{host}");
    }
}
