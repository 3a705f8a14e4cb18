//! A store attached to: its verbs.

use crate::clock::Clock;
use crate::connect::{self, Handed};
use crate::error::Error;
use crate::limits::PEEK_ATTEMPTS;
use crate::link::Link;
use dolium_engine::{Contended, Copied, Db, Found, Kind, NEVER, Reader};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a key has to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    NoKey,
    Never,
    Millis(u64),
}

/// An attached store, seen through one of its databases. Clones share the mapping and the ring,
/// and any number of threads may use one.
///
/// A process that forks (a server with workers, say) had better attach in its children: a child
/// reads on in what its parent has mapped, but [`Store::execute`] fails there, since two processes
/// in one ring would read each other's replies. For the same reason a read that has lost against writers
/// for too long cannot be asked of the server there, and fails as [`Error::Contended`]; it may be tried again.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
    db: Db,
    clock: Clock,
    time_limit: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    reader: Reader,
    link: Option<Link>,
}

impl Store {
    /// Attaches at a server's `attach-socket`.
    pub fn attach(path: impl AsRef<Path>) -> Result<Store, Error> {
        let Handed { socket, arena, ring, server_pid } = connect::connect(path.as_ref())?;
        let reader = Reader::open(arena).map_err(Error::Arena)?;
        Ok(Store::new(reader, Some(Link::new(socket, ring, server_pid)?)))
    }

    /// Opens an arena by its descriptor, without a server: reads only.
    pub fn open(arena: OwnedFd) -> Result<Store, Error> {
        let reader = Reader::open(arena).map_err(Error::Arena)?;
        Ok(Store::new(reader, None))
    }

    fn new(reader: Reader, link: Option<Link>) -> Store {
        // The first look at the clock finds the vDSO, which may take system calls; reads do not.
        Clock::System.now();
        let shared = Arc::new(Shared { reader, link });
        Store { shared, db: Db(0), clock: Clock::System, time_limit: None }
    }

    /// The same store through another database.
    pub fn db(&self, number: u16) -> Result<Store, Error> {
        let databases = self.shared.reader.databases();
        if number >= databases {
            return Err(Error::NoSuchDatabase { asked: number, databases });
        }
        Ok(Store { db: Db(number), ..self.clone() })
    }

    /// The same store with another idea of the time.
    pub fn with_clock(&self, clock: Clock) -> Store {
        Store { clock, ..self.clone() }
    }

    /// The same store with a time limit for each command, and for each read that has to be asked of the
    /// server; or without one, as at first. It begins when commands of other threads are done.
    ///
    /// A command that is given up fails as [`Error::TimedOut`]. The server may run it all the same, and
    /// what comes later could be its reply: so all later commands of this process fail too, until it
    /// attaches again. It is meant to notice a server that is stuck, not to bound what a reply may take.
    pub fn with_time_limit(&self, limit: Option<Duration>) -> Store {
        Store { time_limit: limit, ..self.clone() }
    }

    /// The arena's reader, for who builds other verbs on it.
    pub fn reader(&self) -> &Reader {
        &self.shared.reader
    }

    /// Number of keys, due ones that nobody has met yet included.
    pub fn len(&self) -> u64 {
        self.shared.reader.len(self.db)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key, if that is a string.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut out = Vec::new();
        Ok(self.get_into(key, &mut out)?.then_some(out))
    }

    /// Appends the value of a key to `out`. False: no such key, `out` is as it was.
    #[inline]
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, Error> {
        let reader = &self.shared.reader;
        match reader.copy(self.db, &reader.key(key), || self.clock.now(), out) {
            Ok(Copied::Value(_)) => Ok(true),
            Ok(Copied::NoKey) => Ok(false),
            Ok(Copied::OtherKind) => Err(Error::WrongType),
            Err(Contended) => {
                let value = self.asked_for(key)?;
                out.extend_from_slice(value.as_deref().unwrap_or_default());
                Ok(value.is_some())
            }
        }
    }

    /// Copies the value of a key to the beginning of `room` and returns its length; a value that is
    /// longer than `room` is not copied. What `room` holds after anything but a value that fits is
    /// not specified. For bindings: the callers of [`Store::get_into`] need not think of it.
    #[inline]
    pub fn get_to(&self, key: &[u8], room: &mut [MaybeUninit<u8>]) -> Result<Option<usize>, Error> {
        let reader = &self.shared.reader;
        match reader.copy_to(self.db, &reader.key(key), || self.clock.now(), room) {
            Ok(Copied::Value(len)) => Ok(Some(len)),
            Ok(Copied::NoKey) => Ok(None),
            Ok(Copied::OtherKind) => Err(Error::WrongType),
            Err(Contended) => {
                let value = self.asked_for(key)?;
                Ok(value.map(|value| {
                    if let Some(room) = room.get_mut(..value.len()) {
                        room.write_copy_of_slice(&value);
                    }
                    value.len()
                }))
            }
        }
    }

