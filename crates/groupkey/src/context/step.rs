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
    #[cfg(feature = "rig")]
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
            #[cfg(feature = "rig")]
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
    #[cfg(feature = "rig")]
    Known,
    ToCheck,
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::context::Setting;
    use crate::credentials::Credentials;
    use crate::error::Misuse;
    use crate::identity::{Epoch, MemberId};
    use crate::outbox::{Outbox, Recipient};
    use crate::party::Footprint;
    use crate::protection::Guard;
    use crate::secret::Key;

    const ANN: PartyId = PartyId::Member(MemberId(1));
    const BOB: PartyId = PartyId::Member(MemberId(2));

    /// Hears everything that comes through. Speaks first and refuses then, if it is told to.
    #[derive(Default)]
    struct Listener {
        heard: usize,
    }

    impl Party for Listener {
        fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
            match input {
                Input::Message(_) => {
                    self.heard += 1;
                    Ok(())
                }
                Input::Command(_) => {
                    cx.draft(Recipient::Group, Epoch(1), Operation::Rekey, 0).send();
                    cx.event(crate::outbox::Event::Rekeyed(Epoch(1)));
                    Err(Misuse::WrongRole.into())
                }
            }
        }

        fn group_key(&self) -> Option<(Epoch, &Key)> {
            None
        }

        fn footprint(&self) -> Footprint {
            Footprint::default()
        }
    }

    fn act<T>(
        credentials: &Credentials,
        me: PartyId,
        outbox: &mut Outbox,
        act: impl FnOnce(&mut Context<'_>) -> T,
    ) -> T {
        let (mut rng, mut probe) = (ChaCha20Rng::seed_from_u64(1), ());
        let protection = credentials.protection(me);
        act(&mut Context::new(Setting::default(), me, protection, &mut rng, 0, outbox, &mut probe))
    }

    /// A message to all, as this party protects it.
    fn said(
        credentials: &Credentials,
        sender: PartyId,
        write: impl FnOnce(&mut Context<'_>),
    ) -> Vec<u8> {
        let mut outbox = Outbox::new();
        act(credentials, sender, &mut outbox, write);
        outbox.messages().flat_map(|message| message.bytes.to_vec()).collect()
    }

    fn heard(credentials: &Credentials, channel: Channel, bytes: &[u8]) -> Result<usize, Error> {
        let (mut listener, mut outbox) = (Listener::default(), Outbox::new());
        let delivered =
            act(credentials, ANN, &mut outbox, |cx| cx.deliver(&mut listener, channel, bytes));
        delivered.map(|()| listener.heard)
    }

    fn rekey(cx: &mut Context<'_>) {
        cx.draft(Recipient::Group, Epoch(1), Operation::Rekey, 0).number(7).send();
    }

    #[test]
    fn who_is_not_in_the_directory_says_nothing() {
        let known = |parties: &[PartyId]| {
            let mut credentials = Credentials::new(Guard::Signature, 1);
            parties.iter().for_each(|&party| credentials.issue(party));
            credentials
        };
        let (both, alone) = (known(&[ANN, BOB]), known(&[ANN]));
        let bytes = said(&both, BOB, rekey);
        assert_eq!(heard(&both, Channel::Open, &bytes), Ok(1));
        assert_eq!(heard(&alone, Channel::Open, &bytes), Err(Misbehaviour::Forged.into()));
        // Nor does anybody in another's name.
        let of_ann = said(&both, ANN, rekey);
        let (start, tag) = (bytes.len() - 64, of_ann.len() - 64);
        let swapped = [&bytes[..start], &of_ann[tag..]].concat();
        assert_eq!(heard(&both, Channel::Open, &swapped), Err(Misbehaviour::Forged.into()));
    }

    #[test]
    fn an_enrolment_comes_over_the_confidential_channel_and_nothing_else_does() {
        let credentials = Credentials::new(Guard::Mac, 1);
        let enrolment = said(&credentials, PartyId::Controller, |cx| {
            let to = Recipient::Member(MemberId(1));
            let key = cx.random_key();
            cx.confidential_draft(to, Epoch(0), Operation::Enroll, 0).secret(&key).send();
        });
        let other = said(&credentials, BOB, rekey);
        let refused = Err(Misbehaviour::WrongChannel.into());
        assert_eq!(heard(&credentials, Channel::Confidential, &enrolment), Ok(1));
        assert_eq!(heard(&credentials, Channel::Open, &enrolment), refused);
        assert_eq!(heard(&credentials, Channel::Open, &other), Ok(1));
        assert_eq!(heard(&credentials, Channel::Confidential, &other), refused);
    }

    #[test]
    fn a_step_that_is_refused_leaves_nothing_in_the_outbox() {
        let (credentials, mut outbox) = (Credentials::new(Guard::Mac, 1), Outbox::new());
        act(&credentials, ANN, &mut outbox, |cx| {
            rekey(cx);
            assert!(cx.command(&mut Listener::default(), Command::Rekey).is_err());
        });
        assert_eq!((outbox.messages().count(), outbox.events().len()), (1, 0));
    }
}
