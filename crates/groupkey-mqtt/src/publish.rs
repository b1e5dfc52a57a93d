//! A message that a runtime publishes and a store keeps until the broker acknowledges it.

/// A message to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// Its number. Publishes leave in this order, and are acknowledged by number.
    pub id: u64,
    /// The topic.
    pub topic: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Whether the broker keeps it for later subscribers.
    pub retain: bool,
    /// How long the broker keeps it for clients that are offline, in s, from the time at which the
    /// broker has it. Without it, the broker keeps it as long as their sessions. MQTT 3.1.1 has no
    /// such limit.
    pub expiry: Option<u32>,
}
