//! Sets held against a hash set through random changes, and chances that are even.

use super::set::{Hashed, Set};
use super::{Edit, set_build};
use std::collections::HashSet;

/// Few different values: many members have the same home.
fn hash(bytes: &[u8]) -> u64 {
    let sum = bytes.iter().fold(7u64, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(*b)));
    (sum % 40).wrapping_mul(0x0640_0000_0000_0000)
}

fn hashed(bytes: &[u8]) -> Hashed<'_> {
    Hashed { bytes, hash: hash(bytes) }
}

fn check(bytes: &Vec<u8>, model: &HashSet<Vec<u8>>) {
    let set = Set::open(bytes);
    let members: Vec<Vec<u8>> = set.iter().map(|span| span.read(bytes)).collect();
    assert_eq!(members.len(), model.len());
    assert_eq!(set.len(), model.len());
    assert_eq!(&members.into_iter().collect::<HashSet<_>>(), model);
    assert!(model.iter().all(|member| set.find(hashed(member)).is_some()));
    assert!(set.find(hashed(b"never a member")).is_none());
}

#[test]
fn agrees_with_a_hash_set_through_any_changes() {
    let mut seed = 1u64;
    let mut random = |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % bound
    };
    for round in 0..20 {
        let mut bytes = set_build::pack(std::iter::empty());
        let mut model: HashSet<Vec<u8>> = HashSet::new();
        let universe = [10, 40, 400][round % 3];
        for _ in 0..600 {
            let tail = [0, 0, 0, 300][random(4) as usize];
            let some: HashSet<Vec<u8>> = (0..=random(3))
                .map(|_| format!("{}{}", random(universe), "y".repeat(tail)).into_bytes())
                .collect();
            let set = Set::open(&bytes);
            let edit = if random(5) < 3 {
                let new: Vec<_> = some.iter().filter(|m| !model.contains(*m)).collect();
                let new: Vec<_> = new.iter().map(|m| hashed(m)).collect();
                if new.is_empty() {
                    continue;
                }
                set.add(&new, hash)
            } else {
                let gone: Vec<_> = some.iter().filter_map(|m| set.find(hashed(m))).collect();
                if gone.is_empty() {
                    continue;
                }
                some.iter().for_each(|member| {
                    model.remove(member);
                });
                let edit = set.without(&gone, hash);
                bytes = match edit {
                    Edit::Empty => set_build::pack(std::iter::empty()),
                    edit => edit.applied(bytes.clone()).unwrap(),
                };
                check(&bytes, &model);
                continue;
            };
            model.extend(some);
            bytes = edit.applied(bytes.clone()).unwrap();
            check(&bytes, &model);
        }
    }
}

#[test]
fn members_are_chosen_evenly() {
    for count in [10u64, 100] {
        let names: Vec<Vec<u8>> = (0..count).map(|n| n.to_string().into_bytes()).collect();
        let bytes = set_build::pack(names.iter().map(|name| hashed(name)));
        let set = Set::open(&bytes);
        let mut seed = 5u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 20
        };
        let mut chosen = vec![0u32; count as usize];
        for _ in 0..count * 1000 {
            let name = set.random(&mut random).unwrap().read(&bytes);
            chosen[String::from_utf8(name).unwrap().parse::<usize>().unwrap()] += 1;
        }
        assert!(chosen.iter().all(|times| (800..1200).contains(times)), "{chosen:?}");
    }
}

#[test]
fn nonsense_comes_to_an_end() {
    let mut seed = 9u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 33
    };
    for round in 0..2_000 {
        let mut bytes: Vec<u8> = (0..200).map(|_| random() as u8).collect();
        if round % 2 == 0 {
            bytes[4..8].copy_from_slice(&16u32.to_le_bytes());
        }
        let set = Set::open(&bytes);
        assert!(set.len() <= bytes.len());
        assert!(set.iter().count() <= bytes.len());
        let _ = (set.find(hashed(b"m")), set.random(&mut random));
    }
}

/// A set of two moments: what may be copied of it is bounded by how long it is, not by what it says.
#[test]
fn no_more_is_shown_than_there_can_be() {
    let table = |slots: u32, at: u32| {
        let mut bytes = [u32::MAX, slots, 7, u32::MAX, 7].map(u32::to_le_bytes).concat();
        (0..slots).for_each(|_| bytes.extend_from_slice(&at.to_le_bytes()));
        bytes
    };
    // Each slot names the same long member.
    let at = 20 + 4 * 256;
    let mut bytes = table(256, at);
    super::entry::push_first(&[b'x'; 3000], &mut bytes);
    let set = Set::open(&bytes);
    assert_eq!(set.len(), 256);
    let shown: usize = set.iter().map(|span| span.len).sum();
    assert!(shown <= bytes.len(), "{shown}");
    let mut scanned = 0;
    set.scan(0, usize::MAX, hash, |span| scanned += span.len);
    assert!(scanned <= bytes.len(), "{scanned}");
    // More slots than there are bytes are none, and then a member takes at least a byte of these.
    let bytes = [u32::MAX, 1 << 20, 7, u32::MAX, 7].map(u32::to_le_bytes).concat();
    assert_eq!(Set::open(&[&bytes[..], b"\x01a"].concat()).len(), 2);
    assert_eq!(Set::open(&bytes[..7].to_vec()).len(), 0);
    assert_eq!(Set::open(&table(16, 0)).pick(3), None);
    assert_eq!(Set::open(&table(0, 0)).pick(3), None);
}

/// What only takes members out fits where the set stands, else SREM would need memory.
#[test]
fn a_set_that_shrinks_becomes_no_longer() {
    // Nearly all bytes belong to the members that stay, and there is no room to spare.
    let long = |n: u32| format!("{n}{}", "z".repeat(500)).into_bytes();
    let names: Vec<Vec<u8>> =
        (0..400).map(|n| if n < 380 { n.to_string().into_bytes() } else { long(n) }).collect();
    let mut bytes = set_build::pack(names.iter().map(|name| hashed(name)));
    let end = bytes[12..16].first_chunk().map_or(0, |end| u32::from_le_bytes(*end) as usize);
    bytes.truncate(end);
    let set = Set::open(&bytes);
    let gone: Vec<_> = names[..370].iter().filter_map(|name| set.find(hashed(name))).collect();
    let Edit::Whole(made) = set.without(&gone, hash) else { panic!("it is sparse now") };
    assert!(made.len() <= bytes.len(), "{} of {}", made.len(), bytes.len());
    check(&made, &names[370..].iter().cloned().collect());
}

#[test]
fn a_set_knows_whether_it_has_room() {
    let mut bytes = set_build::pack(std::iter::empty());
    for n in 0..3_000u32 {
        let name = n.to_string().into_bytes();
        let set = Set::open(&bytes);
        let edit = set.add(&[hashed(&name)], hash);
        let has_room = set.has_room(1, super::set::entry_bytes(&name));
        assert_eq!(has_room, matches!(edit, Edit::Patch(_)), "{n}");
        bytes = edit.applied(bytes.clone()).unwrap();
    }
}
