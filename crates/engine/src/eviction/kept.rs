//! Keys that do not go for room that is made for a change of theirs.
//!
//! A command whose key went for its own room would find nothing and make the key anew: APPEND of two bytes to
//! 3 MB left two bytes (decision 154).

use crate::session::Session;
use crate::verbs::Db;

/// Keys that are kept, see [`Session::keep`].
#[derive(Debug)]
#[must_use]
pub struct Kept<'s> {
    session: &'s Session,
    before: usize,
}

impl Drop for Kept<'_> {
    #[inline]
    fn drop(&mut self) {
        self.session.kept.borrow_mut().truncate(self.before);
    }
}

impl Session {
    /// These keys do not go for room that this session makes until the answer is dropped: it is made for a
    /// change of theirs, by a command that would then find nothing, and make them anew.
    pub fn keep(&self, keys: impl IntoIterator<Item = (Db, u64)>) -> Kept<'_> {
        let mut kept = self.kept.borrow_mut();
        let before = kept.len();
        kept.extend(keys);
        Kept { session: self, before }
    }

    /// Whether it is such a key's item. Its hash is only asked for where there is one.
    pub(crate) fn is_kept(&self, root: u32, hash: impl FnOnce() -> u64) -> bool {
        // Whoever holds locks meets none of the keys in those shards.
        if !self.waits_for_locks.get() {
            return false;
        }
        let kept = self.kept.borrow();
        let is_here = |db: Db| self.view().root_of(db) == root;
        if !kept.iter().any(|(db, _)| is_here(*db)) {
            return false;
        }
        let hash = hash();
        kept.iter().any(|(db, kept)| *kept == hash && is_here(*db))
    }
}
