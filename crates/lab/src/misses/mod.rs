//! `limit-misses`: the floor for a get from attached memory on this machine, in this minute.
//!
//! ```text
//! slots    |8 B|8 B|8 B| ...      probed at a place that nobody can foresee: first miss
//!             |
//! records  |key value....|key value....| ...      led to by the slot: second miss; value copied
//! ```
//!
//! *Dependent*: the next place follows from the bytes just copied, so nothing overlaps; what is
//! measured is the latency of two misses, a mix of a word and a copy. *Batches*: places of a whole
//! batch are known; all slots are prefetched, then all records, then all values are copied.
//!
//! Two shapes of it. *Fitting*: slots of 8 bytes, and records of the key's and the value's length, of which the
//! value is copied; the least that a store of such items could touch. Of a million items the slots are
//! 8 MB, which a large cache holds, so that this is rather less than two misses. *Whole lines*: a slot
//! for 5 of 6 items, each a line of its own, and records of 128 bytes, all of which is copied: two misses at any such size.
//!
//! A record begins on a cache line of its own. The pages are those of a memfd, as a shared store's
//! are; a store that runs on huge pages must be compared with a floor that does too.

mod memory;
mod translations;

pub use translations::Translations;

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

use crate::LabError;
use crate::workload::value::mix;
use memory::Memory;

const LINE: usize = 64;
/// Each figure is the best of this many repetitions: a floor is what the machine can do.
const REPETITIONS: usize = 3;
/// Reads in one repetition.
const READS: usize = 1 << 19;

/// Which pages the floor stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// 4 KiB pages.
    Small,
    /// 2 MiB pages, by MADV_COLLAPSE.
    Huge,
}

/// What a read of the floor touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A slot of 8 bytes, and a record that fits key and value.
    Fitting,
    /// A line, and two lines.
    WholeLines,
}

/// Nanoseconds of one read.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MissFloor {
    pub shape: Shape,
    pub items: usize,
    /// 0 where there is no key.
    pub key_bytes: usize,
    pub value_bytes: usize,
    pub pages: Pages,
    pub dependent_ns: f64,
    pub batch16_ns: f64,
    pub batch32_ns: f64,
}

/// Prepares a floor on 4 KiB pages and measures it once.
pub fn run(items: usize, key_bytes: usize, value_bytes: usize) -> Result<MissFloor, LabError> {
    Ok(Floor::prepare(items, key_bytes, value_bytes, Pages::Small)?.measure())
}

/// Memory that is ready to be measured as often as one likes, in turns with something else.
pub struct Floor {
    memory: Memory,
    shape: Shape,
    items: usize,
    slots: usize,
    /// Bytes from one slot to the next.
    slot_stride: usize,
    key_bytes: usize,
    value_bytes: usize,
    stride: usize,
    pages: Pages,
}

impl Floor {
    /// Fills the slots and the records. With `Pages::Huge`, fails if the machine refuses them.
    pub fn prepare(
        items: usize,
        key_bytes: usize,
        value_bytes: usize,
        pages: Pages,
    ) -> Result<Self, LabError> {
        if items == 0 || key_bytes < 8 || value_bytes < 8 {
            return Err(LabError::Options(
                "the floor needs an item, and 8 bytes of key and of value at least".into(),
            ));
        }
        Self::fill(Shape::Fitting, items, key_bytes, value_bytes, pages)
    }

    /// The same of whole lines: a line for 5 of 6 items, and records of 128 bytes that are copied whole.
    pub fn of_whole_lines(items: usize, pages: Pages) -> Result<Self, LabError> {
        if items == 0 {
            return Err(LabError::Options("the floor needs an item".into()));
        }
        Self::fill(Shape::WholeLines, items, 0, 2 * LINE, pages)
    }

    fn fill(
        shape: Shape,
        items: usize,
        key_bytes: usize,
        value_bytes: usize,
        pages: Pages,
    ) -> Result<Self, LabError> {
        let (slots, slot_stride) = match shape {
            Shape::Fitting => (items, 8),
            Shape::WholeLines => (items + items / 5, LINE),
        };
        let stride = (key_bytes + value_bytes).next_multiple_of(LINE);
        let slot_bytes = (slots * slot_stride).next_multiple_of(LINE);
        let mut memory = Memory::new(slot_bytes + items * stride, pages == Pages::Huge)?;
        let bytes = memory.bytes_mut();
        let (slot_part, records) = bytes.split_at_mut(slot_bytes);
        // Slots lead to records in an order without any: a random permutation.
        let mut order: Vec<u64> = (0..items as u64).collect();
        for last in (1..items).rev() {
            order.swap(last, place(mix(last as u64), last + 1));
        }
        for (slot, record) in slot_part.chunks_exact_mut(slot_stride).zip(order.iter().cycle()) {
            let to = slot_bytes as u64 + record * stride as u64;
            slot[..8].copy_from_slice(&to.to_le_bytes());
        }
        for (number, record) in records.chunks_exact_mut(stride).enumerate() {
            for (word, part) in record.chunks_exact_mut(8).enumerate() {
                part.copy_from_slice(&mix((number as u64) << 8 | word as u64).to_le_bytes());
            }
        }
        Ok(Self { memory, shape, items, slots, slot_stride, key_bytes, value_bytes, stride, pages })
    }

