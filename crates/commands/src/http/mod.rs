//! What web requests mean: keys by name, pages about the server.
//!
//! ```text
//!   GET HEAD PUT DELETE  /keys/NAME?db=0     the value, as the body
//!   GET HEAD             /                   how to use this
//!   GET HEAD             /healthz            200 while the server serves
//!   GET HEAD             /metrics            for Prometheus
//!   OPTIONS              *, or any of these  which methods there are
//! ```
//! `http::parse -> Request -> prepare -> hash to prefetch, run -> response bytes in context.out`
//!
//! What a cache on the way may keep is said of each response: a value for as long as it asks here whether
//! that still is so, a refusal not at all.

mod authorization;
mod condition;
mod host;
mod keys;
mod metrics;
mod page;
mod target;

pub use metrics::{Metric, MetricKind};

use crate::context::Flow;
use dolium_engine::{Db, Millis, Session};
use dolium_protocol::http::policy::*;
use dolium_protocol::http::{Method, Request, Response};
use target::{Target, TargetError};

const UNKNOWN_METHOD: &str = "The methods known here are GET, HEAD, PUT, DELETE and OPTIONS.";

/// Everything a web request needs.
pub struct HttpContext<'a> {
    /// This thread's handle on the store.
    pub session: &'a Session,
    /// What only the server can answer.
    pub server: &'a dyn Server,
    /// The time at which the batch began.
    pub now: Millis,
    /// Responses are appended here.
    pub out: &'a mut Vec<u8>,
}

/// What web requests ask of the server.
pub trait Server {
    /// Is there a password (`requirepass`)?
    fn has_password(&self) -> bool;
    /// Is this the password of the user? In constant time.
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool;
    /// Is this a name that the server goes by, in any case: one that it was told of (`http-hosts`), or the
    /// machine's own? Asked while there is no password, of names that are no addresses.
    fn has_host(&self, name: &[u8]) -> bool;
    /// What `/metrics` shows; samples of one name stand together.
    fn metrics(&self) -> Vec<Metric>;
}

/// The place of the key that a request names, so that a batch can prefetch it.
pub fn prepare(session: &Session, request: &Request<'_>) -> Option<(Db, u64)> {
    match Target::read(request, session.engine().databases()) {
        Ok(Target::Key { db, name }) => Some((db, session.engine().key(&name).hash())),
        _ => None,
    }
}

/// Whether [`run`] refuses a request whatever its body is: then that need not be waited for.
pub fn refuses(session: &Session, server: &dyn Server, request: &Request<'_>) -> bool {
    let target = Target::read(request, session.engine().databases());
    if !may_ask(server, request, &target) || !may_call(server, request, &target) {
        return true;
    }
    match (request.method, target) {
        (Method::Other, _) | (_, Err(_)) => true,
        (Method::Get | Method::Head | Method::Options, Ok(_)) => false,
        // Without a clock: a time to live that is too long from 1970 on is so from any time on.
        (Method::Put, Ok(Target::Key { .. })) => keys::deadline_of(request, 0).is_err(),
        (method, Ok(Target::Key { .. })) => method != Method::Delete,
        (_, Ok(_)) => true,
    }
}

/// Everybody may ask whether the server is well, the rest who knows its password.
fn may_ask(
    server: &dyn Server,
    request: &Request<'_>,
    target: &Result<Target, TargetError>,
) -> bool {
    let is_open = matches!(target, Ok(Target::Health));
    is_open || !server.has_password() || authorization::holds(server, request)
}

/// Whether the server lets itself be called as the request does. Of its health it tells under any name:
/// whoever looks after it may have one for it, and a page of another origin learns nothing by it.
fn may_call(
    server: &dyn Server,
    request: &Request<'_>,
    target: &Result<Target, TargetError>,
) -> bool {
    let is_open = matches!(target, Ok(Target::Health));
    is_open || server.has_password() || host::is_ours(server, request)
}

/// Runs a request and appends its response to `context.out`.
pub fn run(context: &mut HttpContext<'_>, request: &Request<'_>) -> Flow {
    let target = Target::read(request, context.session.engine().databases());
    if !may_ask(context.server, request, &target) {
        refuse_with(context, request, 401, authorization::NEEDED, |response| {
            response
                .header("WWW-Authenticate", "Bearer realm=\"dolium\"")
                .header("WWW-Authenticate", "Basic realm=\"dolium\"")
        });
        return flow(request);
    }
    if !may_call(context.server, request, &target) {
        refuse(context, request, 421, host::STRANGE);
        return flow(request);
    }
    if request.method == Method::Other {
        refuse(context, request, 501, UNKNOWN_METHOD);
        return flow(request);
    }
    match target {
        Err(refusal) => refuse(context, request, refusal.status(), refusal.text()),
        Ok(target) if request.method == Method::Options => {
            let response = Response::new(context.out, 204, context.now);
            response.header("Allow", target.methods()).connection(request).no_body();
        }
        Ok(Target::Key { db, name }) => keys::run(context, request, db, &name),
        Ok(target) if !matches!(request.method, Method::Get | Method::Head) => {
            let methods = target.methods();
            refuse_with(context, request, 405, page::READ_ONLY, |r| r.header("Allow", methods));
        }
        // Only OPTIONS can name it, which is answered above.
        Ok(Target::Server) => unreachable!("`*` is a target of OPTIONS alone"),
        Ok(Target::Home) => page::text(context, request, page::PLAIN, page::HOME),
        Ok(Target::Health) => page::text(context, request, page::PLAIN, "ok\n"),
        Ok(Target::Metrics) => {
            let text = metrics::text(&context.server.metrics());
            page::text(context, request, metrics::CONTENT_TYPE, &text);
        }
    }
    flow(request)
}

fn flow(request: &Request<'_>) -> Flow {
    if request.keep_alive { Flow::Continue } else { Flow::Close }
}

/// A refusal: a status and one sentence.
fn refuse(context: &mut HttpContext<'_>, request: &Request<'_>, status: u16, sentence: &str) {
    refuse_with(context, request, status, sentence, |response| response);
}

/// As [`refuse`], with more headers.
fn refuse_with(
    context: &mut HttpContext<'_>,
    request: &Request<'_>,
    status: u16,
    sentence: &str,
    headers: impl FnOnce(Response<'_>) -> Response<'_>,
) {
    say(context, request, status, sentence, |response| headers(response.header(CACHE, CACHE_NONE)));
}

/// Answers with one sentence.
fn say(
    context: &mut HttpContext<'_>,
    request: &Request<'_>,
    status: u16,
    sentence: &str,
    headers: impl FnOnce(Response<'_>) -> Response<'_>,
) {
    let response = Response::new(context.out, status, context.now)
        .header("Content-Type", page::PLAIN)
        .header(POLICY, POLICY_OURS)
        .connection(request);
    headers(response).body_of(sentence.len() + 1);
    if request.method != Method::Head {
        context.out.extend_from_slice(sentence.as_bytes());
        context.out.push(b'\n');
    }
}
