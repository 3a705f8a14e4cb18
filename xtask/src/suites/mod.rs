//! The test suites by name, and running them one after another.

mod client_suites;
mod clients;
mod fuzz;
mod lab_page;
mod memcached_suite;
mod memcapable;
mod models;
mod redis_suite;
mod rust;

use crate::servers::Kind;
use crate::tally::{Tally, Timed};
use crate::{Result, spec, tally, tidy};
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

/// In the order in which they run: the quickest to fail first.
const SUITES: &[(&str, Suite)] = &[
    ("tidy", |_| tidy::check()),
    ("rust", |_| rust::run()),
    ("models", |_| models::run()),
    ("spec", spec::run),
    ("redis-suite", redis_suite::run),
    ("memcached-suite", memcached_suite::run),
    ("memcapable", memcapable::run),
    ("lab-page", lab_page::run),
    ("clients", clients::run),
    ("client-suites", client_suites::run),
    ("fuzz", fuzz::run),
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
    let mut results = Vec::new();
    for (name, suite) in SUITES {
        if !chosen.is_empty() && !chosen.contains(name) {
            continue;
        }
        println!("== {name}");
        let started = Instant::now();
        let outcome = suite(against).unwrap_or_else(|why| {
            let mut tally = Tally::default();
            tally.fail("the suite itself", why);
            tally
        });
        println!("   {}", outcome.line());
        results.push(Timed { suite: name.to_string(), tally: outcome, time: started.elapsed() });
    }
    tally::summarise(results)
}