    /// Bytes that the reads may touch.
    pub fn footprint(&self) -> usize {
        self.memory.bytes().len()
    }

    /// Whether the kernel really gave huge pages: kilobytes of them under this memory.
    pub fn huge_kib(&self) -> usize {
        self.memory.huge_kib()
    }

    /// Measures all three ways, each as the best of a few repetitions.
    pub fn measure(&self) -> MissFloor {
        let best = |read: &dyn Fn(u64) -> f64| {
            let times = (0..REPETITIONS as u64).map(read);
            times.fold(f64::INFINITY, f64::min)
        };
        MissFloor {
            shape: self.shape,
            items: self.items,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            pages: self.pages,
            dependent_ns: best(&|seed| self.dependent(seed)),
            batch16_ns: best(&|seed| self.batches::<16>(seed)),
            batch32_ns: best(&|seed| self.batches::<32>(seed)),
        }
    }

    fn dependent(&self, seed: u64) -> f64 {
        let bytes = self.memory.bytes();
        let mut value = vec![0u8; self.value_bytes];
        let mut read = seed;
        let begun = Instant::now();
        for step in 0..READS as u64 {
            // The step keeps the walk from falling into a short circle of places.
            let slot = place(mix(read ^ step), self.slots) * self.slot_stride;
            self.copy(bytes, word(bytes, slot) as usize, &mut value);
            read = word(&value, 0);
        }
        black_box(read);
        begun.elapsed().as_nanos() as f64 / READS as f64
    }

    fn batches<const N: usize>(&self, seed: u64) -> f64 {
        let bytes = self.memory.bytes();
        let mut value = vec![0u8; self.value_bytes];
        let mut read = seed;
        let begun = Instant::now();
        for batch in 0..(READS / N) as u64 {
            let mut slots = [0; N];
            for (number, slot) in slots.iter_mut().enumerate() {
                let word = mix(read ^ (batch * N as u64 + number as u64));
                *slot = place(word, self.slots) * self.slot_stride;
                memory::prefetch(bytes, *slot);
            }
            let mut records = [0; N];
            for (slot, record) in slots.iter().zip(&mut records) {
                *record = word(bytes, *slot) as usize;
                for line in 0..self.stride / LINE {
                    memory::prefetch(bytes, *record + line * LINE);
                }
            }
            for record in records {
                self.copy(bytes, record, &mut value);
                read ^= word(&value, 0);
            }
        }
        black_box(read);
        begun.elapsed().as_nanos() as f64 / (READS / N * N) as f64
    }

    #[inline]
    fn copy(&self, bytes: &[u8], record: usize, value: &mut [u8]) {
        let from = record + self.key_bytes;
        value.copy_from_slice(&bytes[from..from + self.value_bytes]);
        black_box(value);
    }
}

/// A number below `below` from a well mixed word, without a division.
#[inline]
fn place(word: u64, below: usize) -> usize {
    ((u128::from(word) * below as u128) >> 64) as usize
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    // How the figures compare is for the command to say: beside other programs they say nothing.
    #[test]
    fn every_slot_leads_to_a_record_of_its_own() {
        const ITEMS: usize = 1_000;
        let floor = Floor::prepare(ITEMS, 24, 100, Pages::Small).unwrap();
        let bytes = floor.memory.bytes();
        let mut records: Vec<usize> =
            (0..ITEMS).map(|slot| word(bytes, slot * 8) as usize).collect();
        assert!(!records.is_sorted(), "an order that a processor foresees");
        records.sort_unstable();
        for (number, record) in records.into_iter().enumerate() {
            assert_eq!(record, ITEMS * 8 + number * floor.stride);
        }
    }

    #[test]
    fn whole_lines_lead_to_records_of_two_lines() {
        const ITEMS: usize = 1_000;
        let floor = Floor::of_whole_lines(ITEMS, Pages::Small).unwrap();
        let bytes = floor.memory.bytes();
        assert_eq!(floor.slots, 1_200);
        let mut met = vec![0; ITEMS];
        for slot in 0..floor.slots {
            let record = word(bytes, slot * LINE) as usize - floor.slots * LINE;
            assert!(record.is_multiple_of(2 * LINE));
            met[record / (2 * LINE)] += 1;
        }
        assert!(met.iter().all(|&times| times == 1 || times == 2), "a record without a slot");
        let figures = floor.measure();
        assert!(figures.shape == Shape::WholeLines && figures.dependent_ns > 0.0, "{figures:?}");
    }

    #[test]
    fn a_floor_has_all_its_figures() {
        let floor = run(1_000, 16, 32).unwrap();
        for ns in [floor.dependent_ns, floor.batch16_ns, floor.batch32_ns] {
            assert!(ns.is_finite() && ns > 0.0, "{floor:?}");
        }
    }

    #[test]
    fn huge_pages_are_real_or_refused() {
        match Floor::prepare(100_000, 16, 32, Pages::Huge) {
            Ok(floor) => assert!(floor.huge_kib() * 1024 >= floor.footprint(), "not all collapsed"),
            // A machine may have no 2 MiB left or may deny them; it must then say so.
            Err(error) => assert!(error.to_string().contains("huge pages"), "{error}"),
        }
    }
}
