//! HTTP/1.1, as much as a store needs: requests with bodies, keep-alive, pipelining.
//!
//! ```text
//!   PUT /keys/NAME HTTP/1.1\r\n Content-Length: 5\r\n \r\n value
//!   `- head, at most 16 KiB ------------------------------´ `- body, by length or in chunks
//! ```
//! The head's grammar is `httparse`'s. What could make two readers of one stream disagree about
//! where a request ends (two lengths, a length beside chunks, any other encoding) is refused.

mod body;
mod date;
mod error;
mod join;
mod meaning;
mod parse;
mod path;
pub mod policy;
mod target;
mod write;

pub use body::Body;
pub use error::HttpError;
pub use parse::{Limits, Method, ParseState, Parsed, Request, head, parse};
pub use path::{BadEscape, percent_decode};
pub use write::{CONTINUE, Response};
