//! What the subgroup controllers of all hybrid schemes have in common, and their members.
//!
//! A subgroup controller is a key server to its members, and gives them individual keys. To the
//! controller it is a member, with a key that the two share. The controller tells it which members
//! join and leave. It answers members that missed something. If it missed something itself, it asks
//! the controller (`resumption.rs`). A scheme adds what it makes of the controller's news.

use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{MemberId, PartyId, SubgroupId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::mechanisms::subgroup::resumption::{self, Enrolled};
use crate::mechanisms::subgroup::{MEMBERS, is_opening, member_list};
use crate::outbox::{Event, Recipient, SubsetId};
use crate::party::{Command, Input, Operation};
use crate::saved_state::state;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The part of a subgroup controller that differs between schemes.
pub(crate) trait SubgroupServer {
    /// The news from the controller, opened.
    type News;

    /// The kind of the message with which a member asks for what it missed.
    const REQUEST: u8;

    fn subgroup(&self) -> &Subgroup;

    fn subgroup_mut(&mut self) -> &mut Subgroup;

    /// Opens the rest of a controller's message after the list of members.
    fn open(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        body: Reader<'_>,
    ) -> Result<Self::News, Error>;

    /// Enters the message's epoch, and sends the members their keys. The roster is already updated.
    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        news: Self::News,
    );

    /// Hands over further keys to newly enrolled members, if the scheme has such keys.
    fn enrolled(&mut self, _: &mut Context<'_>, _members: &[MemberId]) {}

    fn grant(&mut self, _: &mut Context<'_>, _: &Message<'_>) -> Result<(), Error> {
        Err(Misbehaviour::UnexpectedMessage.into())
    }

    fn period(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Takes a message from a member, other than a request.
    fn hear(
        &mut self,
        _: &mut Context<'_>,
        _: &Message<'_>,
        _member: MemberId,
    ) -> Result<(), Error> {
        Err(Misbehaviour::UnexpectedMessage.into())
    }

    /// Sends the member in this slot everything that it needs to be in the current epoch.
    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32);
}

/// The members of a subgroup, and its link to the controller.
#[derive(Debug)]
pub(crate) struct Subgroup {
    pub(crate) id: SubgroupId,
    /// The subgroup's membership at the controller: their shared key, the epoch, the group key.
    pub(crate) membership: ServedMembership,
    pub(crate) roster: SlotRoster,
    enrolments: u32,
}

state!(Subgroup { membership, roster, enrolments });

/// What a change means to one subgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalChange {
    Created,
    /// The member in this slot joined.
    Joined(u32),
    /// The member that was in this slot left.
    Left(u32),
    /// No member here joined or left.
    Nobody,
    /// The subgroup's controller and its members missed changes. All are sent everything.
    Resumed,
}

impl LocalChange {
    /// The operation in messages to the members, for a message from the controller. A subgroup
    /// controller that was away creates its subgroup again, because no member has asked.
    pub(crate) fn operation(self, message: &Message<'_>) -> Operation {
        match self {
            Self::Resumed => Operation::Create,
            _ => message.header().operation,
        }
    }
}

pub(crate) fn step<S: SubgroupServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    input: Input<'_>,
) -> Result<(), Error> {
    match input {
        Input::Command(Command::CatchUp) => {
            server.subgroup_mut().ask(cx);
            Ok(())
        }
        Input::Command(Command::Rekey) => server.period(cx),
        Input::Command(_) => Err(Misuse::WrongRole.into()),
        Input::Message(message) => match message.header().sender {
            PartyId::Controller => follow(server, cx, &message),
            PartyId::Member(member) => answer(server, cx, &message, member),
            PartyId::SubgroupController(_) => Err(Misbehaviour::UnexpectedSender.into()),
        },
    }
}

