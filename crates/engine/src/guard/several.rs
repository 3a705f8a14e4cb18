//! Several values as one change: all of them are stored, or none.
//!
//! ```text
//! memory is ample       put, put, put
//! it may end midway     a block for each -> the new keys, each of which needs a place in the index
//!                             |                  `-- none: those that have one go again
//!                             `-- none: all blocks go back       -> the keys that are there, for which nothing is lacking
//! ```
//! Room was made for the sum of the values, but it is no promise: other threads store meanwhile, and a sum may be
//! there in pieces that fit none of the values. Once an old value is replaced, it cannot be put back.

use super::Guard;
use crate::verbs::*;

/// With so much memory left beside what is stored, others would have to use it up within microseconds for a value to
/// find none.
const SURE_BYTES: usize = 64 << 20;
/// Of an item beside its key and its value, at most.
const BESIDE_BYTES: usize = 256;

impl Guard<'_> {
    /// Stores what takes nothing of the old items along. `Full` and other errors: nothing is stored. Of a key that is
    /// named twice the last value stays.
    pub fn put_several(&mut self, db: Db, puts: &[(Key<'_>, Put<'_>)]) -> Result<(), StoreError> {
        let mut sum = 0;
        for (key, put) in puts {
            sum += Guard::planned_bytes(key.bytes, put)? + BESIDE_BYTES;
        }
        if self.session.may_grow_by(sum + SURE_BYTES) {
            return puts.iter().try_for_each(|(key, put)| self.put(db, key, put).map(|_| ()));
        }
        // For the place of a new key another one may have to go: none of these.
        let _kept = self.session.keep(puts.iter().map(|(key, _)| (db, key.hash)));
        let is_new: Vec<bool> = puts.iter().map(|(key, _)| !self.has(db, key)).collect();
        let mut blocks = self.blocks_for(puts)?;
        for number in (0..puts.len()).filter(|number| is_new[*number]) {
            let (key, put) = &puts[number];
            if let Err(error) = self.put_any(db, key, put, 0, blocks[number].take()) {
                for before in (0..number).filter(|before| is_new[*before]) {
                    self.remove(db, &puts[before].0, Event::Del);
                }
                self.give_back(puts, blocks);
                return Err(error);
            }
        }
        for number in (0..puts.len()).filter(|number| !is_new[*number]) {
            let (key, put) = &puts[number];
            self.put_any(db, key, put, 0, blocks[number].take())?;
        }
        Ok(())
    }

    /// A block for each, or none for any.
    fn blocks_for(&self, puts: &[(Key<'_>, Put<'_>)]) -> Result<Vec<Option<u32>>, StoreError> {
        let mut blocks = Vec::with_capacity(puts.len());
        for (key, put) in puts {
            match Guard::planned_bytes(key.bytes, put).and_then(|bytes| self.take_item(bytes)) {
                Ok(block) => blocks.push(Some(block)),
                Err(error) => {
                    self.give_back(puts, blocks);
                    return Err(error);
                }
            }
        }
        Ok(blocks)
    }

    fn give_back(&self, puts: &[(Key<'_>, Put<'_>)], blocks: Vec<Option<u32>>) {
        for ((key, put), block) in puts.iter().zip(blocks) {
            if let Some(block) = block {
                let bytes = Guard::planned_bytes(key.bytes, put).expect("it was planned before");
                self.session.give_item(block, bytes);
            }
        }
    }
}
