//! What is known of each variant: counts of its operations at many sizes, and what the audit found.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::candidate::Variant;

/// What is known of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Known {
    /// The variant.
    pub variant: Variant,
    /// Security level of its suite for this scheme (bits).
    pub bits: u32,
    /// Whether no step of it rests on a problem that a quantum computer solves. Signatures count.
    pub post_quantum: bool,
    /// The claims that the audit confirmed for its scheme's sound form, each as
    /// `adversary/claim`: `active/forward-secrecy`.
    pub confirmed: BTreeSet<String>,
    /// Counts, by operation and then by ascending number of members.
    pub samples: Vec<Sample>,
}

/// What one operation takes in a group of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sample {
    /// The operation's name: `create`, `add`, `remove`, `rekey` or `batch`.
    pub operation: String,
    /// Members when the operation begins; for `create`, when it has ended.
    pub members: u32,
    /// The members that are not the joining or leaving one, on average.
    pub member: Load,
    /// The most that any of them does and keeps, figure by figure.
    pub busiest: Load,
    /// The controller.
    #[serde(default, skip_serializing_if = "Load::is_idle")]
    pub controller: Load,
    /// The most that a subgroup controller does.
    #[serde(default, skip_serializing_if = "Load::is_idle")]
    pub gateway: Load,
    /// The messages in the order in which they wait for each other.
    pub stages: Vec<Stage>,
    /// The largest message (bytes, header and tag included).
    pub largest: u32,
}

/// What a party does in an operation, and what it keeps after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// Its primitives.
    #[serde(default)]
    pub uses: Uses,
    /// What it sends. A message to many members counts once.
    #[serde(default)]
    pub sent: Traffic,
    /// What it receives.
    #[serde(default)]
    pub received: Traffic,
    /// Receivers of what it sends: what `sent` would be if each receiver had its own copy.
    #[serde(default)]
    pub copies: Traffic,
    /// Key material that it keeps (bytes).
    #[serde(default)]
    pub keys: f64,
}

/// Counted primitives, by the meter's names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uses(pub BTreeMap<String, Count>);

/// How often a primitive was used, and on how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// Calls.
    pub calls: f64,
    /// Units in all.
    pub amount: f64,
}

/// Messages of the protocol, and their bytes (headers and tags included, MQTT's not).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Messages.
    pub messages: f64,
    /// Bytes.
    pub bytes: f64,
}

/// Messages that leave at once, after those of the stage before have arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Senders that work in parallel.
    pub senders: f64,
    /// Messages of each sender, one after the other on its connection.
    pub messages: f64,
    /// Bytes of a message.
    pub bytes: f64,
    /// Deliveries in all: one for each receiver of each message.
    pub deliveries: f64,
    /// Receivers that the next stage, or the end, waits for.
    pub awaited: f64,
    /// Primitives of the slowest sender before it sends.
    pub uses: Uses,
    /// Whether members, the controller or gateways send.
    pub sender: Role,
}

/// A kind of party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The controller.
    Controller,
    /// A subgroup controller.
    Gateway,
    /// A member.
    #[default]
    Member,
}

impl Load {
    fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}
