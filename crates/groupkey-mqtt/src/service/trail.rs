//! The trail: who did what to the group, and what came of it.
//!
//! Each operation is a record, in the transaction of the operation. A record has the hash of the one
//! before it, so that a changed or missing record shows. The records are entries of the service's
//! log: the notice at the broker has a hash of that log, so an earlier or shorter trail shows, too.
//! The last [`KEPT`] records are kept. Earlier ones are dropped, and the hash of the last of them
//! stays in its successor.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use groupkey::Epoch;
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

use super::log_entry::LogEntry;
use crate::codec::encoded;
use crate::runtime::MILLISECOND;

/// Who caused an operation.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Actor {
    /// The program that has the service, without saying for whom.
    #[n(0)]
    Program,
    /// An operator at the service's terminal.
    #[n(1)]
    Terminal,
    /// A client over HTTP: the name of its token.
    #[n(2)]
    Token(#[n(0)] String),
    /// A rule in the service's file: its name.
    #[n(3)]
    Policy(#[n(0)] String),
    /// The devices that the record names.
    #[n(4)]
    Devices,
    /// The service itself.
    #[n(5)]
    Service,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum TrailOperation {
    /// Devices were admitted, for the first time or again.
    #[n(0)]
    Join,
    /// Members resumed: the key did not change.
    #[n(1)]
    Resume,
    /// A member was evicted and barred.
    #[n(2)]
    Evict,
    /// A device may join again.
    #[n(3)]
    Readmit,
    /// The key changed.
    #[n(4)]
    Rekey,
    /// The key changed, and earlier ones count no longer.
    #[n(5)]
    RekeyHard,
    /// A change of the scheme began.
    #[n(6)]
    BeginChange,
    /// The change that was under way was given up.
    #[n(7)]
    CancelChange,
    /// The group runs the other scheme.
    #[n(8)]
    Change,
    /// The store was accepted as the last state.
    #[n(9)]
    Accept,
    /// The group was founded anew.
    #[n(10)]
    Found,
    /// The service began to act with this store.
    #[n(11)]
    Open,
    /// The service stopped by itself.
    #[n(12)]
    Stop,
}

/// A record of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct TrailRecord {
    /// Its number. Each is one more than the one before.
    #[n(0)]
    pub number: u64,
    /// When it was made, ms since 1970.
    #[n(1)]
    pub at: u64,
    /// Who caused it.
    #[n(2)]
    pub actor: Actor,
    /// What was done.
    #[n(3)]
    pub operation: TrailOperation,
    /// What it was done to: the names of devices, or of a scheme.
    #[n(4)]
    pub subject: Option<String>,
    /// The epoch after it; 0 before there is a group.
    #[n(5)]
    pub epoch: u64,
    /// Why it was not done, or not all of it. `None` if it was.
    #[n(6)]
    pub refusal: Option<String>,
    /// The hash of the record before it; zeros for the first one.
    #[cbor(n(7), with = "minicbor::bytes")]
    pub previous: [u8; 32],
}

/// The last records, and what the next ones will be.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    records: VecDeque<TrailRecord>,
    /// The hash of the last record.
    head: [u8; 32],
    /// For whom the next operation is.
    acting: Option<Actor>,
    /// Operations of the present change.
    pending: Vec<Pending>,
    /// Devices that the present change admits.
    joining: Vec<String>,
}

#[derive(Encode, Decode)]
pub(super) struct SavedTrail {
    #[n(0)]
    head: ByteArray<32>,
    #[n(1)]
    records: Vec<TrailRecord>,
}

/// An operation that is not durable yet.
#[derive(Clone, Debug)]
struct Pending {
    actor: Actor,
    operation: TrailOperation,
    subject: Option<String>,
    refusal: Option<String>,
}

