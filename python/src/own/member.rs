//! A member of a scheme in Python. What does not depend on the scheme is checked here: who sent a
//! message, in which operation, and whether its epoch is the next one.

use std::sync::Arc;

use groupkey::author::Message;
use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::{
    Command, Context, Epoch, Error, Event, Footprint, Input, Key, MemberId, Operation, Party,
    PartyId,
};
use pyo3::prelude::*;

use super::SchemeParts;
use super::context::Moment;
use super::step::Argument;

pub(super) struct OwnMember {
    parts: Arc<SchemeParts>,
    party: Option<Py<PyAny>>,
    id: PartyId,
    is_enrolled: bool,
    epoch: Epoch,
    group_key: Option<Key>,
}

impl OwnMember {
    /// Makes a member that waits to be enrolled.
    pub(super) fn new(parts: Arc<SchemeParts>, id: MemberId) -> Self {
        let id = PartyId::Member(id);
        let party = parts.make(id);
        Self { parts, party, id, is_enrolled: false, epoch: Epoch::default(), group_key: None }
    }

    fn take_enrolment(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.is_enrolled {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.call(cx, "enrolled", message)?;
        self.is_enrolled = true;
        Ok(())
    }

    fn take_change(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        if !self.is_enrolled || !Operation::CHANGES.contains(&header.operation) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        match self.group_key {
            Some(_) => message.require_next_epoch(self.epoch)?,
            None => message.require_later_epoch(self.epoch)?,
        }
        // A scheme may need several messages for a key.
        let Some(key) = self.call(cx, "receive", message)? else { return Ok(()) };
        self.group_key = Some(key);
        self.epoch = header.epoch;
        cx.event(Event::Rekeyed(header.epoch));
        Ok(())
    }

    fn call(
        &self,
        cx: &mut Context<'_>,
        method: &str,
        message: &Message<'_>,
    ) -> Result<Option<Key>, Error> {
        let &groupkey::author::Header { epoch, operation, .. } = message.header();
        let moment = Moment { epoch, operation, group_key: self.group_key.clone() };
        self.parts.call(self.party.as_ref(), cx, moment, method, Argument::Message(message))
    }
}

impl Party for OwnMember {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::CatchUp) => Err(Unsupported::Operation.into()),
            Input::Command(_) => Err(Misuse::WrongRole.into()),
            Input::Message(message) => {
                message.from_controller()?;
                match message.header().operation {
                    Operation::Enroll => self.take_enrolment(cx, &message),
                    _ => self.take_change(cx, &message),
                }
            }
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    fn footprint(&self) -> Footprint {
        let told = self.parts.storage(self.party.as_ref(), self.id);
        let group_key = self.group_key.as_ref().map_or(0, |_| Key::BYTES);
        Footprint { permanent: told.permanent + group_key, ..told }
    }
}
