//! The memory of clients' buffers, bounded apart from the data (`client-buffers-max`).
//!
//! Input that was announced waits until there is room for it, so that two hundred clients with a
//! megabyte each queue instead of being closed. So do large replies, where the request can run again
//! (`reactor/stage/room.rs`). Other output cannot wait, nor can what commands have had kept for their client (MULTI,
//! WATCH, SUBSCRIBE ...): when these pass the bound, somebody is closed (`leaving.rs`).
//!
//! ```text
//!   a request is announced part by part (MSET a <10 MB> b <10 MB>): it holds room for what it has been
//!   granted while it waits for more
//!
//!   granted:  held by those who wait | held by those who receive
//!                                      none of these: one more is let in, whatever it takes
//! ```
//! If all that is granted is held by requests that wait, they would wait for each other for ever. So then
//! one goes on beyond its half of the budget, as does one that is larger than all of it.
//!
//! Large replies have a quarter of the budget, or as much of a half as nobody uses; or one of them is let in alone,
//! whatever it takes. They do not share with requests: who reads slowly is not to keep others from
//! writing. The bound on memory is the budget and, beside it, one request and one reply.

use crate::limits::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much output a connection gathers before it is sent although its requests go on, and how much
/// of it may be unsent before they wait. Each full socket leaves so much behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    pub copied: usize,
    pub lent: usize,
    pub unsent: usize,
}

/// What large requests have been granted. Under one lock: of two that begin to wait at the same time,
/// each has to see whether it is the last that was not waiting.
#[derive(Debug, Default)]
struct Grants {
    /// Bytes of all requests.
    all: u64,
    /// Bytes of those that wait for more.
    waiting: u64,
}

/// Counters only: no other memory is published through them, hence Relaxed.
#[derive(Debug, Default)]
pub struct BufferBudget {
    grants: Mutex<Grants>,
    /// Bytes that connections' own buffers hold.
    used: AtomicU64,
    /// Those of connections that are about to be closed because all together were too many.
    leaving: AtomicU64,
    /// `grants.all`, for those who only look.
    reserved: AtomicU64,
    /// Connections whose large request waits for room.
    waiting: AtomicU64,
    /// Raised when reserved bytes come back: whoever waits may try again.
    releases: AtomicU64,
    /// Bytes granted for large replies, the connections that wait for such, and how often some came back.
    replies: AtomicU64,
    replies_waiting: AtomicU64,
    reply_releases: AtomicU64,
}

impl BufferBudget {
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Smaller ones while much of the budget is used: where many peers read slowly, each keeps
    /// little, and nobody has to be closed for what was gathered. Large requests that are being
    /// received have a half of the budget to themselves and say nothing about readers, and those of large
    /// replies have theirs.
    pub fn portion(&self, budget: u64) -> Portion {
        let used = self.used().saturating_sub(self.reserved() + self.replies());
        let all_of = |bytes| Portion { copied: bytes, lent: bytes, unsent: bytes / 2 };
        if used < budget / 4 {
            Portion { copied: SEND_BYTES, lent: LOANS_SEND_BYTES, unsent: OUTPUT_HIGH_WATER }
        } else if used < budget / 2 {
            all_of(SEND_SPARING_BYTES)
        } else {
            Portion { unsent: 0, ..all_of(SEND_LEAST_BYTES) }
        }
    }

    /// Bytes that are lent at once to a peer that has taken as much as anybody is given, and whose socket
    /// has not been full since: a sixteenth of the budget at most, of which little is used.
    pub fn portion_of_who_reads(&self, budget: u64) -> usize {
        let most = usize::try_from(budget / 16).unwrap_or(usize::MAX).min(LOANS_SEND_MOST_BYTES);
        let portion = self.portion(budget).lent;
        if portion < LOANS_SEND_BYTES { portion } else { portion.max(most) }
    }

    pub fn reserved(&self) -> u64 {
        self.reserved.load(Relaxed)
    }

