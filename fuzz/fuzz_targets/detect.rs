//! Detection: an answer once given is never taken back by more bytes.
#![no_main]

use dolium_protocol::detect::{Detected, Listener, detect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for listener in [Listener::Redis, Listener::Memcached, Listener::Http] {
        let mut first = Detected::NeedMore;
        for cut in 0..=data.len() {
            let now = detect(&data[..cut], listener);
            assert!(first == Detected::NeedMore || now == first);
            first = now;
        }
    }
});
