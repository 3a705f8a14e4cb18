//! Bytes to requests, and replies to bytes. Knows no engine and does no I/O.
//!
//! ```text
//!              first bytes         one request                          its reply
//!   listener --> detect::detect --> resp::parse                      --> resp::RespWriter
//!                               --> memcache::parse (text and meta)  --> memcache::write
//!                               --> http::parse                      --> http::write
//! ```
//!
//! All parsers share three habits:
//!
//! * They take the connection's unconsumed bytes, starting at a request's first byte, and answer
//!   with [`Parse`]: a whole request and how many bytes it took, how many bytes are needed before
//!   another look is worth while, or an error in that protocol's own words.
//! * What was understood of an unfinished request stays in a small state per connection, so a
//!   request that arrives in a thousand pieces is read once and not a thousand times.
//! * Keys and values are never copied: a request is ranges into the input or borrows from it.
//!   (Exception: Redis inline commands, where quoting makes an argument differ from its bytes.)
//!
//! A server's loop over one connection's input:
//!
//! ```
//! use dolium_protocol::{Parse, resp};
//!
//! let input = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n";
//! let (limits, mut state, mut args) = Default::default();
//! let mut output = Vec::new();
//! let mut at = 0;
//! loop {
//!     match resp::parse(&input[at..], &limits, &mut state, &mut args) {
//!         Parse::Complete { consumed } => {
//!             let request = args.view(&input[at..]);
//!             let mut reply = resp::RespWriter::new(&mut output, resp::Version::V2);
//!             match request.first() {
//!                 None => {} // an empty line or `*0`: nothing to answer
//!                 Some(b"PING") => reply.simple("PONG"),
//!                 Some(_) => reply.bulk(request.arg(1)),
//!             }
//!             at += consumed;
//!         }
//!         Parse::Incomplete { .. } => break, // read more, keep `input[at..]` and `state`
//!         Parse::Error(error) => {
//!             error.write(&mut resp::RespWriter::new(&mut output, resp::Version::V2));
//!             break; // and close: the stream cannot be trusted to be in step
//!         }
//!     }
//! }
//! assert_eq!(output, b"$1\r\nk\r\n+PONG\r\n");
//! ```

pub mod detect;
pub mod http;
pub mod limits;
pub mod memcache;
pub mod number;
pub mod resp;

/// What a parser made of the bytes it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parse<E> {
    /// The first `consumed` bytes are one whole request.
    Complete { consumed: usize },
    /// Keep the bytes and the state; call again when there are more. With fewer than
    /// `need_at_least` bytes in all (from the same request's first byte) the answer stays
    /// `Incomplete`, so a server may size its buffer by it. The number comes from the client and is
    /// bounded only by the limits given: reserve address space for it, not trust.
    Incomplete { need_at_least: usize },
    /// The request breaks the protocol's rules. `E` says whether the stream can go on.
    Error(E),
}
