//! The devices that a service knows, and which of them are members.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use groupkey::{MemberId, PartyId};
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

use super::allowance::Allowance;
use super::log_entry::AdmissionEntry;
use crate::local_parties::OwnedCommand;
use crate::runtime::SECOND;

/// The devices that ever were members. A number belongs to one identity for good: new hardware under
/// an old name gets another number, and the old number is not used again.
#[derive(Default)]
pub(super) struct DeviceRoster {
    records: BTreeMap<u32, DeviceRecord>,
    numbers: BTreeMap<String, u32>,
    current: usize,
    used_tokens: BTreeSet<[u8; 32]>,
}

pub(super) struct DeviceRecord {
    pub(super) name: String,
    pub(super) identity: [u8; 32],
    /// The stamp of the last accepted request.
    pub(super) stamp: u64,
    /// The attempt in which it joined last.
    pub(super) attempt: [u8; 8],
    pub(super) token: Option<[u8; 32]>,
    pub(super) standing: DeviceStanding,
    pub(super) requests: Allowance,
    /// How often in a row the device rejoined because it had lost its state, and when it last did
    /// so, ns.
    returns: (u32, u64),
}

/// A device's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceStanding {
    /// Evicted: it may not rejoin until it is readmitted.
    Barred,
    /// Evicted from a group of two: still a member until another device joins.
    BarredMember,
    /// A former member, or a device that is admitted and not a member yet.
    Former,
    Member,
    /// Readmitted after an eviction. Until it rejoins, another identity may take its name.
    Readmitted,
}

#[derive(Encode, Decode)]
pub(super) struct SavedRecord {
    #[n(0)]
    pub(super) admission: AdmissionEntry,
    /// Whether it is a member, is barred, was readmitted.
    #[n(1)]
    standing: (bool, bool, bool),
    #[n(2)]
    returns: (u32, u64),
    /// Whether its messages are accepted.
    #[n(3)]
    pub(super) is_known: bool,
}

impl DeviceStanding {
    pub(super) const fn is_current(self) -> bool {
        matches!(self, Self::BarredMember | Self::Member)
    }

    pub(super) const fn is_barred(self) -> bool {
        matches!(self, Self::Barred | Self::BarredMember)
    }

    const fn of(is_current: bool, is_barred: bool) -> Self {
        match (is_current, is_barred) {
            (false, false) => Self::Former,
            (false, true) => Self::Barred,
            (true, false) => Self::Member,
            (true, true) => Self::BarredMember,
        }
    }
}

impl DeviceRecord {
    /// Returns when a member that has lost its state may rejoin, ns. Each return costs two changes
    /// of the key, so the wait grows with each return.
    pub(super) fn may_return_at(&self, now: u64) -> u64 {
        match self.returns {
            (0, _) => 0,
            // The clock was set back since.
            (_, at) if at > now => 0,
            (times, at) => at.saturating_add(RETURN_PAUSE << (times - 1).min(6)),
        }
    }
}

impl DeviceRoster {
    pub(super) fn saved(&self, is_known: impl Fn(MemberId) -> bool) -> Vec<SavedRecord> {
        let saved = |(&member, record): (&u32, &DeviceRecord)| SavedRecord {
            admission: AdmissionEntry {
                member,
                name: record.name.clone(),
                identity: record.identity.into(),
                stamp: record.stamp,
                token: record.token.map(Into::into),
                attempt: record.attempt.into(),
            },
            standing: (
                record.standing.is_current(),
                record.standing.is_barred(),
                record.standing == DeviceStanding::Readmitted,
            ),
            returns: record.returns,
            is_known: is_known(MemberId(member)),
        };
        self.records.iter().map(saved).collect()
    }

    /// Returns what a replay of the log must lead to. Stamps and returns are no part of it, because
    /// they also change without an entry.
    pub(super) fn replayed(&self) -> Vec<SavedRecord> {
        let mut records = self.saved(|_| false);
        for record in &mut records {
            (record.admission.stamp, record.returns) = (0, (0, 0));
        }
        records
    }

