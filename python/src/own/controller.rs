//! The controller of a scheme in Python. Who is enrolled and who is a member is kept here, so that
//! Python hears only of commands that make sense.

use std::collections::BTreeSet;
use std::sync::Arc;

use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{
    Command, Context, Epoch, Error, Event, Footprint, Input, Key, MemberId, Operation, Party,
    PartyId,
};
use pyo3::prelude::*;

use super::SchemeParts;
use super::context::Moment;
use super::step::{Argument, FAULT};

pub(super) struct OwnController {
    parts: Arc<SchemeParts>,
    party: Option<Py<PyAny>>,
    limit: u32,
    enrolled: BTreeSet<MemberId>,
    current: BTreeSet<MemberId>,
    epoch: Epoch,
    group_key: Option<Key>,
}

impl OwnController {
    /// Makes the controller of a group of at most `limit` members.
    pub(super) fn new(parts: Arc<SchemeParts>, limit: u32) -> Self {
        let party = parts.make(PartyId::Controller);
        let (enrolled, current) = (BTreeSet::new(), BTreeSet::new());
        Self { parts, party, limit, enrolled, current, epoch: Epoch::default(), group_key: None }
    }

    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let mut enrolled = self.enrolled.clone();
        for &member in members {
            if self.current.contains(&member) || !enrolled.insert(member) {
                return Err(Misuse::AlreadyEnrolled(member).into());
            }
        }
        for &member in members {
            let moment = self.moment(self.epoch, Operation::Enroll);
            let (parts, party) = (&self.parts, self.party.as_ref());
            parts.call(party, cx, moment, "enroll", Argument::Member(member))?;
        }
        self.enrolled = enrolled;
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if self.group_key.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.require_room(members.len())?;
        let mut current = BTreeSet::new();
        for &member in members {
            if !self.enrolled.contains(&member) {
                return Err(Misuse::NotEnrolled(member).into());
            }
            if !current.insert(member) {
                return Err(Misuse::AlreadyMember(member).into());
            }
        }
        self.change(cx, Operation::Create, Argument::Members(members))?;
        self.enrolled.retain(|member| !current.contains(member));
        self.current = current;
        Ok(())
    }

    fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_group()?;
        if self.current.contains(&member) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if !self.enrolled.contains(&member) {
            return Err(Misuse::NotEnrolled(member).into());
        }
        self.require_room(self.current.len() + 1)?;
        self.change(cx, Operation::Add, Argument::Member(member))?;
        self.enrolled.remove(&member);
        self.current.insert(member);
        Ok(())
    }

    fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_group()?;
        if !self.current.contains(&member) {
            return Err(Misuse::NotMember(member).into());
        }
        if self.current.len() == 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.change(cx, Operation::Remove, Argument::Member(member))?;
        self.current.remove(&member);
        Ok(())
    }

    fn rekey(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.require_group()?;
        self.change(cx, Operation::Rekey, Argument::Nothing)
    }

    /// Has Python change the key.
    fn change(
        &mut self,
        cx: &mut Context<'_>,
        operation: Operation,
        argument: Argument<'_>,
    ) -> Result<(), Error> {
        let epoch = self.epoch.next();
        let (moment, method) = (self.moment(epoch, operation), operation.name());
        let key = self.parts.call(self.party.as_ref(), cx, moment, method, argument)?;
        let key = key.ok_or_else(|| {
            self.parts.keep_lack(PartyId::Controller, method);
            FAULT
        })?;
        self.group_key = Some(key);
        self.epoch = epoch;
        cx.event(Event::Rekeyed(epoch));
        Ok(())
    }

    fn moment(&self, epoch: Epoch, operation: Operation) -> Moment {
        Moment { epoch, operation, group_key: self.group_key.clone() }
    }

    fn require_group(&self) -> Result<(), Error> {
        if self.group_key.is_some() { Ok(()) } else { Err(Misuse::NotCreated.into()) }
    }

    fn require_room(&self, members: usize) -> Result<(), Error> {
        let limit = self.limit;
        match members <= limit as usize {
            true => Ok(()),
            false => Err(Unsupported::TooManyMembers { limit }.into()),
        }
    }
}

impl Party for OwnController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Enroll(members)) => self.enroll(cx, members),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Command(Command::Rekey) if self.parts.rekeys => self.rekey(cx),
            Input::Command(_) => Err(Unsupported::Operation.into()),
            Input::Message(_) => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let told = self.parts.storage(self.party.as_ref(), PartyId::Controller);
        let group_key = self.group_key.as_ref().map_or(0, |_| Key::BYTES);
        Footprint { permanent: told.permanent + group_key, ..told }
    }
}
