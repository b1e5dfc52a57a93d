//! What all key servers do alike, and all their members.
//!
//! The controller knows who is enrolled and who is in, refuses commands that make no sense, counts
//! epochs, and answers members that missed something. A member takes its individual key once, takes
//! rekey messages in the order of their epochs, and asks when it missed one. A scheme adds how its
//! keys are made, sent and received.

use alloc::vec::Vec;
use core::mem::discriminant;

use crate::catching_up::Asked;
use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, KeyNode, Operation, Party};
use crate::schemes::centralized::enrolment::{ENROLMENT, Enrolment, Roster};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The controller's side: what differs between schemes.
pub(crate) trait KeyServer: Send {
    /// The kind of the message with which a member asks for what it missed.
    const REQUEST: u8;

    /// Whether several members can come and go in one change.
    const BATCHES: bool = false;

    /// Whether the key can be changed though nobody comes or goes.
    const REKEYS: bool = false;

    /// How many members can be enrolled at most, if the scheme has a limit.
    fn limit(&self) -> Option<u32> {
        None
    }

    /// The members and the group key.
    fn group(&self) -> &ServedGroup;

    /// The members and the group key.
    fn group_mut(&mut self) -> &mut ServedGroup;

    /// Makes what these members get in the deployment phase, and sends it over the confidential
    /// channel: an individual key, but for schemes that do not work with such keys.
    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let limit = self.limit();
        let group = self.group_mut();
        match limit {
            Some(limit) if group.roster.enrolled() + members.len() > limit as usize => {
                Err(Unsupported::TooManyMembers { limit }.into())
            }
            _ => group.roster.enroll(cx, group.epoch, members),
        }
    }

    /// All members of a new group have joined the roster: makes and sends their keys.
    fn create(&mut self, cx: &mut Context<'_>);

    /// The member in this slot has joined the roster: makes and sends what that changes.
    fn add(&mut self, cx: &mut Context<'_>, slot: u32);

    /// The member that was in this slot has left the roster: makes and sends what that changes.
    fn remove(&mut self, cx: &mut Context<'_>, slot: u32);

    /// Members have left the roster and others have joined it: makes and sends what that changes.
    fn batch(&mut self, _: &mut Context<'_>, _joined: &[u32], _left: &[u32]) {}

    /// A new period begins: makes and sends its key.
    fn rekey(&mut self, _: &mut Context<'_>) {}

    /// Sends the member in this slot all that it needs to be in the present epoch.
    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32);

    /// As [`Self::bring_up_to_date`], for a member that says that it is in epoch `from`: a scheme that
    /// heals gives it the keys that it missed, too.
    fn bring_up_to_date_from(&self, cx: &mut Context<'_>, slot: u32, _from: Epoch) {
        self.bring_up_to_date(cx, slot);
    }

    /// A message's key and what carries it, where the scheme has encryption of its own.
    fn encapsulate(&self, _: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        Err(Unsupported::Operation.into())
    }

    /// The group key of an epoch up to the current one, where the scheme heals.
    fn past_key(&self, _: &mut Context<'_>, _: Epoch) -> Option<Key> {
        None
    }

    /// The tree of the keys, where the scheme has one.
    fn key_tree(&self, _: &mut Context<'_>) -> Vec<KeyNode> {
        Vec::new()
    }

    /// How much key material the controller holds.
    fn held(&self) -> Footprint;
}

/// Every key server is a party.
impl<S: KeyServer> Party for S {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group().group_key()
    }

    fn past_key(&self, cx: &mut Context<'_>, epoch: Epoch) -> Option<Key> {
        KeyServer::past_key(self, cx, epoch)
    }

    fn encapsulate(&self, cx: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        KeyServer::encapsulate(self, cx)
    }

    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        KeyServer::key_tree(self, cx)
    }

    fn footprint(&self) -> Footprint {
        self.held()
    }
}

/// The members, the epoch and the group key of a controller.
#[derive(Debug, Default)]
pub(crate) struct ServedGroup {
    pub(crate) roster: Roster,
    pub(crate) epoch: Epoch,
    group_key: Option<Key>,
}

/// A member's own side: its enrolment, its epoch and the group key.
#[derive(Debug)]
pub(crate) struct Membership {
    /// Who serves this member: the controller, or that of a subgroup, which one it learns from its
    /// enrolment.
    server: PartyId,
    enrolment: Option<Enrolment>,
    epoch: Epoch,
    group_key: Option<Key>,
    asked: Asked,
}

/// What a member is to do with a message from its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The next epoch of the group it is in: what it holds still counts.
    Continues,
    /// The first epoch it hears of, or one after some that it missed: nothing that it holds counts.
    StartsAnew,
}

