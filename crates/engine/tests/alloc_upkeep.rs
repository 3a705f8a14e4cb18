//! Memory ahead of need, memory given back, pages and extents emptied, figures read from outside.

#![cfg(not(miri))]

mod small_arenas;

use dolium_engine::alloc::statistics::{counters_sum, histogram_sum};
use dolium_engine::alloc::{Allocator, Drain, PageKind, SessionSlot};
use dolium_engine::arena::layout::EXTENT;
use dolium_engine::arena::{ArenaView, Ref};
use small_arenas::allocator;
use std::collections::HashMap;

const ITEM: PageKind = PageKind::Item;

/// Blocks the system really holds for the arena's file.
fn resident(allocator: &Allocator) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::File::from(allocator.arena().read_only_fd().unwrap());
    file.metadata().unwrap().blocks() * 512
}

#[test]
fn committed_is_what_the_system_holds_and_falls_when_extents_are_given_back() {
    let allocator = allocator(256 << 20);
    let slot = allocator.claim(1).unwrap();
    assert!(allocator.arena().committed() < 1 << 20);
    assert_eq!(resident(&allocator), allocator.arena().committed());
    let blocks: Vec<Ref> =
        (0..500_000).map(|_| allocator.alloc(&slot, 100, ITEM).unwrap()).collect();
    let large = allocator.alloc(&slot, 10 << 20, ITEM).unwrap();
    assert_eq!(resident(&allocator), allocator.arena().committed());
    let full = allocator.arena().committed();
    for block in blocks {
        allocator.free(&slot, block, 100, ITEM);
    }
    allocator.free(&slot, large, 10 << 20, ITEM);
    assert_eq!(allocator.arena().committed(), full);
    let released = allocator.release_empty_extents(4 << 20);
    assert!(released > 50 << 20, "{released}");
    assert_eq!(allocator.arena().committed(), full - released);
    assert_eq!(resident(&allocator), allocator.arena().committed());
    allocator.verify_alloc().unwrap();
    assert!(allocator.usage().free_bytes >= 4 << 20);
}

#[test]
fn memory_is_committed_ahead_within_the_limit_and_then_used_without_more() {
    let allocator = allocator(64 << 20);
    allocator.arena().set_limit(20 << 20);
    let slot = allocator.claim(1).unwrap();
    let ahead = allocator.commit_ahead(8 << 20, &|| true);
    assert!(ahead >= 8 << 20, "{ahead}");
    let before = allocator.arena().committed();
    for _ in 0..100_000 {
        allocator.alloc(&slot, 64, ITEM).unwrap();
    }
    assert_eq!(allocator.arena().committed(), before);
    allocator.commit_ahead(1 << 30, &|| true);
    assert!(allocator.arena().committed() <= 20 << 20);
    assert_eq!(allocator.commit_ahead(1 << 30, &|| false), 0);
    allocator.verify_alloc().unwrap();
}

#[test]
fn collapsing_keeps_every_byte_whether_the_system_agrees_or_not() {
    use dolium_engine::alloc::Collapse;
    let allocator = allocator(32 << 20);
    let slot = allocator.claim(1).unwrap();
    let bytes: Vec<u8> = (0..5 << 20).map(|i: u32| ((i * 7) >> 3) as u8).collect();
    let block = allocator.alloc(&slot, bytes.len(), ITEM).unwrap();
    allocator.arena().copy_in(block.offset(), &bytes);
    let before = allocator.arena().committed();
    let (mut done, mut refused) = (0, 0);
    loop {
        match allocator.collapse_step() {
            Collapse::Done => done += 1,
            Collapse::Refused => refused += 1,
            Collapse::Nothing => break,
        }
    }
    assert_eq!(done + refused, 2, "two extents are full");
    assert_eq!(allocator.collapse_refusals(), refused);
    assert!(allocator.arena().bytes_equal(block.offset(), &bytes));
    assert_eq!(allocator.arena().committed(), before);
    assert_eq!(resident(&allocator), before);
    allocator.verify_alloc().unwrap();
}

