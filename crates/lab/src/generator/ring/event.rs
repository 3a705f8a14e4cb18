//! What a completion says, by the number that its entry was given.
//!
//! ```text
//! user data   | bytes of a send 31 | send 1 | connection 32 |
//! ```

use io_uring::cqueue;
use rustix::io::Errno;

/// Set in the user data of a send.
const SEND: u64 = 1 << 32;
/// Where the bytes that it sends stand above it.
const BYTES: u32 = 33;

pub(in crate::generator) enum Event {
    /// Bytes of connection `index` lie in a buffer; `armed` unless it must be armed anew.
    Came {
        index: usize,
        buffer: u16,
        len: usize,
        armed: bool,
    },
    /// All of a send of connection `index`, which asked to be told, is the kernel's.
    Sent {
        index: usize,
    },
    /// There was no buffer for what came: the connection must be armed anew.
    Starved {
        index: usize,
    },
    Closed {
        index: usize,
    },
    Failed {
        index: usize,
        doing: &'static str,
        error: Errno,
    },
}

/// User data of a receive.
pub(super) fn receiving(index: usize) -> u64 {
    index as u64
}

/// User data of a send of so many bytes.
pub(super) fn sending(index: usize, bytes: usize) -> u64 {
    index as u64 | SEND | (bytes as u64) << BYTES
}

/// Whether nothing more comes of what the entry armed.
pub(super) fn ends_receive(entry: &cqueue::Entry) -> bool {
    entry.user_data() & SEND == 0 && !cqueue::more(entry.flags())
}

impl Event {
    #[inline]
    pub(super) fn of(entry: &cqueue::Entry) -> Self {
        let (token, result, flags) = (entry.user_data(), entry.result(), entry.flags());
        let index = token as u32 as usize;
        let failed =
            |doing| Event::Failed { index, doing, error: Errno::from_raw_os_error(-result) };
        if token & SEND != 0 {
            return match u64::try_from(result) {
                Ok(sent) if sent == token >> BYTES => Event::Sent { index },
                // A send that ended before its end found the peer gone.
                Ok(_) => Event::Closed { index },
                Err(_) => failed("send requests"),
            };
        }
        match (result, cqueue::buffer_select(flags)) {
            (len @ 1.., Some(buffer)) => {
                Event::Came { index, buffer, len: len as usize, armed: cqueue::more(flags) }
            }
            (error, _) if error == -libc::ENOBUFS => Event::Starved { index },
            (0.., _) => Event::Closed { index },
            _ => failed("receive replies"),
        }
    }
}
