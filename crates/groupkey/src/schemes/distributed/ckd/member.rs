//! The part of every member but the controller: it answers offers and opens the wrapped group key.

use super::bonds::{Bonds, Session, label, pair_key};
use super::{Member, REQUEST, Run, SHARE, WELCOME};
use crate::context::Context;
use crate::crypto::group::{Element, Exponent};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::Epoch;
use crate::mechanisms::membership::Roster;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::Message;

impl Member {
    /// Takes the controller's offer, answers it and computes the key of the pair.
    pub(super) fn receive_offer(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let header = *message.header();
        let mut body = message.body();
        let roster = match header.kind {
            WELCOME => self.view.read_first_roster(message, &mut body)?,
            _ => self.view.require_under_way(message)?.clone(),
        };
        let controller = roster.at(0);
        message.require_sender(controller.into())?;
        if !matches!(self.run, Run::Offer) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let offer = cx.element(body.bytes()?, self.check)?;
        body.finish()?;
        let secret = cx.random_exponent();
        let share = cx.generator_power(&secret);
        let to = Recipient::Member(controller);
        cx.draft(to, header.epoch, header.operation, SHARE).element(&share).send();
        let session = Session::of(cx, self.sound, &offer, header.epoch, &roster);
        let key = pair_key(cx, &offer, &secret, &session, controller, self.view.me());
        // Exponent, offer and shared element, key of the pair.
        self.note(secret.stored_bytes() + 2 * offer.stored_bytes() + Key::BYTES);
        self.run = Run::Paired { offer, secret, key };
        if header.kind == WELCOME {
            self.view.welcome(header.epoch, roster);
        }
        Ok(())
    }

    /// Ignores the controller's offer to the guests of a merger, which present members receive too.
    pub(super) fn overhear(&self, message: &Message<'_>) -> Result<(), Error> {
        let roster = self.view.require_under_way(message)?;
        message.require_sender(roster.at(0).into())?;
        match self.run {
            Run::None => Ok(()),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    pub(super) fn receive_keys(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let header = *message.header();
        let roster = self.view.require_under_way(message)?.clone();
        let controller = roster.at(0);
        message.require_sender(controller.into())?;
        let place = roster.place(self.view.me()).ok_or(Misbehaviour::NothingForUs)?;
        let place = place.checked_sub(1).ok_or(Misbehaviour::UnexpectedMessage)?;
        let pairing = match (&self.run, header.operation) {
            (Run::Paired { .. }, Operation::Add | Operation::Merge) => false,
            (Run::Paired { .. }, _) => true,
            (Run::None, _) => false,
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let mut body = message.body();
        let offer = match self.sound && !pairing {
            true => Some(cx.element(body.bytes()?, self.check)?),
            false => None,
        };
        let wrapped = body.bytes()?;
        body.finish()?;
        let length = cx.wrapped_length(1);
        if wrapped.len() != (roster.len() - 1) * length {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let wrapped = &wrapped[place * length..][..length];
        let bonds = match &self.run {
            Run::Paired { offer: known, secret, key } => {
                if offer.is_some_and(|offer| offer != *known) {
                    return Err(Misbehaviour::InvalidElement.into());
                }
                (key.clone(), self.sound.then(|| secret.clone()))
            }
            _ => self.bond_with(cx, header.epoch, &roster, offer.as_ref())?,
        };
        self.open(cx, header.epoch, roster, wrapped, bonds)
    }

    pub(super) fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let controller = self.view.roster().first().ok_or(Misuse::NotCreated)?;
        if controller == self.view.me() {
            return Err(Misuse::WrongRole.into());
        }
        let to = Recipient::Member(controller);
        self.asked.request(cx, to, self.view.epoch(), REQUEST).send();
        Ok(())
    }

    pub(super) fn catch_up(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let controller = self.view.roster().first().ok_or(Misbehaviour::UnexpectedMessage)?;
        self.asked.require_fresh(message)?;
        message.require_later_epoch(self.view.epoch())?;
        message.require_sender(controller.into())?;
        let mut body = message.body();
        let roster = Roster::read(&mut body)?;
        if roster.at(0) != controller || roster.place(self.view.me()).is_none() {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let offer = match self.sound {
            true => Some(cx.element(body.bytes()?, self.check)?),
            false => None,
        };
        let wrapped = body.bytes()?;
        body.finish()?;
        let epoch = message.header().epoch;
        let bonds = self.bond_with(cx, epoch, &roster, offer.as_ref())?;
        self.open(cx, epoch, roster, wrapped, bonds)
    }

    /// Returns the key of this member's pair with the controller. If the key does not last, also
    /// returns this member's exponent.
    fn bond_with(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        roster: &Roster,
        offer: Option<&Element>,
    ) -> Result<(Key, Option<Exponent>), Error> {
        match (&self.bonds, offer) {
            (Some(Bonds::Fresh(secret)), Some(offer)) => {
                let secret = secret.clone();
                let session = Session::of(cx, self.sound, offer, epoch, roster);
                let key = pair_key(cx, offer, &secret, &session, roster.at(0), self.view.me());
                Ok((key, Some(secret)))
            }
            (Some(Bonds::Lasting(key)), None) => Ok((key.clone(), None)),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Opens the wrapped group key and completes the operation.
    fn open(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        roster: Roster,
        wrapped: &[u8],
        (key, secret): (Key, Option<Exponent>),
    ) -> Result<(), Error> {
        let group_key = cx.unwrap_key(&key, epoch, label(self.view.me()), wrapped)?;
        if secret.is_some() {
            // Offer and shared element, key of the pair.
            self.note(2 * Element::length(cx.suite()) + Key::BYTES);
        }
        let bonds = secret.map_or(Bonds::Lasting(key), Bonds::Fresh);
        self.install(cx, epoch, roster, group_key, bonds);
        Ok(())
    }
}
