//! Limits, hits, odd numbers and words too many, with and without unique numbers: what Memcached
//! answers must be answered here.

mod memcache_harness;

use memcache_harness::judge::compare;

#[test]
fn what_is_appended_to_stays_within_the_largest_item() {
    let half = "x".repeat(600_000);
    let put = |line: &str| format!("{line}\r\n{half}\r\nmg a s\r\n");
    compare(
        "append",
        &[
            &put("set a 3 0 600000"),
            &put("append a 0 0 600000"),
            &put("prepend a 0 0 600000"),
            &put("append a 0 0 600000 noreply"),
            &put("ms a 600000 MA O1 k"),
            &put("ms a 600000 MP q O2"),
            &put("ms a 600000 MA C999999999"),
            &format!("append a 0 0 400000\r\n{}\r\nmg a s f\r\n", &half[..400_000]),
            "append b 0 0 1\r\nx\r\nmg b v\r\n",
        ],
    );
}
