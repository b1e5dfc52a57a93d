//! What a service publishes and reports: nothing that a crash could undo leaves before it is
//! durable.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::event::ServiceEvent;
use crate::diagnostics;
use crate::runtime::{Output, REQUEST_EXPIRY, SECOND};
use crate::store::Publish;

/// The outputs of a service.
pub(super) struct Publisher {
    next: u64,
    /// The publishes of the current change, in the order of their numbers.
    queued: Vec<Publish>,
    /// What is reported when the current change is durable.
    events: Vec<ServiceEvent>,
    unacknowledged: BTreeSet<u64>,
    acknowledged: Vec<u64>,
    /// When the store forgets these, ns.
    forget_due: Option<u64>,
    outputs: VecDeque<Output<ServiceEvent>>,
}

impl Publisher {
    pub(super) const fn new() -> Self {
        Self {
            next: 0,
            queued: Vec::new(),
            events: Vec::new(),
            unacknowledged: BTreeSet::new(),
            acknowledged: Vec::new(),
            forget_due: None,
            outputs: VecDeque::new(),
        }
    }

    /// Continues with the publishes of the store, and the number of the next one.
    pub(super) fn restore(&mut self, unacknowledged: impl Iterator<Item = u64>, next: u64) {
        self.unacknowledged = unacknowledged.collect();
        self.next = next;
    }

    /// Publishes a message with the current change. The broker keeps it for `expiry` seconds, or as
    /// long as it keeps the sessions of the receivers.
    pub(super) fn queue(
        &mut self,
        topic: String,
        payload: Vec<u8>,
        retain: bool,
        expiry: Option<u32>,
    ) {
        let id = self.next_id();
        self.queued.push(Publish { id, topic, payload, retain, expiry });
    }

    /// Publishes a retained message before all others of the current change.
    pub(super) fn queue_first(&mut self, topic: String, payload: Vec<u8>) {
        self.queue(topic, payload, true, None);
        let mut ids: Vec<_> = self.queued.iter().map(|publish| publish.id).collect();
        ids.sort_unstable();
        self.queued.rotate_right(1);
        self.queued.iter_mut().zip(ids).for_each(|(publish, id)| publish.id = id);
    }

    /// Publishes a message at once and without the store. It may be lost, because the receiver asks
    /// again. The message expires unless it is retained. Returns its number.
    pub(super) fn publish_unstored(
        &mut self,
        topic: String,
        payload: Vec<u8>,
        retain: bool,
    ) -> u64 {
        let id = self.next_id();
        let expiry = (!retain).then_some(REQUEST_EXPIRY);
        self.outputs.push_back(Output::Publish(Publish { id, topic, payload, retain, expiry }));
        id
    }

    pub(super) fn queued(&self) -> Range<u64> {
        self.queued.first().map_or(self.next, |first| first.id)..self.next
    }

    /// Reports an event when the current change is durable.
    pub(super) fn report(&mut self, event: ServiceEvent) {
        diagnostics::service(&event);
        self.events.push(event);
    }

    /// Reports an event that needs no change.
    pub(super) fn report_now(&mut self, event: ServiceEvent) {
        diagnostics::service(&event);
        self.outputs.push_back(Output::Event(event));
    }

    pub(super) fn subscribe(&mut self, topic: String, is_wanted: bool) {
        self.outputs.push_back(match is_wanted {
            true => Output::Subscribe(topic),
            false => Output::Unsubscribe(topic),
        });
    }

    pub(super) fn publish_again(&mut self, stored: Vec<Publish>) {
        self.outputs.extend(stored.into_iter().map(Output::Publish));
    }

    /// Notes that the broker has a publish. Returns whether the broker still owed that.
    pub(super) fn acknowledge(&mut self, id: u64, now: u64) -> bool {
        let was_owed = self.unacknowledged.remove(&id);
        if was_owed {
            self.acknowledged.push(id);
            self.forget_due.get_or_insert_with(|| now.saturating_add(SECOND));
        }
        was_owed
    }

    /// Returns whether the broker has not acknowledged all of these publishes.
    pub(super) fn is_waiting(&self, publishes: Range<u64>) -> bool {
        self.unacknowledged.range(publishes).next().is_some()
    }

