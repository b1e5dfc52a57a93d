//! A step: a party gets a command, or a message that was decoded and checked.

use subtle::ConstantTimeEq;

use crate::context::state::Context;
#[cfg(feature = "distributed")]
use crate::crypto::GroupContext;
use crate::crypto::meter::Primitive;
use crate::crypto::{Signing, derive};
use crate::diagnostics;
use crate::error::{Error, Misbehaviour};
use crate::identity::PartyId;
use crate::operation::Operation;
use crate::outbox::Channel;
use crate::party::{Command, Input, Party};
use crate::protection::hash_tree::{Root, TreeTag, leaf_blocks};
use crate::protection::{Directory, Protection, PublicIdentity};
use crate::wire::{Message, Reader, parse_header};

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
        let message = self.open(channel, bytes, Tag::ToCheck);
        if let Err(error) = &message {
            diagnostics::refused(self.me, bytes.len(), error);
        }
        self.run(party, Input::Message(message?))
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
        let own = (self.setting.context, self.protection);
        // A word is alone: it has a signature of its own in every group with signatures.
        (self.setting.context, self.protection) = (*covered, self.protection.one_by_one());
        let message = self.open(Channel::Open, bytes, Tag::ToCheck);
        (self.setting.context, self.protection) = own;
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
        self.setting.require_suited()?;
        self.require_identity()?;
        let mark = self.outbox.mark();
        self.nonce = match &input {
            Input::Command(_) => None,
            Input::Message(message) => message.header().nonce,
        };
        let is_outermost = !core::mem::replace(&mut self.in_step, true);
        let result = party.step(self, input);
        if result.is_err() {
            self.outbox.roll_back(&mark);
        }
        if is_outermost {
            self.in_step = false;
            self.sign_together(&mark);
        }
        diagnostics::step(self.me, &input, self.outbox.messages_since(&mark), &result);
        result
    }

    fn open<'m>(
        &mut self,
        channel: Channel,
        bytes: &'m [u8],
        tag: Tag,
    ) -> Result<Message<'m>, Error> {
        let guard = self.protection.guard();
        let (content, tag_item) =
            guard.split_tag(self.setting.suite, bytes).ok_or(Misbehaviour::Malformed)?;
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
            Tag::Known => self.count_tag(content, tag_item),
            Tag::ToCheck => self.require_tag(header.sender, content, tag_item)?,
        }
        Ok(Message::new(header, body))
    }

    #[cfg(feature = "research")]
    fn count_tag(&mut self, content: &[u8], item: &[u8]) {
        match self.protection {
            Protection::None => {}
            Protection::Mac(_) => self.probe.record(Primitive::Mac, content.len()),
            Protection::Merkle { .. } => {
                let tag = Reader::new(item).bytes().ok();
                let tag = tag.and_then(|tag| TreeTag::read(self.setting.suite.signing(), tag));
                self.count_path(content, tag.map_or(0, |tag| tag.depth()));
            }
            Protection::Signature { .. } => self.probe.record(Primitive::Verify, content.len()),
        }
    }

    fn count_path(&mut self, content: &[u8], depth: usize) {
        self.count_hashes(leaf_blocks(content.len()) + depth);
        self.probe.record(Primitive::Verify, Root::BYTES);
    }

    fn require_tag(&mut self, sender: PartyId, content: &[u8], item: &[u8]) -> Result<(), Error> {
        if matches!(self.protection, Protection::None) {
            return Ok(());
        }
        let tag = Reader::new(item).bytes().map_err(|_| Misbehaviour::Forged)?;
        if self.has_tag(sender, content, tag) { Ok(()) } else { Err(Misbehaviour::Forged.into()) }
    }

    fn has_tag(&mut self, sender: PartyId, content: &[u8], tag: &[u8]) -> bool {
        let &mut Self { setting, ref protection, .. } = self;
        match *protection {
            Protection::None => true,
            Protection::Mac(key) => {
                self.probe.record(Primitive::Mac, content.len());
                let expected = derive::mac(setting.suite, &setting.context, key, content);
                bool::from(expected.ct_eq(tag))
            }
            Protection::Merkle { directory, .. } => {
                let signing = setting.suite.signing();
                let Some(tag) = TreeTag::read(signing, tag) else { return false };
                let Some(identity) = listed(directory, signing, sender) else { return false };
                self.count_path(content, tag.depth());
                let root = tag.root_with(setting.suite, content);
                identity.verifies(&setting.signed_root(&root), tag.signature)
            }
            Protection::Signature { directory, .. } => {
                self.probe.record(Primitive::Verify, content.len());
                let identity = listed(directory, setting.suite.signing(), sender);
                identity.is_some_and(|identity| identity.verifies(&setting.signed(content), tag))
            }
        }
    }
}

/// Returns the public key of a party. One for other signatures than the group's counts as none.
pub(super) fn listed(
    directory: &dyn Directory,
    signing: Signing,
    party: PartyId,
) -> Option<PublicIdentity> {
    directory.public_identity(party).filter(|identity| identity.signing() == signing)
}

/// Whether a message's tag must be checked.
#[derive(Clone, Copy)]
enum Tag {
    /// This process made the message.
    #[cfg(feature = "research")]
    Known,
    ToCheck,
}