/// Nothing is left to be collapsed but the extent that was begun before, which is finished in steps; a
/// system that refuses leaves all.
fn assert_huge(allocator: &Allocator) {
    use dolium_engine::alloc::Collapse;
    let refused = allocator.collapse_refusals();
    let mut left = 0;
    while allocator.collapse_step() != Collapse::Nothing {
        left += 1;
    }
    let refuses = refused > 0 || allocator.collapse_refusals() > refused;
    assert!(left <= 1 || refuses, "{left} extents were committed as small pages");
}

/// Where much is wanted, memory comes as huge pages: what is charged is what the system holds, it
/// reads as zero and keeps what is written, and nothing of it is left to be collapsed.
#[test]
fn much_memory_ahead_comes_in_whole_extents() {
    use dolium_engine::alloc::Collapse;
    let allocator = allocator(256 << 20);
    let slot = allocator.claim(1).unwrap();
    // Small at first: steps.
    let first = allocator.alloc(&slot, 15 << 20, ITEM).unwrap();
    while allocator.collapse_step() != Collapse::Nothing {}
    let ahead = allocator.commit_ahead(40 << 20, &|| true);
    assert!(ahead >= 39 << 20, "{ahead}");
    assert_eq!(resident(&allocator), allocator.arena().committed());
    assert_huge(&allocator);
    let before = allocator.arena().committed();
    let bytes: Vec<u8> = (0..30 << 20).map(|i: u32| ((i * 7) >> 3) as u8).collect();
    let block = allocator.alloc(&slot, bytes.len(), ITEM).unwrap();
    assert!(allocator.arena().committed() <= before + (1 << 20));
    allocator.arena().copy_in(block.offset(), &bytes);
    assert!(allocator.arena().bytes_equal(block.offset(), &bytes));
    allocator.verify_alloc().unwrap();
    allocator.free(&slot, block, 30 << 20, ITEM);
    allocator.free(&slot, first, 15 << 20, ITEM);
    assert!(allocator.release_empty_extents(0) > 50 << 20);
    assert_eq!(resident(&allocator), allocator.arena().committed());
    allocator.verify_alloc().unwrap();
}

/// A store that grows steadily is short of a little at a time. What it was given then were small
/// pages for all of its life; a large one is given a huge page whenever it is short.
#[test]
fn a_large_store_that_is_short_of_little_is_given_a_whole_extent() {
    use dolium_engine::alloc::Collapse;
    let allocator = allocator(256 << 20);
    let slot = allocator.claim(1).unwrap();
    let first = allocator.alloc(&slot, 70 << 20, ITEM).unwrap();
    while allocator.collapse_step() != Collapse::Nothing {}
    let mut blocks = Vec::new();
    let (mut steps, mut wholes) = (0, 0);
    while wholes < 8 {
        match allocator.commit_ahead(3 << 19, &|| true) {
            0 => blocks.push(allocator.alloc(&slot, 300 << 10, ITEM).unwrap()),
            EXTENT => wholes += 1,
            // What is left of the extent that writers were in.
            less => steps += u64::from(less < EXTENT),
        }
        assert!(steps <= 1, "{steps} times small pages");
    }
    assert_huge(&allocator);
    assert_eq!(resident(&allocator), allocator.arena().committed());
    for block in blocks {
        allocator.free(&slot, block, 300 << 10, ITEM);
    }
    allocator.free(&slot, first, 70 << 20, ITEM);
    allocator.verify_alloc().unwrap();
}

