//! The restartable cache (`-e FILE`): items are kept over a restart that SIGUSR1 or
//! `shutdown graceful` begins.
//!
//! ```text
//!   record   FILE: the items
//!   meta     FILE.meta: that they are there, and the highest CAS unique that was given out
//!   sum      whether they are as they were written
//! ```
//! Memcached maps its memory from the file. Here the items are written out at the graceful stop and
//! read in at the next start, whose options need not be the same. FILE.meta is written last and
//! removed as soon as it has been read: after a crash, or any other end, the cache starts empty.
//!
//! An item has the CAS unique that it had, and new ones are greater than all before: what a client holds
//! from before the stop is good for the value that it has seen, and for no other.

mod meta;
mod record;
mod sum;

use crate::beside::{Beside, OWNER_ONLY};
use crate::clock;
use crate::limits::MEMCACHE_DB;
use crate::server::Server;
use dolium_engine::{Deadline, Event, Flags, Kind, NEVER, Put, Session, Value};
pub use meta::{Look, Meta};
use record::{Header, Version, damaged};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use sum::Summed;

const STEP_KEYS: usize = 256;
/// Behind the name of what is not whole yet.
const BESIDE: &str = "writing";
/// Bytes that are read and written at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// The file is there while the server runs, as Memcached's is.
pub fn begin(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(OWNER_ONLY).open(path).map(drop)
}

/// What FILE.meta says is no more.
pub fn forget(path: &Path) -> io::Result<()> {
    std::fs::remove_file(meta::path(path))
}

/// What became of the saved items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    pub kept: u64,
    /// Their time had come while the server did not run.
    pub expired: u64,
    /// For which there was no memory, or which went to make room for others.
    pub no_room: u64,
}

/// Reads the items in and forgets that they were saved. An error inside says why there are none, which is no
/// reason not to start.
pub fn restore(
    server: &Server,
    session: &Session,
    path: &Path,
    meta: Meta,
) -> io::Result<io::Result<Restored>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        // Who may not read it is told so, and finds the items again when he may.
        file => Ok(file?),
    };
    forget(path)?;
    server.memcached.counts.hash_power.fetch_max(meta.hash_power.min(32), Relaxed);
    let now = clock::unix_ms();
    let mut guard = session.write_all(now);
    guard.raise_uniques(meta.highest_unique);
    drop(guard);
    let restored = file.and_then(|file| read_items(session, file, &meta, now));
    if restored.is_err() {
        // What was read before the damage was found is not to be trusted either.
        session.write_all(now).flush(MEMCACHE_DB);
    }
    Ok(restored)
}

fn read_items(session: &Session, file: File, meta: &Meta, now: u64) -> io::Result<Restored> {
    if file.metadata()?.len() != meta.bytes {
        return Err(damaged());
    }
    let mut file = BufReader::with_capacity(BUFFER_BYTES, Summed::new(file));
    record::read_magic(&mut file, meta.version)?;
    let (mut body, mut expired) = (Vec::new(), 0);
    for _ in 0..meta.items {
        let header = Header::read(&mut file, meta.version)?;
        let len = header.key_len + header.value_len;
        if len as u64 > meta.bytes || header.unique > meta.highest_unique {
            return Err(damaged());
        }
        body.resize(len, 0);
        file.read_exact(&mut body)?;
        if header.deadline != NEVER && header.deadline <= now {
            expired += 1;
            continue;
        }
        let (key, value) = body.split_at(header.key_len);
        if session.make_room(body.len(), now).is_ok() {
            put_back(session, &header, key, value, now);
        }
    }
    // Nothing is left, so that the sum is that of all of it.
    let is_right = |sum| sum == file.get_ref().sum();
    if !file.buffer().is_empty() || !meta.sum.is_none_or(is_right) {
        return Err(damaged());
    }
    let kept = session.engine().len(MEMCACHE_DB);
    Ok(Restored { kept, expired, no_room: meta.items.saturating_sub(expired + kept) })
}

fn put_back(session: &Session, header: &Header, key: &[u8], value: &[u8], now: u64) {
    let put = Put {
        deadline: match header.deadline {
            NEVER => Deadline::Never,
            at => Deadline::At(at),
        },
        flags: Flags::Set(header.flags),
        marks: header.marks,
        event: Event::Quiet,
        ..Put::plain(Value::Bytes(value))
    };
    let key = session.engine().key(key);
    let mut guard = session.write(MEMCACHE_DB, &key, now);
    // Without memory it is not there, and counted as such.
    let _ = guard.put_back(MEMCACHE_DB, &key, &put, header.unique);
}

/// Writes every item out. To be called when no thread serves any more.
pub fn save(server: &Server, session: &Session, path: &Path) -> io::Result<u64> {
    let beside = Summed::new(Beside::create(path, BESIDE)?);
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, beside);
    file.write_all(record::MAGIC)?;
    let now = clock::unix_ms();
    let (mut cursor, mut items, mut bytes) = (0, 0, record::MAGIC.len() as u64);
    let mut value = Vec::new();
    loop {
        let mut keys = Vec::new();
        cursor =
            session.scan(MEMCACHE_DB, cursor, STEP_KEYS, now, |key, _| keys.push(key.to_vec()));
        for key in &keys {
            value.clear();
            let name = session.engine().key(key);
            let Some(found) = session.get(MEMCACHE_DB, &name, now, &mut value, |_, _| {}) else {
                continue;
            };
            // What Redis clients have made of other types is not a Memcached item.
            if found.kind != Kind::String {
                continue;
            }
            let header = Header {
                key_len: key.len(),
                value_len: value.len(),
                flags: found.flags,
                deadline: found.deadline,
                unique: found.unique,
                marks: found.marks,
            };
            header.write(&mut file)?;
            file.write_all(key)?;
            file.write_all(&value)?;
            items += 1;
            bytes += header.record_bytes();
        }
        if cursor == 0 {
            break;
        }
    }
    let summed = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    let sum = Some(summed.sum());
    summed.file.replace()?;
    let meta = Meta {
        version: Version::Two,
        items,
        bytes,
        hash_power: server.memcached.counts.hash_power.load(Relaxed),
        highest_unique: session.write_all(now).highest_unique(),
        sum,
    };
    let mut file = Beside::create(&meta::path(path), BESIDE)?;
    file.write_all(meta.line().as_bytes())?;
    file.replace()?;
    Ok(items)
}
