//! Bytes copied into and out of the arena at every alignment, against a plain array.

mod small_arenas;

use dolium_engine::Frame;
use dolium_engine::arena::layout::{REACH, RUN_MAX};
use dolium_engine::arena::{Arena, ArenaOptions, ArenaView};
use small_arenas::{arena, options};
use std::sync::atomic::Ordering;

#[test]
fn bytes_come_back_from_any_place_and_neighbours_are_kept() {
    let arena = arena(4 << 20);
    let base = arena.layout().session(0);
    assert!(arena.commit_fixed(base, 4096));
    let mut model = vec![0u8; 256];
    let mut x = 1u64;
    let (starts, lengths) = if cfg!(miri) { (9, 26) } else { (24, 100) };
    for start in 0..starts {
        for len in 0..lengths {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bytes: Vec<u8> =
                (0..len).map(|i| (x >> 33) as u8 ^ (i as u8).wrapping_mul(7)).collect();
            arena.copy_in(base + start as u64, &bytes);
            model[start..start + len].copy_from_slice(&bytes);
            let mut out = b"before".to_vec();
            arena.copy_out(base + start as u64, len, &mut out);
            assert_eq!(&out[..6], b"before");
            assert_eq!(&out[6..], &bytes[..], "start {start} len {len}");
            assert!(arena.bytes_equal(base + start as u64, &bytes));
            for i in 0..len {
                let mut other = bytes.clone();
                other[i] ^= 0x80;
                assert!(!arena.bytes_equal(base + start as u64, &other), "byte {i} of {len}");
            }
            let mut whole = Vec::new();
            arena.copy_out(base, 256, &mut whole);
            assert_eq!(whole, model, "start {start} len {len}");
        }
    }
}

/// The buffer became twice as large for the two bytes behind a value that had just filled it.
#[test]
fn what_ends_a_reply_has_room_behind_a_copy() {
    let arena = arena(4 << 20);
    let base = arena.layout().session(0);
    assert!(arena.commit_fixed(base, 4096));
    for len in [100, 1000, 4000] {
        let mut out = b"$1000\r\n".to_vec();
        arena.copy_out(base, len, &mut out);
        let place = out.as_ptr();
        out.extend_from_slice(b"\r\nEND\r\n");
        assert_eq!(out.as_ptr(), place);
        assert!(out.capacity() < len + 64, "{} bytes for {len}", out.capacity());
    }
}

#[test]
fn a_frame_stands_around_a_copy_of_any_length() {
    let arena = arena(4 << 20);
    let base = arena.layout().session(0);
    assert!(arena.commit_fixed(base, 4096));
    let bytes: Vec<u8> = (0..200u8).map(|i| i.wrapping_mul(7) ^ 0x55).collect();
    arena.copy_in(base, &bytes);
    let (starts, lengths) = if cfg!(miri) { (3, 20) } else { (9, 150) };
    for head_len in 0..=8 {
        for start in 0..starts {
            for len in 0..lengths {
                let frame = Frame { head: *b"HEADHEAD", head_len, end: *b"<>" };
                let mut out = b"before".to_vec();
                arena.copy_framed(base + start as u64, len, &frame, &mut out);
                let value = &bytes[start..start + len];
                let expected = [b"before", &b"HEADHEAD"[..head_len], value, b"<>"].concat();
                assert_eq!(out, expected, "head {head_len} start {start} len {len}");
            }
        }
    }
}

#[test]
fn the_last_bytes_of_the_arena_can_be_reached() {
    let arena = arena(4 << 20);
    let len = arena.layout().len;
    let mut out = Vec::new();
    for n in 0..20 {
        arena.copy_out(len - n, n as usize, &mut out);
        assert!(arena.bytes_equal(len - n, &vec![0; n as usize]));
    }
}

#[test]
#[cfg_attr(miri, ignore = "memory is no larger than it must be there")]
fn an_arena_beyond_all_references_is_refused() {
    let options = ArenaOptions { journal_bytes: REACH, ..options(4 << 20) };
    assert!(Arena::create(&options).is_err());
}

/// A reader follows words that may be out of date: wherever they lead, there is nothing but zeros.
#[test]
#[cfg_attr(miri, ignore = "memory is no larger than it must be there")]
fn beyond_the_arena_there_are_zeros_and_nothing_else() {
    let arena = arena(4 << 20);
    let len = arena.layout().len;
    arena.copy_in(len - 8, &[7; 8]);
    let mut out = Vec::new();
    arena.copy_out(len - 5, 8, &mut out);
    assert_eq!(out, [7, 7, 7, 7, 7, 0, 0, 0]);
    for far in [REACH - 3, u64::MAX - 3, 0x5555_5555_5555_5555] {
        assert!(arena.bytes_equal(far, &[0; 300]), "{far:#x}");
    }
    assert_eq!(arena.load64(REACH - 8, Ordering::Relaxed), 0);
    assert_eq!(arena.load64(!7, Ordering::Relaxed), 0);
    let run = std::panic::catch_unwind(|| arena.copy_out(0, RUN_MAX as usize + 1, &mut Vec::new()));
    assert!(run.is_err(), "no value is that long");
}

#[test]
#[cfg_attr(miri, ignore = "needs a second mapping of a memory file")]
fn a_view_sees_what_the_owner_writes_and_refuses_other_files() {
    let arena = arena(4 << 20);
    let view = ArenaView::open(arena.read_only_fd().unwrap()).unwrap();
    assert_eq!(view.layout(), arena.layout());
    let at = 2048;
    arena.copy_in(at, b"seen at once");
    let mut out = Vec::new();
    view.copy_out(at, 12, &mut out);
    assert_eq!(out, b"seen at once");

    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let refused = ArenaView::open(file.into()).unwrap_err().to_string();
    assert!(!refused.is_empty());

    arena.u64_at(16).store(0, std::sync::atomic::Ordering::Relaxed);
    let refused = ArenaView::open(arena.read_only_fd().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("another version"), "{refused}");
}
