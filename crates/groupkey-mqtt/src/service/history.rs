//! The history of a service since the process began: the last operations, and sums of all
//! operations.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;

use groupkey::Epoch;

use crate::local_parties::OwnedCommand;

/// The last operations, and sums of all operations.
#[derive(Clone, Debug, Default)]
pub struct OperationHistory {
    /// When the process began, ns since 1970.
    began: u64,
    last: VecDeque<CompletedOperation>,
    totals: [Total; OperationKind::ALL.len()],
    catch_ups: u64,
    /// The members that have asked for the present key.
    caught_up: BTreeSet<u32>,
    tally: OperationTally,
}

/// The kind of operation, in the terms of RFC 9594 where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// The group was created.
    Create,
    /// The operator evicted a member.
    Evict,
    /// Devices were admitted. Some may be members that had lost their state.
    Join,
    /// The key changed without a join or leave.
    Rekey,
}

/// One operation, which one transaction made durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedOperation {
    /// Its kind.
    pub kind: OperationKind,
    /// The epoch to which the operation led.
    pub epoch: Epoch,
    /// When it began, ns since 1970.
    pub began: u64,
    /// How many devices joined.
    pub joined: u64,
    /// How many members left.
    pub left: u64,
    /// The number of members after the operation.
    pub members: usize,
    /// The scheme's messages to the members, without individual keys in welcomes.
    pub messages: u64,
    /// The payload of these messages, in bytes.
    pub payload_bytes: u64,
    /// The time until the operation was computed and durable, ns.
    pub durable_after: Option<u64>,
    /// The time until the broker had acknowledged the first message of the operation, ns.
    pub first_acknowledged_after: Option<u64>,
    /// The time until the broker had acknowledged all messages of the operation, ns.
    pub acknowledged_after: Option<u64>,
    /// The members that missed the operation, and asked for the key.
    pub catch_ups: u64,
    /// The numbers of the operation's publishes, notice and welcomes included.
    publishes: Range<u64>,
}

/// Sums over all operations of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The number of operations.
    pub operations: u64,
    /// How many devices joined.
    pub joined: u64,
    /// How many members left.
    pub left: u64,
    /// The scheme's messages.
    pub messages: u64,
    /// The payload of these messages, in bytes.
    pub payload_bytes: u64,
    /// The sum of the times until the operations were durable, ns.
    pub durable_after: u64,
}

/// What happened in the last part of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// How long that part is, ns.
    pub time: u64,
    /// How many devices joined. The creation of a group does not count.
    pub joined: u64,
    /// How many members left.
    pub left: u64,
    /// Changes of the key without a join or leave.
    pub rekeys: u64,
    /// All changes of the key.
    pub changes: u64,
    /// The members that missed one of these changes, and asked for the key.
    pub catch_ups: u64,
    /// The time from publishing until the broker had acknowledged the first message of a change, ns:
    /// the median.
    pub round_trip: Option<u64>,
    /// The time until the broker had acknowledged all messages of a change, ns: the median.
    pub complete: Option<u64>,
    /// The longest of these times, ns.
    pub slowest: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OperationTally {
    joined: u64,
    left: u64,
    messages: u64,
    payload_bytes: u64,
}

impl OperationHistory {
    /// Returns the last [`LAST`] operations, newest first.
    pub fn last(&self) -> impl Iterator<Item = &CompletedOperation> {
        self.last.iter()
    }

    /// Returns what happened since a time, ns since 1970. The part is shorter if the process began
    /// later, or if more happened than is kept.
    pub fn since(&self, since: u64, now: u64) -> Recent {
        let oldest = self.last.back().filter(|_| self.last.len() == LAST);
        let since = since.max(self.began).max(oldest.map_or(0, |done| done.began));
        let mut recent = Recent { time: now.saturating_sub(since), ..Recent::default() };
        for done in self.last.iter().take_while(|done| done.began >= since) {
            recent.changes += 1;
            recent.catch_ups += done.catch_ups;
            match done.kind {
                // A change of scheme creates a group, too. Nobody joins.
                OperationKind::Create => {}
                OperationKind::Evict | OperationKind::Join => {
                    recent.joined += done.joined;
                    recent.left += done.left;
                }
                OperationKind::Rekey => recent.rekeys += 1,
            }
        }
        // A change may have begun earlier than it was acknowledged.
        let complete = self.last.iter().filter(|done| {
            done.acknowledged_after.is_some_and(|after| done.began.saturating_add(after) >= since)
        });
        let (mut round_trips, mut times) = (Vec::new(), Vec::new());
        for done in complete {
            times.extend(done.acknowledged_after);
            let first = done.first_acknowledged_after.zip(done.durable_after);
            round_trips.extend(first.map(|(first, durable)| first.saturating_sub(durable)));
        }
        recent.slowest = times.iter().copied().max();
        (recent.round_trip, recent.complete) = (median(round_trips), median(times));
        recent
    }