/// Moves all blocks of what is being emptied, as the index would: it knows what is in use.
fn drain(
    allocator: &Allocator,
    slot: &SessionSlot,
    live: &mut HashMap<Ref, usize>,
    what: Drain,
) -> bool {
    if !allocator.begin_drain(what) {
        return false;
    }
    slot.poll();
    let mut blocks = Vec::new();
    allocator.drain_blocks(what, |block, _| blocks.push(block));
    for block in blocks {
        let Some(bytes) = live.remove(&block) else { continue };
        let new = allocator.alloc(slot, bytes, ITEM).unwrap();
        let mut copy = Vec::new();
        allocator.arena().copy_out(block.offset(), bytes, &mut copy);
        allocator.arena().copy_in(new.offset(), &copy);
        allocator.free(slot, block, bytes, ITEM);
        assert!(live.insert(new, bytes).is_none());
    }
    allocator.end_drain(what)
}

fn stamp(block: Ref, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (block.raw() as usize * 31 + i) as u8).collect()
}

#[test]
fn sizes_may_drift_and_memory_follows() {
    let allocator = allocator(512 << 20);
    let slot = allocator.claim(1).unwrap();
    let mut live: HashMap<Ref, usize> = HashMap::new();
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    let total = 40 << 20;
    // Each generation replaces the one before it in random order, one in ten of which stays.
    for bytes in [100, 1024, 60] {
        let mut old: Vec<(Ref, usize)> = live.iter().map(|(k, v)| (*k, *v)).collect();
        for i in (1..old.len()).rev() {
            old.swap(i, next() % (i + 1));
        }
        old.truncate(old.len() * 9 / 10);
        let mut held: usize = live.values().sum();
        loop {
            while held + bytes <= total {
                let block = allocator.alloc(&slot, bytes, ITEM).unwrap();
                held += bytes;
                live.insert(block, bytes);
            }
            let Some((block, bytes)) = old.pop() else { break };
            live.remove(&block);
            allocator.free(&slot, block, bytes, ITEM);
            held -= bytes;
        }
        allocator.verify_alloc().unwrap();
    }
    let before = allocator.usage();
    let worst = before.committed as f64 / before.live_bytes as f64;
    let (mut failures, mut drained) = (0, 0);
    while failures < 3 {
        let candidates = allocator.drain_candidates();
        if candidates.is_empty() {
            break;
        }
        for candidate in candidates {
            assert!(candidate.live_bytes < candidate.gained_bytes);
            let done = drain(&allocator, &slot, &mut live, candidate.drain);
            failures += !done as u32;
            drained += done as u32;
            assert!(drained < 5000, "pages are emptied without end");
        }
    }
    allocator.verify_alloc().unwrap();
    allocator.release_empty_extents(0);
    while let Some(candidate) = allocator.drain_extent_candidate(u64::MAX) {
        if !drain(&allocator, &slot, &mut live, candidate.drain) {
            break;
        }
        allocator.release_empty_extents(0);
    }
    allocator.verify_alloc().unwrap();
    let usage = allocator.usage();
    let ratio = usage.committed as f64 / usage.live_bytes as f64;
    eprintln!("committed / live: {worst:.3} before, {ratio:.3} after");
    assert!(worst > 1.2, "sizes did not drift: {worst}");
    assert!(ratio <= 1.15, "{ratio} (it was {worst})");
    assert_eq!(resident(&allocator), usage.committed);
    for (block, bytes) in live {
        allocator.free(&slot, block, bytes, ITEM);
    }
    drop(slot);
    assert_eq!(allocator.usage().live_bytes, 0);
    assert_eq!(allocator.faults(), 0);
}

