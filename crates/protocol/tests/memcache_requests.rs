//! Memcached requests: what is accepted, what is refused and in which words, and that neither
//! depends on how the stream was cut. The texts were taken from Memcached 1.6.18.

use dolium_protocol::memcache::meta::{self, KeyBuffer};
use dolium_protocol::memcache::text::{Command, StoreVerb};
use dolium_protocol::memcache::{
    Limits, ParseState, Parsed, Refusal, Request, announced, binary, parse, received,
};
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

fn one(stream: &[u8]) -> Request<'_> {
    match parse(stream, &Limits::default(), &mut ParseState::new()) {
        Parsed::Complete { request, consumed } if consumed == stream.len() => request,
        other => panic!("{} is {other:?}", stream.escape_ascii()),
    }
}

#[test]
fn text_commands_say_what_they_ask_for() {
    let key = &b"k"[..];
    let store = |verb, flags, exptime, data, noreply| Command::Store {
        verb,
        key,
        flags,
        exptime,
        data,
        noreply,
    };
    for (line, command) in [
        (&b"set k 7 60 5\r\nva\r\nl\r\n"[..], store(StoreVerb::Set, 7, 60, b"va\r\nl", false)),
        (b"add k 4294967295 -1 0 noreply\r\n\r\n", store(StoreVerb::Add, u32::MAX, -1, b"", true)),
        (b"replace k 0 0 1\n1\r\n", store(StoreVerb::Replace, 0, 0, b"1", false)),
        (b"append  k 0  0 1\r\n1\r\n", store(StoreVerb::Append, 0, 0, b"1", false)),
        (b"prepend k 0 0 1\r\n1\r\n", store(StoreVerb::Prepend, 0, 0, b"1", false)),
        (
            b"cas k 0 0 1 18446744073709551615\r\n1\r\n",
            store(StoreVerb::Cas(u64::MAX), 0, 0, b"1", false),
        ),
        (b"cas k 0 0 1 2 noreply\r\n1\r\n", store(StoreVerb::Cas(2), 0, 0, b"1", true)),
        (b"incr k 5\r\n", Command::Arithmetic { incr: true, key, delta: 5, noreply: false }),
        (
            b"decr k 5 noreply\r\n",
            Command::Arithmetic { incr: false, key, delta: 5, noreply: true },
        ),
        (b"delete k\r\n", Command::Delete { key, noreply: false }),
        (b"delete k 0\r\n", Command::Delete { key, noreply: false }),
        (b"delete k noreply\r\n", Command::Delete { key, noreply: true }),
        (b"delete k 0 noreply\r\n", Command::Delete { key, noreply: true }),
        (b"delete noreply\r\n", Command::Delete { key: b"noreply", noreply: false }),
        (b"touch k 9\r\n", Command::Touch { key, exptime: 9, noreply: false }),
        (b"flush_all\r\n", Command::FlushAll { delay: 0, noreply: false }),
        (b"flush_all noreply\r\n", Command::FlushAll { delay: 0, noreply: true }),
        (b"flush_all 10 noreply\r\n", Command::FlushAll { delay: 10, noreply: true }),
        (b"flush_all 10\r\n", Command::FlushAll { delay: 10, noreply: false }),
        (b"verbosity 2\r\n", Command::Verbosity { level: 2, noreply: false }),
        (b"cache_memlimit 64\r\n", Command::MemoryLimit { mebibytes: 64, noreply: false }),
        (b"version\r\n", Command::Version),
        (b"quit\r\n", Command::Quit),
        (b"shutdown\r\n", Command::Shutdown { graceful: false }),
        (b"shutdown graceful\r\n", Command::Shutdown { graceful: true }),
    ] {
        assert_eq!(one(line), Request::Text(command), "{}", line.escape_ascii());
    }
}

#[test]
fn retrievals_list_their_keys() {
    let Request::Text(Command::Get { keys, cas: false }) = one(b"get a  bb\tc d\r\n") else {
        panic!("not a get")
    };
    assert_eq!(keys.collect::<Vec<_>>(), [&b"a"[..], b"bb\tc", b"d"]);
    let Request::Text(Command::GetAndTouch { exptime: 30, keys, cas: true }) =
        one(b"gats 30 a b\r\n")
    else {
        panic!("not a gats")
    };
    assert_eq!(keys.collect::<Vec<_>>(), [&b"a"[..], b"b"]);
    let Request::Text(Command::Stats { arguments }) = one(b"stats items x\r\n") else {
        panic!("not stats")
    };
    assert_eq!(arguments.collect::<Vec<_>>(), [&b"items"[..], b"x"]);
    let long = [b"get".to_vec(), b" key".repeat(100_000), b"\r\n".to_vec()].concat();
    assert_eq!(hear(&long, (0..long.len()).step_by(1000)), ["get false 100000"]);
}

