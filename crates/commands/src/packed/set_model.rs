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
                    edit => edit.applied(bytes.clone()),
                };
                check(&bytes, &model);
                continue;
            };
            model.extend(some);
            bytes = edit.applied(bytes.clone());
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
        assert!(set.iter().count() <= bytes.len());
        let _ = (set.find(hashed(b"m")), set.random(&mut random));
    }
}
