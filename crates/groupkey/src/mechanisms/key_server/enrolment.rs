//! The deployment phase that all key servers share: every member gets an individual key over a
//! confidential channel, once. The controller keeps the keys in slots, or derives them for slots
//! (`individual_keys.rs`). A slot is reused after its member was evicted, always with a new key, unless
//! the scheme retires slots.
//!
//! Message `Enroll` (confidential): `slot, individual key`.

use alloc::borrow::Cow;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::key_server::individual_keys::IndividualKeys;
use crate::mechanisms::key_server::slot_index::SlotIndex;
use crate::mechanisms::key_server::slot_index::room_for;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::saved_state::{self, PartyState, SavedState, require, saved};
use crate::secret::Key;
use crate::wire::Reader;

/// A member's own side of its enrolment.
#[derive(Debug)]
pub(crate) struct Enrolment {
    /// The member's slot at the controller.
    pub(crate) slot: u32,
    /// The key that only the member and the controller have.
    pub(crate) key: Key,
}

/// The members that a controller enrolled, by slot.
#[derive(Debug, Default)]
pub(crate) struct SlotRoster {
    /// Finds an occupied slot by its member. It does not hold the ids a second time.
    occupied: SlotIndex,
    members: Vec<MemberId>,
    keys: IndividualKeys,
    standings: Vec<SlotState>,
    /// Free slots; the lowest is reused first, which keeps key trees low.
    free: BinaryHeap<Reverse<u32>>,
    /// Whether no slot is reused. `free` is empty then.
    retires: bool,
    joined: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotState {
    Free,
    Enrolled,
    Joined,
}

saved!(Enrolment { slot, key });

/// For each slot 0 if it is free, otherwise twice the member's id and 1, or 2 if it joined. The
/// keys follow. The rest follows from these.
impl PartyState for SlotRoster {
    fn save_state(&self, state: &mut SavedState) {
        state.array(self.slots());
        for (standing, member) in self.standings.iter().zip(&self.members) {
            let number = 2 * u64::from(member.0);
            state.number(match standing {
                SlotState::Free => 0,
                SlotState::Enrolled => number + 1,
                SlotState::Joined => number + 2,
            });
        }
        self.keys.save_state(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        let slots = saved_state::length(state)?;
        self.reserve(slots);
        for slot in 0..slots as u32 {
            let number = state.number()?;
            let standing = match number {
                0 => SlotState::Free,
                _ if number % 2 == 1 => SlotState::Enrolled,
                _ => SlotState::Joined,
            };
            let member = u32::try_from(number.saturating_sub(1) / 2);
            let member = MemberId(member.map_err(|_| Misbehaviour::Malformed)?);
            require(standing == SlotState::Free || self.enrolled_slot(member).is_none())?;
            self.members.push(member);
            self.standings.push(standing);
            match standing {
                SlotState::Free => self.release(slot),
                SlotState::Enrolled => self.occupied.insert(&self.members, slot),
                SlotState::Joined => {
                    self.occupied.insert(&self.members, slot);
                    self.joined += 1;
                }
            }
        }
        self.keys.restore_state(state)?;
        require(self.keys.fit(slots))
    }
}

/// The kind of the message that carries a key in the deployment phase.
pub(crate) const ENROLMENT: u8 = 0;

impl Enrolment {
    /// Reads the body of the message that [`SlotRoster::enroll`] sends.
    pub(crate) fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self { slot: body.number32()?, key: body.key()? })
    }
}

impl SlotRoster {
    /// A roster that derives individual keys instead of storing them. [`Self::individual_key`]
    /// returns them. `key` and `current_members` are for rosters that store keys.
    pub(crate) fn with_derived_keys() -> Self {
        Self { keys: IndividualKeys::derived(), ..Self::default() }
    }

    /// A roster without individual keys that gives no slot out again.
    pub(crate) fn with_retired_slots() -> Self {
        Self { retires: true, ..Self::with_derived_keys() }
    }

    /// Makes an individual key for each member and sends it over the confidential channel.
    pub(crate) fn enroll(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        members: &[MemberId],
    ) -> Result<(), Error> {
        for (slot, &member) in self.admit(members)?.into_iter().zip(members) {
            let key = self.keys.issue(cx, slot);
            cx.confidential_draft(Recipient::Member(member), epoch, Operation::Enroll, ENROLMENT)
                .number(u64::from(slot))
                .secret(&key)
                .send();
        }
        Ok(())
    }

    pub(crate) fn admit(&mut self, members: &[MemberId]) -> Result<Vec<u32>, Error> {
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let known = members.iter().copied().find(|&member| self.enrolled_slot(member).is_some());
        if let Some(member) = known.or(twice) {
            return Err(Misuse::AlreadyEnrolled(member).into());
        }
        self.reserve(members.len());
        Ok(members.iter().map(|&member| self.occupy(member)).collect())
    }

