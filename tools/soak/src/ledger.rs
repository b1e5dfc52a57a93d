//! What must never happen, and the record from which that is seen.
//!
//! The ledger knows who may have which key. For a group with a service it takes this from the
//! service: each key it has committed, with its members. Among peers nobody knows that alone. There,
//! no key that an honest peer has first seen after an eviction settled may be the evicted one's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An invariant that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which invariant.
    pub kind: Invariant,
    /// What was seen.
    pub seen: String,
}

/// The invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// What the service acknowledged, an eviction or readmission, is undone.
    AcknowledgedLost,
    /// An application saw an earlier epoch after a later one of the same founding.
    EpochBack,
    /// The service used one epoch for two keys.
    EpochTwice,
    /// A device has a key that is not for it.
    EvictedHasKey,
    /// A device decrypted a message that is not for it.
    EvictedReads,
    /// One key serves two sets of members.
    KeyTwice,
    /// A nonce was used for two contents under one key.
    NonceTwice,
    /// A party panicked.
    Panic,
    /// A device counts as evicted, and nobody who may do so decided it.
    NotDecided,
    /// A party dropped out, or the key changed, although nothing failed any more.
    Restless,
    /// Not all honest parties came back within the bound.
    Stuck,
    /// A group message was not heard, although nothing failed any more.
    Unheard,
}

/// Who has had which key.
#[derive(Debug, Default)]
pub struct Ledger {
    keys: BTreeMap<Vec<u8>, KeyRecord>,
    /// The service's keys, by life of the group and epoch.
    epochs: BTreeMap<(u32, u64), Vec<u8>>,
    /// Keys that the service made, and that were lost with its store before any device had them.
    lost: BTreeSet<Vec<u8>>,
    /// Evicted devices, and since when that has settled, ns.
    out: BTreeMap<u32, u64>,
    /// Of each group message: its sender, the sender's key, and when it was sent, ns.
    said: BTreeMap<u64, (u32, Vec<u8>, u64)>,
    heard: BTreeSet<(u64, u32)>,
    /// The latest epoch that a device has shown its application, by founding.
    shown: BTreeMap<(u32, Vec<u8>), u64>,
}

#[derive(Debug, Default)]
struct KeyRecord {
    first_seen: u64,
    /// The members, where the service or a peer said so.
    roster: Option<BTreeSet<u32>>,
    holders: BTreeSet<u32>,
}

impl Ledger {
    /// Notes that the service has committed a key for these members, or that a peer has it for
    /// these. `epoch` is the life of the group and the epoch, if only one key may have them.
    pub fn committed(
        &mut self,
        epoch: Option<(u32, u64)>,
        key: &[u8],
        roster: &BTreeSet<u32>,
        now: u64,
    ) -> Result<(), Violation> {
        if let Some(epoch) = epoch {
            let known = self.epochs.entry(epoch).or_insert_with(|| key.to_vec());
            if known != key {
                return violated(
                    Invariant::EpochTwice,
                    format!("epoch {} of life {} has two keys", epoch.1, epoch.0),
                );
            }
        }
        let record = self.keys.entry(key.to_vec()).or_insert_with(|| KeyRecord::at(now));
        match &record.roster {
            Some(known) if known != roster => {
                return violated(
                    Invariant::KeyTwice,
                    format!("one key serves {known:?} and {roster:?}"),
                );
            }
            _ => record.roster = Some(roster.clone()),
        }
        match record.holders.difference(roster).next() {
            Some(device) => violated(
                Invariant::EvictedHasKey,
                format!("device {device} has the key of {roster:?}"),
            ),
            None => Ok(()),
        }
    }

    /// Notes that the service goes on from an old copy of its store, in this life of the group and
    /// this epoch. What nobody has seen of later epochs and lives does not count, as long as nobody
    /// sees it.
    pub fn went_back(&mut self, life: u32, epoch: u64) {
        let keys = &self.keys;
        let is_seen = |key: &Vec<u8>| keys.get(key).is_some_and(|key| !key.holders.is_empty());
        let lost = self.epochs.range((life, epoch.saturating_add(1))..);
        let lost: Vec<_> = lost.filter(|(_, key)| !is_seen(key)).map(|(&at, _)| at).collect();
        for at in lost {
            self.lost.extend(self.epochs.remove(&at));
        }
    }

