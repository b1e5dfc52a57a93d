//! What a runtime asks of the broker, until the broker has it.

use std::collections::VecDeque;

use crate::store::Publish;

/// Requests in the order in which the runtime made them. First come the publishes that the client has
/// taken and the broker has not acknowledged, and then the requests that wait for the client.
#[derive(Debug, Default)]
pub(super) struct Queue {
    requests: VecDeque<BrokerRequest>,
    /// How many of the first requests are in flight.
    in_flight: usize,
}

#[derive(Debug)]
pub(super) enum BrokerRequest {
    /// A publish, which stays until it is acknowledged. Has the packet identifier, once the client
    /// has chosen it.
    Publish {
        publish: Publish,
        packet: Option<u16>,
        is_acknowledged: bool,
    },
    Subscribe(String),
    Unsubscribe(String),
}

/// The number of publishes that may be in flight. It is unlimited until a broker stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlightWindow {
    size: usize,
    /// Acknowledgements since the window last grew.
    acknowledged: usize,
}

impl Queue {
    pub(super) fn push(&mut self, request: BrokerRequest) {
        self.requests.push_back(request);
    }

    pub(super) fn next(&self) -> Option<&BrokerRequest> {
        self.requests.get(self.in_flight)
    }

    /// Notes that the client has taken the next request.
    pub(super) fn taken(&mut self) {
        match self.next() {
            Some(BrokerRequest::Publish { .. }) => self.in_flight += 1,
            _ => self.skip(),
        }
    }

    /// Drops the next request.
    pub(super) fn skip(&mut self) {
        self.requests.remove(self.in_flight);
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.requests.len() > self.in_flight
    }

    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Notes the packet identifier of the next publish that the client sends.
    pub(super) fn sent(&mut self, packet: u16) {
        let mut packets = self.requests.iter_mut().take(self.in_flight).filter_map(|it| match it {
            BrokerRequest::Publish { packet, .. } => Some(packet),
            _ => None,
        });
        packets.find(|packet| packet.is_none()).into_iter().for_each(|it| *it = Some(packet));
    }

    pub(super) fn publish(&self, packet: u16) -> Option<&Publish> {
        self.requests.iter().take(self.in_flight).find_map(|request| match request {
            BrokerRequest::Publish { publish, packet: Some(own), is_acknowledged: false } => {
                (*own == packet).then_some(publish)
            }
            _ => None,
        })
    }

    /// Notes that the broker has acknowledged the publish with this packet identifier. Returns the
    /// publish's number.
    pub(super) fn acknowledge(&mut self, packet: u16) -> Option<u64> {
        let mut in_flight = self.requests.iter_mut().take(self.in_flight);
        let id = in_flight.find_map(|request| match request {
            BrokerRequest::Publish { publish, packet: Some(own), is_acknowledged }
                if *own == packet && !*is_acknowledged =>
            {
                *is_acknowledged = true;
                Some(publish.id)
            }
            _ => None,
        });
        while self.requests.front().is_some_and(BrokerRequest::is_over) {
            self.requests.pop_front();
            self.in_flight -= 1;
        }
        id
    }

    /// Forgets subscriptions that wait: the link makes all of them again.
    pub(super) fn forget_subscriptions(&mut self) {
        self.requests.retain(|request| matches!(request, BrokerRequest::Publish { .. }));
    }

    /// Lets all publishes that are not acknowledged wait for another connection.
    pub(super) fn disconnected(&mut self) {
        self.requests.retain(|request| !request.is_over());
        self.in_flight = 0;
        for request in &mut self.requests {
            if let BrokerRequest::Publish { packet, .. } = request {
                *packet = None;
            }
        }
    }
}

impl BrokerRequest {
    pub(super) const fn publish(publish: Publish) -> Self {
        Self::Publish { publish, packet: None, is_acknowledged: false }
    }

