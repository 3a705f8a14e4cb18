//! Limits, hits, odd numbers and words too many, with and without unique numbers: what Memcached
//! answers must be answered here.

mod memcache_harness;

use dolium_commands::memcache::UNIQUE_OFF;
use dolium_engine::Db;
use memcache_harness::Connection;
use memcache_harness::judge::{Judge, compare, compare_with};

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

#[test]
fn of_two_times_to_live_the_last_one_holds() {
    compare(
        "times",
        &[
            "mg a t N300\r\n",
            "mg b N300 T600 t\r\n",
            "mg c T600 N300 t\r\n",
            "mg d N-1\r\n",
            "mg d\r\n",
            "mg e T-1 N300 t\r\n",
            "ma f t N300\r\n",
            "ma g N300 T600 t v\r\n",
            "ma g T900 t\r\n",
            "ma g T-1 v\r\n",
            "ma g\r\n",
        ],
    );
}

#[test]
fn numbers_behind_a_minus() {
    let mut requests = Vec::new();
    for number in ["-0", "-00", "-1", "-9223372036854775808", "-9223372036854775809"] {
        let len = number.len();
        requests.push(format!("set n 0 0 {len}\r\n{number}\r\nincr n 1\r\nget n\r\n"));
        requests.push("set n 0 0 2\r\n10\r\n".into());
        requests.push(format!("incr n {number}\r\ndecr n {number}\r\nma n D{number} v\r\n"));
    }
    requests.push("decr n -18446744073709551615\r\nincr n -18446744073709551616\r\n".into());
    compare("minus", &requests.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn numbers_that_end_with_a_nul() {
    let mut requests = Vec::new();
    for number in
        ["5\0", "5\0x", "5 \0", " 7\0\0\0", "99\0", "-0\0", "\0", "\x005", "-\0", "5x\0", "-5\0"]
    {
        for count in ["incr n 1", "decr n 1", "ma n v", "ma n MD v"] {
            let len = number.len();
            requests.push(format!("set n 0 0 {len}\r\n{number}\r\n{count}\r\nget n\r\n"));
        }
    }
    compare("nul", &requests.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn administration() {
    compare(
        "administration",
        &[
            "cache_memlimit 1000000001\r\n",
            "cache_memlimit 4294967295\r\n",
            "cache_memlimit 7\r\n",
            "cache_memlimit -1\r\n",
            "cache_memlimit x\r\n",
            "lru_crawler metadump\r\n",
            "lru_crawler metadump all x\r\n",
            "lru_crawler metadump all noreply\r\n",
            "lru_crawler metadump 99\r\n",
            "lru_crawler mgdump\r\n",
            "lru_crawler mgdump all x\r\n",
            "lru_crawler enable x\r\n",
            "lru_crawler enable noreply\r\n",
            "lru_crawler disable x\r\n",
            "lru_crawler crawl\r\n",
            "lru_crawler crawl all x\r\n",
            "lru_crawler sleep 1 2\r\n",
            "lru_crawler sleep 5 noreply\r\n",
            "lru_crawler tocrawl 1 2\r\n",
            "lru_crawler sleep 5\r\n",
            "verbosity 0\r\nwatch\r\n",
            "version\r\nwatch nothing\r\n",
            "stats sizes\r\n",
            "stats sizes_enable\r\n",
            "set a 0 0 1\r\nx\r\nstats sizes\r\n",
            "stats sizes_disable\r\n",
            "stats sizes\r\n",
        ],
    );
}

#[test]
fn without_unique_numbers_all_are_0() {
    let mut ours = Connection::new();
    ours.server.watching.set(UNIQUE_OFF);
    ours.server.settings.fixed.unique_enabled = false;
    compare_with(
        Judge::start("without-unique", &["-C"]),
        ours,
        &[
            "set a 0 0 1\r\nx\r\ngets a\r\n",
            "mg a c v\r\n",
            "mg a c\r\n",
            "mg a c t T100\r\n",
            "ms a 1 c\r\ny\r\n",
            "gets a\r\nmg a c\r\ngats 0 a\r\n",
            "cas a 0 0 1 1\r\nz\r\ncas a 0 0 1 0\r\nz\r\n",
            "cas nope 0 0 1 1\r\nz\r\n",
            "ms a 1 C1 c\r\nz\r\n",
            "ms a 1 I C1\r\nz\r\n",
            "gets a\r\n",
            "set n 0 0 1\r\n1\r\nma n c\r\n",
            "ma n C1 c v\r\nma n C2 c v\r\n",
            "md n C1\r\nmd n C2\r\n",
            "mg new N30 c\r\n",
            "stats sizes_enable\r\n",
            "stats sizes\r\n",
            "stats sizes_disable\r\n",
        ],
    );
}

/// `md` with the number that the server itself shows was refused, and an appending with any.
#[test]
fn without_unique_numbers_0_is_the_one_to_delete_by() {
    let mut ours = Connection::new();
    ours.server.watching.set(UNIQUE_OFF);
    ours.server.settings.fixed.unique_enabled = false;
    compare_with(
        Judge::start("delete-by-0", &["-C"]),
        ours,
        &[
            "md none C0\r\n",
            "set a 0 0 1\r\nx\r\nmd a C5\r\nmd a C0\r\nmg a v\r\n",
            "set a 0 0 1\r\nx\r\nmd a C0 q\r\nmg a v\r\n",
            "set a 0 0 1\r\nx\r\nmd a C5 I\r\nmg a v c\r\n",
            "md a C0 I\r\nmg a v c\r\nmg a v c\r\n",
            "set a 0 0 1\r\nx\r\nmd a C0 I T30\r\nmg a v c t\r\n",
            "set a 0 0 1\r\nx\r\nms a 1 MA C5\r\nb\r\nms a 1 MP C5 c\r\nd\r\n",
            "ms a 1 MA C0\r\ne\r\nms a 1 MA I C5\r\nf\r\nmg a v c\r\n",
            "ms none 1 MA C5\r\nx\r\nms none 1 MP C5\r\nx\r\n",
            // What sets and counts goes on refusing.
            "ms a 1 C0\r\nx\r\nms a 1 C5\r\nx\r\nms a 1 MR C0\r\nx\r\nms a 1 C0 I\r\nx\r\n",
            "set n 0 0 1\r\n4\r\nma n C0 v\r\nma n C5 v\r\n",
        ],
    );
}

/// 1.6.18 has no `mgdump`; later versions refuse it as they do `metadump`.
#[test]
fn without_a_crawler_nothing_is_dumped() {
    let mut ours = Connection::new();
    let refusal = "CLIENT_ERROR lru crawler disabled\r\n";
    ours.expect("lru_crawler disable\r\nlru_crawler mgdump all\r\n", &format!("OK\r\n{refusal}"));
    ours.expect("lru_crawler mgdump 99\r\n", refusal);
    ours.expect("lru_crawler metadump all\r\nlru_crawler metadump 99\r\n", &refusal.repeat(2));
    ours.expect("version\r\nlru_crawler metadump 1\r\n", &format!("VERSION 1.6.18\r\n{refusal}"));
    ours.server.settings.fixed.dump_enabled = false;
    ours.expect("lru_crawler metadump all\r\n", refusal);
}

#[test]
fn without_unique_numbers_me_and_dumps_say_0() {
    let mut ours = Connection::new();
    ours.server.watching.set(UNIQUE_OFF);
    ours.server.settings.fixed.unique_enabled = false;
    let told = String::from_utf8(ours.send(b"ms a 1\r\nx\r\nme a\r\n")).expect("text");
    assert!(told.contains(" cas=0 "), "{told}");
    ours.expect("lru_crawler metadump all\r\n", "");
    let mut dump = ours.client.dump.take().expect("a dump under way");
    let mut out = Vec::new();
    let settings = &ours.server.settings;
    assert!(dump.step(settings, &ours.session, Db(0), ours.now, &mut out), "one piece");
    let told = String::from_utf8(out).expect("text");
    assert!(told.starts_with("key=a ") && told.contains(" cas=0 "), "{told}");
}
