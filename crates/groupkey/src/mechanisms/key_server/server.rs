//! The controller's side of a key server. It knows the enrolled and the current members, refuses
//! commands that make no sense, counts epochs, and answers members that missed a rekey. A scheme
//! adds how its keys are made and sent.

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::outbox::Event;
use crate::party::{Command, Footprint, Input, Knowledge, Messages, Operation, Party};
use crate::saved_state::{PartyState, party_state, state};
use crate::secret::Key;
use crate::wire::Message;

/// The part of a controller that differs between schemes.
pub(crate) trait KeyServer: PartyState + Send {
    /// The kind of the message with which a member asks for what it missed.
    const REQUEST: u8;

    /// Whether several members can join and leave in one change.
    const BATCHES: bool = false;

    /// The maximum number of enrolled members, if the scheme has a limit.
    fn limit(&self) -> Option<u32> {
        None
    }

    fn group(&self) -> &ServedGroup;

    fn group_mut(&mut self) -> &mut ServedGroup;

    /// Makes and sends what these members get in the deployment phase, over the confidential
    /// channel. This is an individual key, except in schemes that do not use such keys.
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

    /// Makes and sends the keys of a new group. All its members have joined the roster.
    fn create(&mut self, cx: &mut Context<'_>);

    /// Makes and sends what changes when a member joins. It has joined the roster in this slot.
    fn add(&mut self, cx: &mut Context<'_>, slot: u32);

    /// Makes and sends what changes when a member leaves. It has left this slot of the roster.
    fn remove(&mut self, cx: &mut Context<'_>, slot: u32);

    /// Makes and sends what a batch changes. Members have left the roster and others have joined
    /// it.
    fn batch(&mut self, _: &mut Context<'_>, _joined: &[u32], _left: &[u32]) {}

    /// Makes and sends the key of a new period, in which no member joins or leaves. It does not
    /// follow from the present group key, which may have leaked: it is sent under keys that wrap keys.
    fn rekey(&mut self, cx: &mut Context<'_>);

    /// Sends the member in this slot everything that it needs to be in the current epoch.
    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32);

    /// Like [`Self::bring_up_to_date`], for a member that says it is in epoch `from`. A scheme that
    /// heals also gives it the keys that it missed.
    fn bring_up_to_date_from(&self, cx: &mut Context<'_>, slot: u32, _from: Epoch) {
        self.bring_up_to_date(cx, slot);
    }

    /// As [`Party::messages`].
    fn messages(&self) -> Messages<'_> {
        Messages::UnderGroupKey
    }

    /// As [`Party::knowledge`].
    fn knowledge(&self) -> Option<&dyn Knowledge> {
        None
    }

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

    fn messages(&self) -> Messages<'_> {
        KeyServer::messages(self)
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        KeyServer::knowledge(self)
    }

    fn footprint(&self) -> Footprint {
        self.held()
    }

    party_state!();
}

/// The members, the epoch and the group key of a controller.
#[derive(Debug, Default)]
pub(crate) struct ServedGroup {
    pub(crate) roster: SlotRoster,
    pub(crate) epoch: Epoch,
    group_key: Option<Key>,
}

state!(ServedGroup { roster, epoch, group_key });

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
    server.group().require_created()?;
    server.rekey(cx);
    Ok(())
}

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
        Self { roster: SlotRoster::with_derived_keys(), ..Self::default() }
    }

    /// A group whose members have no individual keys, and whose slots are never given out again.
    pub(crate) fn with_retired_slots() -> Self {
        Self { roster: SlotRoster::with_retired_slots(), ..Self::default() }
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    pub(crate) fn enter_next(&mut self, cx: &mut Context<'_>, group_key: Key) {
        self.epoch = self.epoch.next();
        self.group_key = Some(group_key);
        cx.event(Event::Rekeyed(self.epoch));
    }

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
