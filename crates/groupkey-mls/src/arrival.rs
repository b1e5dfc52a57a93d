//! What a joining member hears and has no use for: what other joining members announce, and the commit
//! that takes it in. They may come before its welcome or after it, each once.

use groupkey::{Epoch, MemberId};

/// The messages that are still to come.
#[derive(Debug, Default)]
pub(crate) struct UnusedArrivals {
    fellows: Vec<MemberId>,
    commit: bool,
    entered: Option<Epoch>,
}

impl UnusedArrivals {
    /// Expects the announcements of these, and a commit if the group is there already.
    pub(crate) fn expecting(fellows: Vec<MemberId>, commit: bool) -> Self {
        Self { fellows, commit, entered: None }
    }

    pub(crate) fn enter(&mut self, epoch: Epoch) {
        self.entered = Some(epoch);
    }

    pub(crate) fn hear_announcement(&mut self, member: MemberId) -> bool {
        let place = self.fellows.iter().position(|&fellow| fellow == member);
        place.map(|place| self.fellows.remove(place)).is_some()
    }

    /// Takes note of a commit to this epoch. Returns whether it was expected.
    pub(crate) fn hear_commit(&mut self, epoch: Epoch) -> bool {
        let is_it = self.entered.is_none_or(|entered| entered == epoch);
        is_it && core::mem::take(&mut self.commit)
    }
}
