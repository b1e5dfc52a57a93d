//! One member's part in a creation: what it has from the others, and what it computes from that.

use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::agreement::{self, AgreementKeys, KeyConfirmations};
use crate::mechanisms::membership::round::Round;
use crate::mechanisms::membership::{MembershipChange, Roster, circumstances};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// A member's part in a creation that is under way. Lists are by place.
///
/// The leader's message may come before a member's nonce, and a confirmation before the leader's
/// message. These wait in their slots.
#[derive(Debug)]
pub(crate) struct Run {
    sound: bool,
    me: usize,
    secret: Secret,
    /// The nonces of all members but the leader.
    nonces: Round<Key>,
    confirmations: KeyConfirmations,
}

const NONCE: u8 = 0;
const SECRET: u8 = 1;
const CONFIRM: u8 = 2;

const SESSION: &str = "groupkey cka session";

/// The leader's nonce.
#[derive(Debug)]
enum Secret {
    Awaited,
    /// As received, with the session that the message names.
    Encrypted(Option<Key>, Vec<u8>),
    /// The leader's own nonce.
    Own(Key),
}

impl agreement::AgreementRun for Run {
    type Kept = ();

    /// Draws this member's nonce and sends the first message.
    fn begin(
        cx: &mut Context<'_>,
        change: &MembershipChange,
        sound: bool,
        me: usize,
        (): &(),
    ) -> Result<Self, Error> {
        let (epoch, roster) = (change.epoch(), change.roster());
        let nonce = cx.random_key();
        let mut run = Self {
            sound,
            me,
            secret: Secret::Awaited,
            nonces: Round::of(roster.len() - 1),
            confirmations: KeyConfirmations::of(sound, roster.len(), me),
        };
        match me.checked_sub(1) {
            Some(place) => {
                send_key(cx, epoch, NONCE, &nonce);
                run.nonces.put(place, nonce);
            }
            None => {
                if !sound {
                    send_secret(cx, epoch, roster, &nonce, None)?;
                }
                run.secret = Secret::Own(nonce);
            }
        }
        Ok(run)
    }

