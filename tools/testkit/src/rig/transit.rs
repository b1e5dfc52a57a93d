//! Messages on the wire of a rig, and their fates.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::fmt;

use groupkey::author::{Header, parse_header};
use groupkey::protection::Guard;
use groupkey::{Channel, Command, PartyId, Suite};

/// A message on its way to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Transit<'a> {
    /// The header of the message.
    pub header: Header,
    /// The receiver of this copy, one of perhaps many.
    pub to: PartyId,
    /// The channel. The adversary is not asked about the confidential channel.
    pub channel: Channel,
    /// The scheme's own part.
    pub body: &'a [u8],
    /// The whole message.
    pub bytes: &'a [u8],
}

/// The fate of a message on its way to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The message arrives unchanged.
    Arrives,
    /// These bytes arrive instead.
    Becomes(Vec<u8>),
    /// Nothing arrives.
    Lost,
}

/// Decides the fate of each message, for each of its receivers.
pub(super) type MessageFilter = Box<dyn FnMut(&Transit<'_>) -> Fate>;

/// The input for a step of a party.
#[derive(Clone, Copy)]
pub(super) enum RigInput<'a> {
    Bytes(Channel, &'a [u8]),
    Command(Command<'a>),
}

/// A message and the time at which it arrives.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScheduledDelivery {
    pub(super) at: u64,
    pub(super) sequence: u64,
    pub(super) to: PartyId,
    pub(super) channel: Channel,
    pub(super) bytes: Rc<[u8]>,
}

impl fmt::Display for Transit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { epoch, operation, kind, sender, .. } = self.header;
        let operation = operation.name();
        write!(f, "{sender} to {}: {operation} {kind} of epoch {epoch}", self.to)
    }
}

/// Reads header and body of a message, which need not be genuine.
pub(super) fn read(suite: Suite, guard: Guard, bytes: &[u8]) -> Option<(Header, &[u8])> {
    let (content, _) = guard.split_tag(suite, bytes)?;
    parse_header(content).ok()
}
