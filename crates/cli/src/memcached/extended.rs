//! `-o`: extended options, separated by commas.

use super::options::{Options, number};
use super::{Refused, secured};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(super) fn take(options: &mut Options, list: &str) -> Result<(), Refused> {
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        one(options, name, value)?;
    }
    Ok(())
}

fn one(options: &mut Options, name: &str, value: Option<&str>) -> Result<(), Refused> {
    let missing = || Refused::plain(format!("Missing {name} argument"));
    let wanted = || value.ok_or_else(missing);
    let whole = || {
        let text = wanted()?;
        text.parse::<u32>()
            .map_err(|_| Refused::plain(format!("could not parse argument to {name}")))
    };
    let fixed = &mut options.setup.fixed;
    let live = &options.setup.live;
    match name {
        "modern" | "maxconns_fast" => {}
        "no_modern" => {
            fixed.slab_reassign = false;
            fixed.lru_maintainer = false;
            live.slab_automove.store(0, Relaxed);
            live.lru_crawler.store(false, Relaxed);
            live.lru_segmented.store(false, Relaxed);
        }
        "hashpower" => {
            fixed.hashpower_init = whole()?;
            if !(12..=32).contains(&fixed.hashpower_init) {
                return Err(Refused::plain("Initial hashtable multiplier must be 12 to 32"));
            }
        }
        "slab_reassign" => fixed.slab_reassign = true,
        "no_slab_reassign" => fixed.slab_reassign = false,
        "slab_automove" => {
            let level = value.map_or(1, |text| number(text).max(0));
            if level > 2 {
                return Err(Refused::plain("slab_automove must be between 0 and 2"));
            }
            live.slab_automove.store(level as u32, Relaxed);
        }
        "no_slab_automove" => live.slab_automove.store(0, Relaxed),
        "slab_automove_ratio" => percent(&live.slab_automove_ratio, wanted()?, name)?,
        "slab_automove_freeratio" => {
            if wanted()?.parse::<f64>().is_err() {
                return Err(Refused::plain(format!("could not parse argument to {name}")));
            }
            options.notice("-o slab_automove_freeratio: there is no external storage to move to");
        }
        "slab_automove_window" => fixed.slab_automove_window = whole()?,
        "slab_chunk_max" => {
            fixed.slab_chunk_max = whole()? as usize;
            options.slab_chunk_is_set = true;
        }
        "slab_sizes" => options.notice("-o slab_sizes: memory is not kept in slabs"),
        "no_chunked_items" => {
            options.notice("-o no_chunked_items: no item is kept in chunks");
        }
        "tail_repair_time" => {
            fixed.tail_repair_time = whole()?;
            options.notice("-o tail_repair_time: there is no LRU tail to repair");
        }
        "hash_algorithm" => {
            let algorithm = wanted()?;
            if !["jenkins", "murmur3", "xxh3"].contains(&algorithm) {
                return Err(Refused::plain(
                    "Unknown hash_algorithm option (jenkins, murmur3, xxh3)",
                ));
            }
            fixed.hash_algorithm = algorithm.into();
            options.notice("-o hash_algorithm: keys are hashed by rapidhash with a secret seed");
        }
        "no_hashexpand" => options.notice("-o no_hashexpand: the index grows a segment at a time"),
        "lru_crawler" => live.lru_crawler.store(true, Relaxed),
        "no_lru_crawler" => live.lru_crawler.store(false, Relaxed),
        "lru_crawler_sleep" => {
            let us = whole()?;
            if us > 1_000_000 {
                return Err(Refused::plain("lru_crawler_sleep must be 0 to 1000000"));
            }
            live.crawler_sleep_us.store(us, Relaxed);
        }
        "lru_crawler_tocrawl" => live.crawler_to_crawl.store(whole()?, Relaxed),
        "lru_maintainer" => {
            fixed.lru_maintainer = true;
            live.lru_segmented.store(true, Relaxed);
        }
        "no_lru_maintainer" => {
            fixed.lru_maintainer = false;
            live.lru_segmented.store(false, Relaxed);
        }
        "hot_lru_pct" => live.hot_pct.store(share(whole()?, name)?, Relaxed),
        "warm_lru_pct" => live.warm_pct.store(share(whole()?, name)?, Relaxed),
        "hot_max_factor" => percent(&live.hot_factor, wanted()?, name)?,
        "warm_max_factor" => percent(&live.warm_factor, wanted()?, name)?,
        "temporary_ttl" => {
            live.temporary_ttl.store(whole()?, Relaxed);
            live.temp_lru.store(true, Relaxed);
        }
        "idle_timeout" => options.idle_timeout = whole()?,
        "watcher_logbuf_size" => fixed.watcher_buffer_bytes = (whole()? as usize) << 10,
        "worker_logbuf_size" => fixed.worker_buffer_bytes = (whole()? as usize) << 10,
        "read_buf_mem_limit" => fixed.read_buffer_limit = (whole()? as usize) << 20,
        "resp_obj_mem_limit" => {
            options.notice("-o resp_obj_mem_limit: no longer used, see read_buf_mem_limit");
        }
        "track_sizes" => fixed.track_sizes = true,
        "inline_ascii_resp" | "no_inline_ascii_resp" => {
            options.notice("-o inline_ascii_resp: replies are written as they are sent");
        }
        "no_maxconns_fast" => {
            options.notice("-o no_maxconns_fast: connections beyond -c are refused, not kept");
        }
        "sock_cookie_id" => {
            // As Memcached: whatever the value is, it is no reason not to start.
            options.notice("-o sock_cookie_id: sockets get no mark for firewalls; go by the port");
        }
        "drop_privileges" | "no_drop_privileges" | "relaxed_privileges" => {}
        "redis_port" => options.redis_port = port(whole()?)?,
        "http_port" => options.http_port = port(whole()?)?,
        _ if name.starts_with("ext_") => {
            return Err(Refused::usage(format!(
                "-o {name}: there is no external storage; items are kept in memory, in about \
                 half of what Memcached takes for small ones"
            )));
        }
        _ if name.starts_with("ssl_") => secured::take(options, name, value)?,
        _ => return Err(Refused::plain(format!("Illegal suboption \"{name}\""))),
    }
    Ok(())
}

fn port(number: u32) -> Result<u16, Refused> {
    u16::try_from(number)
        .map_err(|_| Refused::usage(format!("ERROR: Invalid port number {number}.")))
}

fn share(percent: u32, name: &str) -> Result<u32, Refused> {
    match percent {
        1..80 => Ok(percent),
        _ => Err(Refused::plain(format!("{name} must be > 1 and < 80"))),
    }
}

fn percent(target: &AtomicU32, text: &str, name: &str) -> Result<(), Refused> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 => {
            target.store((factor * 100.0) as u32, Relaxed);
            Ok(())
        }
        _ => Err(Refused::plain(format!("{name} must be > 0"))),
    }
}
