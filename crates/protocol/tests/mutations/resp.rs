//! RESP, in both directions: what clients send, and what a server answers.

use crate::run;
use dolium_protocol::resp::reply::{SkipState, decode, skip};
use dolium_protocol::{Parse, resp};

#[test]
fn resp_requests() {
    let seeds = [
        &b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"[..],
        b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$12\r\nhello world!\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"*11\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n",
        b"set \"a\\x41b\" 'it\\'s'\r\n",
        b"ping\r\n",
        b"*0\r\n",
    ];
    let dictionary = [
        &b"\r\n"[..],
        b"*",
        b"$",
        b"-1",
        b"$0\r\n",
        b"*2147483648\r\n",
        b"$536870913\r\n",
        b"\"",
        b"'",
        b"\\x",
        b"\0",
        b"99999999999999999999",
        b"$9999\r\n",
        b"$10000\r\n",
    ];
    let (mut state, mut args) = (resp::ParseState::new(), resp::ArgVec::new());
    run(1, &seeds, &dictionary, |input| {
        let limits = resp::Limits::default().with_authenticated(input.len() % 3 != 0);
        state.reset();
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            match resp::parse(rest, &limits, &mut state, &mut args) {
                Parse::Complete { consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len() && !state.is_in_request());
                    let whole: Vec<Vec<u8>> = args.view(rest).iter().map(<[u8]>::to_vec).collect();
                    let again = resp::parse(&rest[..consumed], &limits, &mut state, &mut args);
                    assert_eq!(again, Parse::Complete { consumed });
                    assert!(args.view(rest).iter().eq(whole.iter().map(Vec::as_slice)));
                    at += consumed;
                }
                Parse::Incomplete { need_at_least } => {
                    assert!(need_at_least > rest.len());
                    return count;
                }
                Parse::Error(error) => {
                    let mut out = Vec::new();
                    error.write(&mut resp::RespWriter::new(&mut out, resp::Version::V2));
                    assert!(out.starts_with(b"-ERR Protocol error: ") && out.ends_with(b"\r\n"));
                    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
                    return count;
                }
            }
        }
    });
}

#[test]
fn resp_replies() {
    let seeds = [
        &b"+OK\r\n"[..],
        b"-ERR x\r\n",
        b":12\r\n",
        b"$5\r\nhello\r\n",
        b"$-1\r\n",
        b"*2\r\n:1\r\n$1\r\na\r\n",
        b"%1\r\n+k\r\n,1.5\r\n",
        b"~1\r\n#t\r\n",
        b">2\r\n+message\r\n_\r\n",
        b"=7\r\ntxt:abc\r\n",
        b"(12345678901234567890\r\n",
        b"|1\r\n+a\r\n:1\r\n:2\r\n",
        b"!5\r\nERR x\r\n",
    ];
    let dictionary = [
        &b"\r\n"[..],
        b"*",
        b"*1\r\n",
        b"%9\r\n",
        b"$",
        b"-1",
        b"9223372036854775807",
        b"?",
        b"*99999999\r\n",
    ];
    run(2, &seeds, &dictionary, |input| {
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            let mut state = SkipState::default();
            match skip(rest, &mut state) {
                Parse::Complete { consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len());
                    // Decoding may still refuse what skipping does not look into.
                    if let Ok(decoded) = decode(rest) {
                        assert_eq!(decoded.map(|(_, len)| len), Some(consumed));
                    }
                    let again = skip(&rest[..consumed], &mut state);
                    assert_eq!(again, Parse::Complete { consumed });
                    at += consumed;
                }
                Parse::Incomplete { need_at_least } => {
                    assert!(need_at_least > rest.len());
                    assert!(!matches!(decode(rest), Ok(Some(_))));
                    return count;
                }
                Parse::Error(_) => {
                    assert!(decode(rest).is_err());
                    return count;
                }
            }
        }
    });
}