impl Trail {
    /// Returns the records from this number on, oldest first.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &TrailRecord> {
        let first = self.records.front().map_or(0, |record| record.number);
        let skipped = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        self.records.iter().skip(skipped)
    }

    /// Returns the hash of the last record; zeros if there is none.
    pub const fn head(&self) -> [u8; 32] {
        self.head
    }

    /// Says for whom the next operation is.
    pub(super) fn act_for(&mut self, actor: Actor) {
        self.acting = Some(actor);
    }

    pub(super) fn begin(&mut self, operation: TrailOperation, subject: Option<&str>) {
        let actor = self.take_actor();
        self.begin_by(actor, operation, subject);
    }

    /// Returns for whom the next operation is. Asks once.
    pub(super) fn take_actor(&mut self) -> Actor {
        self.acting.take().unwrap_or(Actor::Program)
    }

    pub(super) fn begin_by(
        &mut self,
        actor: Actor,
        operation: TrailOperation,
        subject: Option<&str>,
    ) {
        let subject = subject.map(ToOwned::to_owned);
        self.pending.push(Pending { actor, operation, subject, refusal: None });
    }

    /// Returns whether an operation is not on record yet.
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Notes why the last operation was not done, or not all of it.
    pub(super) fn refuse(&mut self, why: &impl fmt::Display) {
        if let Some(pending) = self.pending.last_mut() {
            pending.refusal = Some(why.to_string());
        }
    }

    /// Forgets the last operation: it was not even tried.
    pub(super) fn withdraw(&mut self) {
        self.pending.pop();
    }

    /// Takes from the log what nobody ordered.
    pub(super) fn hear(&mut self, entry: &LogEntry) {
        match entry {
            LogEntry::Admitted(admission) => self.joining.push(admission.name.clone()),
            LogEntry::Resumed => self.begin_by(Actor::Devices, TrailOperation::Resume, None),
            LogEntry::Opened(_) => self.begin_by(Actor::Service, TrailOperation::Open, None),
            LogEntry::Stopped => self.begin_by(Actor::Service, TrailOperation::Stop, None),
            LogEntry::Postdated(..) => self.begin_by(Actor::Service, TrailOperation::Found, None),
            _ => {}
        }
    }

    /// Makes records of the present change, with their hashes. `now` is in ns since 1970.
    pub(super) fn settle(&mut self, now: u64, epoch: Epoch) -> Vec<(TrailRecord, [u8; 32])> {
        let mut pending = core::mem::take(&mut self.pending);
        let joining = core::mem::take(&mut self.joining);
        if !joining.is_empty() {
            let (actor, operation) = (Actor::Devices, TrailOperation::Join);
            let subject = Some(joining.join(", "));
            pending.push(Pending { actor, operation, subject, refusal: None });
        }
        let record = |pending| {
            let Pending { actor, operation, subject, refusal } = pending;
            let record = TrailRecord {
                number: self.next(),
                at: now / MILLISECOND,
                actor,
                operation,
                subject,
                epoch: epoch.0,
                refusal,
                previous: self.head,
            };
            let hash = record.hash();
            self.append(record.clone(), hash);
            (record, hash)
        };
        pending.into_iter().map(record).collect()
    }

    /// Takes a record of the log. Returns whether it is the next one.
    #[must_use]
    pub(super) fn replay(&mut self, record: TrailRecord, hash: [u8; 32]) -> bool {
        let is_next = record.number == self.next() && record.previous == self.head;
        let is_whole = is_next && record.hash() == hash;
        if is_whole {
            self.append(record, hash);
        }
        is_whole
    }

    pub(super) fn saved(&self) -> SavedTrail {
        let records = self.records.iter().cloned().collect();
        SavedTrail { head: self.head.into(), records }
    }

    #[must_use]
    pub(super) fn restore(&mut self, saved: &SavedTrail) -> bool {
        let mut restored = Self::default();
        if let Some(first) = saved.records.first() {
            // Only a full trail lacks its first records.
            let is_pruned = saved.records.len() == KEPT;
            if !is_pruned && (first.number != 0 || first.previous != [0; 32]) {
                return false;
            }
            restored.head = first.previous;
            for (number, record) in (first.number..).zip(&saved.records) {
                if record.number != number || record.previous != restored.head {
                    return false;
                }
                restored.append(record.clone(), record.hash());
            }
        }
        let is_whole = restored.head == <[u8; 32]>::from(saved.head);
        if is_whole {
            *self = restored;
        }
        is_whole
    }

    fn append(&mut self, record: TrailRecord, hash: [u8; 32]) {
        if self.records.len() == KEPT {
            self.records.pop_front();
        }
        self.records.push_back(record);
        self.head = hash;
    }

    fn next(&self) -> u64 {
        self.records.back().map_or(0, |last| last.number + 1)
    }
}

impl TrailRecord {
    /// Returns the hash of the record, which the next one has.
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"groupkey trail 1");
        hash.update(encoded(self));
        hash.finalize().into()
    }
}

impl TrailOperation {
    /// All operations.
    pub const ALL: [Self; 13] = [
        Self::Join,
        Self::Resume,
        Self::Evict,
        Self::Readmit,
        Self::Rekey,
        Self::RekeyHard,
        Self::BeginChange,
        Self::CancelChange,
        Self::Change,
        Self::Accept,
        Self::Found,
        Self::Open,
        Self::Stop,
    ];

    /// Returns the operation's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Resume => "resume",
            Self::Evict => "evict",
            Self::Readmit => "readmit",
            Self::Rekey => "rekey",
            Self::RekeyHard => "rekey --hard",
            Self::BeginChange => "begin change",
            Self::CancelChange => "cancel change",
            Self::Change => "change",
            Self::Accept => "accept",
            Self::Found => "found",
            Self::Open => "open",
            Self::Stop => "stop",
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("program"),
            Self::Terminal => f.write_str("terminal"),
            Self::Token(name) => write!(f, "token:{name}"),
            Self::Policy(name) => write!(f, "policy:{name}"),
            Self::Devices => f.write_str("devices"),
            Self::Service => f.write_str("service"),
        }
    }
}

