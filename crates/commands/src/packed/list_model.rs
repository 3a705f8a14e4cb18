//! Lists held against a deque through random changes, and what their bytes cost.

use super::Edit;
use super::list::{End, List, pack};
use super::list_anew::Spare;
use super::milestones::Milestones;
use std::collections::VecDeque;

fn elements(bytes: &Vec<u8>) -> Vec<Vec<u8>> {
    let list = List::open(bytes);
    let forward: Vec<_> = list.iter().map(|span| span.read(bytes)).collect();
    let mut backward: Vec<_> = list.iter_back().map(|span| span.read(bytes)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(forward.len(), list.len());
    forward
}

/// A generator of its own: the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn agrees_with_a_deque_through_any_changes() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut bytes = pack(End::Back, std::iter::empty());
        let mut model: VecDeque<Vec<u8>> = VecDeque::new();
        for step in 0..400 {
            let len = [0, 1, 5, 30, 253, 254, 400][random.below(7)];
            let element = format!("{step}-{}", "x".repeat(len)).into_bytes();
            let list = List::open(&bytes);
            let some = random.below(model.len().max(1));
            let edit = match random.below(9) {
                0..=2 => {
                    model.push_back(element.clone());
                    model.push_back(b"2".to_vec());
                    list.push(End::Back, [&element[..], b"2"].into_iter())
                }
                3 | 4 => {
                    model.push_front(element.clone());
                    model.push_front(b"2".to_vec());
                    list.push(End::Front, [&element[..], b"2"].into_iter())
                }
                _ if model.is_empty() => continue,
                5 => {
                    let (front, back) = (random.below(4), random.below(4));
                    for _ in 0..front {
                        model.pop_front();
                    }
                    for _ in 0..back {
                        model.pop_back();
                    }
                    list.trim(front, back)
                }
                6 => {
                    model[some] = element.clone();
                    list.replace(some as i64, &element).unwrap()
                }
                7 => {
                    let before = random.below(2) == 0;
                    model.insert(some + usize::from(!before), element.clone());
                    list.insert(some, list.at(some as i64).unwrap(), before, &element)
                }
                _ => {
                    let all = list.iter().enumerate();
                    let gone: Vec<_> = all.filter(|(_, span)| span.is(&bytes, b"2")).collect();
                    model.retain(|element| element != b"2");
                    list.without(&gone)
                }
            };
            bytes = match edit {
                Edit::Empty => pack(End::Back, std::iter::empty()),
                edit => edit.applied(bytes.clone()).unwrap(),
            };
            assert_eq!(elements(&bytes), Vec::from(model.clone()));
            let list = List::open(&bytes);
            for index in [0, 1, -1, -2, some as i64, -(some as i64) - 1] {
                let place = if index < 0 { index + model.len() as i64 } else { index };
                let expected = usize::try_from(place).ok().and_then(|place| model.get(place));
                let found = list.at(index).map(|span| span.read(&bytes));
                assert_eq!(found.as_ref(), expected);
            }
        }
    }
}

#[test]
fn pushes_on_a_long_list_are_patches_but_for_a_few() {
    let mut bytes = pack(End::Back, std::iter::empty());
    let mut made_anew = 0;
    for n in 0..10_000u32 {
        let element = n.to_le_bytes();
        let end = if n % 2 == 0 { End::Back } else { End::Front };
        let edit = List::open(&bytes).push(end, [&element[..]].into_iter());
        made_anew += u32::from(matches!(edit, Edit::Whole(_)));
        bytes = edit.applied(bytes).unwrap();
    }
    assert!(made_anew < 120, "{made_anew}");
    assert!(bytes.len() < 10_000 * 6 * 5 / 2);
}

#[test]
fn a_list_that_empties_gives_its_room_back() {
    let elements: Vec<Vec<u8>> = (0..10_000u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let mut bytes = pack(End::Back, elements.iter().map(Vec::as_slice));
    for _ in 0..9_900 {
        bytes = List::open(&bytes).trim(1, 0).applied(bytes.clone()).unwrap();
    }
    assert!(bytes.len() < 4 * 100 * 6 * 2, "{}", bytes.len());
    assert_eq!(List::open(&bytes).len(), 100);
}

/// What only takes elements out fits where the list stands, whatever it has room for: else LREM would
/// need memory, of which there may be none.
#[test]
fn a_list_that_shrinks_becomes_no_longer() {
    let elements: Vec<Vec<u8>> = (0..200u32).map(|n| n.to_le_bytes().to_vec()).collect();
    for room in [0, 1, 50, 5_000] {
        let full = pack(End::Back, elements.iter().map(Vec::as_slice));
        let end = full[8..12].first_chunk().map_or(0, |end| u32::from_le_bytes(*end) as usize);
        let bytes = [&full[..end], &vec![0; room]].concat();
        let list = List::open(&bytes);
        let spans: Vec<_> = list.iter().enumerate().collect();
        let edits = [
            list.without(&spans[7..8]),
            list.without(&spans[..150]),
            list.replace(3, b"no").unwrap(),
            list.trim(3, 4),
            list.trim(198, 1),
        ];
        for edit in edits {
            let len = edit.clone().applied(bytes.clone()).unwrap().len();
            assert!(len <= bytes.len(), "{len} of {}: {edit:?}", bytes.len());
        }
        assert!(list.replace(3, b"longer").unwrap().applied(bytes.clone()).unwrap().len() > end);
    }
}

/// Room to spare takes nothing from what a value may hold.
#[test]
fn a_list_may_be_as_long_as_a_value() {
    use dolium_engine::limits::VALUE_BYTES_MAX;
    // Of two thirds of the most, half as much again would leave nothing for the header.
    let spare = |count, used, there, end, most| {
        let spare = Spare::of(count, used, there, end, most);
        (spare.milestones.map_or(0, Milestones::bytes), spare.front, spare.back)
    };
    for used in [VALUE_BYTES_MAX / 3 * 2, VALUE_BYTES_MAX / 4 * 3, VALUE_BYTES_MAX - 12] {
        for end in [End::Front, End::Back] {
            for count in [100, used / 2] {
                let (miles, front, back) =
                    spare(count, used, [usize::MAX; 2], end, VALUE_BYTES_MAX);
                assert_eq!(miles + front + back, VALUE_BYTES_MAX - 12 - used, "{used} {end:?}");
            }
        }
    }
    assert_eq!(spare(9, VALUE_BYTES_MAX, [9; 2], End::Back, VALUE_BYTES_MAX), (0, 0, 0));
    assert_eq!(spare(9, 1000, [9, 7], End::Back, VALUE_BYTES_MAX), (0, 9, 500));
    assert_eq!(spare(9, 1000, [9, 7], End::Front, VALUE_BYTES_MAX), (0, 500, 7));
    assert_eq!(spare(300, 1000, [9, 7], End::Front, VALUE_BYTES_MAX), (40, 460, 7));
}

#[test]
fn nonsense_comes_to_an_end() {
    let mut random = Random(7);
    for _ in 0..2_000 {
        let len = random.below(60);
        let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
        let list = List::open(&bytes);
        assert!(list.len() <= bytes.len() / 2);
        assert!(list.iter().count() <= bytes.len());
        assert!(list.iter_back().count() <= bytes.len());
        let _ = (list.at(3), list.at(-3));
        (0..4).for_each(|start| assert!(list.iter_from(start).count() <= bytes.len()));
    }
    // Elements from the front on that would begin before the bytes do.
    let bytes = [&[255, 255, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0][..], &[255; 600]].concat();
    assert_eq!(List::open(&bytes).iter_from(0).count(), 0);
}
