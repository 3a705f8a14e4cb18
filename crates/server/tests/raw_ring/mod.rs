//! A server that can be attached to, and a client that has the ring itself in its hands.

use crate::door::House;
use dolium_engine::ring::RingMemory;
use dolium_engine::ring::hello::{self, WELCOME_BYTES, Welcome};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::io::{IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub fn house(name: &str) -> (House, PathBuf) {
    let path = std::env::temp_dir().join(format!("dolium-{}-{name}", std::process::id()));
    let house = House::open(&[&format!("attach-socket {}", path.display())]);
    assert_eq!(house.running.attach.as_deref(), Some(path.as_path()));
    (house, path)
}

/// Attaches as the public crate does, and hands the ring out raw.
pub fn attach(path: &PathBuf) -> (UnixStream, Arc<RingMemory>) {
    let mut socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(&hello::hello()).unwrap();
    let mut welcome = [0; WELCOME_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut into = [IoSliceMut::new(&mut welcome)];
    let got =
        rustix::net::recvmsg(&socket, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    assert_eq!(got.bytes, WELCOME_BYTES);
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let pid = u64::from(std::process::id());
    assert_eq!(Welcome::decode(&welcome), Some(Welcome::Come { server_pid: pid }));
    let ring = fds.pop().unwrap();
    let arena = fds.pop().unwrap();
    assert!(rustix::io::write(&arena, b"x").is_err(), "the arena is for reading only");
    (socket, Arc::new(RingMemory::open(ring).unwrap()))
}
