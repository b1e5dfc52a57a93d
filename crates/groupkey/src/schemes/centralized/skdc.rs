//! SKDC, the simple key distribution center: a star. Whatever changes, the controller draws a new
//! group key and sends it to every member under the member's individual key.
//!
//! Source: S003 section 3.5, after Li and Wu 2010. Class: centralized. Provenance: specified.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of 1 wrapped key | n wraps | 1 unwrap |
//! | add, to n members | n + 1 unicasts | n + 1 wraps | 1 unwrap |
//! | remove, from n members | n - 1 unicasts | n - 1 wraps | 1 unwrap |
//! | catch up | 1 request, 1 unicast | 1 wrap | 1 unwrap |
//!
//! Keys held: controller n + 1, member 2. Profiles: `sound` and `published` are the same.
//!
//! Body of a rekey message: `{group key'}_individual`.
//!
//! Deviations from the paper: a member that missed rekeys asks for the current key (the paper
//! assumes reliable delivery).

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::centralized::enrolment::{Enrolment, Roster};
use crate::secret::Key;
use crate::wire::Message;

/// The controller.
#[derive(Debug, Default)]
pub struct Controller {
    roster: Roster,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// A member.
#[derive(Debug, Default)]
pub struct Member {
    enrolment: Option<Enrolment>,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// Carries the group key under the receiver's individual key.
const REKEY: u8 = 0;
/// Asks for the current group key.
const REQUEST: u8 = 1;

impl Controller {
    /// A controller without members.
    pub fn new() -> Self {
        Self::default()
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if self.group_key.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.roster.join_all(members)?;
        self.rekey(cx, Operation::Create);
        Ok(())
    }

    fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_group()?;
        self.roster.join(member)?;
        self.rekey(cx, Operation::Add);
        Ok(())
    }

    fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_group()?;
        self.roster.current(member)?;
        if self.roster.len() == 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.roster.evict(member);
        self.rekey(cx, Operation::Remove);
        Ok(())
    }

    fn rekey(&mut self, cx: &mut Context<'_>, operation: Operation) {
        self.epoch = self.epoch.next();
        let group_key = cx.random_key();
        cx.reserve(self.roster.len(), cx.wrapped_length(1) + 2);
        for (member, key) in self.roster.current_members() {
            send_group_key(cx, member, operation, self.epoch, key, &group_key);
        }
        self.group_key = Some(group_key);
        cx.event(Event::Rekeyed(self.epoch));
    }

    /// Sends the current group key to a member that asks for it.
    fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        if (message.header().operation, message.header().kind) != (Operation::CatchUp, REQUEST) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.body().finish()?;
        let slot = self.roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
        let group_key = self.group_key.as_ref().ok_or(Misuse::NotCreated)?;
        let key = self.roster.key(slot);
        send_group_key(cx, member, Operation::CatchUp, self.epoch, key, group_key);
        Ok(())
    }

    fn require_group(&self) -> Result<(), Error> {
        if self.group_key.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        Ok(())
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::CatchUp) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(members)) => self.roster.enroll(cx, self.epoch, members),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Message(message) => self.answer(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let group_key = if self.group_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.roster.key_bytes() + group_key, temporary: Key::BYTES }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        match (header.operation, header.kind) {
            (Operation::Enroll, _) if self.enrolment.is_none() => {
                self.enrolment = Some(Enrolment::receive(message)?);
                return Ok(());
            }
            (Operation::Create | Operation::Add | Operation::Remove, REKEY)
                if self.group_key.is_some() =>
            {
                message.follows(self.epoch)?;
            }
            // Whoever has no group key yet, or caught up, takes whatever epoch the group is in.
            (Operation::Create | Operation::Add | Operation::CatchUp, REKEY) => {
                message.is_later_than(self.epoch)?;
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        let enrolment = self.enrolment.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let wrapped = body.bytes()?;
        body.finish()?;
        self.group_key = Some(cx.unwrap_key(&enrolment.key, header.epoch, 0, wrapped)?);
        self.epoch = header.epoch;
        cx.event(Event::Rekeyed(self.epoch));
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::CatchUp) => {
                cx.draft(Recipient::Controller, self.epoch, Operation::CatchUp, REQUEST).send();
                Ok(())
            }
            Input::Command(_) => Err(Misuse::WrongRole.into()),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let keys = usize::from(self.enrolment.is_some()) + usize::from(self.group_key.is_some());
        Footprint { permanent: keys * Key::BYTES, temporary: Key::BYTES }
    }
}

fn send_group_key(
    cx: &mut Context<'_>,
    member: MemberId,
    operation: Operation,
    epoch: Epoch,
    individual: &Key,
    group_key: &Key,
) {
    cx.draft(Recipient::Member(member), epoch, operation, REKEY)
        .wrapped(individual, epoch, 0, [group_key])
        .send();
}
