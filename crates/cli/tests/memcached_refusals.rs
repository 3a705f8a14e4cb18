//! What `dolium memcached` refuses and takes on its command line, and the exit codes that say so, as
//! Memcached does: scripts start the one in the place of the other.

mod cached;

use cached::{Cached, peer};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a refusal may take on a machine that does much else.
const WAIT: Duration = Duration::from_secs(20);

/// How it ends and what it says, with these options.
fn ended(options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(peer().unwrap_or(env!("CARGO_BIN_EXE_dolium").into()));
    if peer().is_none() {
        command.arg("memcached");
    }
    command.args(["-u", "root", "-l", "127.0.0.1", "-p", "-1"]).args(options);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().expect("our child") {
            Some(status) => break status,
            None if begun.elapsed() < WAIT => std::thread::sleep(Duration::from_millis(10)),
            // It serves.
            None => {
                let _ = child.kill();
                break child.wait().expect("our child");
            }
        }
    };
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    (status.code(), said)
}

fn must_refuse(options: &[&str], code: i32, sentence: &str) {
    let (ended, said) = ended(options);
    assert_eq!(ended, Some(code), "{options:?}: {said}");
    assert!(said.contains(sentence), "{options:?}: {said}");
}

/// Four fifths of the memory for hot and warm items was not the most.
#[test]
fn hot_and_warm_share_what_they_may_have() {
    const SENTENCE: &str = "hot_lru_pct + warm_lru_pct cannot be more than 80% combined";
    must_refuse(&["-o", "hot_lru_pct=41,warm_lru_pct=40"], 64, SENTENCE);
    must_refuse(&["-o", "warm_lru_pct=2,hot_lru_pct=79"], 64, SENTENCE);
    // With what the other one is unless it is told.
    must_refuse(&["-o", "hot_lru_pct=41"], 64, SENTENCE);
    must_refuse(&["-o", "warm_lru_pct=61"], 64, SENTENCE);
    must_refuse(&["-o", "hot_lru_pct=80"], 1, "hot_lru_pct must be > 1 and < 80");
    for fits in
        ["hot_lru_pct=40,warm_lru_pct=40", "warm_lru_pct=60", "hot_lru_pct=79,warm_lru_pct=1"]
    {
        Cached::start(&["-o", fits]);
    }
}

/// It was called an unknown word, and the server did not start.
#[test]
fn a_ratio_of_free_pages_is_no_reason_not_to_start() {
    Cached::start(&["-o", "slab_automove_freeratio=0.02"]);
    must_refuse(
        &["-o", "slab_automove_freeratio=much"],
        1,
        "could not parse argument to slab_automove_freeratio",
    );
    must_refuse(&["-o", "slab_automove_freeratio"], 1, "Missing slab_automove_freeratio argument");
}

#[test]
fn passwords_that_cannot_be_read_end_it_as_they_end_memcached() {
    let nowhere = std::env::temp_dir().join(format!("dolium-nowhere-{}", std::process::id()));
    must_refuse(&["-Y", nowhere.to_str().expect("text")], 1, "No such file");
    let malformed = nowhere.with_extension("malformed");
    std::fs::write(&malformed, "nobody\n").expect("a file");
    must_refuse(&["-Y", malformed.to_str().expect("text")], 1, malformed.to_str().expect("text"));
    std::fs::remove_file(malformed).expect("our file");
}

/// The server's own other port was called another program's.
#[test]
fn two_doors_with_one_number_are_told_of_each_other() {
    if peer().is_some() {
        return;
    }
    let port = dolium_lab::stores::free_port().expect("a port").to_string();
    let (redis, http) = (format!("redis_port={port}"), format!("http_port={port}"));
    let both = |names: &str| format!("{names} are both {port}: each needs a number of its own");
    must_refuse(&["-p", &port, "-o", &redis], 64, &both("-p and -o redis_port"));
    must_refuse(&["-p", &port, "-o", &http], 64, &both("-p and -o http_port"));
    must_refuse(&["-l", &format!("127.0.0.1:{port}"), "-o", &redis], 64, "-p and -o redis_port");
    let web = format!("{redis},{http}");
    must_refuse(&["-o", &web], 64, &both("-o redis_port and -o http_port"));
    // At another address it is another place.
    Cached::start(&["-l", &format!("127.0.0.2:{port}"), "-o", &redis]);
}

/// The way out was said to be --port, which is Memcached's own port here.
#[test]
fn a_port_of_an_extended_option_is_told_by_that() {
    if peer().is_some() {
        return;
    }
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("its address").port();
    for option in ["redis_port", "http_port"] {
        let told = format!("choose another with -o {option}=N, or none with -o {option}=0");
        must_refuse(&["-o", &format!("{option}={port}")], 71, &told);
    }
}

/// No path was named, and of a description that is no text not what to do.
#[test]
fn a_memory_file_that_cannot_be_used_is_named() {
    if peer().is_some() {
        return;
    }
    let told = "-e: /no/such/place/f: there is no folder /no/such/place: make it, or name another";
    must_refuse(&["-e", "/no/such/place/f"], 1, told);
    let file = std::env::temp_dir().join(format!("dolium-no-text-{}", std::process::id()));
    let meta = file.with_extension("meta");
    std::fs::write(&meta, b"\xff\xfe").expect("a file");
    let told = format!("{} is no description of saved items", meta.display());
    must_refuse(&["-e", file.to_str().expect("text")], 1, &told);
    must_refuse(&["-e", file.to_str().expect("text")], 1, "remove it to start with an empty cache");
    std::fs::remove_file(meta).expect("our file");
}
