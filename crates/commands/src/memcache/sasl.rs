//! SASL over the binary protocol (`-S`): the mechanism PLAIN.
//!
//! ```text
//!   SASL list mechanisms            -> PLAIN
//!   SASL auth  PLAIN  \0user\0pass  -> Authenticated, or status 0x20
//!   anything else before that       -> status 0x20, and the connection is closed
//! ```

use super::binary::fail;
use super::{Count, McContext};
use crate::context::Flow;
use dolium_protocol::limits::SASL_MECHANISM_BYTES_MAX;
use dolium_protocol::memcache::binary::{Operation, Request, Status, response};

const MECHANISM: &[u8] = b"PLAIN";

/// What a client may ask before it has authenticated.
pub(super) fn may_run(context: &McContext<'_>, request: &Request<'_>) -> bool {
    context.server.settings().fixed.sasl
        && matches!(
            request.operation,
            Operation::SaslMechanisms
                | Operation::Sasl { .. }
                | Operation::Version
                | Operation::Refused { .. }
        )
}

pub(super) fn refuse(context: &mut McContext<'_>, request: &Request<'_>) -> Flow {
    fail(context, request, Status::AuthError);
    context.client.close_reason = "error";
    Flow::Close
}

pub(super) fn mechanisms(context: &mut McContext<'_>, request: &Request<'_>) {
    if !context.server.settings().fixed.sasl {
        return fail(context, request, Status::UnknownCommand);
    }
    response(context.out, request, Status::Ok, b"", MECHANISM, 0);
}

pub(super) fn authenticate(context: &mut McContext<'_>, request: &Request<'_>, step: bool) {
    if !context.server.settings().fixed.sasl {
        return fail(context, request, Status::UnknownCommand);
    }
    if request.key.len() > SASL_MECHANISM_BYTES_MAX {
        return fail(context, request, Status::Invalid);
    }
    context.client.authenticated = false;
    context.tally.add(Count::Auth);
    // PLAIN has one step, so there is nothing to go on with.
    let is_right = !step && request.key == MECHANISM && check(context, request.value);
    if is_right {
        context.client.authenticated = true;
        response(context.out, request, Status::Ok, b"", b"Authenticated", 0);
    } else {
        context.tally.add(Count::AuthError);
        fail(context, request, Status::AuthError);
    }
}

/// `[authorization identity] NUL user NUL password`
fn check(context: &McContext<'_>, value: &[u8]) -> bool {
    let mut parts = value.splitn(3, |byte| *byte == 0);
    let (Some(_), Some(user), Some(password)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    context.server.check_password(user, password)
}
