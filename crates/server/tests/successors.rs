//! Two servers and one path: who comes later takes it only from a server that is gone, and who stops takes
//! away only what is his own.

#[allow(dead_code)]
mod door;

use dolium_attach::Store;
use dolium_server::{Running, read_config};
use door::House;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Barrier;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn directives(folder: &Path) -> [String; 2] {
    let at = |name: &str| folder.join(name).display().to_string();
    [format!("attach-socket {}", at("attach")), format!("unixsocket {}", at("redis"))]
}

fn open(folder: &Path) -> House {
    let directives = directives(folder);
    House::open(&directives.each_ref().map(String::as_str))
}

/// A server that was slow to stop deleted the sockets of the one that had been started in its place.
#[test]
fn a_server_that_stops_leaves_its_successors_sockets_alone() {
    let folder = folder("successor");
    let first = open(&folder);
    // As an administrator does, or Memcached, which takes any socket's place.
    for name in ["attach", "redis"] {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let second = open(&folder);
    drop(first);
    Store::attach(folder.join("attach")).unwrap().execute(&[b"PING"]).unwrap();
    UnixStream::connect(folder.join("redis")).unwrap();
    drop(second);
    std::fs::remove_dir(&folder).expect("nothing is left in it");
}

/// Both had found the socket of a server that was gone, and both were ready; nobody could reach the first.
#[test]
fn of_two_servers_that_start_at_once_one_has_the_path() {
    let folder = folder("at-once");
    let words: Vec<String> =
        "--port 0 --memcached-port 0 --http-port 0 --threads 1 --pin-threads no \
                              --loglevel nothing --maxmemory 64mb --attach-socket"
            .split_whitespace()
            .map(String::from)
            .chain([folder.join("attach").display().to_string()])
            .collect();
    for round in 0..20 {
        drop(UnixListener::bind(folder.join("attach")).unwrap());
        let start = Barrier::new(2);
        let started = std::thread::scope(|scope| {
            let both = [(); 2].map(|()| {
                scope.spawn(|| {
                    let config = read_config(None, &words).unwrap();
                    start.wait();
                    Running::start(config)
                })
            });
            both.map(|one| one.join().unwrap())
        });
        let running: Vec<Running> = started
            .into_iter()
            .filter_map(|one| match one {
                Ok(running) => Some(running),
                Err(failure) => {
                    let said = failure.to_string();
                    assert!(said.contains("in use by another program"), "{said}");
                    None
                }
            })
            .collect();
        assert_eq!(running.len(), 1, "round {round}");
        for mut one in running {
            Store::attach(folder.join("attach")).unwrap();
            one.server.stop();
            one.wait();
        }
    }
    std::fs::remove_dir(&folder).expect("nothing is left in it");
}
