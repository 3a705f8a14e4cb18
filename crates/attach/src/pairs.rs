//! Which commands can be executed at all: those that answer once and at once.
//!
//! ```text
//!   SET k v           one reply                               executed, by ring or socket
//!   SUBSCRIBE c       a reply, and more whenever there is one refused before it is sent
//!   BLPOP l 0         a reply some day                        refused, others of the ring would wait too
//!   CLIENT REPLY OFF  no reply, to this nor to what follows   refused
//!   POST /            no reply, and the connection is closed  refused
//! ```
//! Whoever waits for the reply to one of these waits for ever, or takes the reply to another for its own.

use crate::error::Error;

/// Commands after which requests and replies no longer come in pairs. Those that the server does not
/// have (MONITOR, SSUBSCRIBE) are not among them: it says so, once and at once.
const NO_PAIR: [&str; 9] = [
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "BLPOP",
    "BRPOP",
    "BRPOPLPUSH",
    "BLMOVE",
    "BLMPOP",
];

/// What a line of a web request begins with. A server takes it for a web page's attempt to have the rest
/// run, and closes the connection without a word.
const OF_THE_WEB: [&str; 2] = ["POST", "Host:"];

/// Refuses what is not answered once. Returns the command's name.
pub fn name_of_one_that_answers<'a>(args: &[&'a [u8]]) -> Result<&'a [u8], Error> {
    // The server does not answer an empty request, and who waits for it waits for ever.
    let name = *args.first().ok_or(Error::NoCommand)?;
    let is = |other: &&str| name.eq_ignore_ascii_case(other.as_bytes());
    if let Some(refused) = NO_PAIR.into_iter().find(is) {
        return Err(Error::NotARequest(refused));
    }
    if is(&"CLIENT") && args.get(1).is_some_and(|a| a.eq_ignore_ascii_case(b"REPLY")) {
        return Err(Error::NotARequest("CLIENT REPLY"));
    }
    match OF_THE_WEB.into_iter().find(is) {
        Some(refused) => Err(Error::OfTheWeb(refused)),
        None => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_once_is_refused_by_its_name() {
        let name = |line: &'static str| {
            let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
            name_of_one_that_answers(&words)
        };
        for line in ["subscribe c", "PSubscribe p", "BLPOP l 0", "client reply skip"] {
            assert!(matches!(name(line), Err(Error::NotARequest(_))), "{line}");
        }
        assert!(matches!(name("post / HTTP/1.1"), Err(Error::OfTheWeb("POST"))));
        assert!(matches!(name("HOST: here"), Err(Error::OfTheWeb("Host:"))));
        assert!(matches!(name(""), Err(Error::NoCommand)));
        for line in ["SET BLPOP POST", "CLIENT LIST", "POSTS", "host", "MONITOR"] {
            assert_eq!(name(line).unwrap(), line.split(' ').next().unwrap().as_bytes());
        }
    }
}
