//! `dolium check`: does all that can be reached in a server's memory hold together?
//!
//! What an attached reader can see is checked: every key that an iteration meets is found again by
//! its name, its value has the length that its head says, and the iteration meets as many keys as
//! the shards count. (Blocks that nothing refers to are the owner's to find.) A server that serves
//! may go on doing so: what changes during the check is looked at again, and the sums are compared
//! only if nothing changed.
//!
//! A write of several keys (COPY of a long value, EXEC) keeps readers out until it is over, and of what is read here
//! the server can be asked for values alone. So a read that has lost is made again for a while. One that goes on losing is
//! no fault, and has an exit code of its own.

use super::{Place, top};
use crate::output::{self, fail, note};
use clap::Args;
use dolium_attach::{Error, Found, Kind, Store};
use std::collections::HashSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Keys asked for in one step of the iteration.
const STEP: usize = 1000;
/// Iterations of a database until one in which nothing changed.
const ROUNDS_MAX: usize = 3;
/// How long one read is tried for against writers, and how long the server may take to answer where it is asked
/// instead: many times what the longest write takes.
const READ_WAIT: Duration = Duration::from_secs(10);
/// Between two tries: the write that a read has lost against is one of milliseconds.
const READ_PAUSE: Duration = Duration::from_millis(1);
/// The exit code where nothing can be said of the memory, as grep has it.
const UNCHECKED: u8 = 2;

const HOW_IT_ENDS: &str = "\
Exit status: 0, all holds together; 1, faults were found; 2, it could not be checked: no server
was there, a read lost against writers for 10 seconds, or the report could not be written.";

#[derive(Args, Debug)]
#[command(after_help = HOW_IT_ENDS)]
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
    let mut faults = 0;
    let attached = arguments.place.attach().map_err(|error| error.to_string());
    let checked = attached.and_then(|store| {
        let store = store.with_time_limit(Some(READ_WAIT));
        check(&store, arguments.quiet, &mut faults)
    });
    if let Err(text) = &checked {
        note(format_args!("dolium: could not be checked: {text}"));
    }
    match checked {
        // What was found until then is a fault all the same.
        _ if faults > 0 => fail(&format!("{faults} faults were found")),
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(UNCHECKED),
    }
}

fn check(store: &Store, is_quiet: bool, faults: &mut u64) -> Result<(), String> {
    // Whoever has read enough has left the verdict to the exit status, so the check goes on.
    let say = |line: String| match is_quiet {
        true => Ok(()),
        false => output::write(format!("{line}\n").as_bytes()).map(drop),
    };
    let counters = store.counters();
    let (committed, limit) = (top::bytes(counters.committed), top::bytes(counters.limit));
    say(format!("arena   {committed} of {limit} committed"))?;
    for number in 0..store.reader().databases() {
        let said = |error| why_unread(number, &error);
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
        *faults += tally.faults.len() as u64;
        if tally.keys > 0 || !tally.faults.is_empty() {
            let Tally { keys, with_deadline, value_bytes, is_still, .. } = &tally;
            let moving = if *is_still { "" } else { ", sums not compared: it was being changed" };
            let size = top::bytes(*value_bytes);
            say(format!(
                "db{number:<5} {keys} keys, {with_deadline} with a deadline, {size} of values{moving}"
            ))?;
        }
    }
    if *faults == 0 {
        say("all holds together".into())?;
    }
    Ok(())
}

/// A read that lost is no fault of the memory, and says so.
fn why_unread(db: u16, error: &Error) -> String {
    let waited = READ_WAIT.as_secs();
    let why = match error {
        Error::Contended => "was written to whenever it was looked at".into(),
        Error::Command(text) => format!(
            "was written to whenever it was looked at, and the server, asked instead, said {text}"
        ),
        Error::TimedOut => "was written to, and the server, asked instead, did not answer".into(),
        error => return format!("db{db}: {error}"),
    };
    format!("db{db} {why}, for {waited} seconds. That is no fault; try again when less is written")
}

/// Reads again what is lost against writers. The server's refusal to be asked instead, for want of a password say,
/// is no answer either.
fn persist<T>(patience: Duration, mut read: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        match read() {
            Err(Error::Contended | Error::Command(_)) if begun.elapsed() < patience => {
                std::thread::sleep(READ_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// The value of a key, in the place of what is in `value`. False: no such key.
fn read_value(db: &Store, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
    persist(READ_WAIT, || {
        value.clear();
        db.get_into(key, value)
    })
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
        cursor = persist(READ_WAIT, || {
            step.clear();
            db.scan(cursor, STEP, |key, found| step.push((key.to_vec(), *found)))
        })?;
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
            let is_there = match read_value(db, &key, &mut value) {
                // Another value has taken the key meanwhile.
                Err(Error::WrongType) => continue,
                read => read?,
            };
            tally.value_bytes += value.len() as u64;
            if is_there && value.len() == found.len {
                continue;
            }
            // Changed, removed or due meanwhile: all that counts is whether it is consistent now.
            let now = persist(READ_WAIT, || db.peek(&key))?;
            let is_there = match read_value(db, &key, &mut value) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The first read that lost ended the check, as if it had found a fault.
    #[test]
    fn a_read_that_loses_is_made_again_but_not_for_ever() {
        let mut lost = 0;
        let read = persist(READ_WAIT, || match lost {
            3 => Ok("read"),
            _ => {
                lost += 1;
                Err(Error::Contended)
            }
        });
        assert!(matches!(read, Ok("read")), "{read:?}");
        let short = Duration::from_millis(20);
        let begun = Instant::now();
        let lost: Result<(), Error> = persist(short, || Err(Error::Contended));
        assert!(matches!(lost, Err(Error::Contended)) && begun.elapsed() >= short, "{lost:?}");
        let mut reads = 0;
        let other = persist(READ_WAIT, || {
            reads += 1;
            Err::<(), _>(Error::WrongType)
        });
        assert!(matches!(other, Err(Error::WrongType)) && reads == 1, "{other:?}");
    }

    #[test]
    fn a_read_that_has_lost_is_called_no_fault() {
        for error in [Error::Contended, Error::TimedOut, Error::Command("NOAUTH".into())] {
            let said = why_unread(3, &error);
            assert!(said.starts_with("db3 was written to"), "{said}");
            assert!(said.contains("for 10 seconds. That is no fault; try again"), "{said}");
        }
        assert!(HOW_IT_ENDS.contains(&format!("for {} seconds", READ_WAIT.as_secs())));
    }
}
