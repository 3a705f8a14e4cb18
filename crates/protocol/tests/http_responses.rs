//! HTTP responses: what their heads say, above all how long the body is.

use dolium_protocol::http::{HttpError, Response};

/// Of a day in March 2026, in Unix milliseconds.
const NOON: u64 = 1_772_539_200_000;

#[test]
fn responses_say_their_length() {
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        written(&|out| {
            Response::new(out, 200, NOON).header("X-Type", "a\r\nb").body_of(5);
            out.extend_from_slice(b"value");
        }),
        "HTTP/1.1 200 OK\r\nDate: Tue, 03 Mar 2026 12:00:00 GMT\r\nX-Type: a  b\r\nContent-Length: 5\r\n\r\nvalue"
    );
    assert_eq!(
        written(&|out| Response::new(out, 404, NOON).body("No such key.\n")),
        "HTTP/1.1 404 Not Found\r\nDate: Tue, 03 Mar 2026 12:00:00 GMT\r\nContent-Length: 13\r\n\r\nNo such key.\n"
    );
    assert_eq!(
        written(&|out| Response::new(out, 204, NOON).no_body()),
        "HTTP/1.1 204 No Content\r\nDate: Tue, 03 Mar 2026 12:00:00 GMT\r\n\r\n"
    );
    let refused = written(&|out| HttpError::BodyTooLarge.write(b"PUT / HTTP/1.1\r\n", out, NOON));
    assert!(refused.starts_with("HTTP/1.1 413 Content Too Large\r\nDate: "), "{refused}");
    assert!(refused.contains("\r\nConnection: close\r\n"), "{refused}");
    assert!(refused.ends_with("longer than a value may be (proto-max-bulk-len).\n"), "{refused}");
    let told = written(&|out| HttpError::BadTarget.write(b"\r\nHEAD a HTTP/1.1\r\n", out, NOON));
    assert!(told.contains("\r\nContent-Length: 56\r\n"), "{told}");
    assert!(told.ends_with("\r\n\r\n"), "HEAD has no body: {told}");
}

/// Those made by the parser said nothing of caches and of other origins, as the later ones do.
#[test]
fn what_cannot_be_read_is_refused_to_caches_and_other_origins() {
    for error in [HttpError::BadHost, HttpError::BodyTooLarge, HttpError::UnknownVersion] {
        let mut out = Vec::new();
        error.write(b"PUT / HTTP/1.1\r\n", &mut out, NOON);
        let refused = String::from_utf8(out).unwrap();
        assert!(refused.contains("\r\nCache-Control: no-store\r\n"), "{refused}");
        let policy = "\r\nCross-Origin-Resource-Policy: same-origin\r\n";
        assert!(refused.contains(policy), "{refused}");
    }
}

/// 101 headers were too long, a body too long for a limit without a name, and chunks of HTTP/1.0 in no
/// encoding that is understood, of which chunked was said to be the only one.
#[test]
fn refusals_name_the_limit_that_was_passed() {
    for (error, named) in [
        (HttpError::HeadTooLarge, "too long or too many: 16 KiB and 100 beside Host"),
        (HttpError::BodyTooLarge, "proto-max-bulk-len"),
        (HttpError::ChunksTooEarly, "HTTP/1.1"),
    ] {
        assert!(error.to_string().contains(named), "{error}");
    }
}
