//! A member's side of a key server. The member takes its individual key once, takes rekey messages
//! in the order of their epochs, and asks for what it missed. A scheme adds how it receives keys.

use core::mem::discriminant;

use crate::catching_up::CatchUpRequest;
use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, PartyId, SubgroupId};
use crate::mechanisms::key_server::enrolment::{ENROLMENT, Enrolment};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Operation};
use crate::saved_state::saved;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// A member's own side: its enrolment, its epoch and the group key.
#[derive(Debug)]
pub(crate) struct ServedMembership {
    /// The party that serves this member: the controller or a subgroup controller. The member
    /// learns from its enrolment which subgroup controller.
    server: PartyId,
    enrolment: Option<Enrolment>,
    epoch: Epoch,
    group_key: Option<Key>,
    asked: CatchUpRequest,
}

saved!(ServedMembership { server, enrolment, epoch, group_key, asked });

/// What a member must do with a message from its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// The next epoch of the member's group: the keys that it holds still count.
    Continues,
    /// The member's first epoch, or one after some that it missed: no key that it holds counts.
    StartsAnew,
}

impl Default for ServedMembership {
    fn default() -> Self {
        Self {
            server: PartyId::Controller,
            enrolment: None,
            epoch: Epoch(0),
            group_key: None,
            asked: CatchUpRequest::default(),
        }
    }
}

impl ServedMembership {
    pub(crate) fn of_a_subgroup() -> Self {
        Self { server: SubgroupId(0).into(), ..Self::default() }
    }

    /// Executes a command. The only one for a member is to ask for what it missed.
    pub(crate) fn command(
        &mut self,
        cx: &mut Context<'_>,
        command: Command<'_>,
        request: u8,
    ) -> Result<(), Error> {
        match command {
            Command::CatchUp => {}
            // In a hybrid scheme the clock ticks for every member, and this member waits for its
            // server.
            Command::Rekey if self.server != PartyId::Controller => return Ok(()),
            _ => return Err(Misuse::WrongRole.into()),
        }
        self.ask(cx, self.server.into(), request).send();
        Ok(())
    }

    pub(crate) fn ask<'d, 'a>(
        &mut self,
        cx: &'d mut Context<'a>,
        to: Recipient,
        kind: u8,
    ) -> Draft<'d, 'a> {
        self.asked.request(cx, to, self.epoch, kind)
    }

    /// Sends the current request to the server once more, or begins one.
    pub(crate) fn ask_again(&mut self, cx: &mut Context<'_>, kind: u8) {
        self.asked.repeat(cx, self.server.into(), self.epoch, kind).send();
    }

    /// Waits for another answer to the request that the message of this step answers.
    pub(crate) fn expect_another(&mut self, cx: &Context<'_>) {
        self.asked.resume(cx);
    }

    /// Refuses an answer unless it is to the current request, and of epoch `first` or later.
    pub(crate) fn require_answer(&self, message: &Message<'_>, first: Epoch) -> Result<(), Error> {
        let got = message.header().epoch;
        if got < first {
            return Err(Misbehaviour::StaleEpoch { got, current: self.epoch }.into());
        }
        self.asked.require_fresh(message)
    }

    /// Refuses a message unless it leads to a later epoch. An answer must also be to the current
    /// request.
    pub(crate) fn require_lead(&self, message: &Message<'_>) -> Result<(), Error> {
        message.require_later_epoch(self.epoch)?;
        self.asked.require_fresh(message)
    }

    pub(crate) fn take_enrolment(&mut self, message: &Message<'_>) -> Result<bool, Error> {
        let taken = self.enrolment.is_some();
        let Some(enrolment) = self.take_enrolment_by(message, taken, Enrolment::read)? else {
            return Ok(false);
        };
        self.enrolment = Some(enrolment);
        self.server = message.header().sender;
        Ok(true)
    }

    /// Reads the message of the deployment phase. Returns `None` if `message` is another one.
    /// Refuses it if such a message was `taken` before.
    pub(crate) fn take_enrolment_by<T>(
        &self,
        message: &Message<'_>,
        taken: bool,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let header = message.header();
        if header.operation != Operation::Enroll {
            message.require_sender(self.server)?;
            return Ok(None);
        }
        let serves = discriminant(&header.sender) == discriminant(&self.server);
        if !serves {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if taken || header.kind != ENROLMENT {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let brought = read(&mut body)?;
        body.finish()?;
        Ok(Some(brought))
    }

    pub(crate) fn admit(&self, message: &Message<'_>) -> Result<Continuation, Error> {
        match message.header().operation {
            Operation::Enroll
            | Operation::Grant
            | Operation::Merge
            | Operation::Order
            | Operation::Partition
            | Operation::Send => Err(Misbehaviour::UnexpectedMessage.into()),
            Operation::CatchUp => {
                self.require_lead(message)?;
                Ok(Continuation::StartsAnew)
            }
            // A subgroup controller that was away creates its subgroup again.
            Operation::Create if self.server != PartyId::Controller => {
                message.require_later_epoch(self.epoch)?;
                Ok(Continuation::StartsAnew)
            }
            _ if self.has_joined() => {
                message.require_next_epoch(self.epoch)?;
                Ok(Continuation::Continues)
            }
            Operation::Create | Operation::Add | Operation::Batch => {
                message.require_later_epoch(self.epoch)?;
                Ok(Continuation::StartsAnew)
            }
            Operation::Remove | Operation::Rekey => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Like [`Self::admit`], for a message to members that hold the keys of the previous epoch.
    pub(crate) fn require_continuation(&self, message: &Message<'_>) -> Result<(), Error> {
        match self.admit(message)? {
            Continuation::Continues => Ok(()),
            Continuation::StartsAnew => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Whether a broadcast announces the member's own join. The member hears it but does not need
    /// it. Refuses a broadcast of another epoch than the member's own.
    pub(crate) fn is_own_joining(
        &self,
        message: &Message<'_>,
        newcomer: u32,
    ) -> Result<bool, Error> {
        let got = message.header().epoch;
        match self.group_key() {
            _ if newcomer != self.enrolment()?.slot => Ok(false),
            Some((current, _)) if got != current => {
                Err(Misbehaviour::StaleEpoch { got, current }.into())
            }
            _ => Ok(true),
        }
    }

    pub(crate) fn has_joined(&self) -> bool {
        self.epoch > Epoch(0)
    }

    /// The member's epoch; 0 before the first.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) const fn server(&self) -> PartyId {
        self.server
    }

    /// The individual key and the slot. A rekey message that comes before them is refused.
    pub(crate) fn enrolment(&self) -> Result<&Enrolment, Error> {
        self.enrolment.as_ref().ok_or_else(|| Misbehaviour::UnexpectedMessage.into())
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    pub(crate) fn enter(&mut self, cx: &mut Context<'_>, epoch: Epoch, group_key: Key) {
        self.epoch = epoch;
        self.group_key = Some(group_key);
        self.asked.settle(cx);
        cx.event(Event::Rekeyed(epoch));
    }

    /// Enters an epoch whose key is not for this party.
    pub(crate) fn enter_without_key(&mut self, cx: &Context<'_>, epoch: Epoch) {
        self.epoch = epoch;
        self.group_key = None;
        self.asked.settle(cx);
    }

    pub(crate) fn key_bytes(&self) -> usize {
        let keys = usize::from(self.enrolment.is_some()) + usize::from(self.group_key.is_some());
        keys * Key::BYTES
    }
}
