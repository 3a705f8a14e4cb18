//! CLIENT PAUSE and a Memcached client that has a password to say first.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::House;

const LOGIN: &str = "set x 0 0 14\r\ndefault secret\r\n";
const REFUSED: &str = "CLIENT_ERROR unauthenticated\r\n";

/// The login is a `set`, and waited for the end of the pause with all reads behind it.
#[test]
fn a_pause_of_writes_holds_back_no_login() {
    let house = House::open(&["requirepass secret"]);
    let mut other = house.client();
    other.ask("AUTH secret\r\nSET k v\r\n", "+OK\r\n+OK\r\n");
    other.ask("CLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n");
    let mut client = house.client_of(Door::Memcached);
    client.ask("set x 0 0 13\r\ndefault wrong\r\n", "CLIENT_ERROR authentication failure\r\n");
    client.ask("add k 0 0 1\r\n", REFUSED);
    client.ask("x\r\n", REFUSED);
    client.ask(LOGIN, "STORED\r\n");
    client.ask("get k\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n");
    // A store is still one.
    client.send(b"set k 0 0 1\r\nw\r\n");
    let mut reader = house.client_of(Door::Memcached);
    reader.ask(&format!("{LOGIN}get k\r\n"), "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n");
    other.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
    client.expect("STORED\r\n");
    reader.ask("get k\r\n", "VALUE k 0 1\r\nw\r\nEND\r\n");
}

/// As of Redis' clients: all that somebody may do waits, and nobody waits for a refusal.
#[test]
fn a_pause_of_everything_holds_back_a_login_and_no_refusal() {
    let house = House::open(&["requirepass secret"]);
    let mut other = house.client();
    other.ask("AUTH secret\r\n", "+OK\r\n");
    other.ask("CLIENT PAUSE 3000 ALL\r\n", "+OK\r\n");
    let mut client = house.client_of(Door::Memcached);
    client.ask("get k\r\n", REFUSED);
    let begun = std::time::Instant::now();
    client.ask(&format!("{LOGIN}get k\r\n"), "STORED\r\nEND\r\n");
    assert!(begun.elapsed().as_millis() > 300, "the login did not wait");
}
