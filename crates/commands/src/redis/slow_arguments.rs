//! How SLOWLOG keeps a request: shortened, so that a log of slow requests stays small.

use dolium_protocol::resp::Args;

/// Most arguments of an entry; the last of them tells how many were left out.
pub const ARGUMENTS_MAX: usize = 32;
/// Most bytes of an argument; what follows them tells how many were left out.
pub const ARGUMENT_BYTES_MAX: usize = 128;

/// The arguments of a request as its slow log entry shows them, in Redis' words.
pub fn shortened(args: &Args<'_>) -> Vec<Vec<u8>> {
    let shown = if args.len() > ARGUMENTS_MAX { ARGUMENTS_MAX - 1 } else { args.len() };
    let mut arguments: Vec<Vec<u8>> = args.iter().take(shown).map(shorten).collect();
    if shown < args.len() {
        arguments.push(format!("... ({} more arguments)", args.len() - shown).into_bytes());
    }
    arguments
}

fn shorten(argument: &[u8]) -> Vec<u8> {
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
    use dolium_protocol::resp::ArgVec;

    fn of(line: &str) -> Vec<String> {
        let (limits, mut state, mut args) = (Default::default(), Default::default(), ArgVec::new());
        let parsed = dolium_protocol::resp::parse(line.as_bytes(), &limits, &mut state, &mut args);
        assert!(matches!(parsed, dolium_protocol::Parse::Complete { .. }));
        let short = shortened(&args.view(line.as_bytes()));
        short.into_iter().map(|argument| String::from_utf8(argument).unwrap()).collect()
    }

    #[test]
    fn many_and_long_arguments_are_counted_instead_of_kept() {
        let many = of(&format!("sadd set {}\r\n", "1 ".repeat(32)));
        assert_eq!(many.len(), 32);
        assert_eq!(many[31], "... (3 more arguments)");
        let long = of(&format!("sadd set foo {}\r\n", "A".repeat(129)));
        assert_eq!(long[3], format!("{}... (1 more bytes)", "A".repeat(128)));
        assert_eq!(of("get k\r\n"), ["get", "k"]);
    }
}
