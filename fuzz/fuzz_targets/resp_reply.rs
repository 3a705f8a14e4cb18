//! RESP replies: skipping and decoding agree about where a reply ends, also when cut in two.
#![no_main]

use dolium_protocol::Parse;
use dolium_protocol::resp::reply::{SkipState, decode, skip};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else { return };
    let cut = usize::from(*choice) * stream.len() / 255;
    let whole = skip(stream, &mut SkipState::default());
    let mut state = SkipState::default();
    let cut_in_two = match skip(&stream[..cut], &mut state) {
        Parse::Incomplete { .. } => skip(stream, &mut state),
        ended => ended,
    };
    assert_eq!(cut_in_two, whole);
    match (whole, decode(stream)) {
        (Parse::Complete { consumed }, Ok(decoded)) => {
            assert_eq!(decoded.map(|(_, len)| len), Some(consumed));
        }
        // Decoding looks into blocks, and counts levels: it may refuse more.
        (_, Err(_)) => {}
        (Parse::Incomplete { .. }, Ok(decoded)) => assert!(decoded.is_none()),
        (Parse::Error(error), Ok(decoded)) => panic!("{error} but {decoded:?}"),
    }
});
