//! `dolium memcached` as a process of the test's own, with a folder of its own to be attached in.
#![allow(dead_code)]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static COUNT: AtomicU32 = AtomicU32::new(0);
/// How long a start may take on a machine that does much else.
const START: Duration = Duration::from_secs(60);

pub struct Cached {
    pub child: Child,
    pub address: SocketAddr,
    /// Where `-U -1` was given.
    pub datagrams: Option<SocketAddr>,
    folder: PathBuf,
}

/// `DOLIUM_TEST_PEER=memcached` has the real one judged: a test that it fails is a wrong test.
pub fn peer() -> Option<std::ffi::OsString> {
    std::env::var_os("DOLIUM_TEST_PEER")
}

impl Cached {
    /// Starts it on free ports, with these options more.
    pub fn start(options: &[&str]) -> Cached {
        Cached::start_saying(options, Stdio::inherit())
    }

    /// What it says on standard error goes there.
    pub fn start_saying(options: &[&str], said: Stdio) -> Cached {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("dolium-mc-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let ports = folder.join("ports");
        let mut command = match peer() {
            Some(peer) => Command::new(peer),
            None => Command::new(env!("CARGO_BIN_EXE_dolium")),
        };
        if peer().is_none() {
            command.arg("memcached");
        }
        command.args(["-p", "-1", "-l", "127.0.0.1", "-u", "root"]).args(options);
        command.env("MEMCACHED_PORT_FILENAME", &ports).env("XDG_RUNTIME_DIR", &folder);
        let child = command.stdout(Stdio::null()).stderr(said).spawn().expect("the program starts");
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut cached = Cached { child, address: nowhere, datagrams: None, folder };
        let limit = Instant::now() + START;
        loop {
            let text = std::fs::read_to_string(&ports).unwrap_or_default();
            let port_of = |name: &str| {
                let line = text.lines().find(|line| line.starts_with(name))?;
                line.rsplit(' ').next()?.parse::<u16>().ok()
            };
            if let Some(port) = port_of("TCP") {
                cached.address.set_port(port);
                cached.datagrams =
                    port_of("UDP").map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
                return cached;
            }
            assert!(Instant::now() < limit, "the server does not come up");
            assert!(cached.child.try_wait().expect("our child").is_none(), "it ended at once");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Resident bytes: now, and the most there ever were.
    pub fn resident(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let bytes = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).expect("a process");
            let kib = line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok());
            kib.expect("a number") << 10
        };
        (bytes("VmRSS:"), bytes("VmHWM:"))
    }

    /// `dolium check`: does all that an attached process can reach hold together?
    pub fn check(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.arg("check").env("XDG_RUNTIME_DIR", &self.folder);
        command.output().expect("the program starts")
    }

    pub fn must_hold_together(&mut self) {
        assert!(self.child.try_wait().expect("our child").is_none(), "the server ended");
        if peer().is_some() {
            return;
        }
        let checked = self.check();
        let (out, err) = (&checked.stdout, &checked.stderr);
        let said = [String::from_utf8_lossy(out), String::from_utf8_lossy(err)].concat();
        assert!(checked.status.success(), "{said}");
        print!("{said}");
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        // The child is ours; errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