/// A controller's step.
fn step<S: KeyServer>(server: &mut S, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
    match input {
        Input::Command(Command::Add(member)) => add(server, cx, member),
        Input::Command(Command::Batch { joining, leaving }) => batch(server, cx, joining, leaving),
        Input::Command(Command::CatchUp) => Err(Misuse::WrongRole.into()),
        Input::Command(Command::Create(members)) => create(server, cx, members),
        Input::Command(Command::Enroll(members)) => server.enroll(cx, members),
        Input::Command(
            Command::Grant { .. } | Command::Merge { .. } | Command::Partition(_) | Command::Send,
        ) => Err(Unsupported::Operation.into()),
        Input::Command(Command::Rekey) => rekey(server, cx),
        Input::Command(Command::Remove(member)) => remove(server, cx, member),
        Input::Message(message) => answer(server, cx, &message),
    }
}

fn create<S: KeyServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    members: &[MemberId],
) -> Result<(), Error> {
    let group = server.group_mut();
    if group.group_key.is_some() {
        return Err(Misuse::AlreadyCreated.into());
    }
    if members.len() < 2 {
        return Err(Misuse::TooFewMembers.into());
    }
    group.roster.join_all(members)?;
    server.create(cx);
    Ok(())
}

fn add<S: KeyServer>(server: &mut S, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
    let group = server.group_mut();
    group.require_created()?;
    let slot = group.roster.join(member)?;
    server.add(cx, slot);
    Ok(())
}

fn remove<S: KeyServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    member: MemberId,
) -> Result<(), Error> {
    let group = server.group_mut();
    group.require_created()?;
    let slot = group.roster.current(member)?;
    if group.roster.len() == 2 {
        return Err(Misuse::TooFewMembers.into());
    }
    group.roster.evict(member);
    server.remove(cx, slot);
    Ok(())
}

fn batch<S: KeyServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    joining: &[MemberId],
    leaving: &[MemberId],
) -> Result<(), Error> {
    if !S::BATCHES {
        return Err(Unsupported::Operation.into());
    }
    let group = server.group_mut();
    group.require_created()?;
    let (joined, left) = group.roster.exchange(joining, leaving)?;
    server.batch(cx, &joined, &left);
    Ok(())
}

fn rekey<S: KeyServer>(server: &mut S, cx: &mut Context<'_>) -> Result<(), Error> {
    if !S::REKEYS {
        return Err(Unsupported::Operation.into());
    }
    server.group().require_created()?;
    server.rekey(cx);
    Ok(())
}

/// Answers a member that asks for what it missed.
fn answer<S: KeyServer>(
    server: &S,
    cx: &mut Context<'_>,
    message: &Message<'_>,
) -> Result<(), Error> {
    let member = message.from_member()?;
    if (message.header().operation, message.header().kind) != (Operation::CatchUp, S::REQUEST) {
        return Err(Misbehaviour::UnexpectedMessage.into());
    }
    message.body().finish()?;
    let group = server.group();
    let slot = group.roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
    group.require_created()?;
    server.bring_up_to_date_from(cx, slot, message.header().epoch);
    Ok(())
}

impl ServedGroup {
    /// A group whose members' individual keys are derived, so that none is stored.
    pub(crate) fn with_derived_keys() -> Self {
        Self { roster: Roster::with_derived_keys(), ..Self::default() }
    }

    /// The group key and its epoch.
    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    /// Enters the next epoch.
    pub(crate) fn enter_next(&mut self, cx: &mut Context<'_>, group_key: Key) {
        self.epoch = self.epoch.next();
        self.group_key = Some(group_key);
        cx.event(Event::Rekeyed(self.epoch));
    }

    /// Bytes of individual keys and of the group key.
    pub(crate) fn key_bytes(&self) -> usize {
        let group_key = if self.group_key.is_some() { Key::BYTES } else { 0 };
        self.roster.key_bytes() + group_key
    }

    fn require_created(&self) -> Result<(), Error> {
        if self.group_key.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        Ok(())
    }
}

impl Default for Membership {
    fn default() -> Self {
        Self {
            server: PartyId::Controller,
            enrolment: None,
            epoch: Epoch(0),
            group_key: None,
            asked: Asked::default(),
        }
    }
}

impl Membership {
    /// A member of some subgroup, served by that subgroup's controller.
    pub(crate) fn of_a_subgroup() -> Self {
        Self { server: SubgroupId(0).into(), ..Self::default() }
    }

