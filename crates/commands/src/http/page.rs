//! Pages of plain text.

use super::HttpContext;
use dolium_protocol::http::{Method, Request, Response};

pub(super) const PLAIN: &str = "text/plain; charset=utf-8";
pub(super) const READ_ONLY: &str = "This page can only be read.";

pub(super) const HOME: &str = "\
Dolium: one memory for Redis clients, Memcached clients, web requests and local programs.

  curl -X PUT --data-binary hello  URL/keys/greeting      store a value
  curl URL/keys/greeting                                  read it
  curl -I URL/keys/greeting                               its length, type, time to live and tag
  curl -X DELETE URL/keys/greeting                        delete it

A name may hold any bytes, written as %HH where a path cannot hold them. ?db=N chooses a database.
Dolium-Ttl-Ms: N with PUT gives a time to live in milliseconds; responses tell what is left of it.
If-Match and If-None-Match work with the ETag of a response: PUT with If-None-Match: * only creates.
With a password: Authorization: Bearer PASSWORD.

/healthz answers 200 while the server serves. /metrics is for Prometheus.
";

pub(super) fn text(
    context: &mut HttpContext<'_>,
    request: &Request<'_>,
    content_type: &str,
    text: &str,
) {
    Response::new(context.out, 200, context.now)
        .header("Content-Type", content_type)
        .connection(request)
        .body_of(text.len());
    if request.method != Method::Head {
        context.out.extend_from_slice(text.as_bytes());
    }
}
