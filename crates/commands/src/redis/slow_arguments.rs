//! How SLOWLOG keeps a request: without its passwords, so that who may read the log does not learn
//! them, and shortened, so that a log of slow requests stays small.
//!
//! ```text
//! AUTH bob sesame                        AUTH (redacted) (redacted)
//! HELLO 3 AUTH bob sesame SETNAME app    HELLO 3 AUTH (redacted) (redacted) SETNAME app
//! CONFIG SET requirepass sesame hz 10    CONFIG SET requirepass (redacted) hz 10
//! ```
//! Redis does not redact a request that it finds to be malformed first, such as AUTH with four
//! arguments, nor the passwords of TLS keys. Here nothing is shown that may be a password: also a
//! mistyped request has one in it.

use crate::redis::row::Row;
use dolium_protocol::resp::Args;

/// Most arguments of an entry; the last of them tells how many were left out.
pub const ARGUMENTS_MAX: usize = 32;
/// Most bytes of an argument; what follows them tells how many were left out.
pub const ARGUMENT_BYTES_MAX: usize = 128;
/// What stands in place of a password, or of the name that belongs to it.
const REDACTED: &[u8] = b"(redacted)";

/// Parameters of CONFIG SET whose values are not shown.
pub const SECRET_PARAMETERS: [&str; 5] =
    ["requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"];

/// The arguments of a request as its slow log entry shows them, in Redis' words. `row` is what was
/// called: the name in the request may be written in any case.
pub fn shortened(row: &Row, args: &Args<'_>) -> Vec<Vec<u8>> {
    let shown = if args.len() > ARGUMENTS_MAX { ARGUMENTS_MAX - 1 } else { args.len() };
    let show = |(at, argument)| match is_secret(row, args, at) {
        true => REDACTED.to_vec(),
        false => shorten(argument),
    };
    let mut arguments: Vec<Vec<u8>> = args.iter().take(shown).enumerate().map(show).collect();
    if shown < args.len() {
        arguments.push(format!("... ({} more arguments)", args.len() - shown).into_bytes());
    }
    arguments
}

/// Is argument number `at` a password, or the name of a user who gives one?
fn is_secret(row: &Row, args: &Args<'_>, at: usize) -> bool {
    let is_auth = |at: usize| args.arg(at).eq_ignore_ascii_case(b"AUTH");
    let names_secret = |at: usize| {
        SECRET_PARAMETERS.iter().any(|name| args.arg(at).eq_ignore_ascii_case(name.as_bytes()))
    };
    match row.name {
        "auth" => at > 0,
        // The two behind it; of a password "auth" the next as well, which may be an option.
        "hello" => (at > 1 && is_auth(at - 1)) || (at > 2 && is_auth(at - 2)),
        // Whether or not the pairs are complete.
        "config|set" => at > 2 && names_secret(at - 1),
        _ => false,
    }
}

/// As much of an argument, or of a client's name, as an entry keeps.
pub fn shorten(argument: &[u8]) -> Vec<u8> {
    if argument.len() <= ARGUMENT_BYTES_MAX {
        return argument.to_vec();
    }
    let left_out = argument.len() - ARGUMENT_BYTES_MAX;
    let mut short = argument[..ARGUMENT_BYTES_MAX].to_vec();
    short.extend_from_slice(format!("... ({left_out} more bytes)").as_bytes());
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::table;
    use dolium_protocol::resp::ArgVec;

    fn of(line: &str) -> Vec<String> {
        let line = format!("{line}\r\n");
        let (limits, mut state, mut args) = (Default::default(), Default::default(), ArgVec::new());
        let parsed = dolium_protocol::resp::parse(line.as_bytes(), &limits, &mut state, &mut args);
        assert!(matches!(parsed, dolium_protocol::Parse::Complete { .. }));
        let args = args.view(line.as_bytes());
        let found = table::find(args.arg(0)).unwrap();
        let row = args.get(1).and_then(|word| table::subcommand(found, word)).unwrap_or(found);
        let short = shortened(row, &args);
        short.into_iter().map(|argument| String::from_utf8(argument).unwrap()).collect()
    }

    #[test]
    fn many_and_long_arguments_are_counted_instead_of_kept() {
        let many = of(&format!("sadd set {}", "1 ".repeat(32)));
        assert_eq!(many.len(), 32);
        assert_eq!(many[31], "... (3 more arguments)");
        let long = of(&format!("sadd set foo {}", "A".repeat(129)));
        assert_eq!(long[3], format!("{}... (1 more bytes)", "A".repeat(128)));
        assert_eq!(of("get k"), ["get", "k"]);
    }

    #[test]
    fn no_password_is_kept() {
        for (line, shown) in [
            ("auth pw", "auth (redacted)"),
            ("AUTH bob pw", "AUTH (redacted) (redacted)"),
            ("auth bob pw x", "auth (redacted) (redacted) (redacted)"),
            ("hello 3", "hello 3"),
            ("hello 3 setname app", "hello 3 setname app"),
            ("hello 3 AUTH bob pw", "hello 3 AUTH (redacted) (redacted)"),
            ("hello 2 setname app auth bob pw", "hello 2 setname app auth (redacted) (redacted)"),
            ("hello 3 auth bob pw setname app", "hello 3 auth (redacted) (redacted) setname app"),
            ("hello 3 auth pw", "hello 3 auth (redacted)"),
            ("hello auth bob pw", "hello auth (redacted) (redacted)"),
            ("config set requirepass pw", "config set requirepass (redacted)"),
            (
                "CONFIG SET hz 10 MasterAuth pw timeout 0",
                "CONFIG SET hz 10 MasterAuth (redacted) timeout 0",
            ),
            ("config set tls-key-file-pass pw", "config set tls-key-file-pass (redacted)"),
            ("config set hz 10 masterauth pw x", "config set hz 10 masterauth (redacted) x"),
            ("config get requirepass", "config get requirepass"),
            ("set requirepass masterauth", "set requirepass masterauth"),
        ] {
            assert_eq!(of(line).join(" "), shown, "{line}");
        }
        let long = of(&format!("auth {}", "p".repeat(1000)));
        assert_eq!(long, ["auth", "(redacted)"]);
    }
}
