//! Sets every key once, pipelined, before anything is measured, and insists on every answer.

use std::time::Instant;

use rustix::io::Errno;

use super::Target;
use super::link::Link;
use super::stream::Stream;
use crate::LabError;
use crate::limits::{PRELOAD_CHUNK_BYTES, PRELOAD_CHUNK_REQUESTS, SILENCE};
use crate::workload::pool::asking;
use crate::workload::{Operation, Template, Workload, value, wire};

/// Sets all keys of `workload` at `target`; `progress` hears the number of keys set so far.
pub fn preload(
    target: &Target,
    workload: &Workload,
    progress: impl FnMut(u32),
) -> Result<(), LabError> {
    workload.check()?;
    load(target, workload, progress, |out, id| {
        wire::push_request(out, Operation::Set, asking(workload, id));
    })
}

/// Runs one command for every key of `workload`, which builds the records that it speaks of.
pub fn preload_records(
    target: &Target,
    workload: &Workload,
    commands: &[Template],
    mut progress: impl FnMut(u32),
) -> Result<(), LabError> {
    for template in commands {
        load(target, workload, &mut progress, |out, id| {
            let (mut key, mut text) = (Vec::new(), Vec::new());
            wire::push_key(&mut key, id, workload.key_bytes.of(id));
            value::push(&mut text, id, workload.value_bytes.of(id));
            template.push(out, &key, &text, id);
        })?;
    }
    Ok(())
}

fn load(
    target: &Target,
    workload: &Workload,
    mut progress: impl FnMut(u32),
    push: impl Fn(&mut Vec<u8>, u32),
) -> Result<(), LabError> {
    let mut link = target.link(workload.protocol)?;
    link.set_patience(SILENCE)?;
    let mut requests = Vec::with_capacity(2 * PRELOAD_CHUNK_BYTES);
    let mut ends = Vec::new();
    let mut replies = Vec::new();
    let mut next = 0;
    while next < workload.keys {
        requests.clear();
        ends.clear();
        let first = next;
        while next < workload.keys
            && requests.len() < PRELOAD_CHUNK_BYTES
            && ((next - first) as usize) < PRELOAD_CHUNK_REQUESTS
        {
            push(&mut requests, next);
            ends.push(requests.len());
            next += 1;
        }
        // Memcached goes to sleep over what is left of a record after a value that it waited for:
        // with TLS a request has records of its own.
        if matches!(link, Link::Plain(_)) {
            ends = vec![requests.len()];
        }
        let mut from = 0;
        for &end in &ends {
            send_all(&mut link, &requests[from..end])?;
            from = end;
        }
        read_replies(&mut link, &mut replies, workload, first, next)?;
        if crate::interrupt::asked() {
            return Err(LabError::Interrupted);
        }
        progress(next);
    }
    Ok(())
}

const DOING: &str = "load the keys";

fn send_all(link: &mut Link, mut bytes: &[u8]) -> Result<(), LabError> {
    while !bytes.is_empty() {
        match link.send(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(link.failed(DOING, error)),
        }
    }
    Ok(())
}

/// Reads the replies to the keys from `first` to `end`.
fn read_replies(
    link: &mut Link,
    held: &mut Vec<u8>,
    workload: &Workload,
    first: u32,
    end: u32,
) -> Result<(), LabError> {
    let mut chunk = [0; 16 << 10];
    let mut id = first;
    let mut stream = Stream::new(workload.protocol);
    held.clear();
    let mut heard = Instant::now();
    while id < end {
        let got = match link.receive(&mut chunk[..], None) {
            Ok(got) if got.count == 0 => return Err(link.closed()),
            Ok(got) => got.count,
            Err(Errno::INTR | Errno::AGAIN) if heard.elapsed() < SILENCE => continue,
            Err(Errno::AGAIN) => return Err(LabError::Silent { seconds: SILENCE.as_secs() }),
            Err(error) => return Err(link.failed(DOING, error)),
        };
        heard = Instant::now();
        held.extend_from_slice(&chunk[..got]);
        let mut at = 0;
        // Replies to writes are short, so one that is not all here is simply read again.
        while id < end {
            let before = stream;
            let Some(step) = stream.step(&held[at..])? else { break };
            if held.len() - at < step.len {
                stream = before;
                break;
            }
            at += step.len;
            id += u32::from(step.done.is_some());
        }
        held.drain(..at);
    }
    Ok(())
}
