//! Each thing is counted once, and whoever reads the number reads the same one: `stats`, INFO,
//! `/metrics`, and local processes in the arena.
//!
//! A known number of operations goes through every door; what the four say is compared with what
//! was done.

#[allow(dead_code)]
mod door;
mod every_door;

use dolium_attach::Counters;
use door::House;
use every_door::{Doors, HIT, Lookups, MISS, NONE, open};
use std::time::{Duration, Instant};

/// A request is counted when it has been answered: its client may ask another thread before that.
fn counted(house: &House, commands: f64) {
    let until = Instant::now() + Duration::from_secs(20);
    while (house.running.server.statistics.sum(|thread| &thread.commands) as f64) < commands {
        assert!(Instant::now() < until, "not all that was asked for was counted");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What a thread counts reaches the arena once a second.
fn published(doors: &Doors, commands: f64) -> Counters {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let counters = doors.store.counters();
        let seen = server(&counters, "commands");
        if seen >= commands || Instant::now() > until {
            return counters;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn server(counters: &Counters, name: &str) -> f64 {
    counters.server.iter().find(|(known, _)| *known == name).unwrap().1 as f64
}

#[test]
fn every_reader_of_a_number_reads_the_same() {
    let (house, mut doors, _path) = open("truth");
    // Eleven through Redis' door, an error and a key that expires among them.
    doors.redis("SET a 1\r\n", "+OK\r\n", NONE);
    doors.redis("SET gone 1 PX 1\r\n", "+OK\r\n", NONE);
    doors.redis("GET a\r\n", "$1\r\n1\r\n", HIT);
    doors.redis("GET none\r\n", "$-1\r\n", MISS);
    doors.redis(
        "MGET a none a none none\r\n",
        "*5\r\n$1\r\n1\r\n$-1\r\n$1\r\n1\r\n$-1\r\n$-1\r\n",
        Lookups { hits: 2, misses: 3 },
    );
    doors.redis("INCR a\r\n", ":2\r\n", NONE);
    doors.redis("EXPIRE a 1000\r\n", ":1\r\n", NONE);
    doors.redis("DEL none a\r\n", ":1\r\n", NONE);
    doors.redis("RPUSH l x\r\n", ":1\r\n", NONE);
    doors.redis(
        "INCR l\r\n",
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        NONE,
    );
    doors.redis("GET none\r\n", "$-1\r\n", MISS);
    // Memcached's text.
    doors.text("set t 5 0 2\r\n10\r\n", "STORED\r\n", NONE);
    doors.text("add t 0 0 1\r\nx\r\n", "NOT_STORED\r\n", NONE);
    doors.text("get t\r\n", "VALUE t 5 2\r\n10\r\nEND\r\n", HIT);
    doors.text("get none\r\n", "END\r\n", MISS);
    doors.text(
        "get t none t\r\n",
        "VALUE t 5 2\r\n10\r\nVALUE t 5 2\r\n10\r\nEND\r\n",
        Lookups { hits: 2, misses: 1 },
    );
    doors.text("incr t 1\r\n", "11\r\n", NONE);
    doors.text("incr none 1\r\n", "NOT_FOUND\r\n", NONE);
    doors.text("decr t 1\r\n", "10\r\n", NONE);
    doors.text("touch t 0\r\n", "TOUCHED\r\n", NONE);
    doors.text("touch none 0\r\n", "NOT_FOUND\r\n", NONE);
    doors.text("delete none\r\n", "NOT_FOUND\r\n", NONE);
    doors.text("cas t 0 0 1 1\r\n1\r\n", "EXISTS\r\n", NONE);
    doors.text("cas none 0 0 1 1\r\n1\r\n", "NOT_FOUND\r\n", NONE);
    doors.text("ms m 1\r\n1\r\n", "HD\r\n", NONE);
    doors.text("mg m v\r\n", "VA 1\r\n1\r\n", HIT);
    doors.text("mg none v\r\n", "EN\r\n", MISS);
    doors.text("md m\r\n", "HD\r\n", NONE);
    doors.text("me none\r\n", "EN\r\n", NONE);
    // The binary protocol: SET, GET twice, DELETE.
    assert_eq!(doors.binary(0x01, &[0; 8], "b", "bin", NONE), 0);
    assert_eq!(doors.binary(0x00, &[], "b", "", HIT), 0);
    assert_eq!(doors.binary(0x00, &[], "none", "", MISS), 1);
    assert_eq!(doors.binary(0x04, &[], "b", "", NONE), 0);
    // The web.
    doors.http(
        "PUT /keys/w HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nweb",
        "201",
        NONE,
    );
    doors.http("GET /keys/w HTTP/1.1\r\nHost: localhost\r\n\r\n", "200", HIT);
    doors.http("GET /keys/none HTTP/1.1\r\nHost: localhost\r\n\r\n", "404", MISS);
    // Datagrams, the first with two requests.
    doors.udp("set u 0 0 1\r\nu\r\nget u\r\n", "STORED\r\nVALUE u 0 1\r\nu\r\nEND\r\n", HIT);
    doors.done.commands += 1.0;
    doors.udp("get none\r\n", "END\r\n", MISS);
    // A local process: by the ring as any client, directly uncounted.
    doors.ring(&["SET", "r", "1"], NONE);
    doors.ring(&["GET", "r"], HIT);
    assert!(
        doors.store.get(b"r").unwrap().is_some() && doors.store.get(b"none").unwrap().is_none()
    );
    let until = Instant::now() + Duration::from_secs(20);
    while doors.store.counters().engine.expired == 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }

    counted(&house, doors.done.commands);
    let stats = doors.stats();
    counted(&house, doors.done.commands);
    let after_stats = doors.done.sent;
    let before_info = doors.done.commands;
    let info = doors.info();
    counted(&house, doors.done.commands);
    let (before_metrics, after_info) = (doors.done.commands, doors.done.sent);
    let metrics = doors.metrics();
    let (all, after_metrics) = (doors.done.commands, doors.done.sent);
    let attached = published(&doors, all);
    let engine = attached.engine;
    let done = &doors.done;

    let mut wrong = Vec::new();
    let mut same = |what: &str, expected: f64, seen: &[f64]| {
        if seen.iter().any(|number| *number != expected) {
            wrong.push(format!("{what}: {seen:?} where {expected} is right"));
        }
    };
    same(
        "lookups that found something",
        done.hits,
        &[info["keyspace_hits"], metrics["dolium_hits_total"], engine.hits as f64],
    );
    same(
        "lookups that found nothing",
        done.misses,
        &[info["keyspace_misses"], metrics["dolium_misses_total"], engine.misses as f64],
    );
    same(
        "expired keys",
        1.0,
        &[
            info["expired_keys"],
            metrics["dolium_expired_total"],
            stats["crawler_reclaimed"],
            engine.expired as f64,
        ],
    );
    same(
        "evicted keys",
        0.0,
        &[
            info["evicted_keys"],
            metrics["dolium_evicted_total"],
            stats["evictions"],
            engine.evicted as f64,
        ],
    );
    same("changes", metrics["dolium_changes_total"], &[engine.changes as f64]);
    // Four by sockets and the ring's.
    same(
        "connections",
        5.0,
        &[
            info["total_connections_received"],
            metrics["dolium_connections_total"],
            stats["total_connections"],
            server(&attached, "connections"),
        ],
    );
    same(
        "clients connected now",
        5.0,
        &[
            info["connected_clients"],
            metrics["dolium_connected_clients"],
            stats["curr_connections"],
        ],
    );
    // A request that asks is counted after it has been answered, its bytes when they come.
    same("commands, by INFO", before_info, &[info["total_commands_processed"]]);
    same("commands, by /metrics", before_metrics, &[metrics["dolium_commands_total"]]);
    same("commands, attached", all, &[server(&attached, "commands")]);
    same("bytes in, by stats", after_stats, &[stats["bytes_read"]]);
    same("bytes in, by INFO", after_info, &[info["total_net_input_bytes"]]);
    same("bytes in, by /metrics", after_metrics, &[metrics["dolium_received_bytes_total"]]);
    same("bytes in, attached", after_metrics, &[server(&attached, "bytes in")]);
    same(
        "error replies",
        1.0,
        &[
            info["total_error_replies"],
            metrics["dolium_error_replies_total"],
            server(&attached, "errors"),
        ],
    );
    // l, t, w, u and r are left.
    same(
        "keys",
        5.0,
        &[
            stats["curr_items"],
            info["db0"],
            metrics["dolium_keys{db=\"0\"}"],
            doors.store.len() as f64,
        ],
    );
    same("bytes of items", stats["bytes"], &[metrics["dolium_arena_live_bytes"]]);
    same("the most memory", stats["limit_maxbytes"], &[info["maxmemory"]]);
    for (command, calls) in [("get", 4.0), ("set", 3.0), ("mget", 1.0), ("incr", 2.0), ("del", 1.0)]
    {
        let metric = format!("dolium_command_calls_total{{command=\"{command}\"}}");
        same(command, calls, &[info[&format!("cmdstat_{command}")], metrics[&metric]]);
    }
    // What Memcached alone counts: text, binary and datagrams together, as there.
    for (name, number) in [
        ("cmd_get", 11.0),
        ("get_hits", 6.0),
        ("get_misses", 5.0),
        ("cmd_set", 7.0),
        ("cmd_touch", 2.0),
        ("touch_hits", 1.0),
        ("touch_misses", 1.0),
        ("incr_hits", 1.0),
        ("incr_misses", 1.0),
        ("decr_hits", 1.0),
        ("decr_misses", 0.0),
        ("delete_hits", 2.0),
        ("delete_misses", 1.0),
        ("cas_hits", 0.0),
        ("cas_badval", 1.0),
        ("cas_misses", 1.0),
        // Memcached counts `me` alone.
        ("cmd_meta", 1.0),
        ("cmd_flush", 0.0),
        ("rejected_connections", 0.0),
    ] {
        same(name, number, &[stats[name]]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
