//! Servers that ask for any free port at the same moment get one each. A port was once looked up by a socket that
//! was closed again before it was taken: another server took it in between, the two shared it in silence, and
//! a client was now answered by one, now by the other.

use dolium_server::listener::{Door, listen_tcp};
use std::collections::HashSet;

const SERVERS: usize = 8;
const EACH: usize = 30;

#[test]
fn servers_that_begin_together_share_no_port() {
    let listening: Vec<_> = std::thread::scope(|scope| {
        let begin = || {
            let any = "127.0.0.1:0".parse().expect("an address");
            let listen = |_| listen_tcp(any, Door::Redis, 2, 16).expect("a free port");
            (0..EACH).map(listen).collect::<Vec<_>>()
        };
        let servers: Vec<_> = (0..SERVERS).map(|_| scope.spawn(begin)).collect();
        servers.into_iter().flat_map(|server| server.join().expect("no panic")).collect()
    });
    let addresses: Vec<HashSet<String>> = listening
        .iter()
        .map(|sockets| sockets.iter().map(|socket| socket.address.to_string()).collect())
        .collect();
    assert!(addresses.iter().all(|own| own.len() == 1), "the threads of a server share its port");
    let different: HashSet<_> = addresses.iter().flatten().collect();
    assert_eq!(different.len(), SERVERS * EACH, "two servers have one port");
}
