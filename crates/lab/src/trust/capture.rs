//! Latencies by the packets: tcpdump writes what passes on the loopback interface, and each request
//! is matched with its reply by the places of both in their streams of bytes.
//!
//! ```text
//! file    24 bytes of head: magic (nanoseconds: a1b23c4d), version, ..., link type
//! packet  seconds 4 | nanoseconds 4 | bytes kept 4 | bytes on the wire 4 | Ethernet 14 | IP | TCP
//! ```
//!
//! A request begins with the packet that holds its first byte, a reply ends with the packet that
//! holds its last. The times are the kernel's, taken when the packet passes: how late tcpdump reads
//! them does not matter.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::LabError;

/// Heads of Ethernet, IP and TCP with its options, and no more.
const KEPT_BYTES: &str = "96";
/// Memory for packets that tcpdump has not read yet, in KiB: seconds of them.
const BUFFER_KIB: &str = "262144";
/// Time in which tcpdump begins, and in which it reads what is left.
const BEGIN: Duration = Duration::from_millis(700);
const LINK_HEAD: usize = 14;
const FILE_HEAD: usize = 24;
const PACKET_HEAD: usize = 16;
const MAGIC_NS: u32 = 0xa1b2_3c4d;

/// tcpdump, while it runs.
pub(super) struct Capture {
    child: Child,
    file: PathBuf,
    port: u16,
}

