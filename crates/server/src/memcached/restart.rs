//! The restartable cache (`-e FILE`): items are kept over a restart that SIGUSR1 or
//! `shutdown graceful` begins.
//!
//! ```text
//!   FILE       magic (8) | record ...       record: key len 4 | value len 4 | flags 4 | deadline 8
//!                                                   key | value
//!   FILE.meta  one line: dolium-items 1 ITEMS BYTES HASH-POWER
//! ```
//! Memcached maps its memory from the file. Here the items are written out at the graceful stop and
//! read in at the next start, whose options need not be the same. FILE.meta is written last and
//! removed as soon as it has been read: after a crash, or any other end, the cache starts empty.

use crate::beside::{Beside, OWNER_ONLY};
use crate::clock;
use crate::limits::MEMCACHE_DB;
use crate::server::Server;
use dolium_engine::{Deadline, Event, Flags, Kind, NEVER, Put, Session, Value};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

const MAGIC: &[u8; 8] = b"dolium\x00\x01";
const RECORD_HEADER_BYTES: usize = 20;
const STEP_KEYS: usize = 256;
/// Behind the name of what is not whole yet.
const BESIDE: &str = "writing";

fn meta_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".meta");
    name.into()
}

/// What FILE.meta says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    items: u64,
    bytes: u64,
    hash_power: u32,
}

/// Looks whether there is something to restore. An error: there is a FILE.meta that is not ours.
pub fn look(path: &Path) -> Result<Option<Meta>, String> {
    let meta = meta_path(path);
    let text = match std::fs::read_to_string(&meta) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", meta.display())),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let numbers: Vec<u64> = words.iter().skip(2).filter_map(|word| word.parse().ok()).collect();
    match (words.as_slice(), numbers.as_slice()) {
        (["dolium-items", "1", ..], [items, bytes, power]) => {
            Ok(Some(Meta { items: *items, bytes: *bytes, hash_power: *power as u32 }))
        }
        _ => Err(format!(
            "{} is no description of saved items: remove it to start with an empty cache",
            meta.display()
        )),
    }
}

/// The file is there while the server runs, as Memcached's is.
pub fn begin(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(OWNER_ONLY).open(path).map(drop)
}

/// Reads the items in and forgets that they were saved. Returns how many are still good.
pub fn restore(server: &Server, session: &Session, path: &Path, meta: Meta) -> io::Result<u64> {
    std::fs::remove_file(meta_path(path))?;
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let broken = || io::Error::other("the file of items is damaged");
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic)?;
    if magic != *MAGIC || file.get_ref().metadata()?.len() != meta.bytes {
        return Err(broken());
    }
    server.memcached.counts.hash_power.fetch_max(meta.hash_power.min(32), Relaxed);
    let now = clock::unix_ms();
    let (mut body, mut kept) = (Vec::new(), 0);
    for _ in 0..meta.items {
        let mut header = [0; RECORD_HEADER_BYTES];
        file.read_exact(&mut header)?;
        let word =
            |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap_or_default());
        let (key_len, value_len, flags) = (word(0) as usize, word(4) as usize, word(8));
        let deadline = u64::from(word(12)) | u64::from(word(16)) << 32;
        if key_len + value_len > meta.bytes as usize {
            return Err(broken());
        }
        body.resize(key_len + value_len, 0);
        file.read_exact(&mut body)?;
        if deadline != NEVER && deadline <= now {
            continue;
        }
        let (key, value) = body.split_at(key_len);
        let key = session.engine().key(key);
        if session.make_room(body.len(), now).is_err() {
            break;
        }
        let put = Put {
            deadline: if deadline == NEVER { Deadline::Never } else { Deadline::At(deadline) },
            flags: Flags::Set(flags),
            event: Event::Quiet,
            ..Put::plain(Value::Bytes(value))
        };
        kept +=
            u64::from(session.write(MEMCACHE_DB, &key, now).put(MEMCACHE_DB, &key, &put).is_ok());
    }
    Ok(kept)
}

/// Writes every item out. To be called when no thread serves any more.
pub fn save(server: &Server, session: &Session, path: &Path) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, Beside::create(path, BESIDE)?);
    file.write_all(MAGIC)?;
    let now = clock::unix_ms();
    let (mut cursor, mut items, mut bytes) = (0, 0, MAGIC.len() as u64);
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
            file.write_all(&(key.len() as u32).to_le_bytes())?;
            file.write_all(&(value.len() as u32).to_le_bytes())?;
            file.write_all(&found.flags.to_le_bytes())?;
            file.write_all(&found.deadline.to_le_bytes())?;
            file.write_all(key)?;
            file.write_all(&value)?;
            items += 1;
            bytes += (RECORD_HEADER_BYTES + key.len() + value.len()) as u64;
        }
        if cursor == 0 {
            break;
        }
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.replace()?;
    let power = server.memcached.counts.hash_power.load(Relaxed);
    let mut meta = Beside::create(&meta_path(path), BESIDE)?;
    writeln!(meta, "dolium-items 1 {items} {bytes} {power}")?;
    meta.replace()?;
    Ok(items)
}
