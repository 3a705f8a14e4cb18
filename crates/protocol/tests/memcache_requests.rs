//! One Memcached request: what it asks for, and what of it can be told before all of it has come.

use dolium_protocol::memcache::meta::{self, KeyBuffer};
use dolium_protocol::memcache::text::{Command, StoreVerb};
use dolium_protocol::memcache::{
    Limits, ParseState, Parsed, Refusal, Request, announced, binary, parse, received,
};

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
