//! The one door: everything a party may use from outside itself comes through its [`Context`].

mod integer;
mod messages;
mod pairing;
mod peers;
mod trace;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;

use crate::catching_up::Nonce;
use crate::crypto::group::{Check, Element, Exponent};
use crate::crypto::meter::{Primitive, Probe};
use crate::crypto::wrap::{Binding, unwrap, wrap, wrapped_length};
use crate::crypto::{Suite, derive};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, GroupId, PartyId};
use crate::outbox::{Channel, Event, Outbox, Recipient};
use crate::party::{Command, Input, Operation, Party};
use crate::protection::Protection;
use crate::secret::Key;
use crate::wire::{Header, Message, Writer, head_length, parse_header};

pub(crate) use self::trace::Bytes;
#[cfg(not(feature = "rig"))]
pub(crate) use self::trace::Rule;
use self::trace::Verbatim;

pub use self::peers::PeerKeys;
#[cfg(feature = "rig")]
pub use self::trace::{Rule, Traced, Tracer};

/// What all parties of a group have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The group.
    pub group: GroupId,
    /// The algorithms.
    pub suite: Suite,
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

    /// The same with somebody who is told of every operation on secrets. For audits: every secret is
    /// laid open to the tracer.
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

    /// The time in ns, as the driver tells it.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Tells the driver of something.
    pub fn event(&mut self, event: Event) {
        self.outbox.push_event(event);
    }

    /// Begins a message. Items are appended to the draft; [`Draft::send`] completes it. One of
    /// [`Operation::CatchUp`] gets the nonce of the request that this step takes, or that it makes
    /// ([`Asked::anew`](crate::catching_up::Asked::anew)); one that answers nothing is nobody's.
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
        draft.cx.outbox.buffer().extend_from_within(body);
        draft.send();
    }

    /// Makes room for so many messages of about so many body bytes each, so that sending to a large
    /// group does not move what was written already.
    pub fn reserve(&mut self, messages: usize, body_bytes: usize) {
        const HEADER_BYTES: usize = 24;
        let each = HEADER_BYTES + body_bytes + 2 + self.protection.tag_length();
        self.outbox.reserve(messages, messages * each);
    }

    /// A new random key.
    pub fn random_key(&mut self) -> Key {
        self.probe.record(Primitive::Random, Key::BYTES);
        let mut key = Key::default();
        self.rng.fill_bytes(key.as_bytes_mut());
        self.trace(Rule::Random, &[], &[&key]);
        key
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

    /// What is sent from now on is or answers this request: for who forges.
    #[cfg(feature = "rig")]
    pub(crate) const fn set_nonce(&mut self, nonce: Option<Nonce>) {
        self.nonce = nonce;
    }

    /// A key derived from another (HKDF or its Ascon counterpart); `label` says what for.
    pub fn derive(&mut self, secret: &Key, label: &'static str, context: &[u8]) -> Key {
        self.probe.record(Primitive::Derive, Key::BYTES + label.len() + context.len());
        let key = derive::derive(self.setting.suite, secret.as_bytes(), label, context);
        self.trace_labelled(Rule::OneWay, label, context, &[secret], &[&key]);
        key
    }

    /// A key derived from another for one epoch of this group.
    pub fn derive_for(&mut self, epoch: Epoch, secret: &Key, label: &'static str) -> Key {
        self.derive(secret, label, self.moment(epoch).as_flattened())
    }

    /// The next key of a one-way chain; `label`, of at most 38 bytes, says of which kind of chain.
    /// Cheaper than [`Self::derive`], for chains of thousands of keys.
    pub fn hash(&mut self, key: &Key, label: &'static str) -> Key {
        self.hash_with(key, label, &[])
    }

    /// What follows from a uniform key and from `context`, in one step as of a chain, an eighth of
    /// what [`Self::derive`] costs: for a controller that needs it for every member. `label` and
    /// `context` have at most 38 bytes together.
    pub fn hash_with(&mut self, key: &Key, label: &'static str, context: &[u8]) -> Key {
        self.probe.record(Primitive::Hash, 1);
        let next = derive::hash(self.setting.suite, key, label, context);
        self.trace_labelled(Rule::OneWay, label, context, &[key], &[&next]);
        next
    }

    /// The same for one epoch of this group.
    pub fn hash_for(&mut self, epoch: Epoch, key: &Key, label: &'static str) -> Key {
        self.hash_with(key, label, self.moment(epoch).as_flattened())
    }

    /// The hash of public data, of which each part but the last has a fixed length; `label` says of what.
    pub fn digest(&mut self, label: &'static str, parts: &[&[u8]]) -> [u8; 32] {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.probe.record(Primitive::Derive, label.len() + length);
        let digest = derive::digest(self.setting.suite, label, parts);
        if self.is_traced() {
            self.trace_labelled(Rule::OneWay, label, &parts.concat(), &[], &[&Verbatim(&digest)]);
        }
        digest
    }

    /// Two keys, bit by bit: masks one with the other, or takes the mask off.
    pub fn xor(&mut self, key: &Key, mask: &Key) -> Key {
        let mut result = key.clone();
        for (byte, mask) in result.as_bytes_mut().iter_mut().zip(mask.as_bytes()) {
            *byte ^= mask;
        }
        self.trace(Rule::Xor, &[key, mask], &[&result]);
        result
    }

    /// A key derived from a shared group element.
    pub fn derive_from_element(
        &mut self,
        element: &Element,
        label: &'static str,
        context: &[u8],
    ) -> Key {
        let mut bytes = Vec::with_capacity(Element::length(self.setting.suite));
        element.encode(&mut bytes);
        self.probe.record(Primitive::Derive, bytes.len() + label.len() + context.len());
        let key = derive::derive(self.setting.suite, &bytes, label, context);
        zeroize::Zeroize::zeroize(&mut bytes);
        self.trace_labelled(Rule::OneWay, label, context, &[element], &[&key]);
        key
    }

    /// Wraps keys in one call and appends the result to `out`, for what is sent more than once.
    /// `label` is as in [`Draft::wrapped`].
    pub fn wrap_keys<'k>(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        keys: impl IntoIterator<Item = &'k Key, IntoIter: ExactSizeIterator>,
        out: &mut Vec<u8>,
    ) {
        let keys = keys.into_iter();
        self.probe.record(Primitive::Wrap, keys.len());
        let binding = Binding { epoch: epoch.0, label };
        let start = out.len();
        if self.is_traced() {
            let keys: Vec<&Key> = keys.collect();
            wrap(self.setting.suite, kek, binding, keys.iter().copied(), self.rng, out);
            self.trace_wrapping(Rule::Wrap, kek, &keys, &out[start..]);
        } else {
            wrap(self.setting.suite, kek, binding, keys, self.rng, out);
        }
    }

    /// Opens a wrapped key.
    pub fn unwrap_key(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        wrapped: &[u8],
    ) -> Result<Key, Error> {
        let mut key = [Key::default()];
        self.unwrap_keys(kek, epoch, label, wrapped, &mut key)?;
        let [key] = key;
        Ok(key)
    }

    /// Opens keys that were wrapped in one call; there must be exactly as many as `keys` holds.
    pub fn unwrap_keys(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        wrapped: &[u8],
        keys: &mut [Key],
    ) -> Result<(), Error> {
        self.probe.record(Primitive::Unwrap, keys.len());
        unwrap(self.setting.suite, kek, Binding { epoch: epoch.0, label }, wrapped, keys)
            .ok_or(Misbehaviour::WrongKey)?;
        if self.is_traced() {
            self.trace_wrapping(Rule::Unwrap, kek, &keys.iter().collect::<Vec<_>>(), wrapped);
        }
        Ok(())
    }

    fn trace_wrapping(&mut self, rule: Rule, kek: &Key, keys: &[&Key], wrapped: &[u8]) {
        let (wrapped, mut values) = (Verbatim(wrapped), vec![kek as &dyn Bytes]);
        match rule {
            Rule::Wrap => {
                values.extend(keys.iter().map(|&key| key as &dyn Bytes));
                self.trace(rule, &values, &[&wrapped]);
            }
            _ => {
                let keys: Vec<_> = keys.iter().map(|&key| key as &dyn Bytes).collect();
                values.push(&wrapped);
                self.trace(rule, &values, &keys);
            }
        }
    }

    /// Length in bytes of so many keys wrapped in one call.
    pub const fn wrapped_length(&self, keys: usize) -> usize {
        wrapped_length(self.setting.suite, keys)
    }

    /// A new random exponent.
    pub fn random_exponent(&mut self) -> Exponent {
        self.probe.record(Primitive::Random, self.setting.suite.group().drawn_bytes());
        let exponent = Exponent::random(self.setting.suite, self.rng);
        self.trace(Rule::Random, &[], &[&exponent]);
        exponent
    }

    /// The generator raised to an exponent.
    pub fn generator_power(&mut self, exponent: &Exponent) -> Element {
        self.probe.record(Primitive::ExponentiateGenerator, 1);
        let power = Element::generator_power(exponent);
        self.trace(Rule::PowerOfGenerator, &[exponent], &[&power]);
        power
    }

    /// Appends the generator raised to each of these exponents, encoded.
    pub fn encode_generator_powers(&mut self, exponents: &[Exponent], out: &mut Vec<u8>) {
        let start = out.len();
        for _ in exponents {
            self.probe.record(Primitive::ExponentiateGenerator, 1);
        }
        Element::encode_generator_powers(exponents, out);
        let length = Element::length(self.setting.suite);
        for (exponent, power) in exponents.iter().zip(out[start..].chunks_exact(length)) {
            self.trace(Rule::PowerOfGenerator, &[exponent], &[&Verbatim(power)]);
        }
    }

    /// An element raised to an exponent.
    pub fn power(&mut self, element: &Element, exponent: &Exponent) -> Element {
        self.probe.record(Primitive::Exponentiate, 1);
        let power = element.power(exponent);
        self.trace(Rule::Power, &[element, exponent], &[&power]);
        power
    }

    /// The product of two elements.
    pub fn multiply(&mut self, a: &Element, b: &Element) -> Element {
        self.probe.record(Primitive::MultiplyElements, 1);
        let product = a.times(b);
        self.trace(Rule::Multiply, &[a, b], &[&product]);
        product
    }

    /// An element divided by another.
    pub fn divide(&mut self, dividend: &Element, divisor: &Element) -> Element {
        self.probe.record(Primitive::DivideElements, 1);
        let quotient = dividend.over(divisor);
        self.trace(Rule::Divide, &[dividend, divisor], &[&quotient]);
        quotient
    }

    /// The exponent that follows from a shared element, for schemes whose keys are exponents again:
    /// a hash of the element, reduced modulo the order. It depends on the group and on `label`, which
    /// says what for, and on nothing that changes while the element stays.
    pub fn exponent_from_element(&mut self, element: &Element, label: &'static str) -> Exponent {
        let suite = self.setting.suite;
        let mut bytes = Vec::with_capacity(Element::length(suite));
        element.encode(&mut bytes);
        let mut context = [0; 9];
        context[..8].copy_from_slice(&self.setting.group.0.to_be_bytes());
        self.probe.record(Primitive::Derive, bytes.len() + label.len() + context.len());
        let mut wide = zeroize::Zeroizing::new(alloc::vec![0; suite.group().wide_bytes()]);
        let exponent = loop {
            derive::wide(suite, &bytes, label, &context, &mut wide);
            if let Some(exponent) = Exponent::from_wide(suite, &wide) {
                break exponent;
            }
            // Nobody will see this: one element in 2^160 hashes to a multiple of the order.
            context[8] = context[8].wrapping_add(1);
        };
        zeroize::Zeroize::zeroize(&mut bytes);
        self.trace_labelled(Rule::OneWay, label, &[], &[element], &[&exponent]);
        exponent
    }

    /// The product of two exponents.
    pub(crate) fn exponent_product(&mut self, a: &Exponent, b: &Exponent) -> Exponent {
        let product = a.times(b);
        self.trace(Rule::ExponentProduct, &[a, b], &[&product]);
        product
    }

    /// The exponent that undoes another.
    pub fn inverse(&mut self, exponent: &Exponent) -> Exponent {
        self.probe.record(Primitive::InvertExponent, 1);
        let inverse = exponent.inverse();
        self.trace(Rule::Invert, &[exponent], &[&inverse]);
        inverse
    }

    /// Reads a received element: canonical, in range, not the identity, and in the subgroup of prime
    /// order if `check` says so.
    pub fn element(&mut self, bytes: &[u8], check: Check) -> Result<Element, Error> {
        self.probe.record(Primitive::CheckElement, 1);
        Element::decode(self.setting.suite, bytes, check)
            .ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// Reads received elements that [`Draft::elements`] appended; there must be exactly `count`.
    pub fn elements(
        &mut self,
        bytes: &[u8],
        count: usize,
        check: Check,
    ) -> Result<Vec<Element>, Error> {
        let length = Element::length(self.setting.suite);
        if bytes.len() != count * length {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        bytes.chunks_exact(length).map(|bytes| self.element(bytes, check)).collect()
    }

    /// What binds a key to the group and to an epoch.
    const fn moment(&self, epoch: Epoch) -> [[u8; 8]; 2] {
        [self.setting.group.0.to_be_bytes(), epoch.0.to_be_bytes()]
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
        let for_us = match header.to {
            Recipient::Controller => self.me == PartyId::Controller,
            Recipient::Member(member) => self.me == PartyId::Member(member),
            Recipient::SubgroupController(subgroup) => self.me == subgroup.into(),
            Recipient::Group | Recipient::Subset(_) => true,
        };
        if !for_us {
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
            Tag::ToCheck => self.check_tag(header.sender, content, tag_item)?,
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

    fn check_tag(&mut self, sender: PartyId, content: &[u8], item: &[u8]) -> Result<(), Error> {
        if matches!(self.protection, Protection::None) {
            return Ok(());
        }
        let mut reader = crate::wire::Reader::new(item);
        let tag = reader.bytes().map_err(|_| Misbehaviour::Forged)?;
        self.count_tag(content.len());
        let valid = match self.protection {
            Protection::None => true,
            Protection::Mac(key) => {
                let expected = derive::mac(self.setting.suite, key.as_bytes(), content);
                bool::from(expected.ct_eq(tag))
            }
            Protection::Signature { directory, .. } => {
                match (directory.public_identity(sender), tag.try_into()) {
                    (Some(identity), Ok(signature)) => identity.verifies(content, signature),
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

/// A message that is being written, straight into the outbox.
#[derive(Debug)]
#[must_use = "a draft that is not sent leaves half a message behind"]
pub struct Draft<'d, 'a> {
    cx: &'d mut Context<'a>,
    to: Recipient,
    channel: Channel,
    start: usize,
    body_start: usize,
}

impl Draft<'_, '_> {
    /// Appends a number.
    pub fn number(&mut self, value: u64) -> &mut Self {
        Writer::new(self.cx.outbox.buffer()).number(value);
        self
    }

    /// Appends the head of an array; so many items must follow.
    pub fn array(&mut self, length: usize) -> &mut Self {
        Writer::new(self.cx.outbox.buffer()).array(length as u64);
        self
    }

    /// Appends a byte string.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        Writer::new(self.cx.outbox.buffer()).bytes(bytes);
        self
    }

    /// Appends a key in the clear; only for the confidential channel.
    pub fn secret(&mut self, key: &Key) -> &mut Self {
        debug_assert_eq!(self.channel, Channel::Confidential);
        self.bytes(key.as_bytes())
    }

    /// Appends a group element as a byte string.
    pub fn element(&mut self, element: &Element) -> &mut Self {
        let length = Element::length(self.cx.setting.suite);
        let buffer = self.cx.outbox.buffer();
        Writer::new(buffer).bytes_head(length);
        element.encode(buffer);
        self
    }

    /// Appends group elements, one after the other, as one byte string.
    pub fn elements(&mut self, elements: &[Element]) -> &mut Self {
        let length = Element::length(self.cx.setting.suite);
        let buffer = self.cx.outbox.buffer();
        Writer::new(buffer).bytes_head(elements.len() * length);
        buffer.reserve(elements.len() * length);
        for element in elements {
            element.encode(buffer);
        }
        self
    }

    /// A key for this message, as [`Context::derive`] makes it.
    pub fn derive(&mut self, secret: &Key, label: &'static str, context: &[u8]) -> Key {
        self.cx.derive(secret, label, context)
    }

    /// Appends keys wrapped in one call, as a byte string. `label` tells what was wrapped: no two
    /// different sets of keys may be wrapped under `kek` with the same epoch and label.
    pub fn wrapped<'k>(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        keys: impl IntoIterator<Item = &'k Key, IntoIter: ExactSizeIterator>,
    ) -> &mut Self {
        let keys = keys.into_iter();
        let length = self.cx.wrapped_length(keys.len());
        Writer::new(self.cx.outbox.buffer()).bytes_head(length);
        self.packed_wrapped(kek, epoch, label, keys)
    }

    /// Appends the head of a byte string whose content follows through the `packed` methods.
    pub fn packed(&mut self, length: usize) -> &mut Self {
        Writer::new(self.cx.outbox.buffer()).bytes_head(length);
        self
    }

    /// Appends four bytes, most significant first, to a packed byte string.
    pub fn packed_number(&mut self, value: u32) -> &mut Self {
        self.packed_bytes(&value.to_be_bytes())
    }

    /// Appends bytes to a packed byte string.
    pub fn packed_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.cx.outbox.buffer().extend_from_slice(bytes);
        self
    }

    /// Appends a group element to a packed byte string.
    pub fn packed_element(&mut self, element: &Element) -> &mut Self {
        element.encode(self.cx.outbox.buffer());
        self
    }

    /// Appends wrapped keys, as [`Self::wrapped`] does, to a packed byte string.
    pub fn packed_wrapped<'k>(
        &mut self,
        kek: &Key,
        epoch: Epoch,
        label: u64,
        keys: impl IntoIterator<Item = &'k Key, IntoIter: ExactSizeIterator>,
    ) -> &mut Self {
        let keys = keys.into_iter();
        self.cx.probe.record(Primitive::Wrap, keys.len());
        let binding = Binding { epoch: epoch.0, label };
        let is_traced = self.cx.is_traced();
        let Context { setting, rng, outbox, .. } = &mut *self.cx;
        let suite = setting.suite;
        if is_traced {
            let keys: Vec<&Key> = keys.collect();
            let start = outbox.buffer().len();
            wrap(suite, kek, binding, keys.iter().copied(), *rng, outbox.buffer());
            let wrapped = self.cx.outbox.buffer()[start..].to_vec();
            self.cx.trace_wrapping(Rule::Wrap, kek, &keys, &wrapped);
        } else {
            wrap(suite, kek, binding, keys, *rng, outbox.buffer());
        }
        self
    }

    /// Protects the message and puts it into the outbox.
    pub fn send(&mut self) {
        let Context { setting, protection, outbox, probe, .. } = &mut *self.cx;
        let buffer = outbox.buffer();
        let end = buffer.len();
        let content = &buffer[self.start..];
        match protection {
            Protection::None => {}
            Protection::Mac(key) => {
                probe.record(Primitive::Mac, content.len());
                let tag = derive::mac(setting.suite, key.as_bytes(), content);
                Writer::new(buffer).bytes(&tag);
            }
            Protection::Signature { identity, .. } => {
                probe.record(Primitive::Sign, content.len());
                let tag = identity.sign(content);
                Writer::new(buffer).bytes(&tag);
            }
        }
        let bytes = self.start..buffer.len();
        outbox.push_message(self.to, self.channel, bytes, self.body_start..end);
    }
}