impl Capture {
    /// Begins to write what goes to and comes from `server`.
    pub fn start(server: SocketAddr, directory: &Path) -> Result<Self, LabError> {
        let file = directory.join("packets.pcap");
        let port = server.port();
        // It reads when nobody else has work for its core: otherwise it would be what is measured.
        // The packets wait in its buffer, with the times at which they passed.
        let mut command = Command::new("chrt");
        command.args(["--idle", "0", "tcpdump"]);
        command.args(["-i", "lo", "-n", "-s", KEPT_BYTES, "-B", BUFFER_KIB]);
        command.args(["--time-stamp-precision=nano", "-Z", "root", "-w"]).arg(&file);
        command.args(["tcp", "port", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let missing = |_| LabError::Missing {
            program: "tcpdump".into(),
            how: "apt-get install tcpdump; it needs root".into(),
        };
        let child = command.spawn().map_err(missing)?;
        thread::sleep(BEGIN);
        Ok(Self { child, file, port })
    }

    /// Ends it; returns the packets' latencies in nanoseconds, sorted.
    pub fn finish(
        mut self,
        request: usize,
        reply: usize,
        batch: usize,
    ) -> Result<Vec<u64>, LabError> {
        thread::sleep(BEGIN);
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // SIGINT and no kill: it writes what it has read. One that has ended needs none.
            let _ = kill_process(pid, Signal::INT);
        }
        let failed =
            |error| LabError::system("capture packets with tcpdump (are you root?)", error);
        self.child.wait().map_err(failed)?;
        let bytes = fs::read(&self.file).map_err(failed)?;
        // Large, and read already.
        let _ = fs::remove_file(&self.file);
        let mut found = latencies(&bytes, self.port, request * batch, reply * batch);
        found.sort_unstable();
        if found.is_empty() {
            return Err(LabError::Options("tcpdump saw no request with its reply".into()));
        }
        Ok(found)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // After `finish` it has ended: then both say so, and that is well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One direction of a connection: where its stream began, and how many batches are through.
#[derive(Default)]
struct Stream {
    first: Option<u32>,
    batches: Vec<u64>,
}

impl Stream {
    /// Notes that bytes up to `end` (from the first byte of the stream) have passed at `at`.
    fn pass(&mut self, sequence: u32, len: u32, at: u64, batch: usize, whole: bool) {
        let first = *self.first.get_or_insert(sequence);
        let begin = sequence.wrapping_sub(first) as usize;
        let end = begin + len as usize;
        // A request counts from its first byte, a reply from its last.
        let through = if whole { end / batch } else { end.div_ceil(batch) };
        while self.batches.len() < through {
            self.batches.push(at);
        }
    }
}

fn latencies(bytes: &[u8], port: u16, request: usize, reply: usize) -> Vec<u64> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    if word(0) != Some(MAGIC_NS) {
        return Vec::new();
    }
    let mut streams: HashMap<u16, (Stream, Stream)> = HashMap::new();
    let mut at = FILE_HEAD;
    while let (Some(seconds), Some(ns), Some(kept)) = (word(at), word(at + 4), word(at + 8)) {
        let Some(packet) = bytes.get(at + PACKET_HEAD..at + PACKET_HEAD + kept as usize) else {
            break;
        };
        at += PACKET_HEAD + kept as usize;
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(ns);
        let Some(segment) = segment(packet) else { continue };
        if segment.len == 0 {
            continue;
        }
        let (peer, to_server) = match (segment.from == port, segment.to == port) {
            (false, true) => (segment.from, true),
            (true, false) => (segment.to, false),
            _ => continue,
        };
        let (requests, replies) = streams.entry(peer).or_default();
        if to_server {
            requests.pass(segment.sequence, segment.len, time, request, false);
        } else {
            replies.pass(segment.sequence, segment.len, time, reply, true);
        }
    }
    let pairs = streams
        .into_values()
        .flat_map(|(requests, replies)| requests.batches.into_iter().zip(replies.batches));
    pairs.filter_map(|(asked, answered)| answered.checked_sub(asked)).collect()
}

struct Segment {
    from: u16,
    to: u16,
    sequence: u32,
    /// Bytes of data on the wire.
    len: u32,
}

fn segment(packet: &[u8]) -> Option<Segment> {
    let ip = packet.get(LINK_HEAD..)?;
    if ip.first()? >> 4 != 4 {
        return None;
    }
    let ip_head = usize::from(ip[0] & 0x0f) * 4;
    let short = |bytes: &[u8], at: usize| -> Option<u16> {
        Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
    };
    let total = u32::from(short(ip, 2)?);
    let tcp = ip.get(ip_head..)?;
    let tcp_head = u32::from(tcp.get(12)? >> 4) * 4;
    Some(Segment {
        from: short(tcp, 0)?,
        to: short(tcp, 2)?,
        sequence: u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?),
        len: total.checked_sub(ip_head as u32 + tcp_head)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(out: &mut Vec<u8>, ns: u32, from: u16, to: u16, sequence: u32, len: u16) {
        let mut bytes = vec![0; LINK_HEAD];
        bytes.extend([0x45, 0]);
        bytes.extend((40 + len).to_be_bytes());
        bytes.extend([0; 16]);
        bytes.extend(from.to_be_bytes());
        bytes.extend(to.to_be_bytes());
        bytes.extend(sequence.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
        for word in [1, ns, bytes.len() as u32, bytes.len() as u32] {
            out.extend(word.to_le_bytes());
        }
        out.extend(bytes);
    }

    #[test]
    fn requests_meet_their_replies_whatever_the_cuts() {
        let mut file = vec![0; FILE_HEAD];
        file[..4].copy_from_slice(&MAGIC_NS.to_le_bytes());
        packet(&mut file, 100, 9_000, 7_000, u32::MAX - 3, 10);
        packet(&mut file, 150, 9_000, 7_000, 6, 0);
        packet(&mut file, 400, 7_000, 9_000, 50, 15);
        packet(&mut file, 450, 9_000, 7_000, 6, 10);
        packet(&mut file, 500, 7_000, 9_000, 65, 5);
        packet(&mut file, 900, 7_000, 9_000, 70, 20);
        let mut found = latencies(&file, 7_000, 10, 20);
        found.sort_unstable();
        assert_eq!(found, [400, 450]);
        assert!(latencies(b"no capture", 7_000, 10, 20).is_empty());
    }
}
