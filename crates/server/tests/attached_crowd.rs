//! Many at the attach socket: some that say nothing, and more than there are rings for.

#[allow(dead_code)]
mod door;

use dolium_attach::{Error, Store};
use dolium_engine::ring::hello::{self, Refusal, WELCOME_BYTES, Welcome};
use door::House;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many rings a server has.
const MOST: usize = 256;

fn house(name: &str) -> (House, PathBuf) {
    let path = std::env::temp_dir().join(format!("dolium-{}-{name}", std::process::id()));
    (House::open(&[&format!("attach-socket {}", path.display())]), path)
}

/// Each had a quarter of a second for itself, and all others stood behind it.
#[test]
fn those_who_say_nothing_hold_nobody_up() {
    let (_house, path) = house("silent");
    // Fewer than are heard at once.
    let silent: Vec<UnixStream> = (0..25).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let begun = Instant::now();
    let store = Store::attach(&path).unwrap();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?} behind {}", silent.len());
    store.execute(&[b"PING"]).unwrap();
    // They were sent away.
    for mut one in silent {
        one.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(one.read(&mut [0; 8]).unwrap(), 0);
    }
}

/// Attaches without a look at what is handed over; the descriptors go with that.
fn attach_blindly(path: &PathBuf) -> (UnixStream, Option<Welcome>) {
    let mut socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(&hello::hello()).unwrap();
    let mut welcome = [0; WELCOME_BYTES];
    socket.read_exact(&mut welcome).unwrap();
    (socket, Welcome::decode(&welcome))
}

/// The refusal said `maxclients`, which was ten thousand.
#[test]
fn who_finds_no_ring_is_told_how_many_there_are() {
    let (_house, path) = house("rings");
    let mut attached: Vec<UnixStream> = Vec::new();
    for number in 0..MOST {
        let (socket, welcome) = attach_blindly(&path);
        assert!(matches!(welcome, Some(Welcome::Come { .. })), "{number}: {welcome:?}");
        attached.push(socket);
    }
    let refused = Store::attach(&path).unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::TooManyAttached)), "{refused}");
    assert!(refused.to_string().contains(&MOST.to_string()), "{refused}");
    attached.pop();
    // The server notices at its next event.
    let begun = Instant::now();
    while let Err(error) = Store::attach(&path) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{error}");
    }
}
