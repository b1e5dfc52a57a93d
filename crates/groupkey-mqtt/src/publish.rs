//! A message that a runtime publishes and a store keeps until the broker acknowledges it.

/// A message to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// Its number: publishes leave in this order, and are acknowledged by it.
    pub id: u64,
    /// Where to.
    pub topic: String,
    /// What.
    pub payload: Vec<u8>,
    /// Whether the broker keeps it for later subscribers.
    pub retain: bool,
    /// How long the broker keeps it for clients that are away, in s; without it, as long as their
    /// sessions. MQTT 3.1.1 has no such limit. It counts from when the broker has the message.
    pub expiry: Option<u32>,
}
