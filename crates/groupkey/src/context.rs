//! The one door: everything a party may use from outside itself comes through its [`Context`].

mod draft;
mod group;
mod integer;
mod keys;
mod messages;
mod pairing;
mod peers;
mod trace;

use core::fmt;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;

use crate::catching_up::Nonce;
use crate::crypto::meter::{Primitive, Probe};
use crate::crypto::{Suite, derive};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, GroupId, PartyId};
use crate::outbox::{Channel, Event, Outbox, Recipient};
use crate::party::{Command, Input, Operation, Party};
use crate::protection::Protection;
use crate::wire::{Header, Message, Writer, head_length, parse_header};

pub(crate) use self::trace::Bytes;
#[cfg(not(feature = "rig"))]
pub(crate) use self::trace::Rule;
use self::trace::Verbatim;

pub use self::draft::Draft;
pub use self::peers::PeerKeys;
#[cfg(feature = "rig")]
pub use self::trace::{Rule, Traced, Tracer};

/// What all parties of a group have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The group.
    pub group: GroupId,
    /// The scheme's id. Signatures cover it, because a party signs in several groups with one key:
    /// what it said in one scheme means nothing in another.
    pub scheme: &'static str,
    /// The algorithms.
    pub suite: Suite,
}

impl Setting {
    /// What a message's signature covers, one part after the other.
    const fn signed<'m>(&self, content: &'m [u8]) -> [&'m [u8]; 4] {
        [b"groupkey/1 ", self.scheme.as_bytes(), b"\0", content]
    }
}

/// What one step of a party may use. Its driver makes one for every step.
pub struct Context<'a> {
    setting: Setting,
    me: PartyId,
    protection: Protection<'a>,
    peer_keys: Option<&'a dyn PeerKeys>,
    rng: &'a mut dyn CryptoRng,
    now: u64,
    /// Of the request that this step takes, answers or makes.
    nonce: Option<Nonce>,
    outbox: &'a mut Outbox,
    probe: &'a mut dyn Probe,
    #[cfg(feature = "rig")]
    tracer: Option<&'a mut dyn Tracer>,
}

impl<'a> Context<'a> {
    /// A context for the party `me` at time `now` (ns since an origin of the driver's choice).
    pub const fn new(
        setting: Setting,
        me: PartyId,
        protection: Protection<'a>,
        rng: &'a mut dyn CryptoRng,
        now: u64,
        outbox: &'a mut Outbox,
        probe: &'a mut dyn Probe,
    ) -> Self {
        Self {
            setting,
            me,
            protection,
            peer_keys: None,
            rng,
            now,
            nonce: None,
            outbox,
            probe,
            #[cfg(feature = "rig")]
            tracer: None,
        }
    }

    /// The same with long-term keys for key agreement, which some distributed schemes need.
    #[must_use]
    pub const fn with_peer_keys(mut self, keys: &'a dyn PeerKeys) -> Self {
        self.peer_keys = Some(keys);
        self
    }

