//! A thread's connections, by position: no hashing of descriptors.
//!
//! A position is used again after its connection has closed; the generation tells an event meant
//! for the old tenant from one for the new.

use crate::clients::Token;
use crate::connection::{Connection, HOT_BYTES};
use dolium_engine::bring_near;

#[derive(Default)]
pub struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

impl Slab {
    /// A place for a connection that is about to be made.
    pub fn vacancy(&mut self) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        Token { index, generation: self.slots[index as usize].generation }
    }

    pub fn put(&mut self, connection: Connection) {
        let slot = &mut self.slots[connection.token.index as usize];
        slot.connection = Some(Box::new(connection));
    }

    /// Frees a place that [`vacancy`](Slab::vacancy) gave, with what is in it.
    pub fn remove(&mut self, token: Token) -> Option<Box<Connection>> {
        let slot = self.slots.get_mut(token.index as usize)?;
        if slot.generation != token.generation {
            return None;
        }
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(token.index);
        slot.connection.take()
    }

    #[inline]
    pub fn get(&mut self, token: Token) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(token.index as usize)?;
        if slot.generation != token.generation {
            return None;
        }
        slot.connection.as_deref_mut()
    }

    /// A connection will have its turn soon, or its requests will run.
    #[inline(always)]
    pub fn bring_near(&self, token: Token) {
        if let Some(Slot { connection: Some(connection), .. }) =
            self.slots.get(token.index as usize)
        {
            bring_near(connection.as_ref(), HOT_BYTES);
        }
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn tokens(&self) -> Vec<Token> {
        let occupied = self.slots.iter().filter_map(|slot| slot.connection.as_ref());
        occupied.map(|connection| connection.token).collect()
    }
}
