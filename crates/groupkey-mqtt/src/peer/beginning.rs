//! How a peer without a key begins: with the other founders, or in the founding that others are in.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use groupkey::{Instance, MemberId};
use rand_chacha::ChaCha20Rng;

use super::founding::{FoundingClaim, FoundingClaims, SignedFounding};
use super::{INTERVAL, SILENCE, SLOW, draw};

/// What a peer knows of foundings.
#[derive(Default)]
pub(super) struct Beginning {
    /// What others have answered of theirs, and when this peer chooses among them, ns.
    claims: FoundingClaims,
    chooses_at: Option<u64>,
    /// Founders without a key that have answered this process.
    here: BTreeMap<MemberId, WaitingFounder>,
    /// The nonce with which this founder would found the group.
    pledge: Option<[u8; 16]>,
    /// The earliest time at which this founder may be the one that founds the group, ns.
    founds_from: Option<u64>,
}

/// A founder without a key, as it has answered.
pub(super) struct WaitingFounder {
    pub(super) pledge: [u8; 16],
    pub(super) instance: Option<Instance>,
    pub(super) without: Vec<MemberId>,
}

/// What the first founder knows of itself.
pub(super) struct Present {
    pub(super) me: MemberId,
    /// The founding that it is in.
    pub(super) instance: Option<Instance>,
    /// Whether the group is being created there.
    pub(super) is_under_way: bool,
}

impl Beginning {
    pub(super) fn enter(&mut self, now: u64) {
        self.settle();
        self.founds_from = Some(now.saturating_add(SLOW));
    }

    /// Forgets the claims and founders of other foundings.
    pub(super) fn settle(&mut self) {
        self.claims.clear();
        self.chooses_at = None;
        self.here.clear();
    }

    /// Asks all others anew.
    pub(super) fn forget_claims(&mut self) {
        self.claims.clear();
    }

    pub(super) fn note_claim(&mut self, member: MemberId, claim: FoundingClaim) {
        self.claims.note(member, claim);
    }

    pub(super) fn others_have_key(&self) -> bool {
        self.claims.has_key()
    }

    /// Chooses at this time, ns, or earlier. Returns when.
    pub(super) fn choose_at(&mut self, at: u64) -> u64 {
        let at = self.chooses_at.map_or(at, |set| set.min(at));
        self.chooses_at = Some(at);
        at
    }

    /// Returns whether a choice is to come.
    pub(super) const fn will_choose(&self) -> bool {
        self.chooses_at.is_some()
    }

    /// Takes the claims to choose among, once others had the time to make them.
    pub(super) fn take_claims(&mut self, now: u64) -> Option<FoundingClaims> {
        self.chooses_at.take_if(|at| now >= *at)?;
        Some(core::mem::take(&mut self.claims))
    }

    pub(super) fn note_candidate(&mut self, member: MemberId, candidate: Option<WaitingFounder>) {
        match candidate {
            Some(candidate) => _ = self.here.insert(member, candidate),
            None => _ = self.here.remove(&member),
        }
    }

    /// Returns the nonce with which this founder would found the group.
    pub(super) fn pledge(&mut self, rng: &mut ChaCha20Rng) -> [u8; 16] {
        *self.pledge.get_or_insert_with(|| draw(rng))
    }

    pub(super) fn has_pledged(&self, me: MemberId, founding: &SignedFounding) -> bool {
        self.pledge.is_some_and(|pledge| founding.has(me, pledge))
    }

    pub(super) const fn use_pledge(&mut self) {
        self.pledge = None;
    }

    /// Waits for a while before the first founding.
    pub(super) fn wait(&mut self, now: u64) {
        self.founds_from.get_or_insert_with(|| now.saturating_add(INTERVAL));
    }

    /// Returns the other founders with their nonces, if this peer is the first founder, and all are
    /// online without a key. It founds the group again if one of them takes part in no founding, or
    /// in another one. `founders` are by ascending number, and `peers` all that this one knows.
    pub(super) fn others_to_found_with(
        &self,
        mut founders: Vec<MemberId>,
        peers: impl Iterator<Item = MemberId>,
        present: &Present,
        now: u64,
    ) -> Option<Vec<(MemberId, [u8; 16])>> {
        if self.founds_from.is_some_and(|from| now >= from.saturating_add(SILENCE)) {
            let all = founders.clone();
            founders.retain(|&one| !self.may_be_left_out(one, |other| all.contains(&other)));
        }
        let (first, others) = founders.split_first()?;
        if *first != present.me || others.is_empty() {
            return None;
        }
        let here: Vec<_> =
            others.iter().map(|other| self.here.get(other)).collect::<Option<_>>()?;
        // Another peer may still say that the group exists.
        let has_answered = |peer| peer == present.me || self.here.contains_key(&peer);
        let may_wait = present.instance.is_some() || !peers.into_iter().all(has_answered);
        if may_wait && self.founds_from.is_none_or(|from| now < from) {
            return None;
        }
        let is_with_us = |other: &&WaitingFounder| other.instance == present.instance;
        if present.is_under_way && here.iter().all(is_with_us) {
            return None;
        }
        let pledged = others.iter().zip(&here);
        Some(pledged.map(|(&other, candidate)| (other, candidate.pledge)).collect())
    }