    /// The values of several keys, in order; as of MGET, none of a key that is no string. Each is as of one moment, not all of the same.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let mut values = Vec::with_capacity(keys.len());
        self.get_many_with(keys, |_, value| values.push(value.map(<[u8]>::to_vec)))?;
        Ok(values)
    }

    /// Calls `visit` with the number and the value of each key in order. In batches, whose index
    /// lines and items are fetched all at once: several times faster than one `get` after another.
    /// After an error no key is visited any more: those before the one that failed have been.
    pub fn get_many_with<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        let reader = &self.shared.reader;
        let mut long = Vec::new();
        for (batch, some) in keys.chunks(Reader::BATCH_KEYS).enumerate() {
            let first = batch * Reader::BATCH_KEYS;
            let mut failure = None;
            reader.get_batch(
                self.db,
                some,
                || self.clock.now(),
                &mut long,
                |number, read| match read {
                    _ if failure.is_some() => {}
                    Ok(value) => visit(first + number, value),
                    Err(Contended) => match self.asked_for(some[number].as_ref()) {
                        Err(Error::WrongType) => visit(first + number, None),
                        Ok(value) => visit(first + number, value.as_deref()),
                        Err(error) => failure = Some(error),
                    },
                },
            );
            if let Some(error) = failure {
                return Err(error);
            }
        }
        Ok(())
    }

    pub fn exists(&self, key: &[u8]) -> Result<bool, Error> {
        match self.peek(key) {
            Err(Error::Contended) => self.asked_whether_exists(key),
            found => Ok(found?.is_some()),
        }
    }

    pub fn ttl(&self, key: &[u8]) -> Result<Ttl, Error> {
        let now = self.clock.now();
        let deadline = match self.peek(key) {
            // The server knows what is due by its clock alone, and this store may have another.
            Err(Error::Contended) => {
                self.asked_for_deadline(key)?.filter(|due| *due == NEVER || *due > now)
            }
            found => found?.map(|found| found.deadline),
        };
        Ok(match deadline {
            None => Ttl::NoKey,
            Some(NEVER) => Ttl::Never,
            Some(deadline) => Ttl::Millis(deadline.saturating_sub(now)),
        })
    }

    /// The data type of a key; `None`: no such key.
    pub fn kind(&self, key: &[u8]) -> Result<Option<Kind>, Error> {
        match self.peek(key) {
            Err(Error::Contended) => self.asked_for_kind(key),
            found => Ok(found?.map(|found| found.kind)),
        }
    }

    /// What there is to know of a key but its value. The server has no command that says all of it, so
    /// this may end as [`Error::Contended`] although it runs; the other reads of a key do only while a
    /// transaction of this process is being queued, or where it has no connection of its own any more.
    pub fn peek(&self, key: &[u8]) -> Result<Option<Found>, Error> {
        let reader = &self.shared.reader;
        let key = reader.key(key);
        // A reader that lost a thousand times has not lost for ever.
        for _ in 0..PEEK_ATTEMPTS {
            if let Ok(found) = reader.peek(self.db, &key, self.clock.now()) {
                return Ok(found);
            }
            std::thread::yield_now();
        }
        Err(Error::Contended)
    }

    /// One step of an iteration, of about `count` keys (of one, if it is 0). Start with cursor 0; a
    /// returned 0 is the end. A key that is there during the whole iteration is visited at least once.
    /// The cursors are those of SCAN.
    pub fn scan(
        &self,
        cursor: u64,
        count: usize,
        visit: impl FnMut(&[u8], &Found),
    ) -> Result<u64, Error> {
        let now = self.clock.now();
        let next = self.shared.reader.scan(self.db, cursor, count, now, visit);
        next.map_err(|Contended| Error::Contended)
    }

    /// The way to the server, if this store was attached through one.
    pub(crate) fn link(&self) -> Option<&Link> {
        self.shared.link.as_ref()
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// Its database.
    pub(crate) fn number(&self) -> u16 {
        self.db.0
    }
}
