//! One member's part in a run: what it has from the other members, and what it computes from that.

use zeroize::Zeroize;

use crate::context::{Context, Draft};
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::agreement::{self, AgreementKeys, KeyConfirmations};
use crate::mechanisms::membership::round::Round;
use crate::mechanisms::membership::{MembershipChange, Roster, circumstances};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// A member's part in a run that is under way. Lists are by place.
///
/// Messages of one sender keep their order, so a member takes a sender's message of a round only
/// after the sender's messages of earlier rounds. Hence one message completes at most one round
/// that can still fail.
#[derive(Debug)]
pub(crate) struct Run {
    operation: Operation,
    sound: bool,
    me: usize,
    members: usize,
    secret: Exponent,
    /// All nonces, until the session is known. Empty without authentication.
    nonces: Round<Key>,
    /// The session that the nonces make. Before all nonces are there: the session that others name.
    session: Option<Key>,
    /// Shares of the neighbours before and after. With two members both are the same.
    shares: [Option<Element>; 2],
    /// All ratios, this member's included, until the keys are known. Empty with two members.
    ratios: Round<Element>,
    confirmations: KeyConfirmations,
}

const NONCE: u8 = 0;
const SHARE: u8 = 1;
const RATIO: u8 = 2;
const CONFIRM: u8 = 3;

impl agreement::AgreementRun for Run {
    type Kept = ();

    /// Draws this member's secret and sends the first message.
    fn begin(
        cx: &mut Context<'_>,
        change: &MembershipChange,
        sound: bool,
        me: usize,
        (): &(),
    ) -> Result<Self, Error> {
        let (epoch, members) = (change.epoch(), change.roster().len());
        let authenticated = if sound { members } else { 0 };
        let mut run = Self {
            operation: change.operation(),
            sound,
            me,
            members,
            secret: cx.random_exponent(),
            nonces: Round::of(authenticated),
            session: None,
            shares: [None, None],
            ratios: Round::of(if members == 2 { 0 } else { members }),
            confirmations: KeyConfirmations::of(sound, members, me),
        };
        if sound {
            let nonce = cx.random_key();
            let mut draft = run.first_draft(cx, epoch, NONCE, change.roster());
            draft.bytes(nonce.as_bytes()).send();
            run.nonces.put(me, nonce);
        } else {
            let share = cx.generator_power(&run.secret);
            run.first_draft(cx, epoch, SHARE, change.roster()).element(&share).send();
        }
        Ok(run)
    }