    /// Returns whether a founding has these founders, but for those that may be left out.
    pub(super) fn are_founders(&self, founding: &SignedFounding, founders: &[MemberId]) -> bool {
        let is_listed = |member| founding.members().any(|listed| listed == member);
        let are_distinct = founding.members().is_sorted_by(|one, other| one < other);
        are_distinct
            && founding.members().all(|member| founders.contains(&member))
            && founders
                .iter()
                .all(|&founder| is_listed(founder) || self.may_be_left_out(founder, is_listed))
    }

    /// Whether the group may be founded without a founder: it does not answer, and another one of
    /// these reports that it was evicted. Those that know it would not begin with it.
    fn may_be_left_out(&self, founder: MemberId, of: impl Fn(MemberId) -> bool) -> bool {
        let is_reported = self
            .here
            .iter()
            .any(|(&reporter, candidate)| of(reporter) && candidate.without.contains(&founder));
        is_reported && !self.here.contains_key(&founder)
    }
}

#[cfg(test)]
mod tests {
    use minicbor::bytes::ByteArray;
    use rand_core::SeedableRng;

    use super::*;
    use crate::codec::{decoded, encoded};

    fn candidate(instance: Option<u8>, without: &[u32]) -> Option<WaitingFounder> {
        let instance = instance.map(|byte| Instance([byte; Instance::BYTES]));
        let without = without.iter().copied().map(MemberId).collect();
        Some(WaitingFounder { pledge: [9; 16], instance, without })
    }

    fn others(beginning: &Beginning, me: u32, instance: Option<u8>, now: u64) -> Option<Vec<u32>> {
        let ids = || (0..3).map(MemberId);
        let instance = instance.map(|byte| Instance([byte; Instance::BYTES]));
        let present = Present { me: MemberId(me), instance, is_under_way: instance.is_some() };
        let others = beginning.others_to_found_with(ids().collect(), ids(), &present, now)?;
        Some(others.into_iter().map(|(member, _)| member.0).collect())
    }

    #[test]
    fn the_first_founder_begins_when_all_others_are_there() {
        let mut beginning = Beginning::default();
        beginning.wait(0);
        beginning.note_candidate(MemberId(1), candidate(None, &[]));
        assert_eq!(others(&beginning, 0, None, 0), None);
        beginning.note_candidate(MemberId(2), candidate(None, &[]));
        assert_eq!(others(&beginning, 0, None, 0), Some(vec![1, 2]));
        assert_eq!(others(&beginning, 1, None, u64::MAX), None, "it is not the first");
        beginning.note_candidate(MemberId(2), None);
        assert_eq!(others(&beginning, 0, None, u64::MAX), None, "it has a key");
    }

    #[test]
    fn a_founding_is_repeated_for_a_founder_that_is_in_none() {
        let mut beginning = Beginning::default();
        beginning.enter(0);
        beginning.note_candidate(MemberId(1), candidate(Some(5), &[]));
        beginning.note_candidate(MemberId(2), candidate(Some(5), &[]));
        assert_eq!(others(&beginning, 0, Some(5), SLOW), None, "all are in it");
        beginning.note_candidate(MemberId(2), candidate(None, &[]));
        assert_eq!(others(&beginning, 0, Some(5), SLOW - 1), None);
        assert_eq!(others(&beginning, 0, Some(5), SLOW), Some(vec![1, 2]));
    }

    #[test]
    fn a_silent_founder_that_was_evicted_is_left_out_in_time() {
        let mut beginning = Beginning::default();
        beginning.wait(0);
        beginning.note_candidate(MemberId(1), candidate(None, &[2]));
        let end = INTERVAL + SILENCE;
        assert_eq!(others(&beginning, 0, None, end - 1), None);
        assert_eq!(others(&beginning, 0, None, end), Some(vec![1]));
    }

    #[test]
    fn a_choice_comes_at_the_earliest_time_that_was_asked_for() {
        let mut beginning = Beginning::default();
        assert_eq!(
            (beginning.choose_at(9), beginning.choose_at(5), beginning.choose_at(7)),
            (9, 5, 5)
        );
        assert!(beginning.take_claims(4).is_none() && beginning.will_choose());
        assert!(beginning.take_claims(5).is_some() && !beginning.will_choose());
    }

    #[test]
    fn nobody_founds_a_group_alone() {
        let mut beginning = Beginning::default();
        beginning.wait(0);
        let present = Present { me: MemberId(0), instance: None, is_under_way: false };
        let alone = (vec![MemberId(0)], [MemberId(0)].into_iter());
        assert_eq!(beginning.others_to_found_with(alone.0, alone.1, &present, u64::MAX), None);
    }

    #[test]
    fn a_pledge_is_for_one_founding() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut beginning = Beginning::default();
        let first = beginning.pledge(&mut rng);
        assert_eq!(beginning.pledge(&mut rng), first);
        beginning.use_pledge();
        assert_ne!(beginning.pledge(&mut rng), first);
    }

    #[test]
    fn a_founding_has_each_founder_once() {
        let beginning = Beginning::default();
        for (listed, is_taken) in [(&[0, 1][..], true), (&[1, 0], false), (&[0, 1, 1], false)] {
            let founders: Vec<_> =
                listed.iter().map(|&id| (id, ByteArray::from([1; 16]))).collect();
            let founding = encoded(&(founders, ByteArray::from([0; 64])));
            let founding: SignedFounding = decoded(&founding).unwrap();
            let is_ours = beginning.are_founders(&founding, &[0, 1].map(MemberId));
            assert_eq!(is_ours, is_taken, "{listed:?}");
        }
    }
}
