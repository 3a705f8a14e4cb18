//! The test suites by name, and running them: one after another, and beside them one that takes a
//! single core for long.
//!
//! A suite that runs beside the others prints nothing, and tells its result behind the last of them.

mod client_suites;
mod clients;
mod fuzz;
mod lab_page;
mod memcached_suite;
mod memcapable;
mod miri;
mod models;
mod redis_suite;
mod rust;

use crate::servers::Kind;
use crate::tally::{Tally, Timed};
use crate::{Result, spec, tally, tidy};
use std::panic::catch_unwind;
use std::time::Instant;

/// Which servers the suites talk to. The peers are the judges of the tests themselves: a test that
/// the real server fails is a wrong test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Against {
    Dolium,
    Peers,
}

impl Against {
    pub fn redis(self) -> Kind {
        if self == Against::Dolium { Kind::Dolium } else { Kind::Redis }
    }

    pub fn memcached(self) -> Kind {
        if self == Against::Dolium { Kind::Dolium } else { Kind::Memcached }
    }
}

type Suite = fn(Against) -> Result<Tally>;

/// When a suite runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// When the one before it is over.
    After,
    /// Beginning when the one before it is over, while those behind it run.
    Beside,
    /// When the one before it is over, and only where it is named: no run of everything has the time.
    Named,
}

/// In the order in which they run: the quickest to fail first.
const SUITES: &[(&str, Turn, Suite)] = &[
    ("tidy", Turn::After, |_| tidy::check()),
    ("rust", Turn::After, |_| rust::run()),
    ("models-ring", Turn::Beside, |_| models::run_the_long_one()),
    ("models", Turn::After, |_| models::run()),
    ("spec", Turn::After, spec::run),
    ("redis-suite", Turn::After, redis_suite::run),
    ("memcached-suite", Turn::After, memcached_suite::run),
    ("memcapable", Turn::After, memcapable::run),
    ("lab-page", Turn::After, lab_page::run),
    ("clients", Turn::After, clients::run),
    ("client-suites", Turn::After, client_suites::run),
    ("fuzz", Turn::After, fuzz::run),
    ("miri", Turn::Named, |_| miri::run()),
];

pub fn run(words: &[&str]) -> Result<()> {
    let mut against = Against::Dolium;
    let mut chosen = Vec::new();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "--against" {
            against = match words.next() {
                Some(&"dolium") => Against::Dolium,
                Some(&"peers") => Against::Peers,
                _ => return Err("--against takes dolium or peers".to_string()),
            };
        } else {
            chosen.push(word);
        }
    }
    let known = |name: &&str| SUITES.iter().any(|suite| suite.0 == *name);
    if let Some(stranger) = chosen.iter().find(|name| !known(name)) {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.0).collect();
        return Err(format!("there is no suite {stranger}; there are {}", names.join(" ")));
    }
    let is_chosen = |name, turn| match chosen.is_empty() {
        true => turn != Turn::Named,
        false => chosen.contains(&name),
    };
    let suites = SUITES.iter().filter(|suite| is_chosen(suite.0, suite.1));
    let results = std::thread::scope(|scope| {
        let (mut results, mut besides) = (Vec::new(), Vec::new());
        for &(name, turn, suite) in suites {
            if turn == Turn::Beside {
                println!("== {name}: beside those that follow");
                besides.push((name, scope.spawn(move || timed(name, suite, against))));
                continue;
            }
            println!("== {name}");
            let result = timed(name, suite, against);
            result.print();
            results.push(result);
        }
        for (name, beside) in besides {
            println!("== {name}");
            let result = beside.join().expect("a panic is caught inside");
            result.print();
            results.push(result);
        }
        results
    });
    tally::summarise(results)
}

/// Runs one suite. That it cannot run, or panics, is a failure like others: what the rest has found
/// is told all the same.
fn timed(name: &str, suite: Suite, against: Against) -> Timed {
    let started = Instant::now();
    let outcome = catch_unwind(|| suite(against)).unwrap_or_else(|_| Err("it panicked".into()));
    let tally = outcome.unwrap_or_else(|why| {
        let mut tally = Tally::default();
        tally.fail("the suite itself", why);
        tally
    });
    Timed { suite: name.to_string(), tally, time: started.elapsed() }
}
