//! The output of a party: messages to send, and events that its driver must notice.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use zeroize::Zeroize;

use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};

/// A set of members that has a topic of its own, such as the members below one node of a key tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubsetId(pub u32);

/// The recipient of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// The controller alone (unicast).
    Controller,
    /// All members (broadcast); controllers do not listen.
    Group,
    /// One member (unicast).
    Member(MemberId),
    /// The controller of one subgroup (unicast).
    SubgroupController(SubgroupId),
    /// The parties that subscribed to the subset (multicast).
    Subset(SubsetId),
}

impl Recipient {
    /// Returns the one party that it names; none for the group and for subsets.
    pub const fn party(self) -> Option<PartyId> {
        match self {
            Self::Controller => Some(PartyId::Controller),
            Self::Member(member) => Some(PartyId::Member(member)),
            Self::SubgroupController(subgroup) => Some(PartyId::SubgroupController(subgroup)),
            Self::Group | Self::Subset(_) => None,
        }
    }

    /// Returns whether it includes a party that is in the group and subscribed to these subsets.
    pub fn includes(self, party: PartyId, subscribed: impl FnOnce(SubsetId) -> bool) -> bool {
        match self {
            Self::Group => matches!(party, PartyId::Member(_)),
            Self::Subset(subset) => subscribed(subset),
            one => one == party.into(),
        }
    }
}

impl From<PartyId> for Recipient {
    fn from(party: PartyId) -> Self {
        match party {
            PartyId::Controller => Self::Controller,
            PartyId::Member(member) => Self::Member(member),
            PartyId::SubgroupController(subgroup) => Self::SubgroupController(subgroup),
        }
    }
}

/// The protection that a message needs from its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Confidential and authentic: only for the deployment phase, once per member.
    Confidential,
    /// Any party may listen.
    Open,
}

/// An event in a party that its driver must know about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The party has the key of a message ([`Messages::last_key`](crate::author::Messages::last_key)).
    MessageKey,
    /// The party has the group key of this epoch.
    Rekeyed(Epoch),
    /// The party learned that the group continues without it: it was evicted, or it had asked to
    /// leave.
    Removed,
    /// From now on, the party must receive messages to this subset.
    Subscribed(SubsetId),
    /// The party no longer needs to receive messages to this subset.
    Unsubscribed(SubsetId),
}

/// A message that waits to be sent.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// The recipient.
    pub to: Recipient,
    /// The channel that the message needs.
    pub channel: Channel,
    /// The whole message, as it goes on the wire.
    pub bytes: &'a [u8],
    /// How many of these bytes are the scheme's own. The others are framing and protection.
    pub body_bytes: usize,
}

/// Messages and events that steps have left, in order. All messages lie in one buffer, so that a
/// controller with 55,000 members allocates nothing per message. Confidential bytes are wiped.
#[derive(Clone, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    /// Whether the buffer contains keys.
    confidential: bool,
    messages: Vec<QueuedMessage>,
    events: Vec<Event>,
}