fn follow<S: SubgroupServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    message: &Message<'_>,
) -> Result<(), Error> {
    let subgroup = server.subgroup_mut();
    if (message.header().operation, message.header().kind) == (Operation::Enroll, MEMBERS) {
        let members = subgroup.enroll(cx, message)?;
        server.enrolled(cx, &members);
        return Ok(());
    }
    if subgroup.membership.take_enrolment(message)? {
        return Ok(());
    }
    if subgroup.membership.enrolment().is_err() {
        return Err(subgroup.skipped(message));
    }
    if message.header().operation == Operation::Grant {
        return server.grant(cx, message);
    }
    subgroup.require_admissible(message)?;
    let mut body = message.body();
    if message.header().operation == Operation::Create {
        subgroup.require_enrolled(message, body.number32()?)?;
    }
    let named = member_list(&mut body)?;
    let change = subgroup.local_change(message, &named)?;
    let news = server.open(cx, message, body)?;
    let subgroup = server.subgroup_mut();
    match change {
        LocalChange::Created => subgroup.roster.join_all_but(&named),
        LocalChange::Joined(_) => drop(subgroup.roster.join_all(&named)),
        LocalChange::Left(_) => named.iter().for_each(|&member| subgroup.roster.evict(member)),
        LocalChange::Nobody => {}
        LocalChange::Resumed => subgroup.roster.become_members(&named),
    }
    server.distribute(cx, message, change, news);
    Ok(())
}

fn answer<S: SubgroupServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    message: &Message<'_>,
    member: MemberId,
) -> Result<(), Error> {
    if (message.header().operation, message.header().kind) != (Operation::CatchUp, S::REQUEST) {
        return server.hear(cx, message, member);
    }
    message.body().finish()?;
    let roster = &server.subgroup().roster;
    let slot = roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
    server.bring_up_to_date(cx, slot);
    Ok(())
}

/// Does [`ServedMembership::take_enrolment`] for a member, which also begins to listen to its
/// subgroup.
pub(crate) fn take_enrolment(
    membership: &mut ServedMembership,
    cx: &mut Context<'_>,
    message: &Message<'_>,
) -> Result<bool, Error> {
    let taken = membership.take_enrolment(message)?;
    if let (true, PartyId::SubgroupController(subgroup)) = (taken, membership.server()) {
        cx.event(Event::Subscribed(SubsetId(subgroup.0)));
    }
    Ok(taken)
}

impl Subgroup {
    pub(crate) fn ask(&mut self, cx: &mut Context<'_>) {
        let known = match self.membership.enrolment() {
            Ok(_) => 1 + u64::from(self.enrolments),
            Err(_) => 0,
        };
        self.membership.ask(cx, Recipient::Controller, resumption::REQUEST).number(known).send();
    }

    /// A subgroup without members.
    pub(crate) fn new(id: SubgroupId) -> Self {
        let (membership, roster) = (ServedMembership::default(), SlotRoster::default());
        Self { id, membership, roster, enrolments: 0 }
    }

    /// A subgroup without members, with individual keys that are derived and not stored.
    pub(crate) fn with_derived_keys(id: SubgroupId) -> Self {
        Self { roster: SlotRoster::with_derived_keys(), ..Self::new(id) }
    }

    pub(crate) const fn everybody(&self) -> Recipient {
        Recipient::Subset(SubsetId(self.id.0))
    }

    /// Bytes of individual keys, of the key shared with the controller and of the group key.
    pub(crate) fn key_bytes(&self) -> usize {
        self.membership.key_bytes() + self.roster.key_bytes()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        (0..self.roster.slots() as u32).filter(|&slot| self.roster.is_joined(slot))
    }

