//! A member of a scheme whose members send messages in rounds until they have the key: BD and CKA.
//!
//! A scheme defines the run: what is sent in which round, and what the key is made of.

use core::fmt;

use crate::context::Context;
use crate::crypto::group::ElementCheck;
use crate::error::{Error, Misbehaviour, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::round::Round;
use crate::mechanisms::membership::transition::Transition;
use crate::mechanisms::membership::{MembershipChange, Roster, View};
use crate::party::{Footprint, Input, Party};
use crate::scheme::{Configuration, Profile};
use crate::secret::Key;
use crate::wire::{Header, Message};

/// A member's part in a run that is under way.
pub(crate) trait AgreementRun: fmt::Debug + Send + Sized {
    /// Begins among the members that a change leads to, with this member in place `me`. Draws its
    /// secret and sends the first message.
    fn begin(
        cx: &mut Context<'_>,
        change: &MembershipChange,
        sound: bool,
        me: usize,
    ) -> Result<Self, Error>;

    /// Stores the message of the member in a place in its slot. On an error nothing has changed.
    fn take(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        place: usize,
        check: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error>;

    /// Completes the rounds for which everything has arrived. On an error nothing has changed.
    fn proceed(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        check: ElementCheck,
        roster: &Roster,
    ) -> Result<(), Error>;

    /// Empties the slot that a message filled.
    fn forget(&mut self, kind: u8, place: usize);

    /// The group key, once all members have confirmed it.
    fn confirmed_key(&self) -> Option<&Key>;

    /// The maximum number of bytes that the run held at one time.
    fn most_held(&self, cx: &Context<'_>) -> usize;
}

/// A member.
#[derive(Debug)]
pub(crate) struct AgreementMember<R> {
    view: View,
    check: ElementCheck,
    sound: bool,
    run: Option<R>,
    group_key: Option<Key>,
    temporary: usize,
}

/// The result of a run: the group key, and the key with which members confirm it.
#[derive(Debug)]
pub(crate) struct AgreementKeys {
    /// The group key.
    pub(crate) group: Key,
    /// Makes each member's confirmation.
    pub(crate) confirmation: Key,
    /// The label for confirmations of this scheme.
    pub(crate) label: &'static str,
}

impl<R: AgreementRun> AgreementMember<R> {
    /// A member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            view: View::new(configuration, me),
            check: configuration.check(),
            sound: configuration.profile() == Profile::Sound,
            run: None,
            group_key: None,
            temporary: 0,
        }
    }

    /// Begins a run among the members that an event leads to. A joining member does not know them
    /// yet.
    fn begin(&mut self, cx: &mut Context<'_>, change: MembershipChange) -> Result<(), Error> {
        let me = change.roster().place(self.view.me());
        self.run = match me {
            Some(me) => Some(R::begin(cx, &change, self.sound, me)?),
            None => None,
        };
        self.view.begin(change);
        Ok(())
    }

    /// Takes the first message that a joining member gets, from any member.
    fn receive_first(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let roster = self.view.read_first_roster(message, &mut message.body())?;
        let place = roster.place(message.from_member()?).ok_or(Misbehaviour::UnexpectedSender)?;
        let change = MembershipChange::addition_to(message.header().epoch, roster);
        let mut run = R::begin(cx, &change, self.sound, change.roster().len() - 1)?;
        run.take(cx, message, place, self.check, change.roster())?;
        run.proceed(cx, change.epoch(), self.check, change.roster())?;
        self.run = Some(run);
        self.view.welcome(change.epoch(), change.into_roster());
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.view.is_joining() {
            return self.receive_first(cx, message);
        }
        let Header { epoch, kind, .. } = *message.header();
        let roster = self.view.require_under_way(message)?;
        let place = roster.place(message.from_member()?).ok_or(Misbehaviour::UnexpectedSender)?;
        let run = self.run.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        run.take(cx, message, place, self.check, roster)?;
        if let Err(error) = run.proceed(cx, epoch, self.check, roster) {
            run.forget(kind, place);
            return Err(error);
        }
        let Some(key) = run.confirmed_key().cloned() else { return Ok(()) };
        self.group_key = Some(key);
        self.temporary = run.most_held(cx);
        let roster = roster.clone();
        self.run = None;
        self.view.settle(cx, epoch, roster);
        Ok(())
    }
}

impl<R: AgreementRun> Party for AgreementMember<R> {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => match self.view.event(command)? {
                Transition::CatchUp => Err(Unsupported::Operation.into()),
                Transition::Create(change)
                | Transition::Add(change)
                | Transition::Exclude(change) => self.begin(cx, change),
                // Guests do not know the hosts' order, and here no place is better than another.
                Transition::Merge(merger) => {
                    self.begin(cx, merger.change(merger.roster().sorted()))
                }
            },
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.view.epoch(), key))
    }

    /// Permanent: the group key. Temporary: the maximum that the run held at one time.
    fn footprint(&self) -> Footprint {
        let permanent = if self.group_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent, temporary: self.temporary }
    }
}

impl AgreementKeys {
    /// A member's confirmation.
    pub(crate) fn confirmation_of(&self, cx: &mut Context<'_>, member: MemberId) -> Key {
        cx.derive(&self.confirmation, self.label, &member.0.to_be_bytes())
    }

    /// Refuses a confirmation other than the member's.
    pub(crate) fn verify(
        &self,
        cx: &mut Context<'_>,
        member: MemberId,
        confirmation: &Key,
    ) -> Result<(), Error> {
        match self.confirmation_of(cx, member) == *confirmation {
            true => Ok(()),
            false => Err(Misbehaviour::Forged.into()),
        }
    }

    /// Refuses a wrong one among the confirmations that have arrived.
    pub(crate) fn verify_all(
        &self,
        cx: &mut Context<'_>,
        roster: &Roster,
        confirmations: &Round<Key>,
    ) -> Result<(), Error> {
        for (member, confirmation) in roster.iter().zip(confirmations.slots()) {
            confirmation.iter().try_for_each(|tag| self.verify(cx, member, tag))?;
        }
        Ok(())
    }
}
