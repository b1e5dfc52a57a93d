//! What waits until the group has it: a window of numbered messages, in the order of the local broker.
//!
//! A message stays in the window until each *listener* has confirmed it: a bridge that says its own broker
//! has it. Without listeners, it stays until the group's broker has it. Only then is it acknowledged to
//! the local broker, so that broker keeps what nobody has yet. What is not confirmed in time is sent
//! again, under the key of then. (The window is "go back N": A. Tanenbaum, Computer Networks, 3.4.)

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::bridge_message::{Carried, DeliveryConfirmation};

/// What a program published at the local broker.
#[derive(Clone, PartialEq, Eq)]
pub struct Published {
    /// The topic.
    pub topic: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// The quality of service, 0 or 1.
    pub qos: u8,
    /// Whether the broker keeps it for later subscribers.
    pub retain: bool,
}

/// Acknowledges a message to the local broker: its packet identifier.
pub type Receipt = u16;

/// A window of messages that the group does not have yet.
#[derive(Debug)]
pub struct Sending {
    stream: [u8; 8],
    /// Up to where each listener has the stream.
    listeners: BTreeMap<[u8; 32], u64>,
    entries: VecDeque<Entry>,
    /// The number of the next message that enters.
    next: u64,
    /// The number of the next message that leaves.
    unsent: u64,
    /// Numbers after `unsent` that were sent already.
    sent: u64,
    /// How many messages may have left without a confirmation.
    window: usize,
    /// When everything is sent again, ms, and the pause before that.
    repeat_at: Option<u64>,
    pause: u64,
    /// When somebody last asked for a repetition, ms.
    asked_at: Option<u64>,
    repeated: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// What waits. Nothing, if the entry only keeps receipts in their order.
    message: Option<Published>,
    receipt: Option<Receipt>,
    /// Whether the group's broker has it.
    is_accepted: bool,
}

impl Sending {
    /// Creates an empty window for this many messages, whose stream has this name.
    pub fn new(listeners: &BTreeSet<[u8; 32]>, window: usize, stream: [u8; 8]) -> Self {
        Self {
            stream,
            listeners: listeners.iter().map(|listener| (*listener, 0)).collect(),
            entries: VecDeque::new(),
            next: 0,
            unsent: 0,
            sent: 0,
            window,
            repeat_at: None,
            pause: FIRST_PAUSE,
            asked_at: None,
            repeated: 0,
        }
    }

    /// Forgets all that waits and begins another stream: the local broker will send it once more.
    pub fn begin_again(&mut self, stream: [u8; 8]) {
        self.stream = stream;
        self.entries.clear();
        self.unsent = self.next;
        self.sent = self.next;
        self.listeners.values_mut().for_each(|has| *has = self.next);
        self.settle(0);
    }

    /// Takes a message. Returns `false` if there is no room for one that nobody waits for (QoS 0): it is
    /// lost. The others are taken always: the local broker should send no more of them than the window,
    /// and Mosquitto 2.0.11 sends more once messages queue. They wait here until the window reaches them.
    pub fn push(&mut self, message: Published, receipt: Option<Receipt>) -> bool {
        if receipt.is_none() && self.entries.len() >= self.window {
            return false;
        }
        let number = self.next;
        self.next += 1;
        self.entries.push_back(Entry {
            number,
            message: Some(message),
            receipt,
            is_accepted: false,
        });
        true
    }

    /// Acknowledges a message that does not go to the group, after those before it.
    pub fn skip(&mut self, receipt: Receipt) {
        let (number, receipt) = (self.next, Some(receipt));
        self.entries.push_back(Entry { number, message: None, receipt, is_accepted: true });
    }

    /// Returns the next messages to send, at most this many.
    pub fn take(&mut self, most: usize, now: u64) -> Vec<Carried> {
        let (base, end) = (self.base(), self.end());
        let has_listeners = !self.listeners.is_empty();
        let first = self.entries.partition_point(|entry| entry.number < self.unsent);
        let waiting = self
            .entries
            .iter()
            .skip(first)
            .take_while(|entry| entry.number < end)
            .filter_map(|entry| entry.message.as_ref().map(|message| (entry.number, message)));
        let taken: Vec<Carried> = waiting
            .take(most)
            .map(|(number, message)| Carried {
                stream: self.stream.into(),
                number,
                // Without listeners nothing is repeated.
                base: if has_listeners { base } else { number },
                qos: message.qos,
                retain: message.retain,
                topic: message.topic.clone(),
                payload: message.payload.clone().into(),
            })
            .collect();
        if let Some(last) = taken.last() {
            let until = last.number + 1;
            self.repeated += self.sent.min(until).saturating_sub(self.unsent);
            (self.unsent, self.sent) = (until, self.sent.max(until));
            if has_listeners && self.repeat_at.is_none() {
                self.repeat_at = Some(now + self.pause);
            }
        }
        taken
    }

    /// Sends again from this number on, because it did not leave.
    pub fn put_back(&mut self, number: u64) {
        self.unsent = self.unsent.min(number.max(self.base()));
    }

