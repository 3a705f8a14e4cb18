//! What a connection may do before it has authenticated: authenticate.
//!
//! ```text
//!   set any 0 0 14\r\ndefault secret\r\n     -> STORED
//!   anything else                            -> CLIENT_ERROR unauthenticated
//! ```
//! This is Memcached's own authentication of the text protocol: a `set` of any key whose value is
//! user and password, with a blank between them. `parse_login` reads what comes before it.

use super::{Count, McContext};
use crate::context::Flow;
use dolium_protocol::memcache::text::{Command, StoreVerb};
use dolium_protocol::memcache::{Refusal, Request, write};

pub(super) fn run(context: &mut McContext<'_>, request: &Request<'_>) -> Flow {
    let data = match request {
        Request::Text(Command::Store { verb: StoreVerb::Set, data, .. }) => *data,
        Request::Nothing => return Flow::Continue,
        Request::Refused { refusal: Refusal::BadTermination, .. } => {
            Refusal::BadTermination.write(context.out);
            return Flow::Continue;
        }
        _ => {
            Refusal::Unauthenticated.write(context.out);
            return Flow::Continue;
        }
    };
    let mut words = data.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (Some(user), Some(password)) = (words.next(), words.next()) else {
        write::line(context.out, "CLIENT_ERROR bad authentication token format");
        return Flow::Continue;
    };
    context.tally.add(Count::Auth);
    if context.server.check_password(user, password) {
        context.client.authenticated = true;
        write::line(context.out, "STORED");
    } else {
        context.tally.add(Count::AuthError);
        write::line(context.out, "CLIENT_ERROR authentication failure");
    }
    Flow::Continue
}
