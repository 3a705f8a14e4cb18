//! Memcached's binary requests: the same whole and cut in two.
#![no_main]

use dolium_protocol::memcache::Limits;
use dolium_protocol::memcache::binary::{Operation, Parsed, parse};
use libfuzzer_sys::fuzz_target;

fn hear(stream: &[u8], cut: usize) -> Vec<String> {
    let limits = Limits { value_bytes_max: 1000, ..Limits::default() };
    let mut heard = Vec::new();
    // Bytes of refused values are passed over, whenever they come.
    let (mut start, mut skip) = (0, 0);
    for end in [cut, stream.len()] {
        loop {
            let passed = skip.min(end - start);
            (start, skip) = (start + passed, skip - passed);
            if skip > 0 {
                break;
            }
            let input = &stream[start..end];
            match parse(input, &limits) {
                Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    heard.push(format!("{request:?}"));
                    start += consumed;
                    match request.operation {
                        Operation::Refused { close: true, .. } => return heard,
                        Operation::Refused { skip: value, .. } => skip = value,
                        _ => {}
                    }
                }
                Parsed::Incomplete { need_at_least } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parsed::Close => {
                    heard.push("close".to_string());
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