    fn take(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        place: usize,
        _: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error> {
        let body = message.body();
        match (message.header().kind, place.checked_sub(1)) {
            (NONCE, Some(other)) => {
                let nonce = only_key(body)?;
                self.nonces.require_open(other)?;
                self.nonces.put(other, nonce);
                Ok(())
            }
            (SECRET, None) => self.take_secret(cx, body),
            (CONFIRM, Some(other)) => self.take_confirmation(cx, roster.at(place), other, body),
            (NONCE | SECRET | CONFIRM, _) => Err(Misbehaviour::UnexpectedSender.into()),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn forget(&mut self, kind: u8, place: usize) {
        // After a confirmation no step can fail.
        match (kind, place.checked_sub(1)) {
            (NONCE, Some(other)) => self.nonces.forget(other),
            (SECRET, None) => {
                self.secret = Secret::Awaited;
                self.confirmations.forget(0);
            }
            _ => {}
        }
    }

    /// Computes the keys once all parts for them are there. Changes nothing on an error.
    fn proceed(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        check: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error> {
        if self.confirmations.has_keys() || !self.nonces.is_complete() {
            return Ok(());
        }
        if matches!(self.secret, Secret::Awaited) {
            return Ok(());
        }
        let session = self.sound.then(|| self.nonces.session(cx, epoch, roster, SESSION));
        let keys = match &self.secret {
            Secret::Encrypted(claimed, _) if *claimed != session => {
                return Err(Misbehaviour::Replayed.into());
            }
            Secret::Awaited => return Ok(()),
            Secret::Encrypted(_, encrypted) => {
                let info = session.as_ref().map_or(&[][..], |session| session.as_bytes());
                let secret = cx.decrypt_key(epoch, info, encrypted, check)?;
                self.make_keys(cx, &secret, epoch, roster)
            }
            Secret::Own(secret) => self.make_keys(cx, secret, epoch, roster),
        };
        let own = self.confirmations.confirm(cx, roster, keys)?;
        if let (Some(session), Some(own)) = (&session, own) {
            match &self.secret {
                Secret::Own(secret) => {
                    send_secret(cx, epoch, roster, secret, Some((session, &own)))
                        .inspect_err(|_| self.confirmations.take_back())?;
                }
                _ => send_key(cx, epoch, CONFIRM, &own),
            }
        }
        Ok(())
    }

    fn confirmed_key(&self) -> Option<&Key> {
        self.confirmations.confirmed_key()
    }

    /// All nonces; session and confirmations, and the key for them; two elements of an encryption.
    fn most_held(&self, cx: &Context<'_>) -> usize {
        let confirming = if self.sound { self.confirmations.len() + 2 } else { 0 };
        let keys = self.nonces.len() + 1 + confirming;
        keys * Key::BYTES + 2 * Element::length(cx.suite())
    }

    fn keep(&mut self) {}
}

impl Run {
    fn take_secret(&mut self, cx: &Context<'_>, mut body: Reader<'_>) -> Result<(), Error> {
        let (Secret::Awaited, Some(place)) = (&self.secret, self.me.checked_sub(1)) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let session = if self.sound { Some(body.key()?) } else { None };
        let encrypted = body.bytes()?;
        let confirmation = if self.sound { Some(body.key()?) } else { None };
        body.finish()?;
        let length = cx.encrypted_length();
        if encrypted.len() != self.nonces.len() * length {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        self.secret = Secret::Encrypted(session, encrypted[place * length..][..length].to_vec());
        confirmation.into_iter().for_each(|said| self.confirmations.keep(0, said));
        Ok(())
    }

    fn take_confirmation(
        &mut self,
        cx: &mut Context<'_>,
        sender: MemberId,
        other: usize,
        body: Reader<'_>,
    ) -> Result<(), Error> {
        // No member can confirm a secret that the leader has not sent.
        if self.me == 0 && !self.confirmations.has_keys() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.nonces.require_said(other)?;
        self.confirmations.take(cx, (sender, other + 1), body)
    }

    fn make_keys(
        &self,
        cx: &mut Context<'_>,
        secret: &Key,
        epoch: Epoch,
        roster: &Roster,
    ) -> AgreementKeys {
        let mut context = if self.sound { circumstances(cx, epoch, roster) } else { Vec::new() };
        for nonce in self.nonces.words() {
            context.extend_from_slice(cx.hash(nonce, "groupkey cka nonce").as_bytes());
        }
        let group = cx.derive(secret, "groupkey cka", &context);
        let confirmation = match self.sound {
            true => cx.derive(secret, "groupkey cka confirmation", &context),
            false => Key::default(),
        };
        AgreementKeys { group, confirmation, label: "groupkey cka confirms" }
    }
}

/// Sends the leader's nonce, encrypted to every other member; in the sound profile for a session,
/// and with a confirmation.
fn send_secret(
    cx: &mut Context<'_>,
    epoch: Epoch,
    roster: &Roster,
    secret: &Key,
    sound: Option<(&Key, &Key)>,
) -> Result<(), Error> {
    let info = sound.map_or(&[][..], |(session, _)| session.as_bytes());
    let mut encrypted = Vec::with_capacity((roster.len() - 1) * cx.encrypted_length());
    for member in roster.iter().skip(1) {
        cx.encrypt_key(member.into(), epoch, info, secret, &mut encrypted)?;
    }
    let mut draft = cx.draft(Recipient::Group, epoch, Operation::Create, SECRET);
    if let Some((session, _)) = sound {
        draft.bytes(session.as_bytes());
    }
    draft.bytes(&encrypted);
    if let Some((_, confirmation)) = sound {
        draft.bytes(confirmation.as_bytes());
    }
    draft.send();
    Ok(())
}

fn send_key(cx: &mut Context<'_>, epoch: Epoch, kind: u8, key: &Key) {
    cx.draft(Recipient::Group, epoch, Operation::Create, kind).bytes(key.as_bytes()).send();
}

fn only_key(mut body: Reader<'_>) -> Result<Key, Error> {
    let key = body.key()?;
    body.finish()?;
    Ok(key)
}
