//! Memcached over UDP: requests and replies in datagrams with a frame header.
//!
//! ```text
//!   0            2                 4               6          8
//!   | request id | number of this | of how many   | reserved | request or part of the reply
//! ```
//! Off unless `-U` asks for it. A request is one datagram; a reply is as many as it takes, 1,400
//! bytes each, as Memcached's, and no more than [`longest_reply`]: a datagram with a forged sender draws less
//! than it would there.
//! Every thread that serves connections serves datagrams, too, a few at a time between two looks at
//! its connections, and of long replies one: a flood takes its share of a loop and no more.

use super::writes;
use crate::clock;
use crate::limits::{HOT_OUTPUT_KEPT, LONG_TURNS_BYTES, MEMCACHE_DB};
use crate::server::Server;
use crate::statistics::ThreadCounters;
use dolium_commands::context::Flow;
use dolium_commands::memcache::{self as commands, Client, McContext, Piece};
use dolium_engine::Session;
use dolium_protocol::memcache::binary::Operation;
use dolium_protocol::memcache::{self, Refusal};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;

const HEADER_BYTES: usize = 8;
/// Longest datagram of a reply, its header included.
const REPLY_BYTES: usize = 1400;
/// Longest request: no datagram is longer.
const REQUEST_BYTES_MAX: usize = 65_536;
/// Most datagrams of one reply: their number has 16 bits.
const REPLY_DATAGRAMS_MAX: usize = 65_535;
/// Datagrams that one socket gives before others, and connections, are looked at.
const REQUESTS_A_TURN: usize = 16;
/// Longest reply that can be numbered.
const REPLY_BYTES_MAX: usize = REPLY_DATAGRAMS_MAX * (REPLY_BYTES - HEADER_BYTES);
/// As long a reply may be in any case: more in one burst than receivers' sockets hold, unless they ask for it.
const REPLY_BYTES_FREE: usize = 4 << 20;
/// What stands around the longest value in its reply, at most: its line, and the end.
const LINES_BYTES: usize = 1024;
const MULTI_PACKET: &[u8] = b"SERVER_ERROR multi-packet request not supported\r\n";
const REPLY_TOO_LONG: &[u8] = b"SERVER_ERROR reply is too long for datagrams\r\n";

/// The sockets of one thread, and its memory for what comes and goes.
pub struct Datagrams {
    sockets: Vec<UdpSocket>,
    request: Vec<u8>,
    out: Vec<u8>,
}

impl Datagrams {
    pub fn new(sockets: Vec<UdpSocket>) -> io::Result<Datagrams> {
        sockets.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        let longest = if sockets.is_empty() { 0 } else { REQUEST_BYTES_MAX };
        Ok(Datagrams { sockets, request: vec![0; longest], out: Vec::new() })
    }

    pub fn sockets(&self) -> &[UdpSocket] {
        &self.sockets
    }

    /// Serves what has come to one of the sockets: so many datagrams at most, and none behind replies that were
    /// long together. One of a kilobyte may ask for as much as sixty thousand carry.
    pub fn turn(
        &mut self,
        number: usize,
        server: &Server,
        session: &Session,
        counters: &ThreadCounters,
    ) {
        let Some(socket) = self.sockets.get(number) else { return };
        let mut sent = 0;
        for _ in 0..REQUESTS_A_TURN {
            let Ok((len, from)) = socket.recv_from(&mut self.request) else { break };
            counters.bytes_in.add(len as u64);
            counters.receives.add(1);
            let Some((header, body)) = self.request[..len].split_at_checked(HEADER_BYTES) else {
                continue;
            };
            let id = [header[0], header[1]];
            self.out.clear();
            if header[4..6] == [0, 1] && header[2..4] == [0, 0] {
                serve(server, session, counters, body, &mut self.out);
            } else {
                self.out.extend_from_slice(MULTI_PACKET);
            }
            if self.out.len() > longest_reply(server) {
                self.out.clear();
                self.out.extend_from_slice(REPLY_TOO_LONG);
            }
            sent += self.out.len() as u64;
            counters.bytes_out.add(self.out.len() as u64);
            counters.sends.add(1);
            reply(socket, from, id, &self.out);
            if self.out.capacity() > HOT_OUTPUT_KEPT {
                self.out = Vec::new();
            }
            if sent >= LONG_TURNS_BYTES {
                break;
            }
        }
    }
}

fn value_bytes_max(server: &Server) -> usize {
    server.config.live.memcache_value_max.load(Relaxed) as usize
}

