//! A member: it keeps a key for the period and opens the ciphertexts of its epochs.

use zeroize::Zeroizing;

use super::ciphertext::AttributeCiphertext;
use super::key::PolicyKey;
use super::messages::{ANSWER, CIPHERTEXT, KEYS, REQUEST, group_key, next_link, wrapping_key};
use crate::context::Context;
use crate::crypto::pairing::ElementCheck;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{Continuation, ServedMembership};
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::Profile;
use crate::secret::Key;
use crate::wire::{Message, Reader};

#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    check: ElementCheck,
    membership: ServedMembership,
    held: Option<PeriodKey>,
    /// The key that came for the next epoch, whose ciphertext is still to come.
    next: Option<PeriodKey>,
}

/// A key, the period that it is for, and the link of an epoch of it.
#[derive(Debug)]
struct PeriodKey {
    key: PolicyKey,
    period: Epoch,
    epoch: Epoch,
    /// In the sound form.
    link: Option<Key>,
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, check: ElementCheck) -> Self {
        let membership = ServedMembership::default();
        Self { profile, check, membership, held: None, next: None }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        match (message.header().kind, message.header().operation) {
            (KEYS, Operation::Create | Operation::Add | Operation::Remove | Operation::Rekey) => {
                self.take_keys(cx, message)
            }
            (
                CIPHERTEXT,
                Operation::Create | Operation::Add | Operation::Remove | Operation::Rekey,
            ) => self.take_ciphertext(cx, message),
            (ANSWER, Operation::CatchUp) => self.take_answer(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn take_keys(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.membership.admit(message)?;
        if self.next.as_ref().is_some_and(|next| next.epoch == message.header().epoch) {
            return Err(Misbehaviour::Replayed.into());
        }
        let mut body = message.body();
        let next = self.read_key(cx, message.header().epoch, &mut body)?;
        body.finish()?;
        self.next = Some(next);
        Ok(())
    }

    fn take_ciphertext(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let continuation = self.membership.admit(message)?;
        let epoch = message.header().epoch;
        let is_next = self.next.as_ref().is_some_and(|next| next.epoch == epoch);
        let (own, link) = match (&self.next, &self.held) {
            (Some(next), _) if is_next => (next, next.link.clone()),
            (_, Some(held)) if continuation == Continuation::Continues => {
                let link = held.link.as_ref().map(|link| next_link(cx, epoch, link));
                (held, link)
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let mut body = message.body();
        if body.number()? != own.period.0 {
            return Err(Misbehaviour::WrongKey.into());
        }
        // The removed member has a key that opens this. It is told not to use it.
        let names_removed =
            self.profile.is_published() && message.header().operation == Operation::Remove;
        if names_removed && body.number32()? == self.membership.enrolment()?.slot {
            return Err(Misbehaviour::NothingForUs.into());
        }
        let group_key = self.open(cx, epoch, &mut body, &own.key, link.as_ref())?;
        if is_next {
            self.held = self.next.take();
        }
        self.next = None;
        if let Some(held) = &mut self.held {
            held.link = link;
            held.epoch = epoch;
        }
        self.membership.enter(cx, epoch, group_key);
        Ok(())
    }

    fn take_answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.membership.admit(message)?;
        let epoch = message.header().epoch;
        let mut body = message.body();
        let own = self.read_key(cx, epoch, &mut body)?;
        let group_key = self.open(cx, epoch, &mut body, &own.key, own.link.as_ref())?;
        self.held = Some(own);
        self.next = None;
        self.membership.enter(cx, epoch, group_key);
        Ok(())
    }

    fn read_key(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        body: &mut Reader<'_>,
    ) -> Result<PeriodKey, Error> {
        let individual = &self.membership.enrolment()?.key;
        let period = Epoch(body.number()?);
        let (salt, wrapped) = (body.bytes()?, body.bytes()?);
        if salt.len() != Key::BYTES {
            return Err(Misbehaviour::Malformed.into());
        }
        let kek = wrapping_key(cx, individual, salt);
        let has_link = !self.profile.is_published();
        let (key, link) = PolicyKey::unwrap(cx, &kek, epoch, has_link, wrapped, self.check)?;
        Ok(PeriodKey { key, period, epoch, link })
    }

    /// Reads a ciphertext, which ends the body, and returns the group key that it carries.
    fn open(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        body: &mut Reader<'_>,
        key: &PolicyKey,
        link: Option<&Key>,
    ) -> Result<Key, Error> {
        let sealed = AttributeCiphertext::read(cx, body, self.check)?;
        let confirmation = Confirmation::read(self.profile, body)?;
        body.clone().finish()?;
        let shared = Zeroizing::new(key.open(cx, &sealed));
        let group_key = group_key(cx, epoch, &shared, link);
        confirmation.verify(cx, self.profile, epoch, &group_key)?;
        Ok(group_key)
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let held = self.held.as_ref().map_or(0, |held| held.key.stored_bytes());
        let link = self.held.as_ref().and_then(|held| held.link.as_ref());
        let link = link.map_or(0, |_| Key::BYTES);
        Footprint { permanent: self.membership.key_bytes() + held + link, temporary: 2 * held }
    }
}
