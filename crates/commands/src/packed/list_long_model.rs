//! Long lists, which have milestones, held against a deque: every index finds its element, and none far.

use super::list::{End, List, pack};
use super::milestones::{Milestones, STRIDE};
use super::{Bytes, Edit};
use std::cell::Cell;
use std::collections::VecDeque;

/// A generator of its own: the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// Bytes that count how many elements' lengths were looked at.
struct Walked<'b>(&'b Vec<u8>, Cell<usize>);

impl Bytes for Walked<'_> {
    fn len(&self) -> usize {
        self.0.as_slice().len()
    }

    fn u8_at(&self, at: usize) -> u8 {
        self.1.set(self.1.get() + 1);
        self.0.u8_at(at)
    }

    fn u32_at(&self, at: usize) -> u32 {
        self.0.u32_at(at)
    }

    fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.0.has(at, bytes)
    }

    fn copy(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        self.0.copy(at, len, out);
    }
}

fn check(bytes: &Vec<u8>, model: &VecDeque<Vec<u8>>) {
    let list = List::open(bytes);
    let spans: Vec<_> = list.iter().collect();
    assert_eq!(spans.len(), model.len());
    for (index, (span, element)) in spans.iter().zip(model).enumerate() {
        assert!(span.is(bytes, element), "element {index}");
        assert_eq!(list.at(index as i64).as_ref(), Some(span), "{index} of {}", model.len());
    }
    assert_eq!(list.at(model.len() as i64), None);
}

fn elements(random: &mut Random, most: usize) -> Vec<Vec<u8>> {
    let count = random.below(most) + 1;
    (0..count).map(|n| vec![b'x'; if n % 97 == 0 { 300 } else { random.below(9) }]).collect()
}

#[test]
fn agrees_with_a_deque_through_any_changes_of_a_long_list() {
    let mut had_milestones = 0;
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut model: VecDeque<Vec<u8>> = elements(&mut random, 3_000).into();
        let mut bytes = pack(End::Back, model.iter().map(Vec::as_slice));
        for _ in 0..120 {
            let list = List::open(&bytes);
            let new = elements(&mut random, 400);
            let some = random.below(model.len().max(1));
            let edit = match random.below(10) {
                0..=2 => {
                    model.extend(new.iter().cloned());
                    list.push(End::Back, new.iter().map(Vec::as_slice))
                }
                3..=5 => {
                    new.iter().for_each(|element| model.push_front(element.clone()));
                    list.push(End::Front, new.iter().map(Vec::as_slice))
                }
                _ if model.is_empty() => continue,
                6 => {
                    let (front, back) = (random.below(500), random.below(500));
                    model.drain(..front.min(model.len()));
                    model.truncate(model.len().saturating_sub(back));
                    list.trim(front, back)
                }
                7 => {
                    model[some] = new[0].clone();
                    list.replace(some as i64, &new[0]).unwrap()
                }
                8 => {
                    model.insert(some, new[0].clone());
                    list.insert(some, list.at(some as i64).unwrap(), true, &new[0])
                }
                _ => {
                    let gone = |index: usize| index % 7 == 3;
                    let mut index = 0..;
                    model.retain(|_| !gone(index.next().unwrap()));
                    let all = list.iter().enumerate();
                    list.without(&all.filter(|&(index, _)| gone(index)).collect::<Vec<_>>())
                }
            };
            bytes = match edit {
                Edit::Empty => pack(End::Back, std::iter::empty()),
                edit => edit.applied(bytes.clone()).unwrap(),
            };
            check(&bytes, &model);
            had_milestones += usize::from(List::open(&bytes).milestones.is_some());
        }
    }
    assert!(had_milestones > 30 * 120 / 2, "{had_milestones}");
}

/// A list of 100,000 elements was walked along from the nearer end: 50,000 of them to its middle.
#[test]
fn an_element_in_the_middle_is_not_walked_to_from_an_end() {
    let elements: Vec<Vec<u8>> = (0..100_000u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let mut bytes = pack(End::Back, elements.iter().map(Vec::as_slice));
    // Pushes and pops at the front, so that the first element is no milestone.
    for _ in 0..77 {
        bytes =
            List::open(&bytes).push(End::Front, [&b"new"[..]].into_iter()).applied(bytes).unwrap();
    }
    let walked = Walked(&bytes, Cell::new(0));
    let list = List::open(&walked);
    for index in (0..list.len()).step_by(37) {
        walked.1.set(0);
        list.at(index as i64).unwrap();
        assert!(walked.1.get() <= STRIDE / 2 + 1, "{index}: {}", walked.1.get());
    }
}

/// A queue goes on for ever in the room that it has, and its numbers with it.
#[test]
fn a_queue_that_goes_round_keeps_its_milestones() {
    let mut model: VecDeque<Vec<u8>> = (0..1_000u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let mut bytes = pack(End::Back, model.iter().map(Vec::as_slice));
    for round in 0..3_000u32 {
        let element = round.to_be_bytes();
        model.pop_front();
        model.push_back(element.to_vec());
        bytes = List::open(&bytes).trim(1, 0).applied(bytes).unwrap();
        let pushed = List::open(&bytes).push(End::Back, [&element[..]].into_iter());
        bytes = pushed.applied(bytes).unwrap();
    }
    assert!(List::open(&bytes).milestones.is_some());
    check(&bytes, &model);
}

/// Readers without a lock may be shown bytes of two moments.
#[test]
fn milestones_that_make_no_sense_lead_nowhere() {
    let mut random = Random(3);
    let elements: Vec<Vec<u8>> = (0..600u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let whole = pack(End::Back, elements.iter().map(Vec::as_slice));
    let end = Milestones::open(&whole).unwrap().end();
    for _ in 0..2_000 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            bytes[random.below(end)] = random.below(256) as u8;
        }
        bytes.truncate(random.below(bytes.len()) + 1);
        let list = List::open(&bytes);
        for index in [0, 1, 127, 128, 300, 599, -1, -128, -300] {
            assert!(list.at(index).is_none_or(|span| span.end() <= bytes.len()));
        }
        assert!(list.iter_from(300).count() <= bytes.len());
    }
}
