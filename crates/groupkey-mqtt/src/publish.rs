//! A message that a runtime publishes and a store keeps until the broker acknowledges it.

use alloc::string::String;
use alloc::vec::Vec;

/// A message to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// The message's number. Messages are published in this order, and acknowledged by number.
    pub id: u64,
    /// The topic.
    pub topic: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Whether the broker keeps the message for later subscribers.
    pub retain: bool,
    /// How long the broker keeps the message for clients that are offline, in s, from its arrival
    /// at the broker. Without this limit, the broker keeps the message as long as the clients'
    /// sessions. MQTT 3.1.1 has no such limit.
    pub expiry: Option<u32>,
}
