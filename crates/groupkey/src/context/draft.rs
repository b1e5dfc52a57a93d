//! Messages on their way into the outbox.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::tracer::Rule;
use crate::crypto::derive;
use crate::crypto::meter::Primitive;
use crate::crypto::wrap::{Binding, wrap};
use crate::identity::Epoch;
use crate::operation::Operation;
use crate::outbox::{Channel, Recipient};
use crate::protection::Protection;
use crate::secret::Key;
use crate::wire::{Header, Writer};

/// A message that is being written directly into the outbox.
#[derive(Debug)]
#[must_use = "a draft that is not sent leaves half a message behind"]
pub struct Draft<'d, 'a> {
    pub(super) cx: &'d mut Context<'a>,
    to: Recipient,
    channel: Channel,
    start: usize,
    body_start: usize,
}

impl<'a> Context<'a> {
    /// Begins a message. Items are appended to the draft; [`Draft::send`] completes it. A message
    /// of [`Operation::CatchUp`] gets the nonce of the request that this step takes, or that it
    /// makes ([`Asked::request`](crate::catching_up::CatchUpRequest::request)). Without a request
    /// the nonce is all zeros.
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

    /// Sends the body of the last message once more, to another party.
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
}

impl Draft<'_, '_> {
    /// Appends a number.
    pub fn number(&mut self, value: u64) -> &mut Self {
        Writer::new(self.cx.outbox.buffer()).number(value);
        self
    }

    /// Appends the head of an array; this many items must follow.
    pub fn array(&mut self, length: usize) -> &mut Self {
        Writer::new(self.cx.outbox.buffer()).array(length as u64);
        self
    }

    /// Appends a byte string.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        Writer::new(self.cx.outbox.buffer_for(bytes.len())).bytes(bytes);
        self
    }

    /// Appends a key in the clear; only for the confidential channel.
    pub fn secret(&mut self, key: &Key) -> &mut Self {
        debug_assert_eq!(self.channel, Channel::Confidential);
        self.bytes(key.as_bytes())
    }

    /// Derives a key for this message, as [`Context::derive`] does.
    pub fn derive(&mut self, secret: &Key, label: &'static str, context: &[u8]) -> Key {
        self.cx.derive(secret, label, context)
    }

    /// Hashes a key for this message, as [`Context::hash_with`] does.
    pub fn hash_with(&mut self, key: &Key, label: &'static str, context: &[u8]) -> Key {
        self.cx.hash_with(key, label, context)
    }

    /// Appends keys wrapped in one call, as a byte string. `label` identifies the wrapped keys: no
    /// two different sets of keys may be wrapped under `kek` with the same epoch and label.
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
        self.cx.outbox.buffer_for(bytes.len()).extend_from_slice(bytes);
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
        let is_traced = self.cx.is_traced();
        let Context { setting, rng, outbox, .. } = &mut *self.cx;
        let binding = Binding { group: &setting.context, epoch: epoch.0, label };
        let suite = setting.suite;
        if is_traced {
            let keys: Vec<&Key> = keys.collect();
            let start = outbox.buffer().len();
            wrap(suite, kek, binding, keys.iter().copied(), *rng, outbox.buffer());
            let wrapped = self.cx.outbox.buffer()[start..].to_vec();
            self.cx.trace_wrapping(Rule::Wrap, kek, (epoch, label), &keys, &wrapped);
        } else {
            wrap(suite, kek, binding, keys, *rng, outbox.buffer());
        }
        self
    }

    /// Protects the message and puts it into the outbox. If one signature protects all messages of a
    /// step, the message gets its tag when the step ends.
    pub fn send(&mut self) {
        let before = self.cx.outbox.mark_at(self.start);
        let Context { setting, protection, outbox, probe, .. } = &mut *self.cx;
        let buffer = outbox.buffer();
        let end = buffer.len();
        let content = &buffer[self.start..];
        match protection {
            Protection::Merkle { .. } | Protection::None => {}
            Protection::Mac(key) => {
                probe.record(Primitive::Mac, content.len());
                let tag = derive::mac(setting.suite, &setting.context, key, content);
                Writer::new(buffer).bytes(&tag);
            }
            Protection::Signature { identity, .. } => {
                probe.record(Primitive::Sign, content.len());
                let tag = identity.sign(&setting.signed(content));
                Writer::new(buffer).bytes(tag.as_ref());
            }
        }
        let bytes = self.start..buffer.len();
        outbox.push_message(self.to, self.channel, bytes, self.body_start..end);
        if !self.cx.in_step {
            self.cx.sign_together(&before);
        }
    }
}
