//! RESP requests: the same whole and cut in two, at a place that the first byte chooses.
#![no_main]

use dolium_protocol::Parse;
use dolium_protocol::resp::{ArgVec, Limits, ParseState, parse};
use libfuzzer_sys::fuzz_target;

type Heard = (Vec<Vec<Vec<u8>>>, bool);

fn hear(stream: &[u8], cut: usize) -> Heard {
    let (mut state, mut args) = (ParseState::new(), ArgVec::new());
    let mut requests = Vec::new();
    let mut start = 0;
    for end in [cut, stream.len()] {
        loop {
            let input = &stream[start..end];
            match parse(input, &Limits::default(), &mut state, &mut args) {
                Parse::Complete { consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    requests.push(args.view(input).iter().map(<[u8]>::to_vec).collect());
                    start += consumed;
                }
                Parse::Incomplete { need_at_least } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parse::Error(_) => return (requests, true),
            }
        }
    }
    (requests, false)
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else { return };
    let cut = usize::from(*choice) * stream.len() / 255;
    assert_eq!(hear(stream, cut), hear(stream, stream.len()));
});
