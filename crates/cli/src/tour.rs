//! `dolium tour`: a minute's guided tour: every door to one memory, with times.
//!
//! A private server is started as a child on free ports and sockets in a folder of its own, one
//! key is written through one door and read through all, each door is timed, and all of it is
//! taken away again, also after Ctrl-C. A tour that is killed leaves the folder; its server ends.

mod doors;
mod page;
mod server;

use crate::output::fail;
use doors::Outcome;
use page::Page;
use server::Private;
pub use server::end_with_it;
use std::process::ExitCode;
use std::time::Duration;

/// Keys that the times are taken over, and bytes of their values.
pub const KEYS: usize = 100_000;
pub const VALUE_BYTES: usize = 100;
/// How long each door is timed.
const TIMED: Duration = Duration::from_millis(1500);

pub fn run() -> ExitCode {
    let page = Page::new();
    let private = match page.title().and_then(|()| Private::start()) {
        Ok(private) => private,
        Err(text) => return fail(&text),
    };
    match show(&page, &private) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            private.end_if_interrupted();
            fail(&text)
        }
    }
}

fn show(page: &Page, private: &Private) -> Result<(), String> {
    page.started(private)?;
    let (key, value) = ("greeting", "salve");
    private.write(key, value)?;
    page.wrote(key, value)?;
    for door in doors::ALL {
        page.read(door, &doors::read(door, private, key))?;
    }
    page.loading(KEYS, VALUE_BYTES)?;
    let keys = private.load()?;
    let mut rows = Vec::new();
    page.table_head()?;
    for door in doors::ALL {
        let outcome = doors::time(door, private, &keys, TIMED);
        page.row(door, &outcome)?;
        rows.push((door, outcome));
    }
    let nanos = |wanted: doors::Door| {
        rows.iter().find_map(|(door, outcome)| match outcome {
            Outcome::Took(nanos) if *door == wanted => Some(*nanos),
            _ => None,
        })
    };
    page.summary(nanos(doors::Door::Attached), nanos(doors::Door::Tcp))?;
    page.next_steps()
}
