//! Blocks never overlap, whoever allocates and frees them, and the limit holds.

mod small_arenas;

use dolium_engine::alloc::{Allocator, PageKind, SessionSlot, block_bytes};
use dolium_engine::arena::Ref;
use small_arenas::allocator;
use std::sync::mpsc;

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

struct Block {
    at: Ref,
    bytes: usize,
    kind: PageKind,
    stamp: u64,
}

/// Small sizes mostly, all classes sometimes, runs now and then.
fn pick_bytes(random: &mut Random) -> usize {
    let r = random.next() as usize;
    match r % 16 {
        0..=9 => 1 + (r >> 8) % 600,
        10..=13 => 1 + (r >> 8) % 9000,
        14 => 1 + (r >> 8) % 65_536,
        _ => 1 + (r >> 8) % 400_000,
    }
}

fn fill(allocator: &Allocator, block: &Block) {
    let words = block_bytes(block.bytes) / 8;
    let pattern: Vec<u8> = (0..words).flat_map(|i| (block.stamp ^ i).to_le_bytes()).collect();
    allocator.arena().copy_in(block.at.offset(), &pattern);
}

fn check(allocator: &Allocator, block: &Block) {
    let words = block_bytes(block.bytes) / 8;
    let pattern: Vec<u8> = (0..words).flat_map(|i| (block.stamp ^ i).to_le_bytes()).collect();
    assert!(
        allocator.arena().bytes_equal(block.at.offset(), &pattern),
        "somebody wrote into {:?}",
        block.at
    );
}

fn churn(
    allocator: &Allocator,
    slot: &SessionSlot,
    thread: u64,
    rounds: usize,
    give: &mpsc::Sender<Block>,
    take: &mpsc::Receiver<Block>,
) -> Vec<Block> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread + 1));
    let mut blocks: Vec<Block> = Vec::new();
    for round in 0..rounds {
        slot.poll();
        // Blocks travel between threads, so that most frees are of another thread's block.
        while let Ok(block) = take.try_recv() {
            blocks.push(block);
        }
        if blocks.len() < 3000 && !random.next().is_multiple_of(3) {
            let bytes = pick_bytes(&mut random);
            let kind =
                if random.next().is_multiple_of(8) { PageKind::Index } else { PageKind::Item };
            let at = allocator.alloc(slot, bytes, kind).expect("there is memory");
            let block = Block { at, bytes, kind, stamp: (thread << 48) | round as u64 | 1 << 63 };
            fill(allocator, &block);
            if random.next().is_multiple_of(2) {
                give.send(block).unwrap();
            } else {
                blocks.push(block);
            }
        } else if !blocks.is_empty() {
            let block = blocks.swap_remove(random.next() as usize % blocks.len());
            check(allocator, &block);
            allocator.free(slot, block.at, block.bytes, block.kind);
        }
    }
    blocks
}

#[test]
#[cfg_attr(miri, ignore = "takes hours there; the next test is for it")]
fn four_threads_never_get_the_same_memory() {
    const THREADS: u64 = 4;
    let rounds = if cfg!(debug_assertions) { 40_000 } else { 200_000 };
    let allocator = allocator(2 << 30);
    let (mut senders, mut receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| mpsc::channel::<Block>()).unzip();
    senders.rotate_left(1);
    let left: Vec<Block> = std::thread::scope(|scope| {
        let workers: Vec<_> = senders
            .drain(..)
            .zip(receivers.drain(..))
            .enumerate()
            .map(|(thread, (give, take))| {
                let allocator = &allocator;
                scope.spawn(move || {
                    let slot = allocator.claim(1).unwrap();
                    let mut blocks = churn(allocator, &slot, thread as u64, rounds, &give, &take);
                    drop(give);
                    blocks.extend(take.iter());
                    blocks
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    allocator.verify_alloc().unwrap();
    for block in &left {
        check(&allocator, block);
    }
    let slot = allocator.claim(1).unwrap();
    for block in left {
        allocator.free(&slot, block.at, block.bytes, block.kind);
    }
    allocator.verify_alloc().unwrap();
    drop(slot);
    allocator.verify_alloc().unwrap();
    assert_eq!(allocator.faults(), 0);
    assert_eq!(allocator.usage().live_bytes, 0);
}

/// Small enough for Miri: two threads share a class, and each frees what the other allocated.
#[test]
fn two_sessions_free_each_others_blocks() {
    let allocator = allocator(2 << 20);
    let work = |thread: u64| {
        let slot = allocator.claim(1).unwrap();
        let mut blocks: Vec<Block> = (0..40)
            .map(|i| {
                let at = allocator.alloc(&slot, 40, PageKind::Item).unwrap();
                let block = Block { at, bytes: 40, kind: PageKind::Item, stamp: thread << 8 | i };
                fill(&allocator, &block);
                block
            })
            .collect();
        for block in blocks.drain(..8) {
            check(&allocator, &block);
            allocator.free(&slot, block.at, block.bytes, block.kind);
        }
        (slot, blocks)
    };
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| work(1));
        (work(2), other.join().unwrap())
    });
    for ((slot, _), (_, blocks)) in [(&one, &two), (&two, &one)] {
        for block in blocks {
            check(&allocator, block);
            allocator.free(slot, block.at, block.bytes, block.kind);
        }
    }
    drop((one, two));
    assert_eq!(allocator.usage().live_bytes, 0);
    assert_eq!(allocator.faults(), 0);
    if !cfg!(miri) {
        allocator.verify_alloc().unwrap();
    }
}

#[test]
#[cfg_attr(miri, ignore = "fills megabytes")]
fn the_limit_is_never_passed_and_freed_memory_serves_again() {
    let allocator = allocator(64 << 20);
    allocator.arena().set_limit(16 << 20);
    let slot = allocator.claim(1).unwrap();
    for bytes in [48, 1000, 5000, 60_000, 300_000, 48] {
        let mut blocks = Vec::new();
        while let Some(at) = allocator.alloc(&slot, bytes, PageKind::Item) {
            blocks.push(at);
            assert!(allocator.arena().committed() <= 16 << 20);
        }
        let got = blocks.len() as u64 * block_bytes(bytes);
        assert!(got > 13 << 20, "only {got} bytes in blocks of {bytes}");
        allocator.verify_alloc().unwrap();
        for at in blocks {
            allocator.free(&slot, at, bytes, PageKind::Item);
        }
    }
    assert!(allocator.alloc(&slot, 512 << 20, PageKind::Item).is_none());
    assert!(allocator.alloc(&slot, 48, PageKind::Item).is_some());
}