    /// What all buffers together may take. Large requests have half of the budget, or what one that
    /// was let in alone was granted; the other half is everybody's, and has room for what a buffer
    /// is longer than its request. Where one large reply is longer than that, others have a quarter.
    pub fn bound(&self, budget: u64) -> u64 {
        let replies = self.replies();
        let others = if replies <= budget / 2 { budget / 2 } else { replies + budget / 4 };
        self.reserved().max(budget / 2) + others
    }

    /// Bytes that have been granted for large replies.
    pub fn replies(&self) -> u64 {
        self.replies.load(Relaxed)
    }

    /// Room for a large reply of a connection that has been granted `own` bytes for it already.
    pub fn reserve_reply(&self, bytes: u64, own: u64, budget: u64) -> bool {
        let grant = |all: u64| {
            let is_free = self.used().max(all) + bytes <= budget / 2;
            let is_granted = bytes == 0 || all == own || all + bytes <= budget / 4 || is_free;
            is_granted.then_some(all + bytes)
        };
        self.replies.fetch_update(Relaxed, Relaxed, grant).is_ok()
    }

    pub fn release_reply(&self, bytes: u64) {
        if bytes != 0 {
            self.replies.fetch_sub(bytes, Relaxed);
            self.reply_releases.fetch_add(1, Relaxed);
        }
    }

    /// How often room for replies came back: whoever waits may try again.
    pub fn reply_releases(&self) -> u64 {
        self.reply_releases.load(Relaxed)
    }

    pub fn reply_waits(&self) {
        self.replies_waiting.fetch_add(1, Relaxed);
    }

    pub fn reply_waits_no_longer(&self) {
        self.replies_waiting.fetch_sub(1, Relaxed);
    }

    pub fn has_replies_waiting(&self) -> bool {
        self.replies_waiting.load(Relaxed) > 0
    }

