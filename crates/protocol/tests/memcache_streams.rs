//! Streams of Memcached requests: what is refused and in which words, and that nothing depends on how a
//! stream was cut. The texts were taken from Memcached 1.6.18.

use dolium_protocol::memcache::text::Command;
use dolium_protocol::memcache::{Limits, ParseState, Parsed, Request, parse};
use proptest::prelude::*;

/// What a server makes of a stream, one text a request; refusals in their own words.
fn hear(stream: &[u8], cuts: impl IntoIterator<Item = usize>) -> Vec<String> {
    let limits = Limits { value_bytes_max: 1 << 20, ..Limits::default() };
    let mut state = ParseState::new();
    let mut heard = Vec::new();
    let mut start = 0;
    for end in cuts.into_iter().chain([stream.len()]) {
        loop {
            let input = &stream[start..end];
            match parse(input, &limits, &mut state) {
                Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    heard.extend(summary(request));
                    start += consumed;
                }
                Parsed::Incomplete { need_at_least } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parsed::Close(refusal) => {
                    heard.push(format!("close {refusal:?}"));
                    return heard;
                }
            }
        }
    }
    heard
}

fn summary(request: Request<'_>) -> Option<String> {
    match request {
        Request::Nothing => None,
        Request::Refused { noreply: true, .. } => Some("silence".into()),
        Request::Refused { refusal, noreply: false } => {
            let mut out = Vec::new();
            refusal.write(&mut out);
            Some(String::from_utf8(out).unwrap().trim_end().into())
        }
        Request::MetaNoop => Some("MN".into()),
        Request::Text(Command::Version) => Some("VERSION".into()),
        Request::Text(Command::Get { keys, cas }) => Some(format!("get {cas} {}", keys.count())),
        Request::Meta(command) => Some(format!(
            "{:?} {} {:?} {}",
            command.verb,
            command.key.bytes(&mut [0; 250]).escape_ascii(),
            command.flags.iter().collect::<Vec<_>>(),
            command.data.escape_ascii(),
        )),
        other => Some(format!("{other:?}")),
    }
}

const BAD: &str = "CLIENT_ERROR bad command line format";
const USAGE: &str = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";

