//! Buffers that the kernel takes as replies come in, and their table, which it shares.
//!
//! ```text
//! table   | address 8 | length 4 | number 2 | tail 2 | address 8 | ...      some pages, 16 bytes each
//!                                             ^ how many were ever given, modulo 2^16; only here
//! bytes   |<-- buffer 0 -->|<-- buffer 1 -->| ...
//! ```
//!
//! The kernel takes them in the order in which they were given. One is this side's from the
//! completion that names it until it is given back.

use std::sync::atomic::{AtomicU16, Ordering};

use crate::limits::RING_CONNECTIONS;

/// As the kernel reads it (`struct io_uring_buf`).
#[repr(C)]
struct Slot {
    address: u64,
    len: u32,
    number: u16,
    tail: AtomicU16,
}

#[repr(C, align(4096))]
struct Table([Slot; RING_CONNECTIONS]);

/// The buffers of one ring.
pub(super) struct Buffers {
    table: Box<Table>,
    bytes: Vec<u8>,
    size: usize,
    count: u16,
    given: u16,
}

impl Buffers {
    /// At least so many as there are connections, each of `size` bytes, all given.
    pub fn new(connections: usize, size: usize) -> Self {
        let count = connections.next_power_of_two().min(RING_CONNECTIONS);
        let slot = |_| Slot { address: 0, len: 0, number: 0, tail: AtomicU16::new(0) };
        let mut buffers = Self {
            table: Box::new(Table(std::array::from_fn(slot))),
            bytes: vec![0; count * size],
            size,
            count: count as u16,
            given: 0,
        };
        for number in 0..buffers.count {
            buffers.give(number);
        }
        buffers
    }

    /// Where the table lies, and of how many entries it is.
    pub fn table(&mut self) -> (u64, u16) {
        ((&raw mut *self.table).expose_provenance() as u64, self.count)
    }

    /// The first bytes of a buffer that the kernel has filled.
    #[inline]
    pub fn filled(&self, number: u16, len: usize) -> &[u8] {
        let start = usize::from(number) * self.size;
        &self.bytes[start..start + len.min(self.size)]
    }

    /// Gives a buffer to the kernel.
    #[inline]
    pub fn give(&mut self, number: u16) {
        let start = usize::from(number) * self.size;
        let address = self.bytes.as_mut_ptr().wrapping_add(start).expose_provenance() as u64;
        let slot = &mut self.table.0[usize::from(self.given & (self.count - 1))];
        (slot.address, slot.len, slot.number) = (address, self.size as u32, number);
        self.given = self.given.wrapping_add(1);
        // Pairs with the kernel's acquiring load of the tail: it finds the slot written.
        self.table.0[0].tail.store(self.given, Ordering::Release);
    }
}
