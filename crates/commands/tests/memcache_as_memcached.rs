//! The same bytes to an installed Memcached and to the commands: the replies must be the same.
//!
//! Needs `memcached` (1.6.18), which `cargo xtask test` installs. Unique numbers differ between
//! two servers, so scripts avoid showing them.

mod memcache_harness;

use memcache_harness::Connection;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Sent behind each request; its reply ends that of the request.
const MARK: &[u8] = b"mg nothing v Omark\r\n";
const MARK_REPLY: &[u8] = b"EN Omark\r\n";

/// Ends Memcached with the test, however that ends.
struct Process(Child, std::path::PathBuf);

struct Judge {
    _process: Process,
    stream: UnixStream,
}

impl Judge {
    fn start(name: &str) -> Judge {
        let socket =
            std::env::temp_dir().join(format!("dolium-{name}-{}.sock", std::process::id()));
        let mut command = Command::new("memcached");
        command.args(["-u", "nobody", "-a", "0777", "-s"]).arg(&socket).stderr(Stdio::null());
        let child = command.spawn().expect("memcached: installed by `cargo xtask test`");
        let process = Process(child, socket);
        for _ in 0..500 {
            if let Ok(stream) = UnixStream::connect(&process.1) {
                stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
                return Judge { _process: process, stream };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("memcached did not come up");
    }

    fn send(&mut self, request: &[u8]) -> Vec<u8> {
        self.stream.write_all(request).expect("memcached takes the request");
        self.stream.write_all(MARK).expect("memcached takes the mark");
        let (mut reply, mut piece) = (Vec::new(), [0; 4096]);
        while !reply.ends_with(MARK_REPLY) {
            let len = self.stream.read(&mut piece).expect("memcached answers");
            assert!(len > 0, "memcached closed after {}", request.escape_ascii());
            reply.extend_from_slice(&piece[..len]);
        }
        reply.truncate(reply.len() - MARK_REPLY.len());
        reply
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(&self.1);
    }
}

/// Line by line, so that a difference names its request.
fn compare(name: &str, requests: &[&str]) {
    let mut judge = Judge::start(name);
    let mut ours = Connection::new();
    let mut wrong = Vec::new();
    for request in requests {
        let expected = judge.send(request.as_bytes()).escape_ascii().to_string();
        let got = ours.send(request.as_bytes()).escape_ascii().to_string();
        if expected != got {
            wrong.push(format!("{request:?}\n   memcached: {expected}\n   dolium:    {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn text_commands() {
    compare(
        "text",
        &[
            "get a\r\n",
            "set a 5 0 1\r\nx\r\n",
            "get a\r\n",
            "get a b a\r\n",
            "add a 0 0 1\r\ny\r\n",
            "replace a 7 0 2\r\nyy\r\n",
            "get a\r\n",
            "append a 1 0 1\r\nz\r\n",
            "prepend a 1 0 1\r\nw\r\n",
            "get a\r\n",
            "append nope 0 0 1\r\nz\r\n",
            "prepend nope 0 0 1\r\nz\r\n",
            "replace nope 0 0 1\r\nz\r\n",
            "cas nope 0 0 1 5\r\nz\r\n",
            "cas a 0 0 1 999999999\r\nz\r\n",
            "cas a 0 0 1 0\r\nz\r\n",
            "set b 0 0 0\r\n\r\n",
            "get b\r\n",
            "incr b 1\r\n",
            "delete b\r\n",
            "delete b\r\n",
            "delete b 0\r\n",
            "delete b 5\r\n",
            "delete b 5 noreply\r\n",
            "set c 4294967295 0 3 noreply\r\nabc\r\n",
            "get c\r\n",
            "add c 0 0 3 noreply\r\nabc\r\n",
            "set c -1 0 3\r\nabc\r\n",
            "set c 0 0 -1\r\n",
            "set c 0 0 3\r\nabcd\r\n",
            "set c 0 0\r\n",
            "touch c 100\r\n",
            "touch nope 100\r\n",
            "touch c 100 noreply\r\n",
            "touch c x\r\n",
            "touch c -1\r\n",
            "get c\r\n",
            "set d 0 -1 1\r\nx\r\n",
            "get d\r\n",
            "set d 0 0 1\r\nx\r\n",
            "set d 0 -1 1\r\ny\r\n",
            "get d\r\n",
            "add d 0 -1 1\r\ny\r\n",
            "add d 0 0 1\r\nq\r\n",
            "gat 100 d nope\r\n",
            "gat 0 d\r\n",
            "gat x d\r\n",
            "gat\r\n",
            "gat 0\r\n",
            "gats 0 nope\r\n",
            "gat -1 d\r\n",
            "get d\r\n",
            "set e 0 2592001 1\r\nx\r\n",
            "get e\r\n",
            "version\r\n",
            "verbosity 1\r\n",
            "verbosity\r\n",
            "verbosity x\r\n",
            "verbosity 0 noreply\r\n",
            "shutdown\r\n",
            "shutdown graceful\r\n",
            "shutdown x\r\n",
            "nothing\r\n",
            "\r\n",
            "get\r\n",
            "stats reset\r\n",
            "stats nothing\r\n",
            "stats sizes\r\n",
            "flush_all\r\n",
            "get a\r\n",
            "flush_all noreply\r\n",
            "flush_all x\r\n",
            "flush_all -1\r\n",
            "flush_all 0\r\n",
            "bget a\r\n",
            "stats detail\r\n",
            "lru_crawler\r\n",
        ],
    );
}

/// An item that was just read is held by Memcached's own queue of things to move to the front, and
/// then it counts in a copy, without padding. So here nothing is counted down after it was read.
#[test]
fn counting() {
    compare(
        "counting",
        &[
            "incr n 1\r\n",
            "decr n 1\r\n",
            "set n 9 0 2\r\n10\r\n",
            "incr n 18446744073709551615\r\n",
            "decr n 2\r\n",
            "get n\r\n",
            "set n 9 0 2\r\n10\r\n",
            "decr n 100\r\n",
            "get n\r\n",
            "set n 9 0 20\r\n18446744073709551615\r\n",
            "incr n 1\r\n",
            "get n\r\n",
            "incr n -1\r\n",
            "incr n x\r\n",
            "incr n\r\n",
            "incr n 18446744073709551616\r\n",
            "set n 0 0 1\r\n8\r\n",
            "incr n 5 noreply\r\n",
            "get n\r\n",
            "set t 0 0 3\r\nabc\r\n",
            "incr t 1\r\n",
            "incr t 1 noreply\r\n",
            "set t 0 0 4\r\n12 a\r\n",
            "incr t 1\r\n",
            "get t\r\n",
            "set t 0 0 3\r\n +7\r\n",
            "incr t 1\r\n",
            "get t\r\n",
            "set t 0 0 2\r\n-7\r\n",
            "incr t 1\r\n",
            "set t 0 0 20\r\n18446744073709551615\r\n",
            "decr t 1\r\n",
            "get t\r\n",
            "ma t\r\n",
            "ma t v\r\n",
            "ma t v t q k Oabc D10\r\n",
            "ma t MD v\r\n",
            "ma t M- D5 v\r\n",
            "ma t M+ D5 v\r\n",
            "ma t MI D5 v T30 t\r\n",
            "ma t MX\r\n",
            "ma t q\r\n",
            "ma nope\r\n",
            "ma nope q k O1\r\n",
            "ma new N0 J13 v\r\n",
            "ma new N0 J13 v t\r\n",
            "ma new2 N60 J13 v t\r\n",
            "ma new2 t N60 v\r\n",
            "ma new3 N60 q\r\n",
            "ma new3 C999999999\r\n",
            "ma new3 C999999999 q\r\n",
            "ma bmV3Mw== b k v\r\n",
            "set s 0 0 3\r\nabc\r\n",
            "ma s\r\n",
            "ma s q\r\n",
            "ma t Dx\r\n",
            "ma t Jx\r\n",
            "ma t N\r\n",
            "ma t t t\r\n",
        ],
    );
}

#[test]
fn meta_commands() {
    compare(
        "meta",
        &[
            "mn\r\n",
            "mg a\r\n",
            "mg a v\r\n",
            "mg a v k Oabc\r\n",
            "mg a q\r\n",
            "mg a q v\r\nmn\r\n",
            "ms a 2\r\nhi\r\n",
            "ms a 2 T60 F9 k Oq\r\nhi\r\n",
            "mg a\r\n",
            "mg a s v k f t Oabc q\r\n",
            "mg a v\r\n",
            "mg a u\r\n",
            "mg a u v\r\n",
            "mg a T30 t\r\n",
            "mg a t T60 v\r\n",
            "mg a h\r\n",
            "ms h 1\r\nx\r\n",
            "mg h h l\r\n",
            "mg h h l\r\n",
            "ms a 2 ME\r\nno\r\n",
            "ms a 2 ME q\r\nno\r\n",
            "ms a 2 MA\r\n+1\r\n",
            "ms a 2 MP\r\n-1\r\n",
            "mg a v\r\n",
            "ms nope 1 MA\r\nx\r\n",
            "ms nope 1 MP k\r\nx\r\n",
            "ms nope 1 MR\r\nx\r\n",
            "ms a 1 MR\r\nx\r\n",
            "ms a 1 MS q\r\nx\r\n",
            "ms a 1 MX\r\nx\r\n",
            "ms a 1 C999999999\r\nx\r\n",
            "ms nope 1 C999999999\r\nx\r\n",
            "ms a 1 C0\r\nx\r\n",
            "ms a 1 MA C99999999\r\nx\r\n",
            "ms a 1 ME C99999999 c\r\nx\r\n",
            "ms a x\r\n",
            "ms a\r\n",
            "ms a 1\r\nxyz\r\n",
            "ms a 1 T-1\r\nx\r\n",
            "mg a v\r\n",
            "md a\r\n",
            "md a q\r\n",
            "md a k Oabc\r\n",
            "ms a 1\r\nx\r\n",
            "md a C999999999\r\n",
            "md a C999999999 q\r\n",
            "md a q\r\n",
            "ms Zm9v 2 b\r\nhi\r\n",
            "mg Zm9v b v k\r\n",
            "mg Zm9v b k\r\n",
            "md Zm9v b k q\r\n",
            "me nope\r\n",
            "me\r\n",
            "mg\r\n",
            "mg a Z\r\n",
            "mg a t t\r\n",
        ],
    );
}

#[test]
fn stale_items_and_their_winners() {
    compare(
        "stale",
        &[
            "mg v N30 v t\r\n",
            "mg v N30 v t\r\n",
            "mg v v\r\n",
            "mg v\r\n",
            "ms v 2 T60\r\nhi\r\n",
            "mg v v\r\n",
            "mg v R30 t v\r\n",
            "mg v R90 t v\r\n",
            "mg v R90 t v\r\n",
            "mg v v\r\n",
            "ms v 2\r\nho\r\n",
            "mg v R90 v\r\n",
            "md v I\r\n",
            "mg v v\r\n",
            "mg v v s\r\n",
            "md v I T30\r\n",
            "mg v t v\r\n",
            "mg v t v\r\n",
            "get v\r\n",
            "ms v 2 I C1\r\nol\r\n",
            "mg v v\r\n",
            "ms v 2\r\nok\r\n",
            "mg v v\r\n",
            "ms v 2 I C1\r\nol\r\n",
            "mg v v\r\n",
            "mg v v\r\n",
            "md v I q\r\n",
            "mg v q k Ox\r\n",
            "mg w N-1 v\r\n",
            "mg w v\r\n",
            "mg w N0 t v\r\n",
            "mg w T-1 v\r\n",
            "mg w v\r\n",
            "md v I T-1\r\n",
            "mg v v\r\n",
            "append v 0 0 1\r\nx\r\n",
            "set n 0 0 2\r\n10\r\n",
            "md n I\r\n",
            "ma n v\r\n",
            "mg n v\r\n",
            "md n I\r\n",
            "append n 0 0 1\r\n5\r\n",
            "mg n v\r\n",
        ],
    );
}

#[test]
fn a_value_too_large_takes_the_old_one_with_it() {
    let value = "x".repeat((1 << 20) + 1);
    let put = |line: &str| format!("{line}\r\n{value}\r\nget a\r\n");
    let set = put("set a 0 0 1048577");
    let append = put("append a 0 0 1048577");
    let meta = put("ms a 1048577 T0");
    let a = "set a 0 0 1\r\nx\r\n";
    compare("large", &[a, &append, &set, a, &meta, "get a\r\n"]);
}
