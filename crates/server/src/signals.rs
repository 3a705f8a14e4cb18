//! SIGTERM and SIGINT end the server in good order; a second one ends it at once. SIGHUP, which a
//! terminal sends when it is closed, never ends a server: its data would go with it.
//!
//! They are caught before the server starts, and heeded when it has: until then it may be reading
//! items that are nowhere else any more.
//!
//! SIGXFSZ comes with a write beyond the longest file that the process may make (`ulimit -f`). The write
//! fails besides, and is told of where it is made; the signal would end the server without a word.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

type Heed = Box<dyn Fn(&'static str) + Send>;

/// Signals that are caught from now on, whether or not somebody heeds them already.
pub struct Caught(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    /// Each once, as the system keeps them for a process.
    names: Vec<&'static str>,
    heed: Option<Heed>,
}

/// What SIGHUP does is up to the caller: a program that has a server as its child must end with it,
/// as the child would outlive it.
pub fn catch_ends() -> io::Result<Caught> {
    catch(&[SIGINT, SIGTERM, SIGHUP])
}

/// Those that Memcached heeds.
pub fn catch_memcached() -> io::Result<Caught> {
    catch(&[SIGINT, SIGTERM, SIGUSR1, SIGHUP])
}

impl Caught {
    /// Calls `heed` with the name of each signal, beginning with those that came before.
    pub fn heed(self, heed: impl Fn(&'static str) + Send + 'static) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.names.drain(..).for_each(&heed);
        waiting.heed = Some(Box::new(heed));
    }
}

impl Waiting {
    fn take(&mut self, name: &'static str) {
        match &self.heed {
            Some(heed) => heed(name),
            None if self.names.contains(&name) => {}
            None => self.names.push(name),
        }
    }
}

/// The second of those that end the server ends it at once; but SIGUSR1, which is to keep the items,
/// must not be what throws them away while they are written. The thread that waits for signals ends
/// with the process.
fn catch(signals: &[i32]) -> io::Result<Caught> {
    // Nobody looks at the flag: that there is a handler is what keeps the process alive.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let mut signals = Signals::new(signals)?;
    let waiting = Arc::new(Mutex::new(Waiting::default()));
    let caught = Caught(waiting.clone());
    std::thread::Builder::new().name("dolium-signals".into()).spawn(move || {
        let mut is_ending = false;
        for signal in signals.forever() {
            let name = match signal {
                SIGINT => "SIGINT",
                SIGTERM => "SIGTERM",
                SIGUSR1 => "SIGUSR1",
                _ => "SIGHUP",
            };
            match signal {
                SIGHUP => {}
                SIGUSR1 if is_ending => continue,
                _ if is_ending => std::process::exit(130),
                _ => is_ending = true,
            }
            waiting.lock().unwrap_or_else(PoisonError::into_inner).take(name);
        }
    })?;
    Ok(caught)
}
