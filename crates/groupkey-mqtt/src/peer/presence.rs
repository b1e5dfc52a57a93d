//! Which members are there: those that do not answer while an event waits for them are dead, and so
//! are those whose connection broke.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use groupkey::{Epoch, MemberId};

use super::{SILENCE, SLOW};

/// Which members have answered lately.
#[derive(Default)]
pub(super) struct PeerPresence {
    /// The epoch of an announced event that is not complete at this peer.
    under_way: Option<Epoch>,
    /// Since when it has been, ns, and the members that have answered since.
    waits_since: u64,
    online: BTreeSet<MemberId>,
    /// Members whose connections broke, and when they count as dead, ns.
    missed: BTreeMap<MemberId, u64>,
}

impl PeerPresence {
    /// Begins anew, in another founding.
    pub(super) fn reset(&mut self) {
        self.online.clear();
        self.missed.clear();
        self.under_way = None;
    }

    /// Returns the epoch of the event that is under way.
    pub(super) const fn under_way(&self) -> Option<Epoch> {
        self.under_way
    }

    /// Notes which event is under way. Returns the one before, if it changed.
    pub(super) fn follow(&mut self, under_way: Option<Epoch>, now: u64) -> Option<Option<Epoch>> {
        let before = core::mem::replace(&mut self.under_way, under_way);
        let has_changed = before != under_way;
        if has_changed {
            self.waits_since = now;
            self.online.clear();
        }
        has_changed.then_some(before)
    }

    /// Returns whether the event that is under way takes long.
    pub(super) const fn is_slow(&self, now: u64) -> bool {
        self.under_way.is_some() && now.saturating_sub(self.waits_since) >= SLOW
    }

    /// Returns those of these members that were silent for long, and begins to wait for all again.
    /// Returns `None` before that time is over.
    pub(super) fn take_silent(
        &mut self,
        members: impl Iterator<Item = MemberId>,
        now: u64,
    ) -> Option<Vec<MemberId>> {
        if now.saturating_sub(self.waits_since) < SLOW + SILENCE {
            return None;
        }
        let silent = members.filter(|member| !self.online.contains(member)).collect();
        self.waits_since = now.saturating_sub(SLOW);
        self.online.clear();
        Some(silent)
    }

    pub(super) fn answered(&mut self, member: MemberId) {
        self.online.insert(member);
        self.missed.remove(&member);
    }

    /// Notes that a member's connection broke.
    pub(super) fn miss(&mut self, member: MemberId, now: u64) {
        self.missed.entry(member).or_insert_with(|| now.saturating_add(SILENCE));
    }

    /// Returns the members whose connections broke and that may still answer.
    pub(super) fn missed(&self) -> impl Iterator<Item = MemberId> {
        self.missed.keys().copied()
    }

    /// Returns whether there are such members.
    pub(super) fn misses_any(&self) -> bool {
        !self.missed.is_empty()
    }

    /// Removes and returns those that have not answered in time.
    pub(super) fn take_dead(&mut self, now: u64) -> Vec<MemberId> {
        let over = self.missed.iter().filter(|&(_, &at)| now >= at).map(|(&member, _)| member);
        let dead: Vec<_> = over.collect();
        dead.iter().for_each(|member| _ = self.missed.remove(member));
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_while_an_event_waits_is_not_dead() {
        let members = || (0..3).map(MemberId);
        let mut presence = PeerPresence::default();
        assert!(!presence.is_slow(u64::MAX), "nothing is under way");
        assert_eq!(presence.follow(Some(Epoch(2)), 100), Some(None));
        assert_eq!(presence.follow(Some(Epoch(2)), 200), None);
        assert!(!presence.is_slow(100 + SLOW - 1) && presence.is_slow(100 + SLOW));
        presence.answered(MemberId(1));
        let end = 100 + SLOW + SILENCE;
        assert_eq!(presence.take_silent(members(), end - 1), None);
        let silent = presence.take_silent(members(), end);
        assert_eq!(silent, Some(vec![MemberId(0), MemberId(2)]));
        // All have the same time again.
        assert_eq!(presence.take_silent(members(), end + SILENCE - 1), None);
        assert_eq!(presence.take_silent(members(), end + SILENCE).map(|them| them.len()), Some(3));
    }

    #[test]
    fn a_broken_connection_is_a_hint_until_nobody_answers() {
        let mut presence = PeerPresence::default();
        presence.miss(MemberId(1), 0);
        presence.miss(MemberId(2), 5);
        presence.miss(MemberId(1), 9);
        presence.answered(MemberId(2));
        assert_eq!(presence.take_dead(SILENCE - 1), []);
        assert_eq!(presence.missed().collect::<Vec<_>>(), [MemberId(1)]);
        assert_eq!(presence.take_dead(SILENCE), [MemberId(1)]);
        assert!(!presence.misses_any());
    }
}
