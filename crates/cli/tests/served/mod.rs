//! A server of the test's own: the program itself, on a socket in a folder of its own.
#![allow(dead_code)]

use dolium_attach::Store;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static COUNT: AtomicU32 = AtomicU32::new(0);

pub struct Served {
    pub child: Child,
    pub folder: PathBuf,
}

impl Served {
    /// Starts a server that nobody reaches but by its attach socket and its Unix socket.
    pub fn start(directives: &[&str]) -> Served {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("dolium-{}-{number}", std::process::id()));
        Served::start_in(folder, directives)
    }

    /// The same where another one may have been.
    pub fn start_in(folder: PathBuf, directives: &[&str]) -> Served {
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.args(["serve", "--port", "0", "--memcached-port", "0", "--http-port", "0"]);
        command.args(["--pin-threads", "no", "--threads", "2", "--maxmemory", "256mb"]);
        command.arg("--attach-socket").arg(folder.join("attach"));
        command.arg("--unixsocket").arg(folder.join("redis"));
        command.args(directives).stdout(Stdio::null());
        let child = command.spawn().expect("the program starts");
        let served = Served { child, folder };
        let limit = Instant::now() + Duration::from_secs(20);
        while Store::attach(served.attach_path()).is_err() {
            assert!(Instant::now() < limit, "the server does not come up");
            std::thread::sleep(Duration::from_millis(10));
        }
        served
    }

    pub fn attach_path(&self) -> PathBuf {
        self.folder.join("attach")
    }

    pub fn redis_path(&self) -> PathBuf {
        self.folder.join("redis")
    }

    pub fn attach(&self) -> Store {
        Store::attach(self.attach_path()).expect("the server lets this user attach")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops all of its threads, which go on for a moment after the signal: on a busy machine long
    /// enough to answer somebody, who then waits for a second reply for ever.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = || {
            std::fs::read_dir(&tasks).unwrap().all(|task| {
                let status = std::fs::read_to_string(task.unwrap().path().join("status"));
                status.unwrap().lines().any(|line| line.starts_with("State:\tT"))
            })
        };
        let limit = Instant::now() + Duration::from_secs(20);
        while !is_stopped() {
            assert!(Instant::now() < limit, "the server does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// As it would be from a shell: `dolium WORDS --attach-socket PATH`.
    pub fn dolium(&self, words: &[&str]) -> std::process::Output {
        let (verb, rest) = words.split_first().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.arg(verb).arg("--attach-socket").arg(self.attach_path()).args(rest);
        command.output().expect("the program starts")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