    pub(crate) fn join_all(&mut self, members: &[MemberId]) -> Result<(), Error> {
        for (index, &member) in members.iter().enumerate() {
            if let Err(error) = self.join_near(member, index as u32) {
                for &earlier in &members[..index] {
                    self.leave(earlier);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) fn join(&mut self, member: MemberId) -> Result<u32, Error> {
        self.join_near(member, 0)
    }

    /// Makes all enrolled members current members, except these.
    pub(crate) fn join_all_but(&mut self, absent: &[MemberId]) {
        let absent = absent.iter().filter_map(|&member| self.enrolled_slot(member));
        let absent: Vec<_> = absent.collect();
        for (slot, standing) in (0..).zip(&mut self.standings) {
            if *standing == SlotState::Enrolled && !absent.contains(&slot) {
                *standing = SlotState::Joined;
                self.joined += 1;
            }
        }
    }

    /// Makes these enrolled members the current members, and evicts all other current members.
    pub(crate) fn become_members(&mut self, members: &[MemberId]) {
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        for slot in 0..self.slots() as u32 {
            let member = self.member(slot);
            if self.is_joined(slot) && sorted.binary_search(&member).is_err() {
                self.evict(member);
            }
        }
        for &member in members {
            if self.current(member).is_err() {
                let _ = self.join(member);
            }
        }
    }

    pub(crate) fn enrolled_slot(&self, member: MemberId) -> Option<u32> {
        self.occupied.find(&self.members, member)
    }

    pub(crate) fn current(&self, member: MemberId) -> Result<u32, Error> {
        match self.enrolled_slot(member) {
            Some(slot) if self.standings[slot as usize] == SlotState::Joined => Ok(slot),
            _ => Err(Misuse::NotMember(member).into()),
        }
    }

    /// Evicts members and makes enrolled members current, all or none. At least two members must be
    /// left. Returns the slots of the joined and of the evicted members.
    pub(crate) fn exchange(
        &mut self,
        joining: &[MemberId],
        leaving: &[MemberId],
    ) -> Result<(Vec<u32>, Vec<u32>), Error> {
        if joining.is_empty() && leaving.is_empty() {
            return Err(Misuse::EmptyBatch.into());
        }
        let mut left = Vec::with_capacity(leaving.len());
        for &member in leaving {
            left.push(self.current(member)?);
        }
        left.sort_unstable();
        if let Some(pair) = left.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Misuse::NamedTwice(self.member(pair[0])).into());
        }
        if self.len() + joining.len() < left.len() + 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        // A leaving member is still a member here, so no member can both join and leave.
        self.join_all(joining)?;
        leaving.iter().for_each(|&member| self.evict(member));
        let joined = joining.iter().filter_map(|&member| self.enrolled_slot(member)).collect();
        Ok((joined, left))
    }

    /// Evicts a member: its key is wiped, its slot is free.
    pub(crate) fn evict(&mut self, member: MemberId) {
        let Some(slot) = self.enrolled_slot(member) else { return };
        self.leave(member);
        self.keys.retire(slot);
        self.forget(member);
    }

    /// Number of current members.
    pub(crate) const fn len(&self) -> usize {
        self.joined
    }

    /// Number of members that have an individual key, current or not.
    pub(crate) fn enrolled(&self) -> usize {
        self.occupied.len()
    }

    /// Number of slots, free ones included.
    pub(crate) const fn slots(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn is_joined(&self, slot: u32) -> bool {
        self.standings.get(slot as usize) == Some(&SlotState::Joined)
    }

    pub(crate) fn member(&self, slot: u32) -> MemberId {
        self.members[slot as usize]
    }

    pub(crate) fn individual_key(&self, cx: &mut Context<'_>, slot: u32) -> Key {
        self.keys.key(cx, slot)
    }

    /// Returns the same key as [`Self::individual_key`], with `derive` as in [`Context::derive`].
    pub(crate) fn individual_key_by(
        &self,
        slot: u32,
        derive: impl FnOnce(&Key, &'static str, &[u8]) -> Key,
    ) -> Cow<'_, Key> {
        self.keys.key_by(slot, derive)
    }

    pub(crate) fn key(&self, slot: u32) -> &Key {
        &self.keys.stored()[slot as usize]
    }

    pub(crate) fn current_slots(&self) -> impl Iterator<Item = u32> {
        (0..self.slots() as u32).filter(|&slot| self.is_joined(slot))
    }

    /// The current members with their stored individual keys, in the order of their slots.
    pub(crate) fn current_members(&self) -> impl Iterator<Item = (MemberId, &Key)> {
        let joined = self.standings.iter().map(|&standing| standing == SlotState::Joined);
        joined
            .zip(self.members.iter().zip(self.keys.stored()))
            .filter_map(|(joined, (&member, key))| joined.then_some((member, key)))
    }

    pub(crate) fn key_bytes(&self) -> usize {
        self.keys.key_bytes(self.occupied.len())
    }

    fn reserve(&mut self, additional: usize) {
        self.occupied.reserve(&self.members, additional);
        let new_slots = additional.saturating_sub(self.free.len());
        if new_slots > self.members.len() / 8 {
            let room = room_for(new_slots);
            self.members.reserve_exact(room);
            self.keys.reserve_exact(room);
            self.standings.reserve_exact(room);
        }
    }

    fn occupy(&mut self, member: MemberId) -> u32 {
        let slot = match self.free.pop() {
            Some(Reverse(slot)) => {
                self.members[slot as usize] = member;
                self.standings[slot as usize] = SlotState::Enrolled;
                slot
            }
            None => {
                self.members.push(member);
                self.keys.add_slot();
                self.standings.push(SlotState::Enrolled);
                self.members.len() as u32 - 1
            }
        };
        self.occupied.insert(&self.members, slot);
        slot
    }

    /// Joins a member that is probably in slot `guess`. Members are mostly created in the order of
    /// their enrolment, and then no search in the index is needed.
    fn join_near(&mut self, member: MemberId, guess: u32) -> Result<u32, Error> {
        let guessed = self.members.get(guess as usize) == Some(&member)
            && self.standings[guess as usize] != SlotState::Free;
        let slot = if guessed {
            guess
        } else {
            self.enrolled_slot(member).ok_or(Misuse::NotEnrolled(member))?
        };
        let standing = &mut self.standings[slot as usize];
        if *standing == SlotState::Joined {
            return Err(Misuse::AlreadyMember(member).into());
        }
        *standing = SlotState::Joined;
        self.joined += 1;
        Ok(slot)
    }

    fn leave(&mut self, member: MemberId) {
        if let Some(slot) = self.enrolled_slot(member) {
            let standing = &mut self.standings[slot as usize];
            self.joined -= usize::from(*standing == SlotState::Joined);
            *standing = SlotState::Enrolled;
        }
    }

    fn forget(&mut self, member: MemberId) {
        if let Some(slot) = self.occupied.remove(&self.members, member) {
            self.standings[slot as usize] = SlotState::Free;
            self.release(slot);
        }
    }

    fn release(&mut self, slot: u32) {
        if !self.retires {
            self.free.push(Reverse(slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupied(members: &[u32]) -> SlotRoster {
        let mut roster = SlotRoster::default();
        for &member in members {
            roster.occupy(MemberId(member));
        }
        roster
    }

    #[test]
    fn the_lowest_free_slot_is_reused_first() {
        let mut roster = occupied(&[10, 11, 12, 13]);
        roster.forget(MemberId(12));
        roster.forget(MemberId(10));
        assert_eq!(roster.occupy(MemberId(20)), 0);
        assert_eq!(roster.occupy(MemberId(21)), 2);
        assert_eq!(roster.occupy(MemberId(22)), 4);
    }

    #[test]
    fn a_refused_admission_leaves_no_slots_behind() {
        let mut roster = occupied(&[1]);
        for refused in [[2, 3, 2], [2, 3, 1]] {
            let error = Misuse::AlreadyEnrolled(MemberId(refused[2]));
            assert_eq!(roster.admit(&refused.map(MemberId)), Err(error.into()));
            assert_eq!(roster.slots(), 1);
        }
        assert_eq!(roster.admit(&[MemberId(3), MemberId(2)]).unwrap(), [1, 2]);
    }

    #[test]
    fn joining_many_is_all_or_none() {
        let mut roster = occupied(&[1, 2, 3]);
        let error = roster.join_all(&[MemberId(1), MemberId(2), MemberId(1)]);
        assert_eq!(error, Err(Misuse::AlreadyMember(MemberId(1)).into()));
        assert_eq!(roster.len(), 0);
        let error = roster.join_all(&[MemberId(3), MemberId(9)]);
        assert_eq!(error, Err(Misuse::NotEnrolled(MemberId(9)).into()));
        assert_eq!(roster.len(), 0);
        roster.join_all(&[MemberId(3), MemberId(1)]).unwrap();
        assert_eq!(roster.len(), 2);
        assert_eq!(roster.current(MemberId(2)), Err(Misuse::NotMember(MemberId(2)).into()));
    }
}
