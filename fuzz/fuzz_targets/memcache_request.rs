//! Memcached text and meta requests: the same whole and cut in two.
#![no_main]

use dolium_protocol::memcache::{Limits, ParseState, Parsed, Request, parse};
use libfuzzer_sys::fuzz_target;

fn hear(stream: &[u8], cut: usize) -> Vec<String> {
    let limits = Limits { value_bytes_max: 1000, ..Limits::default() };
    let mut state = ParseState::new();
    let mut heard = Vec::new();
    let mut start = 0;
    for end in [cut, stream.len()] {
        loop {
            let input = &stream[start..end];
            match parse(input, &limits, &mut state) {
                Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    // A skipped data block may come in any number of pieces.
                    if request != Request::Nothing {
                        heard.push(format!("{request:?}"));
                    }
                    start += consumed;
                }
                Parsed::Incomplete { need_at_least } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parsed::Close(refusal) => {
                    heard.push(format!("{refusal:?}"));
                    return heard;
                }
            }
        }
    }
    heard
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else { return };
    let cut = usize::from(*choice) * stream.len() / 255;
    assert_eq!(hear(stream, cut), hear(stream, stream.len()));
});
