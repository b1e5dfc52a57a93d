//! A step: a party gets a command, or a message that was decoded and checked.

use subtle::ConstantTimeEq;

use crate::context::state::Context;
#[cfg(feature = "distributed")]
use crate::crypto::GroupContext;
use crate::crypto::derive;
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour};
use crate::identity::PartyId;
use crate::operation::Operation;
use crate::outbox::Channel;
use crate::party::{Command, Input, Party};
use crate::protection::Protection;
use crate::wire::{Message, Reader, head_length, parse_header};

impl Context<'_> {
    /// Gives a party a command. On an error the party and the outbox are as before.
    pub fn command(&mut self, party: &mut dyn Party, command: Command<'_>) -> Result<(), Error> {
        self.run(party, Input::Command(command))
    }

    /// Gives a party a message as it came over a channel. Decodes and checks the message first:
    /// group, addressee, channel, protection. On an error the party and the outbox are as before.
    pub fn deliver(
        &mut self,
        party: &mut dyn Party,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let message = self.open(channel, bytes, Tag::ToCheck)?;
        self.run(party, Input::Message(message))
    }

    /// Gives a party an operator's word, which covers this context instead of the group's: an operator
    /// does not know which founding of the group its word will meet. What the party says because of it
    /// covers the group's own context. Refuses everything that is
    /// [no word](crate::event_order::is_word).
    #[cfg(feature = "distributed")]
    pub fn deliver_word(
        &mut self,
        party: &mut dyn Party,
        bytes: &[u8],
        covered: &GroupContext,
    ) -> Result<(), Error> {
        if !crate::event_order::is_word(bytes) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let own = core::mem::replace(&mut self.setting.context, *covered);
        let message = self.open(Channel::Open, bytes, Tag::ToCheck);
        self.setting.context = own;
        self.run(party, Input::Message(message?))
    }

    /// Does the same as [`Self::deliver`], for bytes that the driver itself took from their
    /// sender's outbox. The check of their tag is counted, but not computed. Only for simulations
    /// of large groups, where the same bytes would be checked thousands of times.
    #[cfg(feature = "research")]
    pub fn deliver_unchanged(
        &mut self,
        party: &mut dyn Party,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let message = self.open(channel, bytes, Tag::Known)?;
        self.run(party, Input::Message(message))
    }

    /// Gives a party a message that was checked. For a party that contains another party.
    pub(crate) fn message(
        &mut self,
        party: &mut dyn Party,
        message: Message<'_>,
    ) -> Result<(), Error> {
        self.run(party, Input::Message(message))
    }

    fn run(&mut self, party: &mut dyn Party, input: Input<'_>) -> Result<(), Error> {
        let mark = self.outbox.mark();
        self.nonce = match &input {
            Input::Command(_) => None,
            Input::Message(message) => message.header().nonce,
        };
        let result = party.step(self, input);
        if result.is_err() {
            self.outbox.roll_back(&mark);
        }
        result
    }

    fn open<'m>(
        &mut self,
        channel: Channel,
        bytes: &'m [u8],
        tag: Tag,
    ) -> Result<Message<'m>, Error> {
        let tag_length = self.protection.tag_length();
        let tag_item =
            if tag_length == 0 { 0 } else { head_length(tag_length as u64) + tag_length };
        let covered = bytes.len().checked_sub(tag_item).ok_or(Misbehaviour::Malformed)?;
        let (content, tag_item) = bytes.split_at(covered);
        let (header, body) = parse_header(content)?;
        if header.group != self.setting.group {
            return Err(Misbehaviour::ForeignGroup.into());
        }
        if header.to.party().is_some_and(|party| party != self.me) {
            return Err(Misbehaviour::NotForUs.into());
        }
        // An individual key that came over an open channel is not secret.
        let expected = match header.operation {
            Operation::Enroll => Channel::Confidential,
            _ => Channel::Open,
        };
        if channel != expected {
            return Err(Misbehaviour::WrongChannel.into());
        }
        match tag {
            #[cfg(feature = "research")]
            Tag::Known => self.count_tag(content.len()),
            Tag::ToCheck => self.require_tag(header.sender, content, tag_item)?,
        }
        Ok(Message::new(header, body))
    }

    fn count_tag(&mut self, covered: usize) {
        match self.protection {
            Protection::None => {}
            Protection::Mac(_) => self.probe.record(Primitive::Mac, covered),
            Protection::Signature { .. } => self.probe.record(Primitive::Verify, covered),
        }
    }

    fn require_tag(&mut self, sender: PartyId, content: &[u8], item: &[u8]) -> Result<(), Error> {
        if matches!(self.protection, Protection::None) {
            return Ok(());
        }
        let mut reader = Reader::new(item);
        let tag = reader.bytes().map_err(|_| Misbehaviour::Forged)?;
        self.count_tag(content.len());
        let valid = match self.protection {
            Protection::None => true,
            Protection::Mac(key) => {
                let expected = derive::mac(self.setting.suite, &self.setting.context, key, content);
                bool::from(expected.ct_eq(tag))
            }
            Protection::Signature { directory, .. } => {
                match (directory.public_identity(sender), tag.try_into()) {
                    (Some(identity), Ok(signature)) => {
                        identity.verifies(&self.setting.signed(content), signature)
                    }
                    _ => false,
                }
            }
        };
        if valid { Ok(()) } else { Err(Misbehaviour::Forged.into()) }
    }
}

/// Whether a message's tag must be checked.
#[derive(Clone, Copy)]
enum Tag {
    /// This process made the message.
    #[cfg(feature = "research")]
    Known,
    ToCheck,
}