    /// Returns how often members that had missed a change asked for the key.
    pub const fn catch_ups(&self) -> u64 {
        self.catch_ups
    }

    /// Returns the sums of each kind.
    pub fn totals(&self) -> impl Iterator<Item = (OperationKind, Total)> {
        OperationKind::ALL.into_iter().zip(self.totals)
    }

    /// Begins with the process.
    pub(super) fn new(began: u64) -> Self {
        Self { began, ..Self::default() }
    }

    /// Notes that a member got the present key because it asked for it. It counts once.
    pub(super) fn catch_up(&mut self, member: u32) {
        if self.caught_up.insert(member) {
            self.catch_ups += 1;
            self.last.iter_mut().take(1).for_each(|done| done.catch_ups += 1);
        }
    }

    pub(super) const fn command(&mut self, command: &OwnedCommand) {
        let (joined, left) = match command {
            OwnedCommand::Add(_) => (1, 0),
            OwnedCommand::Batch(joining, leaving) => (joining.len(), leaving.len()),
            OwnedCommand::Create(members) => (members.len(), 0),
            OwnedCommand::Remove(_) => (0, 1),
            OwnedCommand::CatchUp | OwnedCommand::Enroll(_) | OwnedCommand::Rekey => (0, 0),
        };
        self.tally.joined += joined as u64;
        self.tally.left += left as u64;
    }

    pub(super) const fn message(&mut self, payload: usize) {
        self.tally.messages += 1;
        self.tally.payload_bytes += payload as u64;
    }

    /// Forgets the counts: what they were of did not change the key.
    pub(super) fn discard(&mut self) {
        self.tally = OperationTally::default();
    }

    /// Notes that the operation that was under way led from one epoch to another.
    pub(super) fn note(
        &mut self,
        (before, epoch): (Epoch, Epoch),
        began: u64,
        members: usize,
        publishes: Range<u64>,
    ) {
        let tally = core::mem::take(&mut self.tally);
        let OperationTally { joined, left, messages, payload_bytes } = tally;
        let kind = match (before, joined, left) {
            (Epoch(0), ..) => OperationKind::Create,
            (_, 0, 0) => OperationKind::Rekey,
            (_, 0, _) => OperationKind::Evict,
            _ => OperationKind::Join,
        };
        let total = &mut self.totals[kind as usize];
        total.operations += 1;
        total.joined += joined;
        total.left += left;
        total.messages += messages;
        total.payload_bytes += payload_bytes;
        self.caught_up.clear();
        self.last.truncate(LAST - 1);
        self.last.push_front(CompletedOperation {
            kind,
            epoch,
            began,
            joined,
            left,
            members,
            messages,
            payload_bytes,
            durable_after: None,
            first_acknowledged_after: None,
            acknowledged_after: None,
            catch_ups: 0,
            publishes,
        });
    }

    /// Notes that the last operations are durable now.
    pub(super) fn finish(&mut self, now: u64) {
        for done in self.last.iter_mut().take_while(|done| done.durable_after.is_none()) {
            let time = now.saturating_sub(done.began);
            done.durable_after = Some(time);
            self.totals[done.kind as usize].durable_after += time;
        }
    }

    /// Notes that the broker has acknowledged a publish. `is_waiting` says whether a publish of a
    /// range is still unacknowledged.
    pub(super) fn acknowledge(
        &mut self,
        id: u64,
        now: u64,
        is_waiting: impl FnOnce(Range<u64>) -> bool,
    ) {
        let mut newest_first = self.last.iter_mut();
        let Some(done) = newest_first.find(|done| done.publishes.contains(&id)) else { return };
        let after = now.saturating_sub(done.began);
        done.first_acknowledged_after.get_or_insert(after);
        if !is_waiting(done.publishes.clone()) {
            done.acknowledged_after = Some(after);
        }
    }
}

