//! RESP requests: what is accepted, what is refused and in which words, and that neither depends
//! on how the stream was cut. The texts were taken from Redis 7.0.15.

use dolium_protocol::Parse;
use dolium_protocol::resp::{ArgVec, Limits, ParseError, ParseState, RespWriter, Version, parse};
use proptest::prelude::*;

/// What a server makes of a stream: each request's arguments, then perhaps an error's text.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
struct Heard {
    requests: Vec<Vec<Vec<u8>>>,
    refused: Option<Vec<u8>>,
    /// Bytes that belong to no whole request yet.
    left: usize,
}

/// Feeds `stream` in pieces that end at `cuts`.
fn hear(stream: &[u8], cuts: impl IntoIterator<Item = usize>, limits: &Limits) -> Heard {
    let (mut state, mut args) = (ParseState::new(), ArgVec::new());
    let mut heard = Heard::default();
    let mut start = 0;
    for end in cuts.into_iter().chain([stream.len()]) {
        loop {
            let input = &stream[start..end];
            match parse(input, limits, &mut state, &mut args) {
                Parse::Complete { consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    if !args.is_empty() {
                        let request = args.view(input).iter().map(<[u8]>::to_vec).collect();
                        heard.requests.push(request);
                    }
                    start += consumed;
                }
                Parse::Incomplete { need_at_least } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parse::Error(error) => {
                    let mut out = Vec::new();
                    error.write(&mut RespWriter::new(&mut out, Version::V2));
                    heard.refused = Some(out);
                    heard.left = 0;
                    return heard;
                }
            }
        }
    }
    heard.left = stream.len() - start;
    heard
}

fn whole(stream: &[u8]) -> Heard {
    hear(stream, [], &Limits::default())
}

fn byte_by_byte(stream: &[u8], limits: &Limits) -> Heard {
    hear(stream, 0..stream.len(), limits)
}

#[test]
fn accepts_what_redis_accepts() {
    for (stream, requests) in [
        (&b"*1\r\n$4\r\nPING\r\n"[..], &[&[&b"PING"[..]][..]][..]),
        (b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", &[&[b"GET", b""]]),
        (b"*0\r\n*-1\r\n*-10\r\n\r\n\n*1\r\n$1\r\nx\r\n", &[&[b"x"]]),
        (b"*-9223372036854775808\r\nping\r\n", &[&[b"ping"]]),
        (b"ping\n", &[&[b"ping"]]),
        (b"ping\r\r\n", &[&[b"ping"]]),
        (b"ECHO \"a b\"\r\nping\r\n", &[&[b"ECHO", b"a b"], &[b"ping"]]),
        // The bytes after a length and after a bulk are skipped, not compared.
        (b"*1\r\n$4\rXPINGXXping\r\n", &[&[b"PING"], &[b"ping"]]),
    ] {
        let heard = whole(stream);
        let expected: Vec<Vec<Vec<u8>>> = requests
            .iter()
            .map(|request| request.iter().map(|arg| arg.to_vec()).collect())
            .collect();
        assert_eq!(heard.requests, expected, "{}", stream.escape_ascii());
        assert_eq!((heard.refused.clone(), heard.left), (None, 0));
        assert_eq!(byte_by_byte(stream, &Limits::default()), heard);
    }
}

#[test]
fn refuses_in_the_words_of_redis() {
    let long = |prefix: &[u8]| [prefix, &[b'1'; 65_600]].concat();
    for (stream, text) in [
        (b"*3000000000\r\n".to_vec(), "invalid multibulk length"),
        (b"*2147483648\r\n".to_vec(), "invalid multibulk length"),
        (b"*-9223372036854775809\r\n".to_vec(), "invalid multibulk length"),
        (b"*01\r\n".to_vec(), "invalid multibulk length"),
        (b"*+1\r\n".to_vec(), "invalid multibulk length"),
        (b"*-0\r\n".to_vec(), "invalid multibulk length"),
        (b"*\r\n".to_vec(), "invalid multibulk length"),
        (b"*1\n$4\nPING\r\n".to_vec(), "invalid multibulk length"),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n".to_vec(), "expected '$', got 'f'"),
        (b"*1\r\nfoo\r\n".to_vec(), "expected '$', got 'f'"),
        (b"*1\r\n\r\n".to_vec(), "expected '$', got ' '"),
        (b"*1\r\r\n$4\r\nPING\r\n".to_vec(), "expected '$', got ' '"),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$-10\r\n".to_vec(), "invalid bulk length"),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$2000000000\r\n".to_vec(), "invalid bulk length"),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$blabla\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$04\r\nPING\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$536870913\r\n".to_vec(), "invalid bulk length"),
        (long(b"*"), "too big mbulk count string"),
        (long(b"*1\r\n$"), "too big bulk count string"),
        (long(b"x"), "too big inline request"),
        ([long(b"x"), b"\r\n".to_vec()].concat(), "too big inline request"),
        ([long(b"\0"), b"\r\n".to_vec()].concat(), "too big inline request"),
        ([long(b"*\0"), b"\r\n".to_vec()].concat(), "too big mbulk count string"),
        ([long(b"*1\r\n$\0"), b"\r\n".to_vec()].concat(), "too big bulk count string"),
        (b"ping \"a\r\n".to_vec(), "unbalanced quotes in request"),
        (b"ping 'a'b\r\n".to_vec(), "unbalanced quotes in request"),
    ] {
        let heard = whole(&stream);
        let expected = format!("-ERR Protocol error: {text}\r\n").into_bytes();
        assert_eq!(
            heard.refused,
            Some(expected),
            "{}",
            stream[..stream.len().min(60)].escape_ascii()
        );
        assert_eq!(byte_by_byte(&stream, &Limits::default()), heard);
    }
}

