//! What a command on a list or a set costs, by the size of the collection: `collection_speed`.
//!
//! Whole commands, from the parsed request to the reply in a buffer, in this thread: no socket, no
//! parsing. Elements are 8 bytes. Each figure is nanoseconds, the median of five rounds. A pair of
//! commands leaves the collection as long as it was, so its figure is for both.

#[path = "../tests/host/mod.rs"]
mod host;

use dolium_commands::connection::ClientState;
use dolium_commands::context::Context;
use dolium_commands::dispatch;
use dolium_engine::{Db, Engine, EngineOptions, Session};
use dolium_protocol::resp::{ArgVec, ParseState, parse};
use std::time::Instant;

const NOW: u64 = 1_700_000_000_000;
const SIZES: [usize; 4] = [10, 1_000, 100_000, 1_000_000];

struct Bench {
    session: Session,
    client: ClientState,
    out: Vec<u8>,
}

impl Bench {
    fn run(&mut self, line: &[u8], args: &ArgVec) {
        self.out.clear();
        let args = args.view(line);
        let prepared = dispatch::prepare(self.session.engine(), &args);
        let mut context = Context {
            session: &self.session,
            host: &host::FakeHost,
            client: &mut self.client,
            now: NOW,
            out: &mut self.out,
            fetch: &dolium_engine::Fetch::NONE,
            outlet: None,
        };
        let _ = dispatch::run(&mut context, &prepared, args);
        assert!(!self.out.starts_with(b"-"), "{}", self.out.escape_ascii());
    }

    fn ask(&mut self, request: &str) {
        let (line, args) = parsed(request);
        self.run(&line, &args);
    }

    /// Nanoseconds for the requests, one after the other.
    fn time(&mut self, requests: &[String]) -> f64 {
        let requests: Vec<_> = requests.iter().map(|request| parsed(request)).collect();
        let mut figures = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            let mut rounds = 0;
            while start.elapsed().as_millis() < 40 {
                for _ in 0..10 {
                    requests.iter().for_each(|(line, args)| self.run(line, args));
                }
                rounds += 10;
            }
            figures.push(start.elapsed().as_nanos() as f64 / f64::from(rounds));
        }
        figures.sort_by(f64::total_cmp);
        figures[2]
    }

    /// Collections of every size, as they were at the beginning.
    fn fill(&mut self) {
        for size in SIZES {
            self.ask(&format!("DEL l{size} s{size}"));
            for n in 0..size {
                self.ask(&format!("RPUSH l{size} {n:08}"));
                self.ask(&format!("SADD s{size} {n:08}"));
            }
        }
    }

    fn bytes_of(&self, key: &str) -> usize {
        let key = self.session.engine().key(key.as_bytes());
        self.session.peek(Db(0), &key, NOW).map_or(0, |found| found.block_bytes)
    }
}

fn parsed(request: &str) -> (Vec<u8>, ArgVec) {
    let line = format!("{request}\r\n").into_bytes();
    let mut args = ArgVec::new();
    let _ = parse(&line, &Default::default(), &mut ParseState::default(), &mut args);
    (line, args)
}

fn row(name: &str, figures: impl Iterator<Item = f64>) {
    print!("{name:34}");
    figures.for_each(|figure| print!("{figure:12.1}"));
    println!();
}

fn main() {
    let engine = Engine::create(EngineOptions::default()).expect("an arena");
    let session = engine.session().expect("a slot");
    let client = ClientState::new(1, "127.0.0.1:1".into(), "127.0.0.1:2".into(), 7, true);
    let mut bench = Bench { session, client, out: Vec::new() };
    bench.fill();
    // `lN`, `sN`: the collection of that size. `M`: an element in the middle; `P`: its position. `E`: the last position.
    let cases: [(&str, &[&str]); 12] = [
        ("SET of 8 bytes, to compare", &["SET k text0000"]),
        ("LRANGE 0 9", &["LRANGE lN 0 9"]),
        ("LINDEX in the middle", &["LINDEX lN P"]),
        ("LSET in the middle, same length", &["LSET lN P M"]),
        ("LINSERT + LREM in the middle", &["LINSERT lN AFTER M x", "LREM lN 1 x"]),
        ("RPUSH + RPOP", &["RPUSH lN x", "RPOP lN"]),
        ("LPUSH + LPOP", &["LPUSH lN x", "LPOP lN"]),
        ("LPUSH + LTRIM", &["LPUSH lN 00000000", "LTRIM lN 0 E"]),
        ("RPUSH + LPOP (a queue)", &["RPUSH lN 00000000", "LPOP lN"]),
        ("SISMEMBER", &["SISMEMBER sN M"]),
        ("SADD + SREM", &["SADD sN new", "SREM sN new"]),
        ("SRANDMEMBER", &["SRANDMEMBER sN"]),
    ];
    row("ns at so many elements", SIZES.into_iter().map(|size| size as f64));
    for (name, requests) in cases {
        let figures: Vec<f64> = SIZES
            .into_iter()
            .map(|size| {
                // Whole words only: commands are in capitals too.
                let request = |text: &&str| {
                    let words = text.split(' ').map(|word| match word {
                        "lN" => format!("l{size}"),
                        "sN" => format!("s{size}"),
                        "M" => format!("{:08}", size / 2),
                        "P" => (size / 2).to_string(),
                        "E" => (size - 1).to_string(),
                        word => word.to_owned(),
                    });
                    words.collect::<Vec<_>>().join(" ")
                };
                let requests: Vec<String> = requests.iter().map(request).collect();
                bench.time(&requests)
            })
            .collect();
        row(name, figures.into_iter());
    }
    bench.fill();
    for (name, kind) in [("bytes an element, list", "l"), ("bytes an element, set", "s")] {
        let bytes = |size| bench.bytes_of(&format!("{kind}{size}")) as f64 / size as f64;
        row(name, SIZES.into_iter().map(bytes));
    }
}