#[test]
fn meta_commands_carry_their_flags() {
    let Request::Meta(command) = one(b"ms Zm9v 2 b T60 F7 C9 MA q Oxyz I\r\nhi\r\n") else {
        panic!("not a meta command")
    };
    assert_eq!(command.verb, meta::Verb::Set);
    assert_eq!(command.data, b"hi");
    assert_eq!(command.key.text(), b"Zm9v");
    assert_eq!(command.key.bytes(&mut [0; size_of::<KeyBuffer>()]), b"foo");
    let flags = command.flags;
    assert_eq!((flags.exptime, flags.client_flags, flags.cas, flags.mode), (60, 7, 9, b'A'));
    assert_eq!(flags.opaque(), Some(&b"xyz"[..]));
    assert!(flags.has(b'q') && flags.has(b'I') && flags.has(b'C') && !flags.has(b'v'));
    let order: Vec<u8> = flags.iter().map(|(letter, _)| letter).collect();
    assert_eq!(order, b"bTFCMqOI");

    let Request::Meta(command) = one(b"ma k N0 J13 D23 v\r\n") else { panic!("not ma") };
    assert_eq!((command.flags.delta, command.flags.initial), (23, 13));
    let Request::Meta(command) = one(b"ma k\r\n") else { panic!("not ma") };
    assert_eq!(command.flags.delta, 1);
    let Request::Meta(command) = one(b"me Zm9v b\r\n") else { panic!("not me") };
    assert_eq!(command.key.bytes(&mut [0; 250]), b"foo");
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
fn says_how_many_bytes_a_big_value_needs() {
    let line = b"set k 0 0 1000000\r\n";
    let mut state = ParseState::new();
    let need_at_least = line.len() + 1_000_002;
    for end in [line.len(), line.len()] {
        let answer = parse(&line[..end], &Limits::default(), &mut state);
        assert_eq!(answer, Parsed::Incomplete { need_at_least });
    }
    let whole = [&line[..], &[b'v'; 1_000_000], b"\r\n"].concat();
    let answer = parse(&whole, &Limits::default(), &mut state);
    assert!(matches!(answer, Parsed::Complete { consumed, .. } if consumed == need_at_least));
}

#[test]
fn a_value_that_was_received_apart_makes_the_same_request() {
    let limits = Limits::default();
    for line in [
        "set k 7 60 5\r\n",
        "set k 7 60 5\n",
        "  add k 7 60 5 noreply\r\n",
        "cas k 0 0 5 9\r\n",
        "append k 0 0 5\r\n",
        "ms a2V5 5 b T60 F7 c q\r\n",
    ] {
        let line = line.as_bytes();
        let mut state = ParseState::new();
        assert_eq!(announced(line, &limits, &state), None, "nobody has looked yet");
        let begun = [line, b"val"].concat();
        let answer = parse(&begun, &limits, &mut state);
        assert!(matches!(answer, Parsed::Incomplete { .. }));
        let told = announced(&begun, &limits, &state).expect("a store");
        assert_eq!((told.line, told.len), (line.len(), 5));
        let whole = [line, b"value\r\n"].concat();
        assert_eq!(received(line, b"value", b"\r\n", &limits), Some(one(&whole)));
        let bad = received(line, b"value", b"e\r", &limits);
        let refusal = Refusal::BadDataChunk;
        assert!(matches!(bad, Some(Request::Refused { refusal: got, .. }) if got == refusal));
        let narrow = Limits { value_bytes_max: 4, ..limits };
        let refused = received(line, b"value", b"\r\n", &narrow);
        let is_too_large =
            matches!(refused, Some(Request::TooLarge { .. } | Request::MetaTooLarge { .. }));
        assert!(is_too_large, "{refused:?}");
    }
    let mut state = ParseState::new();
    assert!(matches!(parse(b"get k", &limits, &mut state), Parsed::Incomplete { .. }));
    assert_eq!(announced(b"get k", &limits, &state), None, "no value is to come");
    assert_eq!(received(b"get k\r\n", b"", b"\r\n", &limits), None);
}

#[test]
fn a_binary_request_says_what_is_to_come() {
    let mut bytes = vec![0x80, 1, 0, 1, 8, 0, 0, 0, 0, 0, 0, 14, 0, 0, 0, 0];
    bytes.extend([0; 8]);
    bytes.extend(*b"\0\0\0\x07\0\0\0\x3ckvalue");
    let told = binary::announced(&bytes[..33], &Limits::default()).expect("a store");
    assert_eq!((told.fixed, told.len, told.request.key), (33, 5, &b"k"[..]));
    let binary::Parsed::Complete { request, consumed } = binary::parse(&bytes, &Limits::default())
    else {
        panic!("it is whole");
    };
    assert_eq!(consumed, bytes.len());
    assert_eq!(binary::Request { value: b"value", ..told.request }, request);
    assert!(binary::announced(&bytes[..32], &Limits::default()).is_err(), "the key is missing");
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
