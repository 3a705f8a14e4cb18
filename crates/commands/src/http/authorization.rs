//! Who may ask, when the server has a password.
//!
//! ```text
//!   Authorization: Bearer PASSWORD
//!   Authorization: Basic base64(user:password)
//! ```

use super::Server;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dolium_protocol::http::Request;

pub(super) const NEEDED: &str =
    "This server needs its password: send Authorization: Bearer PASSWORD, or Basic.";
/// The user whom a password without a name belongs to.
const DEFAULT_USER: &[u8] = b"default";

pub(super) fn holds(server: &dyn Server, request: &Request<'_>) -> bool {
    let Some(value) = request.header("authorization") else { return false };
    let Some(blank) = value.iter().position(|byte| *byte == b' ') else { return false };
    let (scheme, token) = (&value[..blank], value[blank..].trim_ascii());
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return server.check_password(DEFAULT_USER, token);
    }
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return false;
    }
    let Ok(decoded) = STANDARD.decode(token) else { return false };
    let Some(colon) = decoded.iter().position(|byte| *byte == b':') else { return false };
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    // `curl -u :PASSWORD` names nobody, and means the default user.
    server.check_password(if user.is_empty() { DEFAULT_USER } else { user }, password)
}