    /// Notes that a device has a key.
    pub fn holds(&mut self, device: u32, key: &[u8], now: u64) -> Result<(), Violation> {
        if self.lost.contains(key) {
            return violated(
                Invariant::EpochTwice,
                format!("device {device} has a key that the service no longer knows"),
            );
        }
        let record = self.keys.entry(key.to_vec()).or_insert_with(|| KeyRecord::at(now));
        record.holders.insert(device);
        if let Some(roster) = &record.roster
            && !roster.contains(&device)
        {
            return violated(
                Invariant::EvictedHasKey,
                format!("device {device} has the key of {roster:?}"),
            );
        }
        let out = |id: &&u32| self.out.get(id).is_some_and(|since| *since < record.first_seen);
        let is_shared = record.holders.iter().any(|id| !self.out.contains_key(id));
        match record.holders.iter().find(out).filter(|_| is_shared) {
            Some(device) => violated(
                Invariant::EvictedHasKey,
                format!("evicted device {device} has a later key of {:?}", record.holders),
            ),
            None => Ok(()),
        }
    }

    /// Notes that a device is out for good, or in again.
    pub fn evicted(&mut self, device: u32, since: Option<u64>) {
        match since {
            Some(since) => drop(self.out.entry(device).or_insert(since)),
            None => drop(self.out.remove(&device)),
        }
    }

    /// Returns whether an eviction has settled.
    pub fn is_out(&self, device: u32) -> bool {
        self.out.contains_key(&device)
    }

    /// Notes that a device sent a group message under this key.
    pub fn said(&mut self, message: u64, sender: u32, key: &[u8], now: u64) {
        self.said.insert(message, (sender, key.to_vec(), now));
    }

    /// Notes that a device decrypted a group message.
    pub fn heard(&mut self, message: u64, device: u32) -> Result<(), Violation> {
        self.heard.insert((message, device));
        let Some((sender, key, at)) = self.said.get(&message) else { return Ok(()) };
        let roster = self.keys.get(key).and_then(|record| record.roster.as_ref());
        let is_not_in = roster.is_some_and(|roster| !roster.contains(&device));
        let is_out =
            self.out.get(&device).is_some_and(|since| since < at) && !self.out.contains_key(sender);
        if is_not_in || is_out {
            return violated(
                Invariant::EvictedReads,
                format!("device {device} reads what device {sender} said"),
            );
        }
        Ok(())
    }

    /// Requires that these devices have heard a group message.
    pub fn require_heard(
        &self,
        message: u64,
        devices: impl Iterator<Item = u32>,
    ) -> Result<(), Violation> {
        let mut deaf = devices.filter(|&device| !self.heard.contains(&(message, device)));
        let sender = self.said.get(&message).map(|(sender, ..)| *sender);
        match sender.and_then(|sender| deaf.next().map(|device| (sender, device))) {
            Some((sender, device)) => violated(
                Invariant::Unheard,
                format!("device {device} does not hear device {sender}"),
            ),
            None => Ok(()),
        }
    }

    /// Notes that a device shows its application an epoch of this founding.
    pub fn shows(&mut self, device: u32, founding: Vec<u8>, epoch: u64) -> Result<(), Violation> {
        let latest = self.shown.entry((device, founding)).or_insert(epoch);
        if epoch < *latest {
            return violated(
                Invariant::EpochBack,
                format!("device {device} goes from epoch {latest} back to {epoch}"),
            );
        }
        *latest = epoch;
        Ok(())
    }
}

impl KeyRecord {
    const fn at(now: u64) -> Self {
        Self { first_seen: now, roster: None, holders: BTreeSet::new() }
    }
}

pub(crate) fn violated<T>(kind: Invariant, seen: String) -> Result<T, Violation> {
    Err(Violation { kind, seen })
}

impl Invariant {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AcknowledgedLost => "acknowledged-lost",
            Self::EpochBack => "epoch-back",
            Self::EpochTwice => "epoch-twice",
            Self::EvictedHasKey => "evicted-has-key",
            Self::EvictedReads => "evicted-reads",
            Self::KeyTwice => "key-twice",
            Self::NonceTwice => "nonce-twice",
            Self::NotDecided => "not-decided",
            Self::Panic => "panic",
            Self::Restless => "restless",
            Self::Stuck => "stuck",
            Self::Unheard => "unheard",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(result: Result<(), Violation>) -> Option<Invariant> {
        result.err().map(|violation| violation.kind)
    }

    fn set(devices: &[u32]) -> BTreeSet<u32> {
        devices.iter().copied().collect()
    }

