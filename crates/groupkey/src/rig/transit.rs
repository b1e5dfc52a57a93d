//! What is on the wire of a rig, and what becomes of it.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::fmt;

use crate::identity::PartyId;
use crate::outbox::Channel;
use crate::party::Command;
use crate::protection::Guard;
use crate::wire::{Header, parse_header};

/// A message on its way to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Transit<'a> {
    /// What its header says.
    pub header: Header,
    /// To whom it is on its way, one of perhaps many.
    pub to: PartyId,
    /// Over which channel. Over the confidential one the adversary is not asked.
    pub channel: Channel,
    /// The scheme's own part.
    pub body: &'a [u8],
    /// The whole message.
    pub bytes: &'a [u8],
}

/// What becomes of a message on its way to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives as it is.
    Arrives,
    /// This arrives instead.
    Becomes(Vec<u8>),
    /// Nothing arrives.
    Lost,
}

/// Decides what becomes of each message, for each of its receivers.
pub(super) type Adversary = Box<dyn FnMut(&Transit<'_>) -> Fate>;

/// What a party is given in a step.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    Bytes(Channel, &'a [u8]),
    Command(Command<'a>),
}

/// A message that arrives at a time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Delivery {
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

/// Header and body of a message, which need not be genuine.
pub(super) fn read(guard: Guard, bytes: &[u8]) -> Option<(Header, &[u8])> {
    let tag = match guard {
        Guard::Mac => 1 + 16,
        Guard::None => 0,
        Guard::Signature => 2 + 64,
    };
    let content = bytes.get(..bytes.len().checked_sub(tag)?)?;
    parse_header(content).ok()
}