    fn enroll(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<Vec<MemberId>, Error> {
        let Enrolled { first, next, members } = Enrolled::read(message)?;
        if self.membership.enrolment().is_err() || first > self.enrolments {
            return Err(self.skipped(message));
        }
        if first < self.enrolments {
            let (got, current) = (message.header().epoch, self.membership.epoch());
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        // An earlier member with the id of a newly enrolled one is gone. Its eviction was missed.
        members.iter().for_each(|&member| self.roster.evict(member));
        let enrolled = self.roster.enroll(cx, self.membership.epoch(), &members);
        enrolled.map_err(|_| Misbehaviour::InvalidRoster)?;
        self.enrolments = next;
        Ok(members)
    }

    /// Refuses a message of a change that does not follow on what this party heard. A party that is
    /// not in the group yet has no keys to continue with. It takes a creation, an opening, and the
    /// answer to its request.
    fn require_admissible(&self, message: &Message<'_>) -> Result<(), Error> {
        let is_later = message.header().epoch > self.membership.epoch();
        let is_of_the_middle = !is_opening(message)
            && matches!(
                message.header().operation,
                Operation::Add | Operation::Remove | Operation::Rekey
            );
        if is_of_the_middle && !self.membership.has_joined() && is_later {
            return Err(self.skipped(message));
        }
        self.membership.admit(message)?;
        if is_opening(message) && self.membership.has_joined() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        Ok(())
    }

    /// Refuses a creation unless the same members are enrolled here as when it was sent. All of
    /// them join except those named. Enrolments go another way, and may come before or after it.
    fn require_enrolled(&self, message: &Message<'_>, enrolments: u32) -> Result<(), Error> {
        if enrolments == self.enrolments {
            return Ok(());
        }
        Err(self.skipped(message))
    }

    /// Reports that the message refers to an earlier one that did not arrive.
    pub(crate) fn skipped(&self, message: &Message<'_>) -> Error {
        let (got, current) = (message.header().epoch, self.membership.epoch());
        Misbehaviour::SkippedEpoch { got, current }.into()
    }

    /// What a change means to this subgroup. Refuses a change that is not possible.
    fn local_change(
        &self,
        message: &Message<'_>,
        named: &[MemberId],
    ) -> Result<LocalChange, Error> {
        let invalid = || Error::from(Misbehaviour::InvalidRoster);
        let enrolled = |member| self.roster.enrolled_slot(member);
        let slot = |member| enrolled(member).ok_or_else(|| self.skipped(message));
        match (message.header().operation, named) {
            (Operation::Create, _) if self.membership.has_joined() => Err(invalid()),
            (Operation::Create, absent) => {
                // The number of enrolled members was checked before.
                let known = absent.iter().all(|&member| enrolled(member).is_some());
                if known { Ok(LocalChange::Created) } else { Err(invalid()) }
            }
            (Operation::CatchUp, members) => {
                members.iter().try_for_each(|&member| slot(member).map(drop))?;
                Ok(LocalChange::Resumed)
            }
            // Without keys of its own, the subgroup has nothing to continue with.
            (_, []) if !self.membership.has_joined() => Err(invalid()),
            (_, []) => Ok(LocalChange::Nobody),
            (Operation::Add, &[member]) if self.roster.current(member).is_err() => {
                Ok(LocalChange::Joined(slot(member)?))
            }
            (Operation::Remove, &[member]) => {
                slot(member)?;
                self.roster.current(member).map(LocalChange::Left).map_err(|_| invalid())
            }
            _ => Err(invalid()),
        }
    }
}

/// Opens news that consists of one key only.
pub(crate) fn open_key(
    subgroup: &Subgroup,
    cx: &mut Context<'_>,
    message: &Message<'_>,
    mut body: Reader<'_>,
    kind: u8,
) -> Result<Key, Error> {
    let wrapped = body.bytes()?;
    body.finish()?;
    if message.header().kind != kind && !is_opening(message) {
        return Err(Misbehaviour::UnexpectedMessage.into());
    }
    let [key] = unwrap_own(&subgroup.membership, cx, message, 0, wrapped)?;
    Ok(key)
}

pub(crate) fn unwrap_own<const KEYS: usize>(
    membership: &ServedMembership,
    cx: &mut Context<'_>,
    message: &Message<'_>,
    label: u64,
    wrapped: &[u8],
) -> Result<[Key; KEYS], Error> {
    let mut keys = core::array::from_fn(|_| Key::default());
    let individual = &membership.enrolment()?.key;
    cx.unwrap_keys(individual, message.header().epoch, label, wrapped, &mut keys)?;
    Ok(keys)
}

#[cfg(test)]
mod tests;