    const fn is_over(&self) -> bool {
        matches!(self, Self::Publish { is_acknowledged: true, .. })
    }
}

impl FlightWindow {
    pub(super) const fn has_room(self, in_flight: usize) -> bool {
        in_flight < self.size
    }

    /// Shrinks the window after a stall to a quarter of the publishes that were in flight.
    pub(super) fn stalled(&mut self, in_flight: usize) {
        *self = Self { size: (in_flight / 4).max(1), acknowledged: 0 };
    }

    /// Counts an acknowledgement. A full window of acknowledgements makes the window larger by one.
    /// The window thus grows towards the broker's limit, so slowly that a broker with a low limit
    /// seldom stalls.
    pub(super) const fn acknowledged(&mut self) {
        self.acknowledged += 1;
        if self.acknowledged >= self.size {
            *self = Self { size: self.size.saturating_add(1), acknowledged: 0 };
        }
    }
}

impl Default for FlightWindow {
    fn default() -> Self {
        Self { size: usize::MAX, acknowledged: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(id: u64) -> BrokerRequest {
        let (topic, payload) = (id.to_string(), Vec::new());
        BrokerRequest::publish(Publish { id, topic, payload, retain: false, expiry: None })
    }

    /// Takes all that waits, and returns its publishes.
    fn take_all(queue: &mut Queue) -> Vec<u64> {
        let mut ids = Vec::new();
        while let Some(request) = queue.next() {
            if let BrokerRequest::Publish { publish, .. } = request {
                ids.push(publish.id);
            }
            queue.taken();
        }
        ids
    }

    #[test]
    fn what_is_not_acknowledged_is_published_again_in_its_order() {
        let mut queue = Queue::default();
        queue.push(publish(1));
        queue.push(BrokerRequest::Subscribe("a".to_owned()));
        (2..5).for_each(|id| queue.push(publish(id)));
        assert_eq!(take_all(&mut queue), [1, 2, 3, 4]);
        (11..15).for_each(|packet| queue.sent(packet));
        queue.push(publish(5));
        assert_eq!((queue.in_flight(), queue.is_waiting()), (4, true));
        assert_eq!(queue.publish(13).map(|publish| publish.id), Some(3));
        assert_eq!(queue.acknowledge(13), Some(3));
        assert_eq!(queue.acknowledge(13), None, "it is acknowledged once");
        assert_eq!(queue.acknowledge(11), Some(1));
        assert_eq!(queue.in_flight(), 3);
        queue.disconnected();
        assert_eq!(queue.in_flight(), 0);
        assert_eq!(take_all(&mut queue), [2, 4, 5]);
        // Packet identifiers are of one connection.
        assert_eq!(queue.acknowledge(12), None);
        queue.sent(12);
        assert_eq!(queue.acknowledge(12), Some(2));
    }

    #[test]
    fn a_request_that_cannot_leave_blocks_no_other() {
        let mut queue = Queue::default();
        (1..4).for_each(|id| queue.push(publish(id)));
        queue.taken();
        queue.skip();
        queue.push(BrokerRequest::Unsubscribe("a".to_owned()));
        queue.forget_subscriptions();
        assert_eq!(take_all(&mut queue), [3]);
        assert!(!queue.is_waiting());
    }

    #[test]
    fn it_is_small_after_a_stall_and_grows_with_what_is_acknowledged() {
        let mut window = FlightWindow::default();
        assert!(window.has_room(1_000));
        window.stalled(40);
        assert!(window.has_room(9) && !window.has_room(10));
        (0..9).for_each(|_| window.acknowledged());
        assert!(!window.has_room(10));
        window.acknowledged();
        assert!(window.has_room(10) && !window.has_room(11));
        // The window grows from its smallest size to more publishes than a link ever has in flight.
        window.stalled(3);
        assert!(window.has_room(0) && !window.has_room(1));
        (0..2_080).for_each(|_| window.acknowledged());
        assert!(window.has_room(64));
    }
}
