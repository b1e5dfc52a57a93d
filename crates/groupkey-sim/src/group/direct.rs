//! The direct way of messages: they reach their recipients at once, without a network.
//!
//! An operation of a group that settles before it feels nothing of how earlier messages travelled.
//! So what leads up to it need not take the time and the memory of a network.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::name::{ClientId, MessageId};
use crate::network::NetworkEvent;
use crate::time::Time;

/// Messages on the direct way, and the wake-up calls of those who send them.
#[derive(Debug)]
pub(super) struct DirectWay {
    now: Time,
    deliveries: VecDeque<NetworkEvent>,
    /// By time, then by order.
    wake_ups: BinaryHeap<Reverse<(Time, u64, u64)>>,
    calls: u64,
}

impl DirectWay {
    pub(super) const fn new(now: Time) -> Self {
        Self { now, deliveries: VecDeque::new(), wake_ups: BinaryHeap::new(), calls: 0 }
    }

    /// Returns the time of the latest event.
    pub(super) const fn now(&self) -> Time {
        self.now
    }

    pub(super) fn rest(&mut self, until: Time) {
        self.now = self.now.max(until);
    }

    /// Brings a message to these clients.
    pub(super) fn publish(
        &mut self,
        from: ClientId,
        message: MessageId,
        to: impl Iterator<Item = ClientId>,
    ) {
        let delivered = |client| NetworkEvent::Delivered { client, from, message };
        self.deliveries.extend(to.map(delivered));
    }

    /// Sets a wake-up call; a time that has passed means now.
    pub(super) fn wake_at(&mut self, time: Time, token: u64) {
        self.wake_ups.push(Reverse((time.max(self.now), self.calls, token)));
        self.calls += 1;
    }

    /// Returns the next event: deliveries take no time.
    pub(super) fn poll(&mut self) -> Option<NetworkEvent> {
        self.deliveries.pop_front().or_else(|| {
            let Reverse((time, _, token)) = self.wake_ups.pop()?;
            self.now = time;
            Some(NetworkEvent::Wake { token })
        })
    }
}
