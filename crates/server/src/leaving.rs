//! Who goes where clients' memory has passed its budget.
//!
//! ```text
//!   1. those whose peers have read nothing for STUCK_PEER_MS, the largest first: as many as it takes
//!   2. still too much: those who take most that they were granted no room for, likewise
//!   3. still too much, as where these may not go: whoever takes most
//! ```
//! By size alone it was the wrong one: a few clients that had stopped reading held most of the budget, none of them
//! as much as the next healthy client's large request, which was closed for them, as was every one after it. Large
//! requests and replies have been granted their room; who takes memory without that has taken it from these.
//!
//! Whoever is chosen counts as gone at once, so that the next one is another (`BufferBudget::leaving`). Its thread
//! follows what it really gives back until it is closed.

use crate::budget::BufferBudget;
use crate::clients::{Card, Clients};
use crate::limits::{SEND_LEAST_BYTES, STUCK_PEER_MS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Card {
    /// It was chosen to be closed, and is not yet.
    pub fn is_leaving(&self) -> bool {
        self.leaving_bytes.load(Relaxed) != 0
    }

    /// Its peer has read nothing for long, and what waits for it is worth its going: a full socket leaves so much.
    fn is_stuck(&self, now: u64) -> bool {
        let since = self.stuck_since_ms.load(Relaxed);
        since != 0
            && now.saturating_sub(since) >= STUCK_PEER_MS
            && self.buffer_bytes.load(Relaxed) >= SEND_LEAST_BYTES as u64
    }

    fn bytes_not_granted(&self) -> u64 {
        let granted = self.granted_bytes.load(Relaxed);
        self.buffer_bytes.load(Relaxed).saturating_sub(granted)
    }
}

impl Clients {
    /// The clients to be closed so that no more than `bound` bytes are used, marked as leaving. Not enough where
    /// whoever is last does not have as many: the next who finds too much used chooses again. What is missing is
    /// asked under the lock: of two threads that find it at once, the second finds what the first has chosen.
    pub fn choose_leaving(&self, budget: &BufferBudget, bound: u64, now: u64) -> Vec<Arc<Card>> {
        let cards = self.lock();
        let mut missing = budget.staying().saturating_sub(bound);
        if missing == 0 {
            return Vec::new();
        }
        let bytes = |card: &Card| card.buffer_bytes.load(Relaxed);
        // Without memory of its own it would give nothing back.
        let may_go = |card: &&Arc<Card>| {
            !card.no_evict.load(Relaxed) && !card.is_leaving() && bytes(card) != 0
        };
        let choose = |card: &Arc<Card>| {
            card.leaving_bytes.store(bytes(card), Relaxed);
            budget.begin_leaving(bytes(card));
            card.clone()
        };
        let mut chosen = Vec::new();
        let mut stuck: Vec<&Arc<Card>> =
            cards.values().filter(may_go).filter(|card| card.is_stuck(now)).collect();
        stuck.sort_by_key(|card| Reverse(bytes(card)));
        for card in stuck {
            if missing == 0 {
                return chosen;
            }
            missing = missing.saturating_sub(bytes(card));
            chosen.push(choose(card));
        }
        if missing == 0 {
            return chosen;
        }
        // A heap, since of very many mostly one or two are taken.
        let of_own = cards.values().filter(may_go).map(|card| (card.bytes_not_granted(), card.id));
        let mut of_own: BinaryHeap<(u64, u64)> = of_own.filter(|(own, _)| *own > 0).collect();
        while missing > 0
            && let Some((_, id)) = of_own.pop()
            && let Some(card) = cards.get(&id)
        {
            missing = missing.saturating_sub(bytes(card));
            chosen.push(choose(card));
        }
        if missing > 0 {
            let most = cards.values().filter(may_go).max_by_key(|card| bytes(card));
            chosen.extend(most.map(choose));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Token;
    use dolium_commands::connection::ClientState;

    /// Clients with so much memory, of which so much was granted, and since when their peers have not read.
    fn clients(all: &[(u64, u64, u64)]) -> Clients {
        let clients = Clients::default();
        for (index, (bytes, granted, stuck_since)) in all.iter().enumerate() {
            let id = index as u64;
            let client = ClientState::new(id, String::new(), String::new(), 0, true);
            let card = Card::new(&client, 0, Token { index: id as u32, generation: 0 }, 0);
            card.buffer_bytes.store(*bytes << 10, Relaxed);
            card.granted_bytes.store(*granted << 10, Relaxed);
            card.stuck_since_ms.store(*stuck_since, Relaxed);
            clients.enter(Arc::new(card));
        }
        clients
    }

    /// Who goes where so many bytes more than the bound are used by these.
    fn chosen(all: &[(u64, u64, u64)], missing: u64) -> Vec<u64> {
        let (clients, budget) = (clients(all), BufferBudget::default());
        let now = 1 + STUCK_PEER_MS;
        let used = all.iter().map(|(bytes, ..)| bytes << 10).sum();
        budget.resize(0, used);
        let bound = used - (missing << 10);
        let chosen = clients.choose_leaving(&budget, bound, now);
        assert!(clients.choose_leaving(&budget, bound, now).is_empty(), "chosen once more");
        let bytes: u64 = chosen.iter().map(|card| card.buffer_bytes.load(Relaxed)).sum();
        assert_eq!(budget.leaving(), bytes);
        assert!(chosen.iter().all(|card| card.is_leaving()));
        chosen.iter().map(|card| card.id).collect()
    }

    #[test]
    fn those_who_do_not_read_go_first_and_as_many_as_it_takes() {
        let all = [(900, 0, 0), (100, 0, 1), (300, 0, 1), (200, 0, 1), (300, 0, 2)];
        assert_eq!(chosen(&all, 1), [2]);
        assert_eq!(chosen(&all, 400), [2, 3]);
        assert_eq!(chosen(&all, 601), [2, 3, 1, 0]);
        assert_eq!(chosen(&[(8, 0, 1), (9, 0, 0)], 1), [1], "a stuck one with next to nothing");
    }

    #[test]
    fn what_was_granted_is_not_held_against_its_client() {
        assert_eq!(chosen(&[(1000, 990, 0), (300, 0, 0), (200, 0, 0)], 50), [1]);
        assert_eq!(chosen(&[(1000, 990, 0), (300, 0, 0), (200, 0, 0)], 400), [1, 2]);
    }

    /// Subscribers that did not read held 295 kB each, not yet for long, beside a message that was being received.
    /// None of them was as large as what was missing, so the publisher was closed for them.
    #[test]
    fn as_many_go_as_it_takes_before_one_whose_request_was_granted() {
        let all = [(524, 524, 0), (295, 0, 0), (294, 0, 0), (293, 0, 0)];
        assert_eq!(chosen(&all, 472), [1, 2]);
        assert_eq!(chosen(&all, 590), [1, 2, 3]);
        assert_eq!(chosen(&all, 900), [1, 2, 3, 0], "they are not enough");
    }

    #[test]
    fn who_is_leaving_or_protected_is_not_chosen() {
        let clients = clients(&[(300, 0, 0), (200, 0, 0), (100, 0, 0), (0, 0, 0)]);
        let budget = BufferBudget::default();
        budget.resize(0, 600 << 10);
        clients.find(1).expect("a card").no_evict.store(true, Relaxed);
        let mut ids = Vec::new();
        for _ in 0..3 {
            let bound = budget.staying() - 1;
            ids.extend(clients.choose_leaving(&budget, bound, 0).iter().map(|card| card.id));
        }
        assert_eq!(ids, [0, 2]);
    }
}
