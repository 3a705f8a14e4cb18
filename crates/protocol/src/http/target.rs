//! Whom and what a request names.
//!
//! ```text
//!   /keys/NAME?db=0                 the usual form
//!   http://example.org/keys/NAME    the form for proxies, which every server must take
//!   *                               the server itself, with OPTIONS
//!   Host: example.org:8379          a name, an IPv4 address or an [IPv6 address], and perhaps a port
//! ```

use super::error::HttpError;
use memchr::memchr;

/// What a request's target names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named<'a> {
    /// Host and port, in the form for proxies.
    pub authority: Option<&'a [u8]>,
    pub path: &'a [u8],
    pub query: Option<&'a [u8]>,
}

pub(super) fn named(target: &[u8], is_options: bool) -> Result<Named<'_>, HttpError> {
    let (authority, local) = match (target, behind_scheme(target)) {
        ([b'/', ..] | b"*", _) => (None, target),
        (_, Some(rest)) => {
            let end = rest.iter().position(|byte| b"/?".contains(byte)).unwrap_or(rest.len());
            let (authority, local) = rest.split_at(end);
            if !is_authority(authority) {
                return Err(HttpError::BadTarget);
            }
            let authority = Some(authority);
            match local {
                // Without a path it is the server's root, or to OPTIONS the server itself.
                b"" if is_options => (authority, &b"*"[..]),
                b"" => (authority, &b"/"[..]),
                [b'?', query @ ..] => {
                    return Ok(Named { authority, path: b"/", query: Some(query) });
                }
                _ => (authority, local),
            }
        }
        _ => return Err(HttpError::BadTarget),
    };
    Ok(match memchr(b'?', local) {
        Some(mark) => Named { authority, path: &local[..mark], query: Some(&local[mark + 1..]) },
        None => Named { authority, path: local, query: None },
    })
}

/// What follows `http://` or `https://`: whether there is TLS, the connection says and not the name.
fn behind_scheme(target: &[u8]) -> Option<&[u8]> {
    [&b"http://"[..], b"https://"].into_iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Whether this is a host with or without a port (RFC 3986, 3.2.2 and 3.2.3). Nobody is looked up
/// by it; a user's name in front, a path behind or a blank within would be another's idea of a host.
pub(super) fn is_authority(text: &[u8]) -> bool {
    let (host, port) = match text {
        [b'[', rest @ ..] => match memchr(b']', rest) {
            Some(end) if end > 0 && rest[..end].iter().all(|b| is_in_address(*b)) => {
                (&rest[..end], &rest[end + 1..])
            }
            _ => return false,
        },
        _ => text.split_at(memchr(b':', text).unwrap_or(text.len())),
    };
    let port_is_sound = match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    port_is_sound && !host.is_empty() && (text[0] == b'[' || is_name(host))
}

/// Letters, digits, the marks that a name may have, and bytes written as `%HH`.
fn is_name(mut text: &[u8]) -> bool {
    while let [first, rest @ ..] = text {
        text = match (first, rest) {
            (b'%', [high, low, rest @ ..]) if [high, low].iter().all(|b| b.is_ascii_hexdigit()) => {
                rest
            }
            (b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')', _) => rest,
            (b'*' | b'+' | b',' | b';' | b'=', _) => rest,
            (byte, _) if byte.is_ascii_alphanumeric() => rest,
            _ => return false,
        };
    }
    true
}

/// IPv6, a later address (`v1.x`), and the zone that some clients leave in it.
fn is_in_address(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b":.%-_~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_of_each_form_names_a_path() {
        let of = |target, is_options| {
            named(target, is_options).map(|named| (named.authority, named.path, named.query))
        };
        for (target, authority, path, query) in [
            (&b"/keys/a?b?c"[..], None, &b"/keys/a"[..], Some(&b"b?c"[..])),
            (b"http://x/keys/a?db=1", Some(&b"x"[..]), b"/keys/a", Some(b"db=1")),
            (b"HTTPS://[::1]:8379/keys/http://y", Some(b"[::1]:8379"), b"/keys/http://y", None),
            (b"http://x", Some(b"x"), b"/", None),
            (b"http://x?a=/", Some(b"x"), b"/", Some(b"a=/")),
        ] {
            assert_eq!(of(target, false), Ok((authority, path, query)));
        }
        assert_eq!(of(b"http://x:80", true), Ok((Some(&b"x:80"[..]), &b"*"[..], None)));
        assert_eq!(of(b"http://x/", true), Ok((Some(&b"x"[..]), &b"/"[..], None)));
        for target in
            [&b"x:80"[..], b"http://", b"http:///a", b"http://u@x/", b"ftp://x/", b"a", b""]
        {
            assert_eq!(of(target, false), Err(HttpError::BadTarget));
        }
    }

    #[test]
    fn hosts_are_told_from_other_texts() {
        for host in [
            "localhost",
            "x:8379",
            "10.0.0.1:80",
            "[::1]",
            "[fe80::1%25eth0]:8379",
            "a_b.example.",
            "b%C3%BCcher.example",
            "x:",
        ] {
            assert!(is_authority(host.as_bytes()), "{host}");
        }
        for text in [
            "",
            ":80",
            "a b",
            "a/b",
            "user@x",
            "x:80:80",
            "x:port",
            "[::1",
            "[]",
            "[::1]x",
            "x%2",
            "a\\b",
            "<x>",
            "http://x",
            "b\u{fc}cher",
        ] {
            assert!(!is_authority(text.as_bytes()), "{text}");
        }
    }
}
