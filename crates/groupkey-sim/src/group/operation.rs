//! One operation on a group: the messages of its steps, which members have the new key,
//! and its cost.

use std::ops::Range;
use std::rc::Rc;

use groupkey::author::Outgoing;
use groupkey::{MemberId, Outbox, Recipient};

use crate::name::MessageId;
use crate::time::Time;
use crate::traffic::Traffic;

/// The times and counts of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OperationResult {
    /// Time until the last current member had the new key, in ns.
    pub total_ns: u64,
    /// Of that, computation on the way to the last member, in ns.
    pub computation_ns: u64,
    /// Of that, everything else, in ns.
    pub transmission_ns: u64,
    /// Mean over the current members of the time at which each had the new key, in ns.
    pub member_mean_ns: f64,
    /// Messages published, requests included.
    pub messages: u64,
    /// Bytes of these messages as MQTT payloads.
    pub payload_bytes: u64,
    /// Bytes of all packets on all links, until the network was quiet again.
    pub wire_bytes: u64,
    /// TCP segments sent again.
    pub retransmissions: u64,
    /// Messages handed over to parties.
    pub deliveries: u64,
    /// Current members that stayed without the new key although they are connected. They do not know
    /// it, and will notice when a message of a later epoch comes; or they asked too often in vain.
    /// Always zero if connections do not end.
    pub behind: u64,
    /// Requests of parties that had missed messages and asked for what they missed.
    pub catch_ups: u64,
}

/// The operation under way.
#[derive(Default)]
pub(super) struct OperationProgress {
    began: Time,
    traffic: Traffic,
    /// Messages by their number on the network.
    stored: Vec<Stored>,
    batches: Vec<MessageBatch>,
    /// Whether each seat's party has the new key.
    has_key: Vec<bool>,
    pub(super) reached: usize,
    /// Whether the change has begun: it need not wait for a request.
    pub(super) has_begun: bool,
    /// The request that the change waits for, and how often it was repeated.
    pub(super) request: Option<SentRequest>,
    pub(super) repeats: u32,
    pub(super) catch_ups: u64,
    /// When the last member had the key, and how much computation was on the way there, in ns.
    last: Time,
    computed: u64,
    sum_ns: f64,
    messages: u64,
    payload_bytes: u64,
}

/// A message on its way.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) content: QueuedContent,
    /// Computation on the way to this message, in ns.
    pub(super) computed: u64,
}

#[derive(Clone)]
pub(super) enum QueuedContent {
    Bytes { to: Recipient, batch: usize, buffer: Rc<[u8]>, range: Range<usize> },
    Request(MemberRequest),
}

/// Messages of one step, which leave together.
#[derive(Clone)]
pub(super) struct MessageBatch {
    pub(super) seat: usize,
    pub(super) messages: Range<usize>,
    /// The check of the batch's next message to arrive.
    check: TagCheck,
}

/// How the tag of a message is checked. The network carries lengths, so every message arrives as it
/// left its sender's outbox. A group of 55,000 would check the same megabytes 55,000 times. So only
/// the first message of a step to arrive is checked. For all others the check is only counted.
#[derive(Clone, Copy)]
pub(super) enum TagCheck {
    Counted,
    InFull,
}

/// A request that was sent: its message, the seat of its sender, and its bytes.
#[derive(Clone, Copy)]
pub(super) struct SentRequest {
    pub(super) message: MessageId,
    pub(super) seat: usize,
    pub(super) bytes: u32,
}

/// A member's request to the controller.
#[derive(Clone, Copy)]
pub(super) enum MemberRequest {
    Add(MemberId),
    Remove(MemberId),
}

impl OperationProgress {
    pub(super) fn begin(now: Time, traffic: Traffic) -> Self {
        Self { began: now, traffic, ..Self::default() }
    }

    /// Keeps a request until it arrives.
    pub(super) fn ask(&mut self, request: MemberRequest) -> MessageId {
        self.stored.push(Stored { content: QueuedContent::Request(request), computed: 0 });
        MessageId(self.stored.len() as u32 - 1)
    }

    /// Keeps the messages of a step until they arrive, in one buffer. Returns the number
    /// of the batch.
    pub(super) fn keep(&mut self, seat: usize, outbox: &Outbox, computed: u64) -> usize {
        let first = self.stored.len();
        let batch = self.batches.len();
        let bytes: Vec<u8> = outbox.messages().flat_map(|message| message.bytes).copied().collect();
        let buffer: Rc<[u8]> = bytes.into();
        let mut start = 0;
        for Outgoing { to, bytes, .. } in outbox.messages() {
            let range = start..start + bytes.len();
            start = range.end;
            let content = QueuedContent::Bytes { to, batch, buffer: Rc::clone(&buffer), range };
            self.stored.push(Stored { content, computed });
        }
        let messages = first..self.stored.len();
        self.batches.push(MessageBatch { seat, messages, check: TagCheck::InFull });
        batch
    }

    /// Returns the messages of all steps.
    pub(super) fn sent(&self) -> impl Iterator<Item = (Recipient, &[u8])> {
        self.stored.iter().filter_map(|stored| match &stored.content {
            QueuedContent::Bytes { to, buffer, range, .. } => Some((*to, &buffer[range.clone()])),
            QueuedContent::Request(_) => None,
        })
    }

    pub(super) fn batch(&self, number: usize) -> MessageBatch {
        self.batches[number].clone()
    }

    pub(super) fn message(&self, message: MessageId) -> Stored {
        self.stored[message.0 as usize].clone()
    }

    pub(super) fn next_check(&mut self, batch: usize) -> TagCheck {
        std::mem::replace(&mut self.batches[batch].check, TagCheck::Counted)
    }

    pub(super) fn count_published(&mut self, bytes: usize) {
        self.messages += 1;
        self.payload_bytes += bytes as u64;
    }

    /// Records the first time that a member has the new key.
    pub(super) fn reach(&mut self, seat: usize, at: Time, computed: u64) {
        if self.has_key.len() <= seat {
            self.has_key.resize(seat + 1, false);
        }
        if std::mem::replace(&mut self.has_key[seat], true) {
            return;
        }
        self.reached += 1;
        self.sum_ns += at.since(self.began).as_nanos() as f64;
        if at >= self.last {
            self.last = at;
            self.computed = computed;
        }
    }

    pub(super) fn has_key(&self, seat: usize) -> bool {
        self.has_key.get(seat) == Some(&true)
    }

    pub(super) fn result(&self, traffic: Traffic, behind: usize) -> OperationResult {
        let traffic = traffic - self.traffic;
        let total_ns = self.last.since(self.began).as_nanos();
        OperationResult {
            total_ns,
            computation_ns: self.computed,
            transmission_ns: total_ns - self.computed,
            member_mean_ns: self.sum_ns / self.reached.max(1) as f64,
            messages: self.messages,
            payload_bytes: self.payload_bytes,
            wire_bytes: traffic.wire_bytes,
            retransmissions: traffic.retransmissions,
            deliveries: traffic.deliveries,
            behind: behind as u64,
            catch_ups: self.catch_ups,
        }
    }
}