    /// What a command makes a member do: ask for what it missed, and nothing else.
    pub(crate) fn command(
        &mut self,
        cx: &mut Context<'_>,
        command: Command<'_>,
        request: u8,
    ) -> Result<(), Error> {
        match command {
            Command::CatchUp => {}
            // Clocks tick for everybody in a hybrid scheme, and this member waits for its server.
            Command::Rekey if self.server != PartyId::Controller => return Ok(()),
            _ => return Err(Misuse::WrongRole.into()),
        }
        self.ask(cx, self.server.into(), request).send();
        Ok(())
    }

    /// Begins a request for what was missed.
    pub(crate) fn ask<'d, 'a>(
        &mut self,
        cx: &'d mut Context<'a>,
        to: Recipient,
        kind: u8,
    ) -> Draft<'d, 'a> {
        self.asked.request(cx, to, self.epoch, kind)
    }

    /// Sends the request under way to its server once more, or begins one.
    pub(crate) fn ask_again(&mut self, cx: &mut Context<'_>, kind: u8) {
        self.asked.repeat(cx, self.server.into(), self.epoch, kind).send();
    }

    /// Waits for an answer to the request that the message of this step answers, once more.
    pub(crate) fn expect_another(&mut self, cx: &Context<'_>) {
        self.asked.resume(cx);
    }

    /// Refuses an answer unless it is to the request under way, and of this epoch or a later one.
    pub(crate) fn require_answer(&self, message: &Message<'_>, first: Epoch) -> Result<(), Error> {
        let got = message.header().epoch;
        if got < first {
            return Err(Misbehaviour::StaleEpoch { got, current: self.epoch }.into());
        }
        self.asked.require_fresh(message)
    }

    /// Refuses a message unless it leads to a later epoch and, if it is an answer, answers the request
    /// under way.
    pub(crate) fn require_lead(&self, message: &Message<'_>) -> Result<(), Error> {
        message.require_later_epoch(self.epoch)?;
        self.asked.require_fresh(message)
    }

    /// Takes the individual key, if this is the message that brings it.
    pub(crate) fn take_enrolment(&mut self, message: &Message<'_>) -> Result<bool, Error> {
        let taken = self.enrolment.is_some();
        let Some(enrolment) = self.take_enrolment_by(message, taken, Enrolment::read)? else {
            return Ok(false);
        };
        self.enrolment = Some(enrolment);
        self.server = message.header().sender;
        Ok(true)
    }

    /// What the message of the deployment phase brings, if this is it and nothing was `taken` before.
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

    /// Decides by its epoch whether a rekey message is the one to take now.
    pub(crate) fn admit(&self, message: &Message<'_>) -> Result<Admission, Error> {
        match message.header().operation {
            Operation::Enroll
            | Operation::Grant
            | Operation::Merge
            | Operation::Order
            | Operation::Partition
            | Operation::Send => Err(Misbehaviour::UnexpectedMessage.into()),
            Operation::CatchUp => {
                self.require_lead(message)?;
                Ok(Admission::StartsAnew)
            }
            // A subgroup's controller that was away makes its subgroup again.
            Operation::Create if self.server != PartyId::Controller => {
                message.require_later_epoch(self.epoch)?;
                Ok(Admission::StartsAnew)
            }
            _ if self.has_joined() => {
                message.require_next_epoch(self.epoch)?;
                Ok(Admission::Continues)
            }
            Operation::Create | Operation::Add | Operation::Batch => {
                message.require_later_epoch(self.epoch)?;
                Ok(Admission::StartsAnew)
            }
            Operation::Remove | Operation::Rekey => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// As [`Self::admit`], of a message that is for those who hold the keys of the epoch before.
    pub(crate) fn require_continuation(&self, message: &Message<'_>) -> Result<(), Error> {
        match self.admit(message)? {
            Admission::Continues => Ok(()),
            Admission::StartsAnew => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Whether a broadcast tells of the member's own joining: it hears it but does not need it. One
    /// of another epoch than that in which the member came is refused.
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

    /// Whether it is in the group, as far as it knows.
    pub(crate) fn has_joined(&self) -> bool {
        self.epoch > Epoch(0)
    }

    /// The epoch it is in; 0 before the first.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Who serves this member.
    pub(crate) const fn server(&self) -> PartyId {
        self.server
    }

    /// The individual key and the slot; a rekey message before them has no place.
    pub(crate) fn enrolment(&self) -> Result<&Enrolment, Error> {
        self.enrolment.as_ref().ok_or_else(|| Misbehaviour::UnexpectedMessage.into())
    }

    /// The group key and its epoch.
    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    /// Enters an epoch.
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

    /// Bytes of the individual key and of the group key.
    pub(crate) fn key_bytes(&self) -> usize {
        let keys = usize::from(self.enrolment.is_some()) + usize::from(self.group_key.is_some());
        keys * Key::BYTES
    }
}
