//! A stretch of pages that is to be emptied holds whole pages and no part of a large block, is the
//! cheapest there is, and nobody takes anything from it meanwhile.

mod small_arenas;

use dolium_engine::alloc::{Allocator, Drain, PageKind};
use dolium_engine::arena::Ref;
use small_arenas::allocator;
use std::collections::BTreeMap;

const UNIT: usize = 16 << 10;
const PAGE: u64 = 64 << 10;
/// A wide page is of blocks of this size, a narrow one of those below.
const WIDE: usize = 20_000;
const SIZES: [usize; 4] = [200, 3_000, WIDE, 5 * UNIT];

struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }
}

fn page_of(allocator: &Allocator, block: Ref) -> u64 {
    (block.offset() - allocator.arena().layout().data_at) / PAGE
}

/// Bytes of blocks in these pages, by what was taken; `None` where a large block or half of a wide page
/// is among them.
fn cost(
    allocator: &Allocator,
    live: &BTreeMap<Ref, usize>,
    pages: std::ops::Range<u64>,
) -> Option<u64> {
    let mut bytes = 0;
    for (&block, &size) in live {
        let first = page_of(allocator, block);
        let (first, last) = match size {
            WIDE => (first & !1, first | 1),
            _ if size > WIDE => (
                first,
                (block.offset() - allocator.arena().layout().data_at + size as u64 - 1) / PAGE,
            ),
            _ => (first, first),
        };
        let is_within = pages.contains(&first) && pages.contains(&last);
        let is_touched = first < pages.end && last >= pages.start;
        if size > WIDE && is_touched || size == WIDE && is_touched && !is_within {
            return None;
        }
        if is_within {
            bytes += size as u64;
        }
    }
    Some(bytes)
}

#[test]
fn a_stretch_is_the_cheapest_there_is() {
    let allocator = allocator(16 << 20);
    let slot = allocator.claim(1).expect("a slot");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut live: BTreeMap<Ref, usize> = BTreeMap::new();
    let (mut found, mut emptied) = (0, 0);
    for round in 0..if cfg!(miri) { 3 } else { 60 } {
        while let size = SIZES[random.below(4)]
            && let Some(block) = allocator.alloc(&slot, size, PageKind::Item)
        {
            live.insert(block, size);
        }
        let blocks: Vec<Ref> = live.keys().copied().collect();
        let stay = 2 + random.below(6);
        for block in blocks.into_iter().filter(|_| random.below(8) >= stay) {
            let size = live.remove(&block).expect("it was there");
            allocator.free(&slot, block, size, PageKind::Item);
        }
        slot.flush();
        let pages = 2 + random.below(20) as u32;
        let Some(candidate) = allocator.stretch_candidate(4 * pages, 0) else { continue };
        found += 1;
        let Drain::Stretch { first, pages: many } = candidate.drain else { panic!("a stretch") };
        assert_eq!(many, pages);
        let of = |first: u64| cost(&allocator, &live, first..first + u64::from(pages));
        let own = of(u64::from(first)).expect("whole pages without a large block");
        assert!(candidate.live_bytes >= own, "blocks are no smaller than what lies in them");
        // Blocks are up to an eighth larger, and pages that nobody has committed cost something too.
        let known = allocator.usage().committed / PAGE;
        let least = (0..known.saturating_sub(u64::from(pages))).filter_map(of).min();
        assert!(
            least.is_none_or(|least| own <= least + least / 4 + PAGE * 4),
            "{own} B in round {round}, and elsewhere {least:?}"
        );

        assert!(allocator.begin_drain(candidate.drain));
        assert!(!allocator.begin_drain(candidate.drain), "it is being emptied already");
        let mut there = Vec::new();
        allocator.drain_blocks(candidate.drain, |block, _| there.push(block));
        there.retain(|block| live.contains_key(block));
        let is_in = |block: Ref| {
            (u64::from(first)..u64::from(first + pages)).contains(&page_of(&allocator, block))
        };
        assert_eq!(there.len(), live.keys().filter(|block| is_in(**block)).count());
        let keeps_one = round % 4 == 0 && !there.is_empty();
        for block in there.into_iter().skip(usize::from(keeps_one)) {
            let size = live.remove(&block).expect("it was there");
            allocator.free(&slot, block, size, PageKind::Item);
            let new = allocator.alloc(&slot, 200, PageKind::Item);
            assert!(new.is_none_or(|new| !is_in(new)), "a block of what is being emptied");
            live.extend(new.map(|new| (new, 200)));
        }
        slot.flush();
        assert_eq!(allocator.end_drain(candidate.drain), !keeps_one);
        if !keeps_one {
            emptied += 1;
            let run = 4 * pages as usize * UNIT;
            let block = allocator.alloc(&slot, run, PageKind::Item).expect("units in a row");
            allocator.free(&slot, block, run, PageKind::Item);
        }
        allocator.verify_alloc().expect("sound");
    }
    assert!(cfg!(miri) || found > 30 && emptied > 20, "{found} found, {emptied} emptied");
}