#[test]
fn a_nul_hides_the_line_end_as_in_redis() {
    for stream in [&b"ping\x00x\r\nping\r\n"[..], b"*1\r\n\x00\r\n", b"ping \"\x00\"\r\n"] {
        let heard = whole(stream);
        assert!(heard.requests.is_empty() && heard.refused.is_none() && heard.left > 0);
    }
}

#[test]
fn a_client_that_must_authenticate_gets_little_room() {
    let limits = Limits::default().with_authenticated(false);
    let ten = [b"*10\r\n".to_vec(), b"$1\r\na\r\n".repeat(10)].concat();
    assert_eq!(hear(&ten, [], &limits).requests.len(), 1);
    assert_eq!(
        byte_by_byte(b"*11\r\n", &limits).refused,
        Some(b"-ERR Protocol error: unauthenticated multibulk length\r\n".to_vec())
    );
    let most = [b"*1\r\n$16384\r\n".to_vec(), vec![b'a'; 16_386]].concat();
    assert_eq!(hear(&most, [], &limits).requests.len(), 1);
    assert_eq!(
        byte_by_byte(b"*1\r\n$16385\r\n", &limits).refused,
        Some(b"-ERR Protocol error: unauthenticated bulk length\r\n".to_vec())
    );
}

#[test]
fn limits_are_settable_within_their_bounds() {
    let (mut state, mut args) = (ParseState::new(), ArgVec::new());
    let limits = Limits::default().with_bulk_bytes_max(2 << 20);
    let at = b"*1\r\n$2097152\r\n";
    let need_at_least = at.len() + (2 << 20) + 2;
    assert_eq!(parse(at, &limits, &mut state, &mut args), Parse::Incomplete { need_at_least });
    state.reset();
    let above = b"*1\r\n$2097153\r\n";
    let refused = parse(above, &limits, &mut state, &mut args);
    assert_eq!(refused, Parse::Error(ParseError::InvalidBulkLength));
    state.reset();
    let limits = limits.with_request_bytes_max(1 << 20);
    let refused = parse(at, &limits, &mut state, &mut args);
    assert_eq!(refused, Parse::Error(ParseError::RequestTooLong));
    // Asked for less than Redis allows, a limit is Redis' least.
    state.reset();
    let limits = Limits::default().with_bulk_bytes_max(1);
    let least = b"*1\r\n$1048576\r\n";
    assert!(matches!(parse(least, &limits, &mut state, &mut args), Parse::Incomplete { .. }));
}

#[test]
fn says_how_many_bytes_a_big_bulk_needs() {
    let (mut state, mut args) = (ParseState::new(), ArgVec::new());
    let head = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n";
    let total = head.len() + 1_000_002;
    let mut input = head.to_vec();
    for _ in 0..3 {
        let answer = parse(&input, &Limits::default(), &mut state, &mut args);
        assert_eq!(answer, Parse::Incomplete { need_at_least: total });
        assert!(state.is_in_request());
        input.extend([b'v'; 1000]);
    }
    input.resize(total, b'v');
    let answer = parse(&input, &Limits::default(), &mut state, &mut args);
    assert_eq!(answer, Parse::Complete { consumed: total });
    assert_eq!(args.view(&input).arg(2).len(), 1_000_000);
    assert!(!state.is_in_request());
}

