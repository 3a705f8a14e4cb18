//! Whom a request is meant for: web pages must not reach this server under a name of their own.
//!
//! ```text
//!   http://evil.example:8379/   its owner lets the name mean 127.0.0.1, once the page has loaded, and to
//!                               the browser that page and this server are then one origin
//!   Host: evil.example:8379     so the browser says, and cannot be made to say otherwise
//! ```
//! So while there is no password, a name counts only if nobody else can have it: an address, `localhost`
//! and what is below it, and what the server knows for its own. Who has the password may call it anything:
//! no browser adds that to another's page. See decision 151.

use super::Server;
use core::net::{Ipv4Addr, Ipv6Addr};
use dolium_protocol::http::Request;
use std::str::FromStr;

pub(super) const STRANGE: &str = "Without a password this server answers only to addresses, localhost \
                                  and its own name: add the name in the request's Host to http-hosts, \
                                  or set requirepass.";

/// Whether the server goes by the name that the request calls it by. A request without a name is no
/// browser's.
pub(super) fn is_ours(server: &dyn Server, request: &Request<'_>) -> bool {
    let named = [request.authority, request.header("host")];
    named.into_iter().flatten().all(|authority| {
        let name = without_port(authority);
        name.is_empty() || is_nobody_elses(name) || server.has_host(name)
    })
}

/// The host of `host:port`, without the dot that may end a whole name.
fn without_port(authority: &[u8]) -> &[u8] {
    let end = match authority.first() {
        Some(b'[') => place_of(b']', authority) + 1,
        _ => place_of(b':', authority),
    };
    let host = authority.get(..end).unwrap_or(authority);
    host.strip_suffix(b".").unwrap_or(host)
}

/// No name server is asked for an address, nor by browsers for `localhost`.
fn is_nobody_elses(host: &[u8]) -> bool {
    const LOCAL: &[u8] = b"localhost";
    if let Some(address) = host.strip_prefix(b"[") {
        let address = address.strip_suffix(b"]").unwrap_or(address);
        // A link's name may follow, behind a percent sign.
        return parses::<Ipv6Addr>(&address[..place_of(b'%', address)]);
    }
    let (rest, last) = host.split_at(host.len().saturating_sub(LOCAL.len()));
    let is_local = last.eq_ignore_ascii_case(LOCAL) && (rest.is_empty() || rest.ends_with(b"."));
    is_local || parses::<Ipv4Addr>(host)
}

/// Where the mark stands; without one, the end.
fn place_of(mark: u8, text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == mark).unwrap_or(text.len())
}

fn parses<T: FromStr>(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<T>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_nobody_elses() {
        let ours = |authority: &str| is_nobody_elses(without_port(authority.as_bytes()));
        for authority in [
            "127.0.0.1",
            "127.0.0.1:8379",
            "192.168.1.7:80",
            "[::1]:8379",
            "[fe80::1%25eth0]:8379",
            "localhost",
            "LocalHost:8379",
            "localhost.:8379",
            "a.localhost",
        ] {
            assert!(ours(authority), "{authority}");
        }
        for authority in [
            "evil.example",
            "evil.example:8379",
            "127.0.0.1.evil.example",
            "evillocalhost",
            "localhost.evil.example",
            "[v1.x]",
            "[127.0.0.1]",
            "2130706433",
            "127.1",
            "0x7f.1",
        ] {
            assert!(!ours(authority), "{authority}");
        }
    }
}
