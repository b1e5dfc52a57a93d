//! Names of clients, topics and messages.

/// The caller's tag for a message; the network never holds a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u32);

/// A client of the broker, numbered from zero in the order of
/// [`Network::add_client`](crate::Network::add_client).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub(crate) u32);

impl ClientId {
    /// Returns the client that was added as number `index`, from zero.
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// Returns the client's number, from zero.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A topic that any client may subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub(crate) u32);

/// Where a message is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A client's own topic. Only that client is subscribed to it.
    Client(ClientId),
    /// A topic with a set of subscribers.
    Shared(TopicId),
}
