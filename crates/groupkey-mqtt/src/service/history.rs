//! The history of a service since the process began: the last operations, and sums of all
//! operations.

use std::collections::VecDeque;
use std::ops::Range;

use groupkey::Epoch;

use crate::parties::Order;

/// The last operations, and sums of all operations.
#[derive(Clone, Debug, Default)]
pub struct History {
    last: VecDeque<Done>,
    totals: [Total; Kind::ALL.len()],
}

/// The kind of operation, in the terms of RFC 9594 where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
pub struct Done {
    /// Its kind.
    pub kind: Kind,
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
    /// The time until the broker had acknowledged all messages of the operation, ns.
    pub acknowledged_after: Option<u64>,
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

/// The counts of the current input so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    joined: u64,
    left: u64,
    messages: u64,
    payload_bytes: u64,
}

impl History {
    /// Returns the last [`LAST`] operations, newest first.
    pub fn last(&self) -> impl Iterator<Item = &Done> {
        self.last.iter()
    }

    /// Returns the sums of each kind.
    pub fn totals(&self) -> impl Iterator<Item = (Kind, Total)> {
        Kind::ALL.into_iter().zip(self.totals)
    }

    /// Notes an operation that led from one epoch to another.
    pub(super) fn note(
        &mut self,
        tally: &Tally,
        (before, epoch): (Epoch, Epoch),
        began: u64,
        members: usize,
        publishes: Range<u64>,
    ) {
        let &Tally { joined, left, messages, payload_bytes } = tally;
        let kind = match (before, joined, left) {
            (Epoch(0), ..) => Kind::Create,
            (_, 0, 0) => Kind::Rekey,
            (_, 0, _) => Kind::Evict,
            _ => Kind::Join,
        };
        let total = &mut self.totals[kind as usize];
        total.operations += 1;
        total.joined += joined;
        total.left += left;
        total.messages += messages;
        total.payload_bytes += payload_bytes;
        self.last.truncate(LAST - 1);
        self.last.push_front(Done {
            kind,
            epoch,
            began,
            joined,
            left,
            members,
            messages,
            payload_bytes,
            durable_after: None,
            acknowledged_after: None,
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
        if let Some(done) = newest_first.find(|done| done.publishes.contains(&id))
            && !is_waiting(done.publishes.clone())
        {
            done.acknowledged_after = Some(now.saturating_sub(done.began));
        }
    }
}

impl Kind {
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

impl Tally {
    pub(super) const fn order(&mut self, order: &Order) {
        let (joined, left) = match order {
            Order::Add(_) => (1, 0),
            Order::Batch(joining, leaving) => (joining.len(), leaving.len()),
            Order::Create(members) => (members.len(), 0),
            Order::Remove(_) => (0, 1),
            Order::CatchUp | Order::Enroll(_) | Order::Rekey => (0, 0),
        };
        self.joined += joined as u64;
        self.left += left as u64;
    }

    pub(super) const fn message(&mut self, payload: usize) {
        self.messages += 1;
        self.payload_bytes += payload as u64;
    }
}

/// The number of operations that are kept.
pub const LAST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_over_when_it_is_durable_and_taken_when_the_broker_has_all_of_it() {
        let mut history = History::default();
        let mut tally = Tally::default();
        tally.order(&Order::Create(vec![0, 1, 2]));
        tally.message(40);
        tally.message(2);
        history.note(&tally, (Epoch(0), Epoch(1)), 100, 3, 7..9);
        history.finish(130);
        history.finish(999);
        history.acknowledge(6, 140, |_| panic!("6 belongs to nothing"));
        history.acknowledge(7, 150, |publishes| publishes == (7..9));
        assert_eq!(history.last().next().unwrap().acknowledged_after, None);
        history.acknowledge(8, 160, |_| false);
        let done = history.last().next().unwrap();
        assert_eq!((done.kind, done.joined, done.messages), (Kind::Create, 3, 2));
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
        assert_eq!((kind, total), (Kind::Create, expected));
    }

    #[test]
    fn the_last_hundred_are_kept() {
        let mut history = History::default();
        for epoch in 0..250 {
            history.note(&Tally::default(), (Epoch(epoch), Epoch(epoch + 1)), 0, 2, 0..0);
        }
        assert_eq!(history.last().count(), LAST);
        assert_eq!(history.last().next().unwrap().epoch, Epoch(250));
        assert_eq!(history.totals().map(|(_, total)| total.operations).sum::<u64>(), 250);
    }
}
