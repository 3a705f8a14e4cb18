//! Published messages on their way out: to each subscriber all that came in a row, at once.
//!
//! ```text
//!   mail    m1 to A, B | m2 to A, B | m3 to B | a kill ...
//!   sends   A: m1 m2   | B: m1 m2 m3          | then the kill
//! ```
//! A send is what a message costs. Who publishes in a pipeline, or in a transaction, would pay for one a message
//! and subscriber. What one subscriber gets stays in its order; there is none between subscribers.

use super::Reactor;
use crate::clients::Token;
use crate::connection::{Hold, Sent};
use crate::limits::HOT_OUTPUT_KEPT;
use crate::mailbox::Message;
use std::sync::Arc;

/// A message, and to whom it goes.
pub(super) type Delivery = (Vec<Token>, Arc<Message>);

impl Reactor {
    /// Delivers these, in their order, and takes them away.
    pub(super) fn deliver(&mut self, messages: &mut Vec<Delivery>) {
        if let [(to, message)] = &messages[..] {
            to.iter().for_each(|token| self.deliver_to(*token, &[message]));
        } else if !messages.is_empty() {
            let each = |(to, message)| (to as &Vec<Token>).iter().map(move |to| (*to, message));
            let mut pairs: Vec<(Token, &Arc<Message>)> =
                messages.iter().map(|(to, message)| (to, message)).flat_map(each).collect();
            // Stable: what a subscriber gets is not moved past each other.
            pairs.sort_by_key(|(token, _)| (token.index, token.generation));
            for of_one in pairs.chunk_by(|a, b| a.0 == b.0) {
                let its: Vec<&Arc<Message>> = of_one.iter().map(|(_, message)| *message).collect();
                self.deliver_to(of_one[0].0, &its);
            }
        }
        messages.clear();
    }

    fn deliver_to(&mut self, token: Token, messages: &[&Arc<Message>]) {
        for (i, message) in messages.iter().enumerate() {
            let Some(connection) = self.slab.get(token) else { return };
            // It has been chosen to go since clients' buffers were too many: it gets no more, and what it has got goes.
            if connection.card.is_leaving() {
                let card = connection.card.clone();
                self.out.clear();
                self.shed(&card);
                return;
            }
            // Had it been told that it is not subscribed any more, it would take this for the reply to something
            // else. But it gets what waits for it before that (`stage/messages.rs`).
            if connection.hears_others() && message.is_for(&connection.client) {
                message.write(connection.client.resp, &mut self.out);
            }
            // Of very many no more than a buffer is gathered, which is kept.
            let is_last = i + 1 == messages.len();
            if !self.out.is_empty() && (is_last || self.out.len() > HOT_OUTPUT_KEPT / 2) {
                self.send_messages(token);
            }
        }
    }

    fn send_messages(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let counters = &self.counters;
        counters.bytes_out.add(self.out.len() as u64);
        counters.sends.add(1);
        match connection.send(&mut self.out) {
            // It was held for what has been sent with this, and its descriptor has no more to say.
            Sent::All if connection.hold == Hold::Output => self.resume_output(token),
            Sent::All => {}
            Sent::Partly => self.after_output(token),
            Sent::Gone => self.doom(token),
        }
        self.out.clear();
    }
}