    #[test]
    fn what_may_be_is_no_violation() {
        let mut ledger = Ledger::default();
        let (first, second) = ([1; 16], [2; 16]);
        assert_eq!(ledger.committed(Some((0, 1)), &first, &set(&[0, 1, 2]), 1), Ok(()));
        assert_eq!(ledger.committed(Some((0, 1)), &first, &set(&[0, 1, 2]), 2), Ok(()));
        assert_eq!(ledger.holds(2, &first, 2), Ok(()));
        ledger.said(1, 2, &first, 3);
        assert_eq!(ledger.heard(1, 0), Ok(()));
        ledger.evicted(2, Some(4));
        assert_eq!(ledger.committed(Some((0, 2)), &second, &set(&[0, 1]), 5), Ok(()));
        assert_eq!(ledger.holds(2, &first, 6), Ok(()), "it keeps what it had");
        assert_eq!(ledger.holds(0, &second, 6), Ok(()));
        assert_eq!(ledger.committed(Some((1, 2)), &[3; 16], &set(&[0, 1]), 7), Ok(()));
    }

    #[test]
    fn a_planted_violation_of_each_kind_is_seen() {
        let mut ledger = Ledger::default();
        let key = [1; 16];
        ledger.committed(Some((0, 1)), &key, &set(&[0, 1]), 1).unwrap();
        assert_eq!(
            kind(ledger.committed(Some((0, 1)), &[2; 16], &set(&[0, 1]), 1)),
            Some(Invariant::EpochTwice)
        );
        assert_eq!(
            kind(ledger.committed(Some((0, 2)), &key, &set(&[0, 2]), 1)),
            Some(Invariant::KeyTwice)
        );
        assert_eq!(kind(ledger.holds(2, &key, 1)), Some(Invariant::EvictedHasKey));
        ledger.said(7, 0, &key, 1);
        assert_eq!(kind(ledger.heard(7, 2)), Some(Invariant::EvictedReads));
        ledger.heard(7, 1).unwrap();
        assert_eq!(ledger.require_heard(7, [1, 2].into_iter()), Ok(()));
        assert_eq!(kind(ledger.require_heard(7, [3].into_iter())), Some(Invariant::Unheard));
        ledger.shows(0, vec![1], 5).unwrap();
        ledger.shows(0, vec![2], 1).unwrap();
        assert_eq!(kind(ledger.shows(0, vec![1], 4)), Some(Invariant::EpochBack));
    }

    #[test]
    fn a_key_that_was_lost_unseen_may_be_made_again_unless_it_turns_up() {
        let (mut ledger, all) = (Ledger::default(), set(&[0, 1]));
        for (epoch, key) in [(1, 1), (2, 2), (3, 3)] {
            ledger.committed(Some((0, epoch)), &[key; 16], &all, 1).unwrap();
        }
        ledger.holds(0, &[2; 16], 1).unwrap();
        ledger.went_back(0, 1);
        assert_eq!(ledger.committed(Some((0, 3)), &[4; 16], &all, 2), Ok(()));
        assert_eq!(ledger.holds(0, &[4; 16], 2), Ok(()));
        let seen = ledger.committed(Some((0, 2)), &[5; 16], &all, 2);
        assert_eq!(kind(seen), Some(Invariant::EpochTwice));
        assert_eq!(kind(ledger.holds(1, &[3; 16], 2)), Some(Invariant::EpochTwice));
    }

    #[test]
    fn a_device_that_has_a_key_before_the_service_names_its_members_is_seen() {
        let mut ledger = Ledger::default();
        ledger.holds(2, &[1; 16], 1).unwrap();
        let late = ledger.committed(Some((0, 1)), &[1; 16], &set(&[0, 1]), 2);
        assert_eq!(kind(late), Some(Invariant::EvictedHasKey));
    }

    #[test]
    fn among_peers_a_later_key_of_an_evicted_one_is_seen_in_either_order() {
        for order in [[0, 2], [2, 0]] {
            let mut ledger = Ledger::default();
            ledger.holds(2, &[1; 16], 1).unwrap();
            ledger.evicted(2, Some(5));
            assert_eq!(ledger.holds(0, &[1; 16], 6), Ok(()), "an earlier key");
            let [first, second] = order;
            assert_eq!(ledger.holds(first, &[2; 16], 7), Ok(()));
            assert_eq!(kind(ledger.holds(second, &[2; 16], 8)), Some(Invariant::EvictedHasKey));
        }
    }
}