impl Outbox {
    /// Creates an empty outbox.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), confidential: false, messages: Vec::new(), events: Vec::new() }
    }

    /// Returns the messages, in the order in which they were sent.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Outgoing<'_>> {
        self.messages.iter().map(|entry| Outgoing {
            to: entry.to,
            channel: entry.channel,
            bytes: &self.bytes[entry.bytes.clone()],
            body_bytes: entry.body.len(),
        })
    }

    /// Returns the events, in the order in which they happened.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.events.is_empty()
    }

    /// Removes all messages and events but keeps the memory for the next step.
    pub fn clear(&mut self) {
        self.wipe();
        self.bytes.clear();
        self.messages.clear();
        self.events.clear();
    }

    pub(crate) fn mark(&self) -> Savepoint {
        self.mark_at(self.bytes.len())
    }

    /// Returns the point at which a message that begins here is not sent yet.
    pub(crate) fn mark_at(&self, start: usize) -> Savepoint {
        Savepoint { bytes: start, messages: self.messages.len(), events: self.events.len() }
    }

    /// Returns how many messages were added since `mark`.
    pub(crate) fn messages_since(&self, mark: &Savepoint) -> usize {
        self.messages.len() - mark.messages
    }

    /// Removes everything added since `mark`: a step that fails sends nothing.
    pub(crate) fn roll_back(&mut self, mark: &Savepoint) {
        if self.confidential {
            self.bytes[mark.bytes..].zeroize();
        }
        self.bytes.truncate(mark.bytes);
        self.messages.truncate(mark.messages);
        self.events.truncate(mark.events);
    }

    /// Marks all content written from now on as confidential, until the outbox is cleared.
    pub(crate) const fn set_confidential(&mut self) {
        self.confidential = true;
    }

    /// Returns the buffer, for an item of a message. A confidential buffer has room for the item.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer_for(0)
    }

    /// Returns the buffer, for this many bytes and their head.
    pub(crate) fn buffer_for(&mut self, bytes: usize) -> &mut Vec<u8> {
        let more = bytes + ITEM_BYTES;
        if self.confidential && self.bytes.capacity() - self.bytes.len() < more {
            let mut larger = Vec::with_capacity(2 * self.bytes.len() + more);
            larger.extend_from_slice(&self.bytes);
            self.bytes[..].zeroize();
            self.bytes = larger;
        }
        &mut self.bytes
    }

    pub(crate) fn reserve(&mut self, messages: usize, bytes: usize) {
        self.messages.reserve(messages);
        self.buffer_for(bytes).reserve(bytes);
    }

    pub(crate) fn push_message(
        &mut self,
        to: Recipient,
        channel: Channel,
        bytes: Range<usize>,
        body: Range<usize>,
    ) {
        self.messages.push(QueuedMessage { to, channel, bytes, body });
    }

    /// Returns the messages on a channel since `mark`.
    pub(crate) fn sent_on(
        &self,
        channel: Channel,
        mark: &Savepoint,
    ) -> impl Iterator<Item = &[u8]> + Clone {
        let entries = self.messages[mark.messages..].iter();
        let on_it = entries.filter(move |entry| entry.channel == channel);
        on_it.map(|entry| &self.bytes[entry.bytes.clone()])
    }

    /// Appends an item to each message on a channel since `mark`. `length` says how long it is for the
    /// first of them (0), the second, and so on, and `write` fills it. Every byte is moved once.
    pub(crate) fn append(
        &mut self,
        channel: Channel,
        mark: &Savepoint,
        length: impl Fn(u32) -> usize,
        mut write: impl FnMut(u32, &mut [u8]),
    ) {
        let count = self.sent_on(channel, mark).count() as u32;
        let more = (0..count).map(&length).sum();
        self.buffer_for(more);
        let mut end = self.bytes.len() + more;
        self.bytes.resize(end, 0);
        let mut index = count;
        let Self { bytes, messages, .. } = self;
        for entry in messages[mark.messages..].iter_mut().rev() {
            let mut item = end;
            if entry.channel == channel {
                index -= 1;
                item -= length(index);
                write(index, &mut bytes[item..end]);
            }
            let start = item - entry.bytes.len();
            bytes.copy_within(entry.bytes.clone(), start);
            let by = start - entry.bytes.start;
            entry.body = entry.body.start + by..entry.body.end + by;
            entry.bytes = start..end;
            end = start;
        }
    }

    /// Returns where the body of the last message lies in the buffer.
    pub(crate) fn last_body(&self) -> Option<Range<usize>> {
        self.messages.last().map(|entry| entry.body.clone())
    }

    pub(crate) fn push_event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn wipe(&mut self) {
        if core::mem::take(&mut self.confidential) {
            // Wipe the used bytes only. `Vec` wipes its whole capacity, which may be megabytes for
            // a group.
            self.bytes[..].zeroize();
        }
    }
}

// The bytes are not printed, because they may be confidential.
impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to, channel, bytes, .. } = self;
        write!(f, "{} bytes to {to:?} ({channel:?})", bytes.len())
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.messages()).entries(&self.events).finish()
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// More bytes than the head of a message takes, and than any item of it takes except a byte string.
const ITEM_BYTES: usize = 256;

/// A point in an outbox to which a failed step rolls back.
pub(crate) struct Savepoint {
    bytes: usize,
    messages: usize,
    events: usize,
}

#[derive(Clone, Debug)]
struct QueuedMessage {
    to: Recipient,
    channel: Channel,
    bytes: Range<usize>,
    body: Range<usize>,
}