    pub(super) fn used_tokens(&self) -> Vec<ByteArray<32>> {
        self.used_tokens.iter().map(|&token| token.into()).collect()
    }

    pub(super) fn has_used(&self, token: &[u8; 32]) -> bool {
        self.used_tokens.contains(token)
    }

    pub(super) fn restore_tokens(&mut self, tokens: &[ByteArray<32>]) {
        self.used_tokens.extend(tokens.iter().map(|&token| <[u8; 32]>::from(token)));
    }

    pub(super) fn restore(&mut self, saved: &SavedRecord) {
        self.admit(&saved.admission);
        if let Some(record) = self.records.get_mut(&saved.admission.member) {
            let (is_current, is_barred, is_readmitted) = saved.standing;
            record.standing = match is_readmitted {
                true => DeviceStanding::Readmitted,
                false => DeviceStanding::of(is_current, is_barred),
            };
            record.returns = saved.returns;
            self.current += usize::from(record.standing.is_current());
        }
    }

    /// Returns the number of members.
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    pub(super) fn record(&self, name: &str) -> Option<(u32, &DeviceRecord)> {
        let number = *self.numbers.get(name)?;
        Some((number, self.records.get(&number)?))
    }

    pub(super) fn is_current(&self, member: u32) -> bool {
        self.records.get(&member).is_some_and(|record| record.standing.is_current())
    }

    pub(super) fn at(&mut self, member: u32) -> Option<&mut DeviceRecord> {
        self.records.get_mut(&member)
    }

    /// Returns the record of a member that a message names as its sender.
    pub(super) fn of(&mut self, sender: PartyId) -> Option<&mut DeviceRecord> {
        match sender {
            PartyId::Member(member) => self.at(member.0),
            PartyId::Controller | PartyId::SubgroupController(_) => None,
        }
    }

    /// Returns a number that no device has had.
    pub(super) fn next_number(&self) -> u32 {
        self.records.keys().next_back().map_or(0, |last| last + 1)
    }

    /// Adds a device. Returns the number of other hardware that had its name, and is none of ours any more.
    pub(super) fn admit(&mut self, admission: &AdmissionEntry) -> Option<u32> {
        let AdmissionEntry { member, name, identity, stamp, token, attempt } = admission.clone();
        self.used_tokens.extend(token.map(<[u8; 32]>::from));
        let former = self.numbers.insert(name.clone(), member).filter(|&number| number != member);
        let replaced = former.and_then(|number| self.records.remove(&number));
        self.current -= usize::from(replaced.as_ref().is_some_and(|it| it.standing.is_current()));
        let before = self.records.get(&member);
        let is_current = before.is_some_and(|record| record.standing.is_current());
        // A device that rejoins with its identity may still use its token later.
        let earlier = before.filter(|record| record.identity == *identity);
        let token = token.map(Into::into).or_else(|| earlier.and_then(|record| record.token));
        let record = DeviceRecord {
            name,
            identity: identity.into(),
            stamp,
            attempt: attempt.into(),
            token,
            standing: DeviceStanding::of(is_current, false),
            requests: Allowance::default(),
            returns: before.or(replaced.as_ref()).map_or((0, 0), |record| record.returns),
        };
        self.records.insert(member, record);
        former
    }

    pub(super) fn note_return(&mut self, member: u32, now: u64) {
        if let Some(DeviceRecord { returns: (times, at), .. }) = self.at(member) {
            let is_long_ago = now >= at.saturating_add(RETURNS_FORGOTTEN);
            (*times, *at) = (if is_long_ago { 1 } else { times.saturating_add(1) }, now);
        }
    }

    pub(super) fn bar(&mut self, member: u32) {
        if let Some(record) = self.at(member) {
            record.standing = DeviceStanding::of(record.standing.is_current(), true);
        }
    }

    /// Lets a device rejoin. A current member keeps its name.
    pub(super) fn readmit(&mut self, member: u32) {
        if let Some(record) = self.at(member) {
            record.standing = match record.standing.is_current() {
                true => DeviceStanding::Member,
                false => DeviceStanding::Readmitted,
            };
        }
    }