/// One `ArgVec` serves many connections while their requests are unfinished.
#[test]
fn connections_may_share_an_arg_vec() {
    let streams: Vec<Vec<u8>> = (0..10)
        .map(|connection| {
            let arg = format!("$10\r\nconn{connection:06}\r\n");
            [b"*20\r\n".to_vec(), arg.into_bytes().repeat(20)].concat()
        })
        .collect();
    let mut states: Vec<ParseState> = (0..10).map(|_| ParseState::new()).collect();
    let mut args = ArgVec::new();
    let len = streams[0].len();
    for end in (0..len).step_by(7) {
        for (stream, state) in streams.iter().zip(&mut states) {
            let answer = parse(&stream[..end], &Limits::default(), state, &mut args);
            assert!(matches!(answer, Parse::Incomplete { .. }));
        }
    }
    for (number, (stream, state)) in streams.iter().zip(&mut states).enumerate() {
        let answer = parse(stream, &Limits::default(), state, &mut args);
        assert_eq!(answer, Parse::Complete { consumed: len });
        let expected = format!("conn{number:06}").into_bytes();
        assert!(args.len() == 20 && args.view(stream).iter().all(|arg| arg == expected));
    }
}

#[test]
fn a_copy_of_the_arguments_outlives_the_input() {
    let (mut state, mut args) = (ParseState::new(), ArgVec::new());
    for input in [&b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\nvv\r\n"[..], b"SET '' vv\r\n"] {
        let answer = parse(input, &Limits::default(), &mut state, &mut args);
        assert_eq!(answer, Parse::Complete { consumed: input.len() });
        let copy = ArgVec::copy_of(&args.view(input));
        assert_eq!(copy.len(), 3);
        assert!(copy.view(b"").iter().eq([&b"SET"[..], b"", b"vv"]));
    }
}

/// 100,000 arguments in 16 KiB pieces: each byte is read once, so this takes milliseconds.
#[test]
fn a_huge_request_in_pieces_is_read_once() {
    let count = 100_001;
    let stream =
        [format!("*{count}\r\n").into_bytes(), b"$10\r\n0123456789\r\n".repeat(count)].concat();
    let began = std::time::Instant::now();
    let heard = hear(&stream, (0..stream.len()).step_by(64), &Limits::default());
    assert_eq!(heard.requests.len(), 1);
    assert_eq!(heard.requests[0].len(), count);
    // Reading all of it anew for each of 25,000 pieces would take minutes.
    assert!(began.elapsed().as_secs() < 10);
}

fn request() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let arg = prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..12),
        1 => prop::collection::vec(any::<u8>(), 90..130),
        1 => prop::collection::vec(any::<u8>(), 9_990..10_010),
    ];
    prop::collection::vec(arg, 1..13)
}

fn encode(request: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RespWriter::new(&mut out, Version::V2);
    writer.array(request.len());
    request.iter().for_each(|arg| writer.bulk(arg));
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_survive_any_cut(
        requests in prop::collection::vec(request(), 1..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let stream: Vec<u8> = requests.iter().flat_map(|request| encode(request)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.sort_unstable();
        let expected = Heard { requests, refused: None, left: 0 };
        prop_assert_eq!(&hear(&stream, cuts, &Limits::default()), &expected);
        prop_assert_eq!(&hear(&stream, 0..stream.len(), &Limits::default()), &expected);
    }

    /// Also for nonsense: the same requests and the same refusal, however it was cut.
    #[test]
    fn nonsense_is_refused_the_same_at_any_cut(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "*1\r\n", "*2\r\n", "*12\r\n", "*-1\r\n", "$0\r\n", "$1\r\n", "$4\r\n",
                "$00012\r\n", "$99999\r\n", "\r\n", "\r", "\n", "\0", "PING", "a b", "\"", "'",
                "\\", "*", "$",
            ]),
            0..30,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..10),
    ) {
        let stream = pieces.concat().into_bytes();
        let limits = Limits::default();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let expected = hear(&stream, [], &limits);
        prop_assert_eq!(&hear(&stream, cuts, &limits), &expected);
        prop_assert_eq!(&byte_by_byte(&stream, &limits), &expected);
    }
}