    fn take(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        place: usize,
        check: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error> {
        let mut body = message.body();
        let first = if self.sound { NONCE } else { SHARE };
        if self.tells_roster()
            && message.header().kind == first
            && Roster::read(&mut body)? != *roster
        {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        match message.header().kind {
            NONCE => self.take_nonce(place, body),
            SHARE => self.take_share(cx, place, body, check),
            RATIO => self.take_ratio(cx, place, body, check),
            CONFIRM => self.take_confirmation(cx, roster.at(place), place, body),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn forget(&mut self, kind: u8, place: usize) {
        // After a message of another kind no step can fail.
        match kind {
            NONCE => self.nonces.forget(place),
            RATIO => self.ratios.forget(place),
            _ => {}
        }
    }

    fn proceed(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        _: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error> {
        if !self.nonces.is_complete() {
            return Ok(());
        }
        if self.nonces.len() > 0 {
            let session = self.nonces.session(cx, epoch, roster, SESSION);
            if self.session.as_ref().is_some_and(|claimed| *claimed != session) {
                return Err(Misbehaviour::Replayed.into());
            }
            self.session = Some(session);
            self.nonces = Round::of(0);
            let share = cx.generator_power(&self.secret);
            self.send_element(cx, epoch, SHARE, &share);
        }
        let [Some(before), Some(after)] = &self.shares else { return Ok(()) };
        if self.ratios.require_open(self.me).is_ok() {
            let quotient = cx.divide(after, before);
            let ratio = cx.power(&quotient, &self.secret);
            self.send_element(cx, epoch, RATIO, &ratio);
            self.ratios.put(self.me, ratio);
        }
        if self.confirmations.has_keys() || !self.ratios.is_complete() {
            return Ok(());
        }
        let keys = self.make_keys(cx, before, epoch, roster)?;
        if let Some(own) = self.confirmations.confirm(cx, roster, keys)? {
            let mut draft = cx.draft(Recipient::Group, epoch, self.operation, CONFIRM);
            draft.bytes(own.as_bytes()).send();
        }
        self.ratios = Round::of(0);
        Ok(())
    }

    fn confirmed_key(&self) -> Option<&Key> {
        self.confirmations.confirmed_key()
    }

    /// Exponent, two shares, all ratios and the shared element; session and confirmations.
    fn most_held(&self, _: &Context<'_>) -> usize {
        let ratios = if self.members == 2 { 0 } else { self.members };
        let share = self.shares[0].as_ref().map_or(0, Element::stored_bytes);
        let session = if self.sound { Key::BYTES } else { 0 };
        let confirmations = self.confirmations.len() * Key::BYTES;
        self.secret.stored_bytes() + (2 + ratios + 1) * share + session + confirmations
    }

    fn keep(&mut self) {}
}

impl Run {
    fn take_nonce(&mut self, place: usize, mut body: Reader<'_>) -> Result<(), Error> {
        self.nonces.require_open(place)?;
        self.nonces.put(place, finished(body.key()?, body)?);
        Ok(())
    }

    fn take_share(
        &mut self,
        cx: &mut Context<'_>,
        place: usize,
        mut body: Reader<'_>,
        check: ElementCheck,
    ) -> Result<(), Error> {
        self.nonces.require_said(place)?;
        let session = self.read_session(&mut body)?;
        let bytes = finished(body.bytes()?, body)?;
        let neighbours = self.neighbours();
        if bytes.len() != Element::length(cx.suite()) {
            return Err(Misbehaviour::InvalidElement.into());
        }
        if let Some(side) = neighbours.iter().position(|&neighbour| neighbour == place) {
            if self.shares[side].is_some() {
                return Err(Misbehaviour::UnexpectedMessage.into());
            }
            let share = cx.element(bytes, check)?;
            if self.shares[1 - side].as_ref() == Some(&share) {
                return Err(Misbehaviour::InvalidElement.into());
            }
            self.shares[side] = Some(share);
            if self.members == 2 {
                self.shares[1 - side] = self.shares[side].clone();
            }
        }
        self.session = session;
        Ok(())
    }

    fn take_ratio(
        &mut self,
        cx: &mut Context<'_>,
        place: usize,
        mut body: Reader<'_>,
        check: ElementCheck,
    ) -> Result<(), Error> {
        self.nonces.require_said(place)?;
        self.require_share_of(place)?;
        let session = self.read_session(&mut body)?;
        let bytes = finished(body.bytes()?, body)?;
        self.ratios.require_open(place)?;
        self.ratios.put(place, cx.element(bytes, check)?);
        self.session = session;
        Ok(())
    }

    fn take_confirmation(
        &mut self,
        cx: &mut Context<'_>,
        sender: MemberId,
        place: usize,
        body: Reader<'_>,
    ) -> Result<(), Error> {
        self.require_share_of(place)?;
        self.ratios.require_said(place)?;
        self.confirmations.take(cx, (sender, place), body)
    }

    /// Returns whether the first messages carry the roster: a joining member learns it from the
    /// first that comes.
    fn tells_roster(&self) -> bool {
        self.operation == Operation::Add
    }

    fn first_draft<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        epoch: Epoch,
        kind: u8,
        roster: &Roster,
    ) -> Draft<'d, 'a> {
        let mut draft = cx.draft(Recipient::Group, epoch, self.operation, kind);
        if self.tells_roster() {
            roster.write(&mut draft);
        }
        draft
    }

    fn send_element(&self, cx: &mut Context<'_>, epoch: Epoch, kind: u8, element: &Element) {
        let mut draft = cx.draft(Recipient::Group, epoch, self.operation, kind);
        if let Some(session) = &self.session {
            draft.bytes(session.as_bytes());
        }
        draft.element(element).send();
    }

    /// Computes `K = T_0 .. T_n-1`. Once around the circle, `T_n` is `T_0` again, because the
    /// product of all ratios is the identity. Only the sound profile checks this.
    fn make_keys(
        &self,
        cx: &mut Context<'_>,
        before: &Element,
        epoch: Epoch,
        roster: &Roster,
    ) -> Result<AgreementKeys, Error> {
        let mut first = cx.power(before, &self.secret);
        let mut term = first.clone();
        let mut shared = first.clone();
        let ratios = self.ratios.slots();
        let (ahead, behind) = ratios.split_at(self.me.min(ratios.len()));
        let mut around = behind.iter().chain(ahead).flatten();
        for ratio in around.by_ref().take(self.members - 1) {
            multiply(cx, &mut term, ratio);
            multiply(cx, &mut shared, &term);
        }
        if self.members == 2 {
            // Both ratios are the identity.
            multiply(cx, &mut shared, &term);
        }
        let closed = match around.next() {
            Some(last) if self.sound => {
                multiply(cx, &mut term, last);
                term == first
            }
            _ => true,
        };
        first.zeroize();
        term.zeroize();
        let mut context = circumstances(cx, epoch, roster);
        context.extend(self.session.iter().flat_map(Key::as_bytes));
        let group = cx.derive_from_element(&shared, "groupkey bd", &context);
        let confirmation = match self.sound {
            true => cx.derive_from_element(&shared, "groupkey bd confirmation", &context),
            false => Key::default(),
        };
        shared.zeroize();
        if closed {
            Ok(AgreementKeys { group, confirmation, label: "groupkey bd confirms" })
        } else {
            Err(Misbehaviour::InvalidElement.into())
        }
    }

    /// Reads the session that a message belongs to. Returns the session that is known now.
    fn read_session(&self, body: &mut Reader<'_>) -> Result<Option<Key>, Error> {
        if !self.sound {
            return Ok(None);
        }
        let session = body.key()?;
        match &self.session {
            Some(ours) if *ours != session => Err(Misbehaviour::Replayed.into()),
            _ => Ok(Some(session)),
        }
    }

    fn require_share_of(&self, place: usize) -> Result<(), Error> {
        match self.neighbours().iter().position(|&neighbour| neighbour == place) {
            Some(side) if self.shares[side].is_none() => {
                Err(Misbehaviour::UnexpectedMessage.into())
            }
            _ => Ok(()),
        }
    }

    const fn neighbours(&self) -> [usize; 2] {
        [(self.me + self.members - 1) % self.members, (self.me + 1) % self.members]
    }
}

const SESSION: &str = "groupkey bd session";

fn finished<T>(read: T, body: Reader<'_>) -> Result<T, Error> {
    body.finish().map(|()| read)
}

/// Multiplies in place and wipes the old element. Any one of these elements gives the group key,
/// together with what every member has heard.
fn multiply(cx: &mut Context<'_>, place: &mut Element, by: &Element) {
    let product = cx.multiply(place, by);
    core::mem::replace(place, product).zeroize();
}
