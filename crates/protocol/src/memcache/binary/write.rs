//! Responses to bytes.

use super::{MAGIC_RESPONSE, Request, Status};

/// Appends a header: `body` bytes follow it, of which the first `extras` and `key` are those.
#[inline]
pub fn header(
    out: &mut Vec<u8>,
    request: &Request<'_>,
    status: Status,
    (extras, key, body): (u8, usize, usize),
    unique: u64,
) {
    out.extend_from_slice(&[MAGIC_RESPONSE, request.opcode]);
    out.extend_from_slice(&(key as u16).to_be_bytes());
    out.extend_from_slice(&[extras, 0]);
    out.extend_from_slice(&(status as u16).to_be_bytes());
    out.extend_from_slice(&(body as u32).to_be_bytes());
    out.extend_from_slice(&request.opaque);
    out.extend_from_slice(&unique.to_be_bytes());
}

/// A whole response without extras: a key and a value, of which either may be empty.
pub fn response(
    out: &mut Vec<u8>,
    request: &Request<'_>,
    status: Status,
    key: &[u8],
    value: &[u8],
    unique: u64,
) {
    header(out, request, status, (0, key.len(), key.len() + value.len()), unique);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}
