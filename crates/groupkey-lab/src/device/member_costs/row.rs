//! One line of member costs.

use serde::{Deserialize, Serialize};

use super::super::emulated::Target;
use crate::bench::BenchPlan;

/// What one operation costs one member of a scheme, on one processor, in a group of one size.
///
/// The figures are of all steps of the member in the operation together: commands, and messages of
/// the operation that it received. They are absent if the group was not measured, and
/// [`Self::reason`] says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemberCost {
    /// Processor: `cortex-m4` or `rv32imac`.
    pub target: String,
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// `centralized`, `hybrid` or `distributed`.
    pub class: String,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Protection of messages: `none`, `mac`, `signature` or `merkle`.
    pub protection: String,
    /// Members of the group when the operation begins; for `create`, when it has ended.
    pub members: u32,
    /// `create`, `add`, `remove`, or another of the scheme's operations; `catch-up`; `encrypt` or
    /// `decrypt` for a message of 40 bytes to the group. Empty if no operation was measured.
    pub operation: String,
    /// `member`, `new-member` or `sponsor`. Empty if no operation was measured.
    pub role: String,
    /// `deployment` (once, over a confidential channel) or `operational`.
    pub phase: String,
    /// Instructions of the member's steps. On `cortex-m4` they are counted in steps of 40.
    pub instructions: Option<u64>,
    /// Instructions that the counted primitives and messages should take, by the processor's device
    /// profile. This is a model.
    pub modelled_instructions: Option<u64>,
    /// Most bytes of stack that a step used.
    pub stack_bytes: Option<u64>,
    /// Most bytes of heap in use during a step: the member, the message or command that it gets, and
    /// the messages that it sends.
    pub heap_peak_bytes: Option<u64>,
    /// Bytes of heap that the member keeps after the operation.
    pub heap_kept_bytes: Option<u64>,
    /// Steps: commands, and received messages.
    pub steps: Option<u64>,
    /// Messages received.
    pub received_messages: Option<u64>,
    /// Bytes of these messages.
    pub received_bytes: Option<u64>,
    /// Messages sent.
    pub sent_messages: Option<u64>,
    /// Bytes of these messages.
    pub sent_bytes: Option<u64>,
    /// Hash of everything that the member has sent, from its beginning to the end of the operation's
    /// group, and of its group keys: 16 hexadecimal digits. The device and the host agree on it.
    pub hash: String,
    /// Whether stack, heap and static variables together fit 256 KiB of memory; absent if the group
    /// was not measured.
    pub fits: Option<bool>,
    /// Why the member does not fit, or why there are no figures. Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl MemberCost {
    /// Returns whether this row and the other are of the same operation of the same member.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        let named = |row: &Self| {
            [&row.target, &row.scheme, &row.profile, &row.suite, &row.protection, &row.operation]
                .map(Clone::clone)
        };
        named(self) == named(other)
            && (self.members, &self.role, &self.phase) == (other.members, &other.role, &other.phase)
    }

    /// Returns a row without figures.
    pub(super) fn blank(target: Target, group: &BenchPlan, members: u32) -> Self {
        Self {
            target: target.name().to_owned(),
            scheme: group.scheme.id.to_owned(),
            class: group.scheme.class().name().to_owned(),
            provenance: group.scheme.provenance.name().to_owned(),
            profile: group.profile.name().to_owned(),
            suite: group.suite.name().to_owned(),
            protection: group.protection.name().to_owned(),
            members,
            ..Self::default()
        }
    }

    /// Returns the memory that the member takes at most: stack, heap and static variables (bytes).
    pub fn ram_bytes(&self) -> Option<u64> {
        Some(self.stack_bytes? + self.heap_peak_bytes? + super::STATIC_RAM)
    }
}
