//! What a party leaves to be done: messages to send and events to notice.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use zeroize::Zeroize;

use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};

/// A set of members that has a topic of its own, such as those below one node of a key tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubsetId(pub u32);

/// To whom a message goes.
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
    /// Those who subscribed to the subset (multicast).
    Subset(SubsetId),
}

impl Recipient {
    /// The one party that it names; none for the group and for subsets.
    pub const fn party(self) -> Option<PartyId> {
        match self {
            Self::Controller => Some(PartyId::Controller),
            Self::Member(member) => Some(PartyId::Member(member)),
            Self::SubgroupController(subgroup) => Some(PartyId::SubgroupController(subgroup)),
            Self::Group | Self::Subset(_) => None,
        }
    }

    /// Whether it includes a party that is in the group and subscribed to these subsets.
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

/// What the channel of a message must offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Confidential and authentic: only for the deployment phase, once per member.
    Confidential,
    /// Anybody may listen.
    Open,
}

/// Something that happened in a party and that its driver must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The party has the key of a message ([`Party::message_key`](crate::Party::message_key)).
    MessageKey,
    /// The party has the group key of this epoch.
    Rekeyed(Epoch),
    /// The party heard that the group goes on without it: others took it out, or it had asked to leave.
    Removed,
    /// The party must receive what is sent to this subset from now on.
    Subscribed(SubsetId),
    /// The party need not receive what is sent to this subset any longer.
    Unsubscribed(SubsetId),
}

/// A message that waits to be sent.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// To whom it goes.
    pub to: Recipient,
    /// What it needs of the channel.
    pub channel: Channel,
    /// The whole message, as it goes on the wire.
    pub bytes: &'a [u8],
    /// How many of these bytes are the scheme's own; the rest is framing and protection.
    pub body_bytes: usize,
}

/// Messages and events that steps have left, in order. All messages lie in one buffer, so that a
/// controller with 55,000 members allocates nothing per message. What is confidential is wiped.
#[derive(Clone, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    /// Whether there are keys in it.
    confidential: bool,
    messages: Vec<Entry>,
    events: Vec<Event>,
}

impl Outbox {
    /// An empty outbox.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), confidential: false, messages: Vec::new(), events: Vec::new() }
    }

    /// The messages, in the order in which they were sent.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Outgoing<'_>> {
        self.messages.iter().map(|entry| Outgoing {
            to: entry.to,
            channel: entry.channel,
            bytes: &self.bytes[entry.bytes.clone()],
            body_bytes: entry.body.len(),
        })
    }

    /// The events, in the order in which they happened.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.events.is_empty()
    }

    /// Forgets everything but keeps the memory for the next step.
    pub fn clear(&mut self) {
        self.wipe();
        self.bytes.clear();
        self.messages.clear();
        self.events.clear();
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), messages: self.messages.len(), events: self.events.len() }
    }

    /// Takes back what was left since `mark`: a step that fails sends nothing.
    pub(crate) fn roll_back(&mut self, mark: &Mark) {
        if self.confidential {
            self.bytes[mark.bytes..].zeroize();
        }
        self.bytes.truncate(mark.bytes);
        self.messages.truncate(mark.messages);
        self.events.truncate(mark.events);
    }

    /// What is written from now on, until this is cleared, is confidential.
    pub(crate) const fn set_confidential(&mut self) {
        self.confidential = true;
    }

    /// The buffer, for an item of a message. There is room for it where that is confidential.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer_for(0)
    }

    /// The buffer, for this many bytes and their head.
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
        self.messages.push(Entry { to, channel, bytes, body });
    }

    /// Where the body of the last message lies in the buffer.
    pub(crate) fn last_body(&self) -> Option<Range<usize>> {
        self.messages.last().map(|entry| entry.body.clone())
    }

    pub(crate) fn push_event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn wipe(&mut self) {
        if core::mem::take(&mut self.confidential) {
            // Not all the room there is, as `Vec` does: that of a whole group may be megabytes.
            self.bytes[..].zeroize();
        }
    }
}

// What is confidential is not printed.
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

/// More than the head of a message takes, and any item of it but a string of bytes.
const ITEM_BYTES: usize = 256;

/// A point in an outbox to which a failed step rolls back.
pub(crate) struct Mark {
    bytes: usize,
    messages: usize,
    events: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    to: Recipient,
    channel: Channel,
    bytes: Range<usize>,
    body: Range<usize>,
}