    /// Returns the number of publishes that the broker has not acknowledged.
    pub(super) fn unacknowledged(&self) -> usize {
        self.unacknowledged.len()
    }

    pub(super) fn give_up(&mut self, ids: impl Iterator<Item = u64>) {
        let unacknowledged = &mut self.unacknowledged;
        self.acknowledged.extend(ids.filter(|id| unacknowledged.remove(id)));
    }

    pub(super) fn abandon(&mut self) {
        self.acknowledged.extend(core::mem::take(&mut self.unacknowledged));
    }

    /// Returns when the store forgets acknowledged publishes, ns.
    pub(super) const fn forget_due(&self) -> Option<u64> {
        self.forget_due
    }

    /// Takes the publishes for the current change, and the numbers of those that the store forgets
    /// with it.
    pub(super) fn take(&mut self) -> (Vec<Publish>, Vec<u64>) {
        self.forget_due = None;
        (core::mem::take(&mut self.queued), core::mem::take(&mut self.acknowledged))
    }

    /// Lets the publishes and reports of a change leave, because it is durable.
    pub(super) fn committed(&mut self, queued: Vec<Publish>) {
        self.unacknowledged.extend(queued.iter().map(|publish| publish.id));
        self.outputs.extend(queued.into_iter().map(Output::Publish));
        self.outputs.extend(self.events.drain(..).map(Output::Event));
    }

    /// Returns the next output without taking it.
    pub(super) fn next(&self) -> Option<&Output<ServiceEvent>> {
        self.outputs.front()
    }

    pub(super) fn pop(&mut self) -> Option<Output<ServiceEvent>> {
        self.outputs.pop_front()
    }

    const fn next_id(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(publisher: &mut Publisher) -> Vec<(u64, String)> {
        core::iter::from_fn(|| publisher.pop())
            .map(|output| match output {
                Output::Publish(publish) => (publish.id, publish.topic),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn nothing_of_a_change_leaves_before_it_is_durable() {
        let mut publisher = Publisher::new();
        publisher.queue("a".to_owned(), vec![1], false, Some(60));
        publisher.report(ServiceEvent::Unconfirmed);
        assert_eq!(publisher.next(), None);
        let (queued, _) = publisher.take();
        assert_eq!(publisher.next(), None);
        publisher.committed(queued);
        assert!(matches!(publisher.pop(), Some(Output::Publish(_))));
        assert_eq!(publisher.pop(), Some(Output::Event(ServiceEvent::Unconfirmed)));
        assert_eq!(publisher.pop(), None);
    }

    #[test]
    fn the_first_message_of_a_change_has_its_lowest_number() {
        let mut publisher = Publisher::new();
        publisher.restore([].into_iter(), 7);
        for topic in ["a", "b"] {
            publisher.queue(topic.to_owned(), vec![], false, None);
        }
        publisher.queue_first("first".to_owned(), vec![]);
        assert_eq!(publisher.queued(), 7..10);
        let (queued, _) = publisher.take();
        publisher.committed(queued);
        let expected = [(7, "first"), (8, "a"), (9, "b")];
        assert_eq!(topics(&mut publisher), expected.map(|(id, topic)| (id, topic.to_owned())));
        assert_eq!(publisher.queued(), 10..10);
    }

    #[test]
    fn the_store_forgets_an_acknowledged_publish_with_the_next_change() {
        let mut publisher = Publisher::new();
        publisher.restore([3, 4].into_iter(), 5);
        assert!(publisher.acknowledge(3, 100) && !publisher.acknowledge(3, 200));
        assert!(!publisher.acknowledge(9, 100), "it was never published");
        assert_eq!(publisher.forget_due(), Some(100 + SECOND));
        assert!(publisher.is_waiting(3..5) && !publisher.is_waiting(0..4));
        assert_eq!(publisher.take(), (vec![], vec![3]));
        assert_eq!((publisher.forget_due(), publisher.unacknowledged()), (None, 1));
        publisher.restore([4, 5, 6].into_iter(), 7);
        publisher.give_up([5, 9].into_iter());
        assert_eq!(publisher.take(), (vec![], vec![5]));
        publisher.abandon();
        assert_eq!(publisher.take(), (vec![], vec![4, 6]));
    }
}
