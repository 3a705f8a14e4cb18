//! A server with a TLS listener, and clients of it.

use super::certificates::Certificates;
use super::door::House;
use dolium_server::listener::Address;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

pub type Client = StreamOwned<ClientConnection, TcpStream>;

pub fn secured(house: &House) -> SocketAddr {
    match house.running.secured.first() {
        Some(Address::Tcp(address)) => *address,
        other => panic!("no TLS listener but {other:?}"),
    }
}

/// Below those that the system gives to connections that go out: another test's took such a port in the
/// moment before the server did.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let place = std::process::id().wrapping_mul(7919).wrapping_add(NEXT.fetch_add(1, Relaxed));
        let port = 12_000 + (place % 20_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub fn house(certificates: &Certificates, more: &[&str]) -> House {
    let place = certificates.folder.display();
    let port = free_port();
    let mut directives = vec![
        format!("tls-port {port}"),
        format!("tls-cert-file {place}/server.crt"),
        format!("tls-key-file {place}/server.key"),
        format!("tls-ca-cert-file {place}/authority.crt"),
    ];
    directives.extend(more.iter().map(ToString::to_string));
    House::open(&directives.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn connect(house: &House, config: rustls::ClientConfig) -> Client {
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(secured(house)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    StreamOwned::new(session, socket)
}

pub fn ask(client: &mut Client, request: &[u8], reply: &[u8]) {
    client.write_all(request).unwrap();
    let mut got = vec![0; reply.len()];
    client.read_exact(&mut got).unwrap();
    assert_eq!(got.escape_ascii().to_string(), reply.escape_ascii().to_string());
}
