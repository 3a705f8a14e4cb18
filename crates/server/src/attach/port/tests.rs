//! Bells: which one has the loop look, which may be taken off, and when none is rung.

use super::*;
use rustix::event::epoll;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

fn sockets() -> (OwnedFd, OwnedFd) {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    socketpair(family, kind, SocketFlags::empty(), None).unwrap()
}

/// A ring as the loop and as its client see it, and the client's socket.
fn both_ends() -> (Port, RingEnd<RingMemory>, OwnedFd) {
    let (ours, theirs) = sockets();
    let (memory, shared) = RingMemory::create().unwrap();
    let client = RingEnd::client(RingMemory::open(shared).unwrap(), &RingPlan::STANDARD);
    (Port::new(ours, memory, 1, Arc::default()), client, theirs)
}

/// The client of a reply of ten bytes more than the ring holds took what there was and rang for
/// having made room; the last ten bytes went out before the loop had heard the bell. Taking it off
/// the socket then left a server that slept with no wish for data: the client's next request
/// rang no bell, and both waited for ever.
#[test]
fn a_bell_that_rang_for_room_still_has_the_loop_look_for_data() {
    let (mut port, mut client, theirs) = both_ends();
    let reply = vec![b'r'; dolium_engine::ring::REPLY_BYTES + 10];
    let sent = port.send(&reply).unwrap();
    assert_eq!(sent, dolium_engine::ring::REPLY_BYTES);
    let mut got = Vec::new();
    // Many bells, all but one of which are to be taken off.
    for _ in 0..100 {
        rustix::net::send(&theirs, &[1], SendFlags::empty()).unwrap();
    }
    assert_eq!(client.receive(&mut got, usize::MAX).unwrap(), sent);
    assert!(client.bell_needed(), "the server waits for room");
    rustix::net::send(&theirs, &[1], SendFlags::empty()).unwrap();
    assert_eq!(port.send(&reply[sent..]).unwrap(), 10);
    client.send(b"PING").unwrap();
    let mut bells = [0; 200];
    let (_, rung) =
        rustix::net::recv(port.doorbell(), &mut bells, RecvFlags::DONTWAIT).unwrap_or_default();
    assert!(client.bell_needed() || rung == 1, "{rung} bells");
}

/// A version that took bells off where a receive had found nothing, behind its wish for data, took off that
/// of the next bytes: an event without a byte on the socket is none, and both sides slept.
#[test]
fn no_bell_is_taken_off_behind_the_wish_that_it_rang_for() {
    const BYTES: usize = 4 << 20;
    let (ours, theirs) = sockets();
    let (memory, shared) = RingMemory::create().unwrap();
    let mut port = Port::new(ours, memory, 1, Arc::default());
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&epoll, port.doorbell(), epoll::EventData::new_u64(0), flags).unwrap();
    let client = std::thread::spawn(move || {
        let mut client = RingEnd::client(RingMemory::open(shared).unwrap(), &RingPlan::STANDARD);
        let mut sent = 0;
        while sent < BYTES {
            sent += client.send(&[b'v'; 100][..100.min(BYTES - sent)]).unwrap();
            if client.bell_needed() {
                // As the public crate: a full socket holds bells enough.
                let _ = rustix::net::send(&theirs, &[1], SendFlags::DONTWAIT);
            }
        }
        theirs
    });
    let (mut taken, mut into) = (0, vec![0; 32 << 10]);
    while taken < BYTES {
        let mut events = Vec::with_capacity(1);
        let moment = Timespec { tv_sec: 10, tv_nsec: 0 };
        let spare = rustix::buffer::spare_capacity(&mut events);
        let told = epoll::wait(&epoll, spare, Some(&moment)).unwrap();
        assert_eq!(told, 1, "not told of the next bytes behind {taken}");
        loop {
            match port.receive(&mut into) {
                Ok(n) => taken += n,
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    break;
                }
            }
        }
    }
    drop(client.join());
}

/// While the loop looks by itself a client rings for nothing, and from the end of that on for the next request.
#[test]
fn a_ring_that_is_looked_into_needs_no_bell_and_tells_at_the_end_what_has_come() {
    let (mut port, mut client, theirs) = both_ends();
    let ring = |client: &mut RingEnd<RingMemory>| {
        let rings = client.bell_needed();
        if rings {
            rustix::net::send(&theirs, &[1], SendFlags::empty()).unwrap();
        }
        rings
    };
    let mut into = [0; 64];
    let mut take = |port: &mut Port| port.receive(&mut into).map_err(|error| error.kind());
    client.send(b"first").unwrap();
    assert!(ring(&mut client), "a new ring's server sleeps");
    assert_eq!(take(&mut port), Ok(5));
    port.begin_looks();
    assert!(!port.has_input());
    client.send(b"second").unwrap();
    assert!(!ring(&mut client) && port.has_input());
    assert_eq!(take(&mut port), Ok(6));
    assert_eq!(take(&mut port), Err(io::ErrorKind::WouldBlock));
    client.send(b"third").unwrap();
    assert!(!ring(&mut client));
    assert!(port.end_looks(), "it came before the wish for a bell, and none is rung for it");
    assert_eq!(take(&mut port), Ok(5));
    client.send(b"fourth").unwrap();
    assert!(ring(&mut client));
    assert_eq!(take(&mut port), Ok(6));
    port.begin_looks();
    assert!(!port.end_looks());
    client.send(b"fifth").unwrap();
    assert!(ring(&mut client));
    // Who goes is noticed by the event that the socket's end is.
    port.begin_looks();
    assert_eq!(take(&mut port), Ok(5));
    drop(theirs);
    assert_eq!(take(&mut port), Ok(0));
}
