//! The commands by which Memcached's memory is tuned: lru, slabs, lru_crawler, watch, shutdown.
//!
//! This store has one eviction (S3-FIFO), one sweep for expired items and an allocator that empties
//! pages by itself. Each of these commands is answered in Memcached's form; what it sets is shown by
//! `stats settings`, and it acts where there is something to act on: `temp_ttl` spares items with
//! little time left from eviction, `crawl` sweeps, `reassign` takes memory from a class.

use super::classes::CLASSES_MAX;
use super::events::{stream, stream_of};
use super::{McContext, dump};
use crate::context::Flow;
use dolium_protocol::memcache::{Words, write};
use std::sync::atomic::Ordering::Relaxed;

const BAD_LINE: &str = "CLIENT_ERROR bad command line format";
pub(super) const CRAWLER_DISABLED: &str = "CLIENT_ERROR lru crawler disabled";

pub(super) fn run(context: &mut McContext<'_>, name: &[u8], words: Words<'_>) -> Flow {
    let mut list = [&b""[..]; 8];
    let mut count = 0;
    for word in words {
        if count == list.len() {
            break;
        }
        list[count] = word;
        count += 1;
    }
    let words_list = &list[..count];
    if name == b"lru_crawler" {
        match words_list {
            [b"metadump", which] => return dump::begin(context, true, which),
            [b"mgdump", which] => return dump::begin(context, false, which),
            _ => {}
        }
    }
    if name == b"watch" {
        watch(context, words);
        return Flow::Continue;
    }
    if name == b"refresh_certs" {
        match context.server.refresh_certificates() {
            Ok(()) => write::line(context.out, "OK"),
            Err(why) => write::line(context.out, &why),
        }
        return Flow::Continue;
    }
    // A word too many for `lru_crawler`, which answers all the same.
    let noreply = name != b"lru_crawler" && words_list.last() == Some(&&b"noreply"[..]);
    let reply = match name {
        b"lru" => lru(context, words_list),
        b"slabs" => slabs(context, words_list),
        b"lru_crawler" => crawler(context, words_list),
        _ => extstore(words_list),
    };
    if !noreply {
        write::line(context.out, reply);
    }
    Flow::Continue
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn lru(context: &McContext<'_>, words: &[&[u8]]) -> &'static str {
    let live = &context.server.settings().live;
    match words {
        [b"tune", hot, warm, hot_factor, warm_factor, ..] => {
            let percents = (number::<u32>(hot), number::<u32>(warm));
            let factors = (number::<f64>(hot_factor), number::<f64>(warm_factor));
            let ((Some(hot), Some(warm)), (Some(hot_factor), Some(warm_factor))) =
                (percents, factors)
            else {
                return "ERROR";
            };
            if hot.saturating_add(warm) > 80 {
                "ERROR hot and warm pcts must not exceed 80"
            } else if hot_factor <= 0.0 || warm_factor <= 0.0 {
                "ERROR hot/warm age factors must be greater than 0"
            } else {
                live.hot_pct.store(hot, Relaxed);
                live.warm_pct.store(warm, Relaxed);
                live.hot_factor.store((hot_factor * 100.0) as u32, Relaxed);
                live.warm_factor.store((warm_factor * 100.0) as u32, Relaxed);
                "OK"
            }
        }
        [b"mode", b"flat", ..] => {
            live.lru_segmented.store(false, Relaxed);
            "OK"
        }
        [b"mode", b"segmented", ..] => {
            live.lru_segmented.store(true, Relaxed);
            "OK"
        }
        [b"temp_ttl", ttl, ..] => match number::<i64>(ttl) {
            None => "ERROR",
            Some(ttl) => {
                if let Ok(ttl) = u32::try_from(ttl) {
                    live.temporary_ttl.store(ttl, Relaxed);
                }
                live.temp_lru.store(ttl >= 0, Relaxed);
                context.server.apply_live();
                "OK"
            }
        },
        _ => "ERROR",
    }
}

fn slabs(context: &McContext<'_>, words: &[&[u8]]) -> &'static str {
    let settings = context.server.settings();
    let live = &settings.live;
    match words {
        [b"reassign", source, target, ..] => {
            let (Some(source), Some(target)) = (number::<i64>(source), number::<i64>(target))
            else {
                return BAD_LINE;
            };
            let classes = settings.classes.count() as i64;
            if source == target {
                "SAME src and dst class are identical"
            } else if !(-1..=classes).contains(&source) || !(0..=classes).contains(&target) {
                "BADCLASS invalid src or dst class id"
            } else {
                context.server.reassign(context.session, source, target as usize, context.now)
            }
        }
        [b"automove", b"ratio", ratio, ..] => match number::<f64>(ratio) {
            Some(ratio) => {
                live.slab_automove_ratio.store((ratio * 100.0) as u32, Relaxed);
                "OK"
            }
            None => "ERROR",
        },
        [b"automove", b"ratio"] => "ERROR",
        [b"automove", level, ..] => match number::<u32>(level) {
            Some(level @ 0..=2) => {
                live.slab_automove.store(level, Relaxed);
                "OK"
            }
            Some(_) => "ERROR",
            None => BAD_LINE,
        },
        _ => "ERROR",
    }
}

/// There is no external storage here. Who reserves memory for it in advance, as its tools do, is not in the
/// way; what else is set would have to be shown.
fn extstore(words: &[&[u8]]) -> &'static str {
    match words {
        [b"free_memchunks", class, count, ..]
            if number::<u32>(class).is_some_and(|class| class <= CLASSES_MAX as u32)
                && number::<u32>(count).is_some() =>
        {
            "OK"
        }
        _ => "ERROR",
    }
}

fn crawler(context: &McContext<'_>, words: &[&[u8]]) -> &'static str {
    let settings = context.server.settings();
    let live = &settings.live;
    match words {
        [b"enable"] => match live.lru_crawler.swap(true, Relaxed) {
            true => "ERROR failed to start lru crawler thread",
            false => "OK",
        },
        [b"disable"] => {
            live.lru_crawler.store(false, Relaxed);
            "OK"
        }
        [b"crawl", which] => {
            if !live.lru_crawler.load(Relaxed) {
                return CRAWLER_DISABLED;
            }
            match dump::class_bits(settings, which) {
                _ if *which == b"all" => {}
                None => return "BADCLASS invalid class id",
                Some(0) => return "NOTSTARTED no items to crawl",
                Some(_) => {}
            }
            context.server.crawl();
            "OK"
        }
        [b"sleep", us] => match number::<u32>(us) {
            Some(us @ 0..=1_000_000) => {
                live.crawler_sleep_us.store(us, Relaxed);
                "OK"
            }
            Some(_) => "CLIENT_ERROR sleep must be one second or less",
            None => BAD_LINE,
        },
        [b"tocrawl", count] => match number::<u32>(count) {
            Some(count) => {
                live.crawler_to_crawl.store(count, Relaxed);
                "OK"
            }
            None => BAD_LINE,
        },
        _ => "ERROR",
    }
}

/// `watch [stream ...]`: from now on the connection gets lines and gives nothing.
fn watch(context: &mut McContext<'_>, words: Words<'_>) {
    if !context.server.settings().fixed.watch_enabled {
        return write::line(context.out, "CLIENT_ERROR watch commands not allowed");
    }
    if context.has_unsent() {
        return write::line(context.out, "ERROR cannot pipeline other commands before watch");
    }
    let mut streams = 0;
    let mut any = false;
    for word in words {
        any = true;
        match stream_of(word) {
            Some(bit) => streams |= bit,
            None => return write::line(context.out, "ERROR"),
        }
    }
    if !any {
        streams = stream::FETCHERS;
    }
    write::line(context.out, "OK");
    context.client.watching = true;
    context.server.watch(context.client.id, streams);
}

/// `shutdown [graceful]`, which `-A` allows. `None` for the mode: it was none of the two.
pub(super) fn shutdown(context: &mut McContext<'_>, graceful: Option<bool>) -> Flow {
    if !context.server.settings().fixed.shutdown_enabled {
        write::line(context.out, "ERROR: shutdown not enabled");
        return Flow::Continue;
    }
    match graceful {
        None => {
            write::line(context.out, "CLIENT_ERROR invalid shutdown mode");
            Flow::Continue
        }
        Some(graceful) => {
            context.server.shutdown(graceful);
            Flow::Close
        }
    }
}