    pub fn releases(&self) -> u64 {
        self.releases.load(Relaxed)
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a large request: half of the budget is for these.
    pub fn reserve(&self, bytes: u64, budget: u64) -> bool {
        self.grant(&mut self.grants(), bytes, 0, budget)
    }

    /// As `reserve`, for a request that holds `own` bytes of it already. False: it waits, until
    /// `end_waiting` with the same number.
    pub fn reserve_or_wait(&self, bytes: u64, own: u64, budget: u64) -> bool {
        let mut grants = self.grants();
        let is_granted = self.grant(&mut grants, bytes, own, budget);
        if !is_granted {
            grants.waiting += own;
            self.waiting.fetch_add(1, Relaxed);
        }
        is_granted
    }

    fn grant(&self, grants: &mut Grants, bytes: u64, own: u64, budget: u64) -> bool {
        let all_others_wait = grants.all == grants.waiting + own;
        let is_granted = all_others_wait || grants.all + bytes <= budget / 2;
        if is_granted {
            grants.all += bytes;
            self.reserved.store(grants.all, Relaxed);
        }
        is_granted
    }

    pub fn release(&self, bytes: u64) {
        if bytes != 0 {
            let mut grants = self.grants();
            grants.all -= bytes;
            self.reserved.store(grants.all, Relaxed);
            self.releases.fetch_add(1, Relaxed);
        }
    }

    /// A request that holds `own` bytes waits no longer.
    pub fn end_waiting(&self, own: u64) {
        self.grants().waiting -= own;
        self.waiting.fetch_sub(1, Relaxed);
    }

    pub fn has_waiting(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Bytes that are on their way back.
    pub fn leaving(&self) -> u64 {
        self.leaving.load(Relaxed)
    }

    /// What is used without that.
    pub fn staying(&self) -> u64 {
        self.used().saturating_sub(self.leaving())
    }

    pub fn begin_leaving(&self, bytes: u64) {
        self.leaving.fetch_add(bytes, Relaxed);
    }

    pub fn end_leaving(&self, bytes: u64) {
        self.leaving.fetch_sub(bytes, Relaxed);
    }

    /// A connection's own buffers went from `old` to `new` bytes. Returns all that is used now.
    pub fn resize(&self, old: u64, new: u64) -> u64 {
        if new >= old {
            self.used.fetch_add(new - old, Relaxed) + (new - old)
        } else {
            self.used.fetch_sub(old - new, Relaxed) - (old - new)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_requests_queue_and_one_oversized_gets_in_alone() {
        let budget = BufferBudget::default();
        assert!(budget.reserve(40, 100));
        assert!(!budget.reserve(20, 100), "half of the budget is 50");
        assert!(budget.reserve(10, 100));
        let before = budget.releases();
        budget.release(40);
        budget.release(10);
        assert_eq!(budget.releases(), before + 2);
        assert_eq!(budget.bound(100), 100);
        assert!(budget.reserve(1000, 100), "alone");
        assert!(!budget.reserve(1, 100));
        assert_eq!(budget.bound(100), 1050, "beside what others may have");
    }

    #[test]
    fn large_replies_queue_beside_requests_and_one_oversized_gets_in_alone() {
        let budget = BufferBudget::default();
        assert!(budget.reserve_reply(20, 0, 100) && budget.reserve_reply(20, 0, 100));
        assert!(!budget.reserve_reply(20, 0, 100), "half of the budget is 50");
        budget.release_reply(20);
        budget.resize(0, 40);
        assert!(!budget.reserve_reply(20, 0, 100), "others use what is beyond a quarter");
        assert!(budget.reserve_reply(5, 0, 100), "and a quarter is 25");
        assert_eq!(budget.bound(100), 100);
        budget.resize(40, 0);
        budget.release_reply(25);
        assert!(budget.reserve_reply(1000, 0, 100), "alone");
        assert!(!budget.reserve_reply(1, 0, 100));
        assert!(budget.reserve_reply(1, 1000, 100), "it is the one that is alone");
        assert!(budget.reserve_reply(0, 7, 100), "what was granted is enough");
        assert!(budget.reserve(50, 100), "who reads slowly keeps nobody from writing");
        assert_eq!(budget.bound(100), 50 + 1001 + 25);
        budget.resize(0, 1001);
        assert_eq!(budget.portion(100).lent, LOANS_SEND_BYTES, "others use nothing");
    }

    /// `MSET a <20> b <20>` from two clients: each was granted the first value and waited for the second
    /// for ever, and with them whoever came later.
    #[test]
    fn those_who_hold_room_do_not_wait_for_each_other() {
        let budget = BufferBudget::default();
        assert!(budget.reserve_or_wait(20, 0, 100) && budget.reserve_or_wait(20, 0, 100));
        assert!(!budget.reserve_or_wait(20, 20, 100), "the other one may be received to its end");
        assert!(!budget.reserve_or_wait(20, 0, 100), "as may it");
        assert!(budget.reserve_or_wait(20, 20, 100), "nobody else can go on");
        assert!(!budget.reserve_or_wait(1, 0, 100), "one does");
        assert_eq!(budget.reserved(), 60);
        budget.release(40);
        // All who wait try again: two of them hold nothing.
        for own in [20, 0, 0] {
            budget.end_waiting(own);
        }
        assert!(budget.reserve_or_wait(20, 20, 100));
        budget.release(40);
        assert!(!budget.has_waiting() && budget.reserved() == 0);
    }

    #[test]
    fn portions_shrink_as_the_budget_is_used() {
        let budget = BufferBudget::default();
        let mut portions = Vec::new();
        for _ in 0..4 {
            portions.push(budget.portion(100));
            budget.resize(0, 25);
        }
        assert_eq!(portions[0].lent, LOANS_SEND_BYTES);
        assert_eq!(portions[1].lent, SEND_SPARING_BYTES);
        assert_eq!((portions[2].lent, portions[2].unsent), (SEND_LEAST_BYTES, 0));
        assert_eq!(portions[3], portions[2]);
        assert!(budget.reserve(90, 100), "alone");
        assert_eq!(budget.portion(100), portions[0], "10 of 100 are others'");
    }

    #[test]
    fn sizes_add_up() {
        let budget = BufferBudget::default();
        assert_eq!(budget.resize(0, 10), 10);
        assert_eq!(budget.resize(10, 4), 4);
        assert_eq!(budget.used(), 4);
    }
}
