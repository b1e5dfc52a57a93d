//! A member of a scheme whose members send messages in rounds until they have the key: BD, CKA and
//! sender keys.
//!
//! A scheme defines the run: what is sent in which round, what the key is made of, and what a member
//! keeps of a run for the next one.

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
use crate::wire::{Header, Message, Reader};

/// A member's part in a run that is under way.
pub(crate) trait AgreementRun: fmt::Debug + Send + Sized {
    /// What a member keeps between runs, besides the group key. Its default is that of a member that
    /// completed no run yet.
    type Kept: Default + fmt::Debug + Send;

    /// Begins among the members that a change leads to, with this member in place `me`. Draws its
    /// secret and sends the first message. A run that needs no message is complete at once.
    fn begin(
        cx: &mut Context<'_>,
        change: &MembershipChange,
        sound: bool,
        me: usize,
        kept: &Self::Kept,
    ) -> Result<Self, Error>;

    /// Stores the message of another member, in a place, in its slot. On an error nothing has
    /// changed.
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

    fn confirmed_key(&self) -> Option<&Key>;

    /// The maximum number of bytes that the run held at one time.
    fn most_held(&self, cx: &Context<'_>) -> usize;

    /// Takes what remains out of a completed run.
    fn keep(&mut self) -> Self::Kept;

    fn kept_bytes(_: &Self::Kept) -> usize {
        0
    }
}

#[derive(Debug)]
pub(crate) struct AgreementMember<R: AgreementRun> {
    view: View,
    check: ElementCheck,
    sound: bool,
    run: Option<R>,
    kept: R::Kept,
    group_key: Option<Key>,
    temporary: usize,
}

/// The last round of a run: each member confirms the keys, if the profile asks for that.
#[derive(Debug)]
pub(crate) struct KeyConfirmations {
    me: usize,
    /// All confirmations, this member's included. Empty in the published profile.
    said: Round<Key>,
    keys: Option<AgreementKeys>,
}

/// The result of a run: the group key, and the key with which members confirm it.
#[derive(Debug)]
pub(crate) struct AgreementKeys {
    pub(crate) group: Key,
    pub(crate) confirmation: Key,
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
            kept: R::Kept::default(),
            group_key: None,
            temporary: 0,
        }
    }

    /// Begins a run among the members that an event leads to. A joining member does not know them
    /// yet.
    fn begin(&mut self, cx: &mut Context<'_>, change: MembershipChange) -> Result<(), Error> {
        let me = change.roster().place(self.view.me());
        self.run = match me {
            Some(me) => Some(R::begin(cx, &change, self.sound, me, &self.kept)?),
            None => None,
        };
        self.view.begin(change);
        self.complete(cx);
        Ok(())
    }

    fn complete(&mut self, cx: &mut Context<'_>) {
        let (Some(run), Some(change)) = (&mut self.run, self.view.change().cloned()) else {
            return;
        };
        let Some(key) = run.confirmed_key().cloned() else { return };
        self.group_key = Some(key);
        self.temporary = run.most_held(cx);
        self.kept = run.keep();
        self.run = None;
        self.view.settle(cx, change.epoch(), change.into_roster());
    }

    /// Takes the first message that a joining member gets, from any member.
    fn receive_first(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let roster = self.view.read_first_roster(message, &mut message.body())?;
        let place = roster.place(message.from_member()?).ok_or(Misbehaviour::UnexpectedSender)?;
        let change = MembershipChange::addition_to(message.header().epoch, roster);
        let me = change.roster().len() - 1;
        if place == me {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let mut run = R::begin(cx, &change, self.sound, me, &self.kept)?;
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
        if roster.at(place) == self.view.me() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        run.take(cx, message, place, self.check, roster)?;
        if let Err(error) = run.proceed(cx, epoch, self.check, roster) {
            run.forget(kind, place);
            return Err(error);
        }
        self.complete(cx);
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

    /// Permanent: the group key, and what is kept for the next run. Temporary: the maximum that the
    /// run held at one time.
    fn footprint(&self) -> Footprint {
        let group_key = if self.group_key.is_some() { Key::BYTES } else { 0 };
        let permanent = group_key + R::kept_bytes(&self.kept);
        Footprint { permanent, temporary: self.temporary }
    }
}

impl KeyConfirmations {
    pub(crate) fn of(sound: bool, members: usize, me: usize) -> Self {
        Self { me, said: Round::of(if sound { members } else { 0 }), keys: None }
    }

    pub(crate) const fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    pub(crate) const fn len(&self) -> usize {
        self.said.len()
    }

    pub(crate) fn confirmed_key(&self) -> Option<&Key> {
        let keys = self.keys.as_ref().filter(|_| self.said.is_complete());
        keys.map(|keys| &keys.group)
    }

    /// Takes the keys. Returns this member's confirmation, which is to be sent, in a sound run. On
    /// an error, that is a wrong confirmation among those that came before, nothing has changed.
    pub(crate) fn confirm(
        &mut self,
        cx: &mut Context<'_>,
        roster: &Roster,
        keys: AgreementKeys,
    ) -> Result<Option<Key>, Error> {
        let mut own = None;
        if self.said.len() > 0 {
            keys.verify_all(cx, roster, &self.said)?;
            let confirmation = keys.confirmation_of(cx, roster.at(self.me));
            self.said.put(self.me, confirmation.clone());
            own = Some(confirmation);
        }
        self.keys = Some(keys);
        Ok(own)
    }

    /// Takes back [`Self::confirm`], if the confirmation could not be sent.
    pub(crate) fn take_back(&mut self) {
        self.keys = None;
        self.said.forget(self.me);
    }

    /// Takes the confirmation of a member, which is all that its message has. Without keys it waits
    /// until they are there.
    pub(crate) fn take(
        &mut self,
        cx: &mut Context<'_>,
        (member, place): (MemberId, usize),
        mut body: Reader<'_>,
    ) -> Result<(), Error> {
        let confirmation = body.key()?;
        body.finish()?;
        self.said.require_open(place)?;
        if let Some(keys) = &self.keys {
            keys.verify(cx, member, &confirmation)?;
        }
        self.said.put(place, confirmation);
        Ok(())
    }

    /// Keeps a confirmation that came with another part of the run, before the keys.
    pub(crate) fn keep(&mut self, place: usize, confirmation: Key) {
        self.said.put(place, confirmation);
    }

    /// Empties the slot of a member.
    pub(crate) fn forget(&mut self, place: usize) {
        self.said.forget(place);
    }
}

impl AgreementKeys {
    fn confirmation_of(&self, cx: &mut Context<'_>, member: MemberId) -> Key {
        cx.derive(&self.confirmation, self.label, &member.0.to_be_bytes())
    }

    /// Refuses a confirmation other than the member's.
    fn verify(
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
    fn verify_all(
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
