//! How near an item is to its end, for who has to choose among a few that lie at hand: those of a crowded line, and
//! those that would give their block to one that has to move.

use crate::guard::Target;
use crate::hand::{Hand, Times, readiness};
use crate::index::bucket::META_TTL;
use crate::index::segment::Segment;
use crate::session::Session;
use crate::verbs::{Millis, Policy};

impl Session {
    /// How near an item is to its end by the policy: only to be compared. `None`: it may not go. `hash` is
    /// asked for only where keys are kept.
    pub(crate) fn readiness_at(
        &self,
        target: &Target<'_>,
        (segment, line, slot): (Segment<'_>, usize, usize),
        hash: impl FnOnce() -> u64,
        now: Millis,
    ) -> Option<u64> {
        let engine = self.engine();
        let policy = engine.policy();
        let meta = segment.line(line).meta(slot);
        let has_ttl = meta & META_TTL != 0;
        // The item itself lies elsewhere in memory: it is looked at only for its deadline.
        let deadline = || self.item_in(segment, line, slot).deadline();
        let is_spared = has_ttl && engine.is_spared(deadline(), now);
        let may_go = policy != Policy::NoEviction
            && (has_ttl || !policy.only_volatile())
            && !is_spared
            && !self.is_kept(target.root, hash);
        may_go.then(|| match policy {
            Policy::VolatileTtl => Millis::MAX.abs_diff(deadline()),
            // Where chance chooses, nobody renews ages and they begin anew after 15 generations: as good as chance,
            // but for what just came.
            _ => {
                let patience = Hand::of(target.shard.hand()).patience;
                let times = Times { trial: engine.trial().generations(), patience };
                readiness(meta, target.shard.generation(), times)
            }
        })
    }
}
