//! `dolium check`: does all that can be reached in a server's memory hold together?
//!
//! What an attached reader can see is checked: every key that an iteration meets is found again by
//! its name, its value has the length that its head says, and the iteration meets as many keys as
//! the shards count. (Blocks that nothing refers to are the owner's to find.) A server that serves
//! may go on doing so: what changes during the check is looked at again, and the sums are compared
//! only if nothing changed.

use super::{Place, top};
use crate::output::{self, fail, note};
use clap::Args;
use dolium_attach::{Error, Found, Kind, Store};
use std::collections::HashSet;
use std::process::ExitCode;

/// Keys asked for in one step of the iteration.
const STEP: usize = 1000;
/// Iterations of a database until one in which nothing changed.
const ROUNDS_MAX: usize = 3;

#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Say nothing but what is wrong
    #[arg(short, long)]
    quiet: bool,
}

/// What was found in one database.
#[derive(Default)]
struct Tally {
    keys: u64,
    with_deadline: u64,
    value_bytes: u64,
    faults: Vec<String>,
    /// Nothing was changed from the beginning to the end: sums can be compared.
    is_still: bool,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let said = |error: Error| error.to_string();
    let checked = arguments.place.attach().map_err(said);
    match checked.and_then(|store| check(&store, arguments.quiet)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => fail(&format!("{faults} faults were found")),
        Err(text) => fail(&text),
    }
}

fn check(store: &Store, is_quiet: bool) -> Result<u64, String> {
    let said = |error: Error| error.to_string();
    // Whoever has read enough has left the verdict to the exit status, so the check goes on.
    let say = |line: String| match is_quiet {
        true => Ok(()),
        false => output::write(format!("{line}\n").as_bytes()).map(drop),
    };
    let mut faults = 0;
    let counters = store.counters();
    let (committed, limit) = (top::bytes(counters.committed), top::bytes(counters.limit));
    say(format!("arena   {committed} of {limit} committed"))?;
    for number in 0..store.reader().databases() {
        let db = store.db(number).map_err(said)?;
        let mut tally = Tally::default();
        for _ in 0..ROUNDS_MAX {
            tally = look_through(&db).map_err(said)?;
            if tally.is_still {
                break;
            }
        }
        for fault in &tally.faults {
            note(format_args!("db{number}: {fault}"));
        }
        faults += tally.faults.len() as u64;
        if tally.keys > 0 || !tally.faults.is_empty() {
            let Tally { keys, with_deadline, value_bytes, is_still, .. } = &tally;
            let moving = if *is_still { "" } else { ", sums not compared: it was being changed" };
            let size = top::bytes(*value_bytes);
            say(format!(
                "db{number:<5} {keys} keys, {with_deadline} with a deadline, {size} of values{moving}"
            ))?;
        }
    }
    if faults == 0 {
        say("all holds together".into())?;
    }
    Ok(faults)
}

fn look_through(db: &Store) -> Result<Tally, Error> {
    let changes = db.counters().engine.changes;
    let counted = db.len();
    let mut tally = Tally::default();
    let mut met = HashSet::new();
    let mut value = Vec::new();
    let mut cursor = 0;
    loop {
        let mut step: Vec<(Vec<u8>, Found)> = Vec::new();
        cursor = db.scan(cursor, STEP, |key, found| step.push((key.to_vec(), *found)))?;
        for (key, found) in step {
            // A key may be met twice when the index grows meanwhile.
            if !met.insert(key.clone()) {
                continue;
            }
            tally.keys += 1;
            tally.with_deadline += u64::from(found.deadline != 0);
            if found.kind != Kind::String {
                tally.value_bytes += found.len as u64;
                continue;
            }
            value.clear();
            let is_there = match db.get_into(&key, &mut value) {
                // Another value has taken the key meanwhile.
                Err(Error::WrongType) => continue,
                read => read?,
            };
            tally.value_bytes += value.len() as u64;
            if is_there && value.len() == found.len {
                continue;
            }
            // Changed, removed or due meanwhile: all that counts is whether it is consistent now.
            value.clear();
            let now = db.peek(&key)?;
            let is_there = match db.get_into(&key, &mut value) {
                Err(Error::WrongType) => continue,
                read => read?,
            };
            let is_same = now.map(|found| found.len) == is_there.then_some(value.len());
            if !is_same && db.counters().engine.changes == changes {
                let key = key.escape_ascii();
                tally.faults.push(format!("key \"{key}\" is not what the index says it is"));
            }
        }
        if cursor == 0 {
            break;
        }
    }
    tally.is_still = db.counters().engine.changes == changes && db.len() == counted;
    // Keys that are due are counted until somebody meets them, and not met here.
    if tally.is_still && tally.keys > counted {
        let keys = tally.keys;
        tally.faults.push(format!("{keys} keys were met, but the shards count {counted}"));
    }
    let may_be_due = db.counters().engine.expired > 0 || tally.with_deadline > 0;
    if tally.is_still && tally.keys < counted && !may_be_due {
        let keys = tally.keys;
        tally.faults.push(format!("the shards count {counted} keys, but {keys} were met"));
    }
    Ok(tally)
}
