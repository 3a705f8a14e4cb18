//! What INFO and MEMORY say of the heap is what the program's allocator says of itself, and its
//! settings are the ones that the program was built with.

mod served;

use served::Served;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The bulk string with which the server answers.
fn ask(served: &Served, words: &str) -> String {
    let socket = UnixStream::connect(served.redis_path()).expect("it listens");
    (&socket).write_all(format!("{words}\r\n").as_bytes()).expect("it reads");
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    reader.read_line(&mut line).expect("it answers");
    let len: usize = line.trim_start_matches('$').trim().parse().expect("a bulk string");
    let mut text = vec![0; len];
    reader.read_exact(&mut text).expect("all of it");
    String::from_utf8(text).expect("text")
}

fn field(info: &str, name: &str) -> f64 {
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name}")).parse().expect("a number")
}

#[test]
fn info_names_the_allocator_and_adds_the_heap_to_the_arena() {
    let served = Served::start(&[]);
    let info = ask(&served, "INFO memory");
    assert!(info.contains("\r\nmem_allocator:jemalloc-5."), "{info}");
    for (all, arena, heap) in [
        ("allocator_allocated", "arena_live", "heap_allocated"),
        ("allocator_active", "arena_committed", "heap_active"),
        ("allocator_resident", "arena_committed", "heap_resident"),
    ] {
        assert!(field(&info, heap) > 0.0, "{heap}");
        assert_eq!(field(&info, all), field(&info, arena) + field(&info, heap), "{all}");
    }
    assert!(field(&info, "heap_allocated") <= field(&info, "heap_active"));
    assert!(field(&info, "allocator_frag_ratio") >= 1.0);
    assert!(field(&info, "allocator_rss_ratio") >= 1.0);
}

#[test]
fn the_settings_of_the_program_hold() {
    let served = Served::start(&[]);
    let report = ask(&served, "MEMORY MALLOC-STATS");
    for setting in [
        "opt.thp: \"never\"",
        "opt.metadata_thp: \"disabled\"",
        "opt.narenas: 1",
        "opt.dirty_decay_ms: 1000",
        "opt.muzzy_decay_ms: 0",
        "opt.oversize_threshold: 1073741824",
        "opt.background_thread: false",
    ] {
        assert!(report.contains(setting), "{setting} does not hold:\n{report}");
    }
}

#[test]
fn free_memory_goes_back_although_somebody_asks_now_and_then() {
    let served = Served::start(&[]);
    let half = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n{}", "x".repeat(900_000));
    let clients: Vec<UnixStream> = (0..30)
        .map(|_| {
            let client = UnixStream::connect(served.redis_path()).expect("it listens");
            (&client).write_all(half.as_bytes()).expect("it reads");
            client
        })
        .collect();
    let resident = || field(&ask(&served, "INFO memory"), "heap_resident");
    let wait_for = |what: &str, is_so: &dyn Fn(f64) -> bool| {
        let begun = Instant::now();
        while !is_so(resident()) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {}", resident());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    wait_for("received", &|bytes| bytes > 20e6);
    drop(clients);
    wait_for("given back", &|bytes| bytes < 16e6);
    let report = ask(&served, "MEMORY MALLOC-STATS");
    assert!(report.contains("opt.dirty_decay_ms: 1000"), "{report}");
}