#[test]
fn contents_survive_being_moved_and_stubborn_blocks_keep_their_page() {
    let allocator = allocator(64 << 20);
    let slot = allocator.claim(1).unwrap();
    let blocks: Vec<Ref> =
        (0..10_000).map(|_| allocator.alloc(&slot, 200, ITEM).unwrap()).collect();
    let mut kept = Vec::new();
    for (i, block) in blocks.into_iter().enumerate() {
        if i % 10 == 0 {
            allocator.arena().copy_in(block.offset(), &stamp(block, 200));
            kept.push(block);
        } else {
            allocator.free(&slot, block, 200, ITEM);
        }
    }
    slot.flush();
    let candidate = allocator.drain_candidates()[0];
    let Drain::Page(page) = candidate.drain else { panic!("a page") };
    assert!(allocator.begin_drain(candidate.drain));
    assert!(!allocator.begin_drain(candidate.drain), "it is being emptied already");
    let mut there = Vec::new();
    allocator.for_each_block(page, |block, kind| {
        assert_eq!(kind, ITEM);
        there.push(block);
    });
    there.retain(|block| kept.contains(block));
    assert!(!there.is_empty());
    for _ in 0..1000 {
        let block = allocator.alloc(&slot, 200, ITEM).unwrap();
        let within = block.offset() >> 16 == there[0].offset() >> 16;
        assert!(!within, "a block from a page that is being emptied");
        allocator.free(&slot, block, 200, ITEM);
    }
    assert!(!allocator.end_drain(candidate.drain), "nobody moved its blocks");
    for block in &kept {
        assert!(allocator.arena().bytes_equal(block.offset(), &stamp(*block, 200)));
    }
    slot.flush();
    allocator.verify_alloc().unwrap();
}

#[test]
fn figures_of_all_sessions_are_read_through_a_read_only_mapping() {
    let allocator = allocator(4 << 20);
    let view = ArenaView::open(allocator.arena().read_only_fd().unwrap()).unwrap();
    assert_eq!(counters_sum(&view, 5), 0);
    let (a, b) = (allocator.claim(1).unwrap(), allocator.claim(2).unwrap());
    assert_ne!(a.index(), b.index());
    a.count(5, 3);
    b.count(5, 4);
    b.count(127, 1);
    drop(b);
    for nanos in [10, 100, 1000, 1_000_000] {
        a.record(23, nanos);
    }
    assert_eq!(counters_sum(&view, 5), 7);
    assert_eq!(counters_sum(&view, 127), 1);
    let histogram = histogram_sum(&view, 23);
    assert_eq!(histogram.count(), 4);
    assert_eq!(histogram.sum_nanos, 1_001_110);
    assert_eq!(histogram.quantile(1.0), 1_000_000);
    assert!((1000..=1024).contains(&histogram.quantile(0.75)));
    assert_eq!(histogram_sum(&view, 22).count(), 0);
}

#[test]
fn slots_are_claimed_once_and_come_back() {
    let allocator = allocator(4 << 20);
    let slots: Vec<_> = (0..64).map(|_| allocator.claim(1).unwrap()).collect();
    assert!(allocator.claim(1).is_none());
    let committed = allocator.arena().committed();
    drop(slots);
    assert!(allocator.claim(1).is_some());
    assert_eq!(allocator.arena().committed(), committed);
}

#[test]
fn blocks_of_4096_bytes_are_aligned_and_kinds_never_share_a_page() {
    let allocator = allocator(16 << 20);
    let slot = allocator.claim(1).unwrap();
    let mut pages = HashMap::new();
    for i in 0..200 {
        let kind = if i % 2 == 0 { PageKind::Index } else { ITEM };
        let block = allocator.alloc(&slot, 4096, kind).unwrap();
        assert_eq!(block.offset() % 4096, 0);
        assert_eq!(*pages.entry(block.offset() >> 16).or_insert(kind), kind);
    }
    assert_eq!(allocator.usage().index_bytes, 100 * 4096);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "freed"))]
fn a_block_freed_twice_is_noticed() {
    let allocator = allocator(16 << 20);
    let slot = allocator.claim(1).unwrap();
    let block = allocator.alloc(&slot, 100_000, ITEM).unwrap();
    allocator.free(&slot, block, 100_000, ITEM);
    assert_eq!(allocator.faults(), 0);
    allocator.free(&slot, block, 100_000, ITEM);
    assert_eq!(allocator.faults(), 1);
}
