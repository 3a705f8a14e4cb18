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

#[test]
fn a_read_is_no_hit_before_itself() {
    compare(
        "hits",
        &[
            "ms a 1\r\nx\r\nmd a I\r\n",
            "mg a h\r\n",
            "mg a h\r\n",
            "ms e 1\r\nx\r\nmd e I\r\n",
            "mg e h v\r\n",
            "mg e h v\r\n",
            "mg b N30 u h\r\n",
            "mg b h v\r\n",
            "mg b h v\r\n",
            "mg c N30 h\r\n",
            "mg c h\r\n",
            "ms d 1\r\nx\r\nmd d I\r\n",
            "mg d h u v l\r\n",
            "mg d h u\r\n",
            "mg d h l\r\n",
            "mg d h\r\n",
        ],
    );
}

#[test]
fn a_refused_add_is_no_hit() {
    let refused = "add a 0 0 1\r\ny\r\nms a 1 ME\r\ny\r\ncas a 0 0 1 999999999\r\nz\r\n";
    let request = format!("{refused}mg a h u\r\nmg a h\r\nmg a h\r\n");
    compare("add", &["set a 0 0 1\r\nx\r\n", &request]);
}
