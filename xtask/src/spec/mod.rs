//! Runs the cases under `spec/` (their format is described in `spec/README.md`).
//!
//! Each case runs first against the real server as judge: a case that Redis or Memcached fails is a
//! wrong case. Then it runs against Dolium. `cross/` and `http/` have no peer to judge them. A judge's
//! failures count, its passes do not: they are not ours.

mod case;
mod connection;
mod expect;
mod reply;
mod run;
mod web;
mod words;

use crate::servers::{Kind, Server};
use crate::suites::Against;
use crate::tally::Tally;
use crate::{Result, install, paths};
use case::File;

/// A folder under `spec/`, and the peer that judges it.
const FOLDERS: &[(&str, Option<Kind>)] = &[
    ("redis", Some(Kind::Redis)),
    ("memcache", Some(Kind::Memcached)),
    ("http", None),
    ("cross", None),
];

pub fn run(against: Against) -> Result<Tally> {
    install::packages(install::REDIS)?;
    install::packages(install::MEMCACHED)?;
    let mut ours = match against {
        Against::Dolium => Some(Server::start(Kind::Dolium)?),
        Against::Peers => None,
    };
    let mut tally = Tally::default();
    for (folder, judge) in FOLDERS {
        let files = case::read_folder(&paths::root().join("spec").join(folder))?;
        if let Some(judge) = judge {
            let mut peer = Server::start(*judge)?;
            let judged = run_files(folder, &files, &mut peer);
            match ours {
                Some(_) => tally.failures.extend(judged.failures),
                None => tally.add(judged),
            }
        }
        if let Some(ours) = &mut ours {
            tally.add(run_files(folder, &files, ours));
        }
    }
    Ok(tally)
}

fn run_files(folder: &str, files: &[File], server: &mut Server) -> Tally {
    let mut here = Tally::default();
    for file in files {
        for case in &file.cases {
            if case.only.is_some_and(|kind| kind != server.kind) {
                here.skipped += 1;
                continue;
            }
            let name = format!("{} {}: {}", server.kind.name(), file.name, case.name);
            here.check(name, run::run(case, folder, server));
            if !server.is_alive() {
                here.fail(format!("{}: the server died", case.name), server.log());
                return here;
            }
        }
    }
    if here.passed == 0 && here.failures.is_empty() {
        here.fail(format!("{} {folder}", server.kind.name()), "no case ran");
    }
    println!("   {folder:<9} {:<13} {}", server.kind.name(), here.line());
    here
}
