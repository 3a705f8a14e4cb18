//! Sets every key once, pipelined, before anything is measured, and insists on every answer.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::Target;
use super::reply::{self, Asked};
use crate::LabError;
use crate::limits::{PRELOAD_CHUNK_BYTES, PRELOAD_CHUNK_REQUESTS};
use crate::workload::{Operation, Workload, wire};

/// Sets all keys of `workload` at `target`; `progress` hears the number of keys set so far.
pub fn preload(
    target: &Target,
    workload: &Workload,
    mut progress: impl FnMut(u32),
) -> Result<(), LabError> {
    workload.check()?;
    let socket = target.connect()?;
    let mut requests = Vec::with_capacity(2 * PRELOAD_CHUNK_BYTES);
    let mut replies = Vec::new();
    let mut next = 0;
    while next < workload.keys {
        requests.clear();
        let first = next;
        while next < workload.keys
            && requests.len() < PRELOAD_CHUNK_BYTES
            && ((next - first) as usize) < PRELOAD_CHUNK_REQUESTS
        {
            wire::push_request(
                &mut requests,
                workload.protocol,
                Operation::Set,
                next,
                workload.key_bytes,
                workload.value_bytes,
            );
            next += 1;
        }
        send_all(&socket, &requests)?;
        read_replies(&socket, &mut replies, workload, first, next)?;
        progress(next);
    }
    Ok(())
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8]) -> Result<(), LabError> {
    while !bytes.is_empty() {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => return Err(LabError::Closed),
            Err(error) => return Err(LabError::system("load the keys", error)),
        }
    }
    Ok(())
}

fn read_replies(
    socket: &OwnedFd,
    held: &mut Vec<u8>,
    workload: &Workload,
    first: u32,
    end: u32,
) -> Result<(), LabError> {
    let mut chunk = [0; 16 << 10];
    let mut id = first;
    held.clear();
    while id < end {
        let got = match recv(socket, &mut chunk[..], RecvFlags::empty()) {
            Ok((0, _)) => return Err(LabError::Closed),
            Ok((got, _)) => got,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(LabError::system("load the keys", error)),
        };
        held.extend_from_slice(&chunk[..got]);
        let mut at = 0;
        while id < end {
            let asked = Asked {
                protocol: workload.protocol,
                operation: Operation::Set,
                id,
                key_bytes: workload.key_bytes,
            };
            let Some((len, _)) = reply::read(&held[at..], asked, false)? else { break };
            at += len;
            id += 1;
        }
        held.drain(..at);
    }
    Ok(())
}