    /// Notes the stamp of a device's last accepted request.
    pub(super) fn stamp(&mut self, member: u32, stamp: u64) {
        self.at(member).into_iter().for_each(|record| record.stamp = stamp);
    }

    /// Updates the membership after a command.
    pub(super) fn note(&mut self, command: &OwnedCommand) {
        match command {
            OwnedCommand::Add(member) => self.set(*member, true),
            OwnedCommand::Create(members) => {
                members.iter().for_each(|&member| self.set(member, true))
            }
            OwnedCommand::Remove(member) => self.set(*member, false),
            OwnedCommand::Batch(joining, leaving) => {
                joining.iter().for_each(|&member| self.set(member, true));
                leaving.iter().for_each(|&member| self.set(member, false));
            }
            OwnedCommand::CatchUp | OwnedCommand::Enroll(_) | OwnedCommand::Rekey => {}
        }
    }

    pub(super) fn barred_members(&self) -> Vec<u32> {
        let barred = self.members().filter(|(_, record)| record.standing.is_barred());
        barred.map(|(member, _)| member).collect()
    }

    pub(super) fn records(&self, from: u32) -> impl Iterator<Item = (u32, &DeviceRecord)> {
        self.records.range(from..).map(|(&number, record)| (number, record))
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (u32, &DeviceRecord)> {
        let current = |(_, record): &(&u32, &DeviceRecord)| record.standing.is_current();
        self.records.iter().filter(current).map(|(&number, record)| (number, record))
    }

    /// Notes that a member is no longer one.
    pub(super) fn leave(&mut self, member: u32) {
        self.set(member, false);
    }

    fn set(&mut self, member: u32, current: bool) {
        if let Some(record) = self.records.get_mut(&member) {
            match (record.standing.is_current(), current) {
                (false, true) => self.current += 1,
                (true, false) => self.current -= 1,
                // The membership is unchanged, so a readmitted device's name stays free.
                _ => return,
            }
            record.standing = DeviceStanding::of(current, record.standing.is_barred());
        }
    }
}

/// How long a device waits before its second return in a row, ns. The wait doubles six times.
const RETURN_PAUSE: u64 = SECOND;

/// After this time without a return the count starts again, ns.
const RETURNS_FORGOTTEN: u64 = 600 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encoded;

    fn with_one_member() -> DeviceRoster {
        let mut roster = DeviceRoster::default();
        roster.admit(&AdmissionEntry {
            member: 0,
            name: "a".to_owned(),
            identity: [1; 32].into(),
            stamp: 7,
            token: None,
            attempt: [0; 8].into(),
        });
        roster
    }

    #[test]
    fn the_tokens_of_a_checkpoint_stay_used() {
        let mut roster = DeviceRoster::default();
        roster.restore_tokens(&[[1; 32].into()]);
        assert!(roster.has_used(&[1; 32]) && !roster.has_used(&[2; 32]));
    }

    #[test]
    fn a_replay_leads_to_the_same_records_whatever_their_stamps() {
        let mut roster = with_one_member();
        let before = encoded(&roster.replayed());
        assert_ne!(before, encoded(&DeviceRoster::default().replayed()));
        roster.stamp(0, 9);
        assert_eq!(roster.record("a").unwrap().1.stamp, 9);
        assert_eq!(encoded(&roster.replayed()), before);
    }

    #[test]
    fn each_return_takes_twice_as_long_unless_the_clock_was_set_back() {
        let mut roster = with_one_member();
        let mut at = |times, now| {
            let record = roster.at(0).unwrap();
            record.returns = (times, 100);
            record.may_return_at(now)
        };
        assert_eq!((at(0, 100), at(1, 99)), (0, 0));
        assert_eq!((at(1, 100), at(3, 100)), (100 + RETURN_PAUSE, 100 + 4 * RETURN_PAUSE));
        assert_eq!(at(7, 100), at(99, 100), "a minute at most");
    }
}