    /// Notes that the group's broker has this message.
    pub fn accepted(&mut self, number: u64) {
        let first = self.entries.partition_point(|entry| entry.number < number);
        let mut same = self.entries.iter_mut().skip(first);
        if let Some(entry) = same.find(|entry| entry.number == number && entry.message.is_some()) {
            entry.is_accepted = true;
        }
    }

    /// Notes that the group's broker has what was sent before this number, or all that was sent.
    pub fn accepted_before(&mut self, number: Option<u64>) {
        let end = number.unwrap_or(self.unsent).min(self.unsent);
        let before = self.entries.iter_mut().take_while(|entry| entry.number < end);
        before.for_each(|entry| entry.is_accepted = true);
    }

    /// Takes what the listener with this identity said. Others' words do not count.
    pub fn confirmed(&mut self, listener: &[u8; 32], said: &DeliveryConfirmation, now: u64) {
        if *said.stream != self.stream || said.next > self.sent {
            return;
        }
        let before = self.base();
        let Some(has) = self.listeners.get_mut(listener) else { return };
        // The listener may have started again, and lost its place.
        *has = said.next.max(*has);
        if self.base() > before {
            self.settle(now);
        }
        if let Some(number) = said.again {
            self.repeat_from(number, now);
        }
    }

    /// Sends everything again that is not confirmed, because this listener has started again.
    pub fn listener_began(&mut self, listener: &[u8; 32], now: u64) {
        if self.listeners.contains_key(listener) {
            self.repeat_from(self.base(), now);
        }
    }

    /// Sends everything again that is not confirmed, if that has taken too long. Returns whether it did.
    pub fn tick(&mut self, now: u64) -> bool {
        let is_due = self.repeat_at.is_some_and(|at| at <= now);
        if is_due {
            self.unsent = self.base();
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
            self.repeat_at = None;
        }
        is_due
    }

    /// Returns the receipts of what the group has, in the order of the local broker.
    pub fn released(&mut self) -> Vec<Receipt> {
        let (base, has_listeners) = (self.base(), !self.listeners.is_empty());
        let mut receipts = Vec::new();
        while let Some(entry) = self.entries.front() {
            let is_over = entry.message.is_none()
                || if has_listeners { entry.number < base } else { entry.is_accepted };
            if !is_over {
                break;
            }
            receipts.extend(self.entries.pop_front().and_then(|entry| entry.receipt));
        }
        receipts
    }

    /// Returns when to call [`Self::tick`], in ms.
    pub const fn deadline(&self) -> Option<u64> {
        self.repeat_at
    }

    /// Returns whether something waits to leave, and may.
    pub fn has_unsent(&self) -> bool {
        self.unsent < self.end()
    }

    /// Returns how many messages wait for confirmation.
    pub fn waiting(&self) -> usize {
        self.entries.len()
    }

    /// Returns how many messages were sent once more.
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Returns the listeners that have not confirmed the first message that waits.
    pub fn missing(&self) -> Vec<[u8; 32]> {
        let Some(first) = self.entries.front() else { return Vec::new() };
        let lacks = |(_, has): &(&[u8; 32], &u64)| **has <= first.number;
        self.listeners.iter().filter(lacks).map(|(listener, _)| *listener).collect()
    }

    /// Returns the lowest number that may still be repeated.
    pub fn base(&self) -> u64 {
        let first = self.entries.front().map_or(self.next, |entry| entry.number);
        self.listeners.values().copied().min().unwrap_or(first)
    }

    /// Returns the first number that may not leave yet.
    fn end(&self) -> u64 {
        self.next.min(self.base().saturating_add(self.window as u64))
    }

    fn repeat_from(&mut self, number: u64, now: u64) {
        if self.asked_at.is_some_and(|at| now < at.saturating_add(ASKED_EVERY)) {
            return;
        }
        self.asked_at = Some(now);
        self.put_back(number);
    }

    /// Begins the wait for a confirmation anew, because there was one.
    fn settle(&mut self, now: u64) {
        self.pause = FIRST_PAUSE;
        self.repeat_at = (self.base() < self.sent).then(|| now + self.pause);
    }
}

/// The time without progress after which everything is sent again, ms. It doubles up to the longest.
const FIRST_PAUSE: u64 = 1_000;
const LONGEST_PAUSE: u64 = 8_000;

/// The least time between two repetitions that others ask for, ms.
const ASKED_EVERY: u64 = 200;