#[test]
fn refuses_in_the_words_of_memcached() {
    let key = "k".repeat(251);
    let opaque = "o".repeat(32);
    let flags = "v ".repeat(18);
    let large = "a".repeat(2_000_000);
    for (stream, expected) in [
        ("\r\n", &["ERROR"][..]),
        ("x\r\n", &["ERROR"]),
        ("nonsense\r\n", &["ERROR"]),
        ("GET k\r\n", &["ERROR"]),
        ("get\r\n", &["ERROR"]),
        ("get \r\n", &["ERROR"]),
        ("gets\r\n", &["ERROR"]),
        ("gat\r\n", &["ERROR"]),
        ("getx k\r\n", &["ERROR"]),
        (&format!("get {key}\r\n"), &[BAD]),
        (&format!("get a {key} b\r\n"), &[BAD]),
        ("gat x k\r\n", &["CLIENT_ERROR invalid exptime argument"]),
        ("set k 0 0\r\n", &["ERROR"]),
        ("set k a 0 1\r\n", &[BAD]),
        ("set k 0 0 -1\r\n", &[BAD]),
        ("set k -1 0 1\r\na\r\n", &[BAD, "ERROR"]),
        ("set k 4294967296 0 1\r\na\r\n", &[BAD, "ERROR"]),
        ("set k a 0 1 noreply\r\nversion\r\n", &["silence", "VERSION"]),
        (&format!("set {key} 0 0 1\r\n"), &[BAD]),
        ("set k 0 0 3\r\nhello\r\n", &["CLIENT_ERROR bad data chunk", "ERROR"]),
        ("set k 0 0 5 noreply\r\nhelloXX\r\nversion\r\n", &["silence", "ERROR", "VERSION"]),
        ("set k 0 0 1\r\na\n\n", &["CLIENT_ERROR bad data chunk"]),
        (
            &format!("set k 0 0 2000000\r\n{large}\r\nversion\r\n"),
            &["TooLarge { set: true, key: [107], noreply: false }", "VERSION"],
        ),
        (
            &format!("ms k 2000000\r\n{large}\r\nmn\r\n"),
            &["MetaTooLarge { key: Key { text: [107], base64: false } }", "MN"],
        ),
        ("cas k 0 0 1\r\n", &["ERROR"]),
        ("cas k 0 0 1 x\r\n", &[BAD]),
        ("incr k x\r\n", &["CLIENT_ERROR invalid numeric delta argument"]),
        ("incr k\r\n", &["ERROR"]),
        (&format!("incr {key} 1\r\n"), &[BAD]),
        ("delete\r\n", &["ERROR"]),
        ("delete k 1\r\n", &[USAGE]),
        ("delete k x y\r\n", &[USAGE]),
        ("delete k 1 noreply\r\nmn\r\n", &["silence", "MN"]),
        (&format!("delete {key}\r\n"), &[BAD]),
        ("touch k\r\n", &["ERROR"]),
        ("touch k x\r\n", &["CLIENT_ERROR invalid exptime argument"]),
        ("touch k x noreply\r\nmn\r\n", &["silence", "MN"]),
        ("flush_all x\r\n", &["CLIENT_ERROR invalid exptime argument"]),
        ("flush_all 0 x y\r\n", &["ERROR"]),
        ("verbosity\r\n", &["ERROR"]),
        ("verbosity x\r\n", &[BAD]),
        ("cache_memlimit x\r\n", &["ERROR"]),
        ("shutdown x\r\n", &["CLIENT_ERROR invalid shutdown mode"]),
        ("mg\r\n", &["ERROR"]),
        ("mx k\r\n", &["ERROR"]),
        (&format!("mg {key}\r\n"), &[BAD]),
        ("mg k v v\r\n", &["CLIENT_ERROR duplicate flag"]),
        ("mg k \u{ff}\r\n", &["CLIENT_ERROR duplicate flag"]),
        ("mg k !\r\n", &["CLIENT_ERROR invalid flag"]),
        ("mg k b\r\n", &["CLIENT_ERROR error decoding key"]),
        ("mg k Tx\r\n", &["CLIENT_ERROR bad token in command line format"]),
        ("mg k Fx\r\n", &[BAD]),
        ("mg k Tx Fx\r\n", &["CLIENT_ERROR bad token in command line format"]),
        ("mg k Mab\r\n", &["CLIENT_ERROR incorrect length for M token"]),
        ("mg k Jx\r\n", &["CLIENT_ERROR invalid numeric initial value"]),
        ("mg k Jx Dx\r\n", &["CLIENT_ERROR invalid numeric delta value"]),
        (&format!("mg k O{opaque}\r\n"), &["CLIENT_ERROR opaque token too long"]),
        (&format!("mg k {flags}\r\n"), &["CLIENT_ERROR options flags are too long"]),
        ("ms\r\n", &["ERROR"]),
        ("ms k\r\n", &[BAD]),
        ("ms k x\r\n", &[BAD]),
        ("ms k -1\r\n", &[BAD]),
        ("ms k 2 MX\r\nhi\r\nmn\r\n", &["CLIENT_ERROR invalid mode for ms M token", "MN"]),
        ("ms k 2 !\r\nhi\r\nmn\r\n", &["CLIENT_ERROR invalid flag", "MN"]),
        ("ms Zg 2 b\r\nhi\r\nmn\r\n", &["CLIENT_ERROR error decoding key", "MN"]),
        (
            &format!("ms k 2 MX O{opaque}\r\nhi\r\nmn\r\n"),
            &["CLIENT_ERROR invalid mode for ms M token", "MN"],
        ),
        (
            &format!("ms k 2 O{opaque}\r\nhi\r\nmn\r\n"),
            &["CLIENT_ERROR opaque token too long", "MN"],
        ),
        ("ms k 2 q\r\nhiXXmn\r\n", &["CLIENT_ERROR bad data chunk", "MN"]),
        (&format!("ms k 1 {flags}\r\nmn\r\n"), &["CLIENT_ERROR options flags too long", "MN"]),
        ("md k !\r\n", &["CLIENT_ERROR invalid or duplicate flag"]),
        ("md k q q\r\n", &["CLIENT_ERROR invalid or duplicate flag"]),
        ("md k Cx\r\n", &["CLIENT_ERROR invalid or duplicate flag"]),
        (&format!("md k O{opaque}\r\n"), &["CLIENT_ERROR opaque token too long"]),
        (&format!("md k {flags}\r\n"), &["CLIENT_ERROR options flags too long"]),
        ("ma k MX\r\n", &["CLIENT_ERROR invalid mode for ma M token"]),
        ("ma k Dx\r\n", &["CLIENT_ERROR invalid or duplicate flag"]),
        ("me\r\n", &[BAD]),
        ("me Z b\r\n", &[BAD]),
        ("foo bar HTTP/1.1\r\nversion\r\n", &["close None"]),
        // With its end, a line has 16,384 bytes at most, in however many pieces it comes.
        (&"x".repeat(16_383), &[]),
        (&"x".repeat(16_384), &["close Some(LineTooLong)"]),
        (&format!("{}\r\n", "x".repeat(16_382)), &["ERROR"]),
        (&format!("{}\n", "x".repeat(16_383)), &["ERROR"]),
        (&format!("{}\r\n", "x".repeat(16_383)), &["close Some(LineTooLong)"]),
        (&format!("mn{}\r\n", " ".repeat(16_380)), &["MN"]),
        (&format!("mn{}\r\n", " ".repeat(16_381)), &["close Some(LineTooLong)"]),
        (&format!("mn{}\r\n", " ".repeat(2_046)), &["MN"]),
        (&format!("mn{}\r\nmn\r\n", " ".repeat(5_000)), &["MN", "MN"]),
        (&format!("{}get k", " ".repeat(16_384)), &["close Some(LineTooLong)"]),
    ] {
        let shown = &stream[..stream.floor_char_boundary(60)];
        assert_eq!(hear(stream.as_bytes(), []), expected, "{shown}");
        if stream.len() < 10_000 {
            assert_eq!(hear(stream.as_bytes(), 0..stream.len()), expected, "{shown}");
        }
    }
}

#[test]
fn a_retrieval_of_very_many_keys_comes_in_pieces() {
    let long = [b"get".to_vec(), b" key".repeat(100_000), b"\r\n".to_vec()].concat();
    assert_eq!(hear(&long, (0..long.len()).step_by(1000)), ["get false 100000"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The same requests and the same refusals, however the stream was cut.
    #[test]
    fn any_stream_is_understood_the_same_at_any_cut(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "get k", "gets a b", "set k 0 0 5", "set k 0 0 9999999", "ms k 2 T0 q", "ms k 2 !",
                "mg k v t", "mn", "delete k", "incr k 1", "cas k 0 0 2 7 noreply", "hello", "hi",
                "\r\n", "\r\n", "\r\n", "\r", "\n", " ", "\0", "noreply", "9", "HTTP/1",
            ]),
            0..30,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..10),
    ) {
        let stream = pieces.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let expected = hear(&stream, []);
        prop_assert_eq!(&hear(&stream, cuts), &expected);
        prop_assert_eq!(&hear(&stream, 0..stream.len()), &expected);
    }
}