impl core::str::FromStr for Actor {
    type Err = UnknownActor;

    fn from_str(text: &str) -> Result<Self, UnknownActor> {
        Ok(match text.split_once(':') {
            Some(("token", name)) => Self::Token(name.to_owned()),
            Some(("policy", name)) => Self::Policy(name.to_owned()),
            Some(_) => return Err(UnknownActor),
            None => match text {
                "program" => Self::Program,
                "terminal" => Self::Terminal,
                "devices" => Self::Devices,
                "service" => Self::Service,
                _ => return Err(UnknownActor),
            },
        })
    }
}

/// A text that names no actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownActor;

/// The number of records that are kept.
pub const KEPT: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(records: u64) -> Trail {
        let mut trail = Trail::default();
        for number in 0..records {
            trail.act_for(Actor::Token("alice".to_owned()));
            trail.begin(TrailOperation::Evict, Some("truck-7"));
            if number % 2 == 1 {
                trail.refuse(&"no such member");
            }
            assert_eq!(trail.settle(number * MILLISECOND, Epoch(number)).len(), 1);
        }
        trail
    }

    fn restored(saved: &SavedTrail) -> Option<Trail> {
        let mut trail = Trail::default();
        trail.restore(saved).then_some(trail)
    }

    #[test]
    fn a_changed_a_missing_and_an_exchanged_record_are_noticed() {
        let whole = trail(5);
        let saved = || whole.saved();
        let back = restored(&saved()).unwrap();
        assert_eq!((back.head(), back.since(0).count()), (whole.head(), 5));
        assert_eq!(back.since(3).map(|record| record.number).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(back.since(9).count(), 0);
        for number in 0..5 {
            let mut without = saved();
            without.records.remove(number);
            assert!(restored(&without).is_none(), "without {number}");
            let mut changed = saved();
            changed.records[number].actor = Actor::Terminal;
            assert!(restored(&changed).is_none(), "another actor in {number}");
            let mut changed = saved();
            changed.records[number].at ^= 1;
            assert!(restored(&changed).is_none(), "another time in {number}");
        }
        let mut exchanged = saved();
        exchanged.records.swap(1, 2);
        assert!(restored(&exchanged).is_none());
        // The bytes of the saved form: nothing of it can be another byte.
        let bytes = encoded(&saved());
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1;
            let same = minicbor::decode::<SavedTrail>(&flipped).ok();
            assert!(same.as_ref().and_then(restored).is_none(), "byte {place}");
        }
    }

    #[test]
    fn a_record_of_the_log_is_the_next_one_or_refused() {
        let whole = trail(3);
        let records: Vec<_> = whole.since(0).cloned().collect();
        let mut replayed = Trail::default();
        assert!(!replayed.replay(records[1].clone(), records[1].hash()), "the first is missing");
        assert!(replayed.replay(records[0].clone(), records[0].hash()));
        assert!(!replayed.replay(records[0].clone(), records[0].hash()), "once more");
        let changed = TrailRecord { refusal: None, ..records[1].clone() };
        assert!(!replayed.replay(changed, records[1].hash()), "another result");
        assert!(replayed.replay(records[1].clone(), records[1].hash()));
        assert!(replayed.replay(records[2].clone(), records[2].hash()));
        assert_eq!(replayed.head(), whole.head());
    }

    #[test]
    fn the_last_records_are_kept_and_their_chain_goes_on() {
        let whole = trail(KEPT as u64 + 3);
        let first = whole.since(0).next().unwrap();
        assert_eq!((first.number, whole.since(0).count()), (3, KEPT));
        assert_ne!(first.previous, [0; 32]);
        let saved = whole.saved();
        assert_eq!(restored(&saved).unwrap().head(), whole.head());
        let mut shorter = whole.saved();
        shorter.records.remove(0);
        assert!(restored(&shorter).is_none(), "the oldest is missing");
    }

    #[test]
    fn what_was_not_tried_leaves_no_record_and_names_are_read_back() {
        let mut trail = Trail::default();
        trail.begin(TrailOperation::Rekey, None);
        trail.withdraw();
        assert!(trail.settle(0, Epoch(0)).is_empty());
        let actors = [Actor::Program, Actor::Terminal, Actor::Devices, Actor::Service];
        let named = [Actor::Token("a:b".to_owned()), Actor::Policy("period_s".to_owned())];
        for actor in actors.into_iter().chain(named) {
            assert_eq!(actor.to_string().parse(), Ok(actor));
        }
        assert_eq!("nobody".parse::<Actor>(), Err(UnknownActor));
    }
}
