//! HTTP requests: the same whole and cut in two.
#![no_main]

use dolium_protocol::http::{Limits, ParseState, Parsed, parse, percent_decode};
use libfuzzer_sys::fuzz_target;

fn hear(stream: &[u8], cut: usize) -> Vec<String> {
    let limits = Limits { body_bytes_max: 1000 };
    let mut state = ParseState::new();
    let mut heard = Vec::new();
    let mut start = 0;
    for end in [cut, stream.len()] {
        loop {
            let input = &stream[start..end];
            match parse(input, &limits, &mut state) {
                Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    let body: usize = request.body.pieces().map(<[u8]>::len).sum();
                    assert_eq!(body, request.body.len());
                    let decoded = percent_decode(request.path, &mut Vec::new());
                    heard.push(format!("{request:?} {decoded:?}"));
                    start += consumed;
                }
                Parsed::Incomplete { need_at_least, .. } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parsed::Error(error) => {
                    heard.push(format!("{error:?}"));
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
