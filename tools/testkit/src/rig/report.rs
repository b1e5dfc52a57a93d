//! The messages and costs of an operation, and why a run failed.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::fmt;

use groupkey::crypto::meter::Meter;
use groupkey::error::Error;
use groupkey::{Channel, PartyId, Recipient};

/// The messages and costs of an operation.
#[derive(Clone, Debug, Default)]
pub struct OperationReport {
    /// The messages, in the order in which they were sent.
    pub messages: Vec<SentMessage>,
    /// The messages of the deployment phase before it, which are not part of its cost.
    pub deployment: Vec<SentMessage>,
    /// Primitive operations by party.
    pub meters: BTreeMap<PartyId, Meter>,
    /// The refusals while an adversary was on the wire: the party that refused, and its error.
    pub refusals: Vec<(PartyId, Error)>,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub struct SentMessage {
    /// The sender.
    pub from: PartyId,
    /// The recipient.
    pub to: Recipient,
    /// The channel that the message needed.
    pub channel: Channel,
    /// The whole message.
    pub bytes: Rc<[u8]>,
    /// Bytes of the scheme's own body.
    pub body_bytes: usize,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RigError {
    /// A party accepted a message that it should have refused.
    AcceptedForgery(PartyId),
    /// A party refused a command.
    Command(Error),
    /// A party holds another key than the rest, or none, or of another epoch.
    Disagreement(PartyId),
    /// A party refused a genuine message.
    Refused(PartyId, Error),
    /// The group still sends messages after very many deliveries.
    Unsettled,
}

impl OperationReport {
    /// Returns the messages over open channels.
    pub fn open_messages(&self) -> impl Iterator<Item = &SentMessage> {
        self.messages.iter().filter(|message| message.channel == Channel::Open)
    }

    /// Returns the operations of one party.
    pub fn meter(&self, party: PartyId) -> Meter {
        self.meters.get(&party).copied().unwrap_or_default()
    }

    /// Returns the operations of all parties together.
    pub fn total(&self) -> Meter {
        let mut total = Meter::new();
        self.meters.values().for_each(|meter| total.add(meter));
        total
    }
}

impl fmt::Display for RigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AcceptedForgery(party) => write!(f, "{party} took a forged or replayed message"),
            Self::Command(error) => write!(f, "a command was refused: {error}"),
            Self::Disagreement(party) => write!(f, "{party} holds another key than the rest"),
            Self::Refused(party, error) => write!(f, "{party} refused a genuine message: {error}"),
            Self::Unsettled => write!(f, "the group does not settle"),
        }
    }
}

impl core::error::Error for RigError {}