/// The topic and the payload are for users' programs alone, and not for a log.
impl core::fmt::Debug for Published {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Published")
            .field("payload", &self.payload.len())
            .field("qos", &self.qos)
            .field("retain", &self.retain)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 32] = [1; 32];
    const B: [u8; 32] = [2; 32];

    fn published(byte: u8) -> Published {
        Published { topic: "t".into(), payload: [byte].into(), qos: 1, retain: false }
    }

    fn said(next: u64, again: bool) -> DeliveryConfirmation {
        let again = again.then_some(next);
        DeliveryConfirmation { member: 0, stream: [0; 8].into(), next, again }
    }

    fn numbers(taken: &[Carried]) -> Vec<u64> {
        taken.iter().map(|carried| carried.number).collect()
    }

    #[test]
    fn a_message_is_acknowledged_when_every_listener_has_it() {
        let mut sending = Sending::new(&[A, B].into(), 10, [0; 8]);
        for number in 0..3 {
            assert!(sending.push(published(number), Some(100 + u16::from(number))));
        }
        sending.skip(200);
        assert_eq!(numbers(&sending.take(2, 0)), [0, 1]);
        assert_eq!(numbers(&sending.take(9, 0)), [2]);
        sending.confirmed(&A, &said(3, false), 1);
        assert!(sending.released().is_empty());
        assert_eq!(sending.missing(), [B]);
        sending.confirmed(&[3; 32], &said(3, false), 1);
        sending.confirmed(&B, &DeliveryConfirmation { stream: [9; 8].into(), ..said(3, false) }, 1);
        sending.confirmed(&B, &said(4, false), 1);
        assert!(sending.released().is_empty(), "a stranger, another stream, a number not sent");
        sending.confirmed(&B, &said(1, false), 2);
        assert_eq!(sending.released(), [100]);
        sending.confirmed(&B, &said(3, false), 2);
        assert_eq!(sending.released(), [101, 102, 200]);
        assert_eq!((sending.waiting(), sending.deadline()), (0, None));
    }

    #[test]
    fn what_is_not_confirmed_is_sent_again_ever_more_rarely() {
        let mut sending = Sending::new(&[A].into(), 10, [0; 8]);
        (0..3).for_each(|number| assert!(sending.push(published(number), Some(1))));
        sending.take(9, 0);
        sending.confirmed(&A, &said(1, false), 500);
        let first = sending.deadline().unwrap();
        assert!(!sending.tick(first - 1) && sending.tick(first));
        let again = sending.take(9, first);
        assert_eq!((numbers(&again), again[0].base, sending.repeated()), (vec![1, 2], 1, 2));
        assert_eq!(sending.deadline(), Some(first + 2 * FIRST_PAUSE));
        // A listener that misses something need not wait for that.
        sending.confirmed(&A, &said(2, true), first + 1);
        assert_eq!(numbers(&sending.take(9, first + 1)), [2]);
        sending.confirmed(&A, &said(2, true), first + 2);
        assert!(!sending.has_unsent(), "it was asked for just now");
        // It starts again and has lost its place.
        sending.confirmed(&A, &said(0, true), first + 300);
        assert_eq!(numbers(&sending.take(9, first + 300)), [2]);
    }

    #[test]
    fn without_listeners_the_groups_broker_decides() {
        let mut sending = Sending::new(&BTreeSet::new(), 2, [0; 8]);
        assert!(sending.push(published(0), Some(1)) && sending.push(published(1), None));
        assert!(!sending.push(published(2), None), "there is no room for QoS 0");
        assert!(sending.push(published(2), Some(2)));
        let taken = sending.take(9, 0);
        assert!(taken.iter().all(|carried| carried.base == carried.number));
        sending.accepted(2);
        sending.accepted(1);
        assert!(sending.released().is_empty());
        sending.accepted(0);
        assert_eq!(sending.released(), [1, 2]);
        assert_eq!(sending.deadline(), None);
    }

    #[test]
    fn no_more_leaves_than_the_window_however_much_comes() {
        let mut sending = Sending::new(&[A].into(), 2, [0; 8]);
        for number in 0..5 {
            assert!(sending.push(published(number), Some(number.into())));
        }
        assert_eq!(numbers(&sending.take(9, 0)), [0, 1]);
        assert!(!sending.has_unsent() && sending.take(9, 0).is_empty());
        sending.confirmed(&A, &said(1, false), 1);
        assert_eq!((sending.released(), numbers(&sending.take(9, 1))), (vec![0], vec![2]));
        assert!(sending.tick(2 * FIRST_PAUSE));
        assert_eq!(numbers(&sending.take(9, 2 * FIRST_PAUSE)), [1, 2], "nor is more repeated");
        let mut alone = Sending::new(&BTreeSet::new(), 2, [0; 8]);
        (0..3).for_each(|number| assert!(alone.push(published(number), Some(1))));
        assert_eq!(numbers(&alone.take(9, 0)), [0, 1]);
        alone.accepted(0);
        assert_eq!((alone.released().len(), numbers(&alone.take(9, 0))), (1, vec![2]));
    }

    #[test]
    fn a_lost_local_connection_begins_another_stream() {
        let mut sending = Sending::new(&[A].into(), 10, [0; 8]);
        (0..3).for_each(|number| assert!(sending.push(published(number), Some(1))));
        sending.take(2, 0);
        sending.begin_again([7; 8]);
        assert_eq!((sending.waiting(), sending.has_unsent()), (0, false));
        sending.accepted(0);
        assert!(sending.push(published(0), Some(4)));
        let taken = sending.take(9, 0);
        assert_eq!((*taken[0].stream, taken[0].number, taken[0].base), ([7; 8], 3, 3));
        let confirmation = DeliveryConfirmation { stream: [7; 8].into(), ..said(4, false) };
        sending.confirmed(&A, &confirmation, 1);
        assert_eq!(sending.released(), [4]);
    }
}