/// Longest reply to one datagram: any one value, and several that are short. A kilobyte would draw ninety
/// megabytes otherwise, for somebody else perhaps, and hold up whoever is served by this thread.
fn longest_reply(server: &Server) -> usize {
    REPLY_BYTES_MAX.min(REPLY_BYTES_FREE.max(value_bytes_max(server) + LINES_BYTES))
}

/// Answers the requests of one datagram, whole ones only, up to the first with which the reply is too
/// long: a datagram can ask for a large value thousands of times.
fn serve(
    server: &Server,
    session: &Session,
    counters: &ThreadCounters,
    body: &[u8],
    out: &mut Vec<u8>,
) {
    let limits = memcache::Limits {
        value_bytes_max: value_bytes_max(server),
        ..memcache::Limits::default()
    };
    let reply_bytes_max = longest_reply(server);
    // Nobody can log in here: with accounts nothing is answered but that.
    let authenticated = !server.memcached_wants_login();
    let mut client = Client { authenticated, ..Client::default() };
    let mut context = McContext {
        session,
        server,
        tally: &counters.tally,
        client: &mut client,
        watched: server.memcached.watchers.mask(),
        db: MEMCACHE_DB,
        now: clock::unix_ms(),
        out,
        piece: Piece::ALL,
        reply_bytes_max,
        outlet: None,
    };
    let mut at = 0;
    if body.first() == Some(&memcache::binary::MAGIC_REQUEST) {
        while let memcache::binary::Parsed::Complete { request, consumed } =
            memcache::binary::parse(&body[at..], &limits)
        {
            at += consumed;
            if let Operation::Refused { skip, .. } = request.operation {
                // The value of what is refused came with it, and is no request.
                at = body.len().min(at + skip);
            }
            let is_write = writes::by_opcode(request.opcode);
            if is_paused(server, context.now, is_write) {
                return;
            }
            let flow = commands::run_binary(&mut context, &request);
            count(server, counters, is_write);
            if flow == Flow::Close || context.out.len() > reply_bytes_max {
                return;
            }
        }
        return;
    }
    let mut state = memcache::ParseState::new();
    while at < body.len() {
        match memcache::parse(&body[at..], &limits, &mut state) {
            memcache::Parsed::Complete { request, consumed } => {
                at += consumed;
                let is_write = writes::by_request(&request);
                if is_paused(server, context.now, is_write) {
                    return;
                }
                let flow = match is_refused(&request) {
                    true => {
                        Refusal::Unknown.write(context.out);
                        Flow::Continue
                    }
                    false => commands::run(&mut context, &request),
                };
                count(server, counters, is_write);
                if flow == Flow::Close || context.out.len() > reply_bytes_max {
                    return;
                }
            }
            memcache::Parsed::Incomplete { .. } => return,
            memcache::Parsed::Close(refusal) => {
                if let Some(refusal) = refusal {
                    refusal.write(context.out);
                }
                return;
            }
        }
    }
}

/// Would a connection wait now with such a request? A datagram cannot: it is lost from there on, as datagrams may be.
fn is_paused(server: &Server, now: u64, is_write: bool) -> bool {
    server.pause.is_on() && server.pause.holds(now, is_write)
}

/// Counts a request as the reactor counts one, and tells who waits for changes.
fn count(server: &Server, counters: &ThreadCounters, is_write: bool) {
    counters.commands.add(1);
    if is_write {
        server.announce_changes();
    }
}

/// What needs a connection: a watcher, a dump.
fn is_refused(request: &memcache::Request<'_>) -> bool {
    use memcache::text::Command;
    matches!(
        request,
        memcache::Request::Text(Command::Administration { name: b"watch" | b"lru_crawler", .. })
    )
}

/// Cuts a reply into datagrams. One that cannot be sent is lost, as datagrams may be.
fn reply(socket: &UdpSocket, to: std::net::SocketAddr, id: [u8; 2], out: &[u8]) {
    let pieces = out.chunks(REPLY_BYTES - HEADER_BYTES);
    let count = pieces.len();
    let mut datagram = Vec::with_capacity(REPLY_BYTES);
    for (number, piece) in pieces.enumerate() {
        datagram.clear();
        datagram.extend_from_slice(&id);
        datagram.extend_from_slice(&(number as u16).to_be_bytes());
        datagram.extend_from_slice(&(count as u16).to_be_bytes());
        datagram.extend_from_slice(&[0, 0]);
        datagram.extend_from_slice(piece);
        let _ = socket.send_to(&datagram, to);
    }
}