impl OperationKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Create, Self::Evict, Self::Join, Self::Rekey];

    /// Returns the kind's name in metrics and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Evict => "evict",
            Self::Join => "join",
            Self::Rekey => "rekey",
        }
    }
}

fn median(mut times: Vec<u64>) -> Option<u64> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// The number of operations that are kept.
pub const LAST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_over_when_it_is_durable_and_taken_when_the_broker_has_all_of_it() {
        let mut history = OperationHistory::default();
        history.command(&OwnedCommand::Add(9));
        history.discard();
        history.command(&OwnedCommand::Create(vec![0, 1, 2]));
        history.message(40);
        history.message(2);
        history.note((Epoch(0), Epoch(1)), 100, 3, 7..9);
        history.finish(130);
        history.finish(999);
        history.acknowledge(6, 140, |_| panic!("6 belongs to nothing"));
        history.acknowledge(7, 150, |publishes| publishes == (7..9));
        assert_eq!(history.last().next().unwrap().acknowledged_after, None);
        history.acknowledge(8, 160, |_| false);
        let done = history.last().next().unwrap();
        assert_eq!((done.kind, done.joined, done.messages), (OperationKind::Create, 3, 2));
        assert_eq!((done.durable_after, done.acknowledged_after), (Some(30), Some(60)));
        let (kind, total) = history.totals().next().unwrap();
        let expected = Total {
            operations: 1,
            joined: 3,
            left: 0,
            messages: 2,
            payload_bytes: 42,
            durable_after: 30,
        };
        assert_eq!((kind, total), (OperationKind::Create, expected));
    }

    #[test]
    fn the_last_part_has_what_came_and_went_and_how_long_the_broker_took() {
        let mut history = OperationHistory::new(1_000);
        let mut change = |command: OwnedCommand, epoch: u64, began: u64, took: u64| {
            history.command(&command);
            let publishes = 2 * epoch..2 * epoch + 2;
            history.note((Epoch(epoch), Epoch(epoch + 1)), began, 3, publishes);
            history.finish(began + 5);
            history.acknowledge(2 * epoch, began + 5 + took, |_| true);
            history.acknowledge(2 * epoch + 1, began + 5 + 2 * took, |_| false);
        };
        change(OwnedCommand::Create(vec![0, 1, 2]), 0, 1_000, 40);
        change(OwnedCommand::Add(3), 1, 2_000, 10);
        change(OwnedCommand::Remove(0), 2, 3_000, 900);
        change(OwnedCommand::Add(4), 3, 4_000, 20);
        history.catch_up(1);
        history.catch_up(1);
        history.catch_up(3);
        let recent = history.since(0, 5_000);
        let (time, changes, rekeys) = (recent.time, recent.changes, recent.rekeys);
        assert_eq!((time, changes, rekeys), (4_000, 4, 0));
        assert_eq!((recent.joined, recent.left, recent.catch_ups), (2, 1, 2));
        assert_eq!((recent.round_trip, recent.complete), (Some(40), Some(85)));
        assert_eq!(recent.slowest, Some(1_805));
        let late = history.since(3_500, 5_000);
        assert_eq!((late.time, late.changes, late.joined, late.left), (1_500, 1, 1, 0));
        // The removal was acknowledged in this part.
        assert_eq!(late.slowest, Some(1_805));
        assert_eq!(history.since(6_000, 5_000), Recent::default());
        assert_eq!(history.catch_ups(), 2);
    }

    #[test]
    fn the_last_hundred_are_kept() {
        let mut history = OperationHistory::default();
        for epoch in 0..250 {
            history.note((Epoch(epoch), Epoch(epoch + 1)), 0, 2, 0..0);
        }
        assert_eq!(history.last().count(), LAST);
        assert_eq!(history.last().next().unwrap().epoch, Epoch(250));
        assert_eq!(history.totals().map(|(_, total)| total.operations).sum::<u64>(), 250);
    }

    #[test]
    fn changes_of_the_key_alone_are_counted() {
        let mut history = OperationHistory::default();
        for epoch in 1..4 {
            history.command(&OwnedCommand::Rekey);
            history.note((Epoch(epoch), Epoch(epoch + 1)), 0, 2, 0..0);
        }
        assert_eq!(history.since(0, 9).rekeys, 3);
    }
}