    /// The same with a tracer that is notified of every operation on secrets. For audits: every
    /// secret is laid open to the tracer.
    #[cfg(feature = "rig")]
    #[must_use]
    pub const fn with_tracer(mut self, tracer: &'a mut dyn Tracer) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Gives a party a command. On an error the party and the outbox are as before.
    pub fn command(&mut self, party: &mut dyn Party, command: Command<'_>) -> Result<(), Error> {
        self.run(party, Input::Command(command))
    }

    /// Gives a party a message as it came over a channel. It is decoded and checked first: group,
    /// addressee, channel, protection. On an error the party and the outbox are as before.
    pub fn deliver(
        &mut self,
        party: &mut dyn Party,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let message = self.open(channel, bytes, Tag::ToCheck)?;
        self.run(party, Input::Message(message))
    }

    /// As [`Self::deliver`], of bytes that the driver itself took from their sender's outbox: the
    /// check of their tag is counted, but not computed. For simulations of large groups, where
    /// the same bytes would be checked thousands of times, and for nothing else.
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

    /// Gives a party a message that was checked, for one that keeps another party inside.
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

    /// The group.
    pub const fn group(&self) -> GroupId {
        self.setting.group
    }

    /// The algorithms.
    pub const fn suite(&self) -> Suite {
        self.setting.suite
    }

    /// The party whose step this is.
    pub const fn me(&self) -> PartyId {
        self.me
    }

    /// The time in ns, as the driver gives it.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Tells the driver of something.
    pub fn event(&mut self, event: Event) {
        self.outbox.push_event(event);
    }

    /// Begins a message. Items are appended to the draft; [`Draft::send`] completes it. One of
    /// [`Operation::CatchUp`] gets the nonce of the request that this step takes, or that it makes
    /// ([`Asked::request`](crate::catching_up::Asked::request)); one that answers nothing has none.
    pub fn draft(
        &mut self,
        to: Recipient,
        epoch: Epoch,
        operation: Operation,
        kind: u8,
    ) -> Draft<'_, 'a> {
        self.draft_on(Channel::Open, to, epoch, operation, kind)
    }

    /// Begins a message for the confidential channel of the deployment phase.
    pub fn confidential_draft(
        &mut self,
        to: Recipient,
        epoch: Epoch,
        operation: Operation,
        kind: u8,
    ) -> Draft<'_, 'a> {
        self.draft_on(Channel::Confidential, to, epoch, operation, kind)
    }

    fn draft_on(
        &mut self,
        channel: Channel,
        to: Recipient,
        epoch: Epoch,
        operation: Operation,
        kind: u8,
    ) -> Draft<'_, 'a> {
        let (group, sender) = (self.setting.group, self.me);
        let nonce = (operation == Operation::CatchUp).then(|| self.nonce.unwrap_or_default());
        let header = Header { group, epoch, operation, kind, sender, to, nonce };
        if channel == Channel::Confidential {
            self.outbox.set_confidential();
        }
        let start = self.outbox.buffer().len();
        Writer::new(self.outbox.buffer()).header(&header);
        let body_start = self.outbox.buffer().len();
        Draft { cx: self, to, channel, start, body_start }
    }

    /// Sends the body of the last message once more, to somebody else.
    ///
    /// # Panics
    ///
    /// If there is no message in the outbox.
    pub fn send_again(&mut self, to: Recipient, epoch: Epoch, operation: Operation, kind: u8) {
        let body = self.outbox.last_body().expect("a message was sent");
        let mut draft = self.draft(to, epoch, operation, kind);
        draft.cx.outbox.buffer_for(body.len()).extend_from_within(body);
        draft.send();
    }

    /// Makes room for this many messages of about this many body bytes each, so that sending to a
    /// large group does not move what was written already.
    pub fn reserve(&mut self, messages: usize, body_bytes: usize) {
        const HEADER_BYTES: usize = 24;
        let each = HEADER_BYTES + body_bytes + 2 + self.protection.tag_length();
        self.outbox.reserve(messages, messages * each);
    }

    /// The nonce of a new request, which what this step sends from now on has.
    pub(crate) fn draw_nonce(&mut self) -> Nonce {
        self.probe.record(Primitive::Random, Nonce::BYTES);
        let mut nonce = Nonce::default();
        self.rng.fill_bytes(&mut nonce.0);
        self.nonce = Some(nonce);
        nonce
    }

    /// The nonce of the request that this step takes, answers or makes.
    pub(crate) const fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// What is sent from now on is or answers this request: for one that is repeated, and for forgers.
    pub(crate) const fn set_nonce(&mut self, nonce: Option<Nonce>) {
        self.nonce = nonce;
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
        // An individual key that came over an open channel is nobody's own.
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
        let mut reader = crate::wire::Reader::new(item);
        let tag = reader.bytes().map_err(|_| Misbehaviour::Forged)?;
        self.count_tag(content.len());
        let valid = match self.protection {
            Protection::None => true,
            Protection::Mac(key) => {
                let expected = derive::mac(self.setting.suite, key, content);
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

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("setting", &self.setting)
            .field("me", &self.me)
            .field("protection", &self.protection)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// Whether a message's tag must be checked.
#[derive(Clone, Copy)]
enum Tag {
    /// This process made it.
    #[cfg(feature = "rig")]
    Known,
    ToCheck,
}
