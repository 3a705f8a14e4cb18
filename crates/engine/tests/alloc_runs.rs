//! Large blocks lie at the lowest place there is, whatever their lengths and wherever extents end.

mod small_arenas;

use dolium_engine::alloc::PageKind;
use dolium_engine::arena::Ref;
use small_arenas::allocator;

const UNIT: usize = 16 << 10;
/// 48 KiB, the shortest run.
const SHORTEST: usize = 3;
/// Five extents and a half, so that runs cross two ends of extents, too.
const LONGEST: usize = 700;

struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }
}

/// The lowest `units` clear places in a row, tried one after the other.
fn lowest(used: &[bool], units: usize) -> Option<usize> {
    used.windows(units).position(|places| !places.contains(&true))
}

/// A store at its limit told that there was room for a value, and refused it: what describes a new extent takes some
/// 20 KiB, and so much was missing. All that went meanwhile went for nothing, and again with the next try.
#[test]
fn what_describes_a_new_extent_is_part_of_what_a_run_takes() {
    let units = 49;
    let step = 256 << 10;
    // In steps of a system page; an interpreter takes some of them.
    let finely = if cfg!(miri) { 64 << 10 } else { 4 << 10 };
    let least = (units * UNIT).next_multiple_of(step) as u64;
    let mut told = 0;
    for more in (0..2 * step as u64).step_by(finely) {
        let allocator = allocator(64 << 20);
        let slot = allocator.claim(1).expect("a slot");
        let arena = allocator.arena();
        arena.set_limit(arena.committed() + least + more);
        while allocator.can_serve(units * UNIT, units * UNIT, PageKind::Item, 0) {
            told += 1;
            let block = allocator.alloc(&slot, units * UNIT, PageKind::Item);
            assert!(block.is_some(), "{more} bytes more than {least}");
        }
    }
    assert!(told > 2, "{told} times");
}

#[test]
fn a_run_takes_the_lowest_place_that_is_long_enough() {
    let allocator = allocator(64 << 20);
    let slot = allocator.claim(1).expect("a slot");
    let first_unit = |block: Ref| {
        let from_data = block.offset() - allocator.arena().layout().data_at;
        from_data as usize / UNIT
    };
    let alloc = |units: usize| allocator.alloc(&slot, units * UNIT, PageKind::Item);
    let free = |block, units: usize| allocator.free(&slot, block, units * UNIT, PageKind::Item);

    // All memory is committed once, so that any free place will do from here on.
    let all: Vec<Ref> = std::iter::from_fn(|| alloc(SHORTEST)).collect();
    assert_eq!(first_unit(all[0]), 0);
    let mut used = vec![false; all.len() * SHORTEST];
    assert!(used.len() > 4 * LONGEST, "{} units are too few", used.len());
    all.into_iter().for_each(|block| free(block, SHORTEST));

    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut runs: Vec<(Ref, usize)> = Vec::new();
    let (mut crossing, mut refilled) = (0, 0);
    for round in 0..if cfg!(miri) { 100 } else { 6_000 } {
        let units = match random.below(8) {
            0 => SHORTEST + random.below(LONGEST - SHORTEST),
            1 | 2 => 100 + random.below(60),
            _ => SHORTEST + random.below(20),
        };
        let place = lowest(&used, units);
        // More takes than gives until it is nearly full, and then the reverse.
        let takes = random.below(8) < if round / 400 % 2 == 0 { 5 } else { 3 };
        if takes && let Some(place) = place {
            let block = alloc(units).expect("there is a place");
            assert_eq!(first_unit(block), place, "{units} units in round {round}");
            crossing += usize::from(place / 128 != (place + units - 1) / 128);
            refilled += usize::from(used[place..].contains(&true));
            used[place..place + units].fill(true);
            runs.push((block, units));
        } else if !runs.is_empty() {
            let (block, units) = runs.swap_remove(random.below(runs.len()));
            free(block, units);
            used[first_unit(block)..][..units].fill(false);
        }
        if round % 50 == 0 {
            allocator.verify_alloc().expect("sound");
        }
    }
    assert!(cfg!(miri) || crossing > 300 && refilled > 300, "{crossing} {refilled}");
}

/// An extent was counted for emptying by the units in it alone. So one in which the first units of a
/// value of ten megabytes lay was the cheapest there was, and all ten were moved for the sake of two.
#[test]
fn a_long_run_counts_as_a_whole_where_it_begins() {
    const EXTENT: usize = 128;
    let allocator = allocator(64 << 20);
    let slot = allocator.claim(1).expect("a slot");
    let alloc = |units: usize| {
        let block = allocator.alloc(&slot, units * UNIT, PageKind::Item);
        block.expect("there is memory")
    };
    let free = |block, units: usize| allocator.free(&slot, block, units * UNIT, PageKind::Item);
    let lead = alloc(EXTENT - 8);
    let long = alloc(8 + 5 * EXTENT);
    let lone = [alloc(20), alloc(EXTENT - 20)];
    let tail = alloc(EXTENT);
    free(lead, EXTENT - 8);
    free(lone[1], EXTENT - 20);
    free(tail, EXTENT);
    let candidate = allocator.drain_extent_candidate(u64::MAX).expect("one is nearly empty");
    assert_eq!(candidate.live_bytes, 20 * UNIT as u64, "{candidate:?}");
    assert_eq!(candidate.largest_bytes, 20 * UNIT as u64, "{candidate:?}");
    free(lone[0], 20);
    assert_eq!(
        allocator.drain_extent_candidate(u64::MAX),
        None,
        "there is no room for the long one"
    );
    free(long, 8 + 5 * EXTENT);
    allocator.verify_alloc().expect("sound");
}
