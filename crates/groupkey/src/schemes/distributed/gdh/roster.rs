//! Who takes part, in which order, and which membership event is under way: what commands and
//! messages of G-DH are checked against.

use alloc::vec::Vec;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::outbox::Event;
use crate::party::Operation;
use crate::wire::{Message, Reader};

/// The smallest and the largest group: beyond, a list of partial keys no longer fits a message.
pub(crate) const MEMBERS: (u32, u32) = (2, 1000);

/// Members in their order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roster(Vec<MemberId>);

/// A membership event under way and the members that it leads to. A new member does not know them
/// before it was told: until then they are none.
#[derive(Debug)]
pub(crate) struct Change {
    operation: Operation,
    roster: Roster,
}

/// What a member knows of its group: who is in it, in which epoch, and what is under way.
#[derive(Debug)]
pub(crate) struct View {
    me: MemberId,
    epoch: Epoch,
    roster: Roster,
    change: Option<Change>,
}

impl Roster {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn first(&self) -> Option<MemberId> {
        self.0.first().copied()
    }

    pub(crate) fn last(&self) -> Option<MemberId> {
        self.0.last().copied()
    }

    /// The member at a place, counted from 0.
    pub(crate) fn at(&self, place: usize) -> MemberId {
        self.0[place]
    }

    pub(crate) fn place(&self, member: MemberId) -> Option<usize> {
        self.0.iter().position(|&other| other == member)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = MemberId> {
        self.0.iter().copied()
    }

    /// Appends the members to a message.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        draft.array(self.len());
        for member in &self.0 {
            draft.number(u64::from(member.0));
        }
    }

    /// Reads what [`Self::write`] appends.
    pub(crate) fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        let length = body.array()?;
        if !(u64::from(MEMBERS.0)..=u64::from(MEMBERS.1)).contains(&length) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let members = (0..length).map(|_| body.number32().map(MemberId));
        let roster = Self(members.collect::<Result<_, _>>()?);
        match roster.repetition() {
            Some(_) => Err(Misbehaviour::InvalidRoster.into()),
            None => Ok(roster),
        }
    }

    /// These members, each of whom is there once.
    pub(crate) fn of(members: &[MemberId]) -> Self {
        Self(members.to_vec())
    }

    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn repetition(&self) -> Option<MemberId> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

impl Change {
    /// The members that the event leads to.
    pub(crate) const fn roster(&self) -> &Roster {
        &self.roster
    }
}

impl View {
    /// The view of one that is in no group yet.
    pub(crate) fn new(me: MemberId) -> Self {
        Self { me, epoch: Epoch::default(), roster: Roster::default(), change: None }
    }

    pub(crate) const fn me(&self) -> MemberId {
        self.me
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) const fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Whether the group is being made.
    pub(crate) fn is_creating(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.operation == Operation::Create)
    }

    /// Whether the own join is under way, of which the members are not known yet.
    pub(crate) fn is_joining(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.roster.is_empty())
    }

    pub(crate) fn is_controller(&self) -> bool {
        self.roster.last() == Some(self.me)
    }

    /// The event that makes a group of these members.
    pub(crate) fn creation(&self, members: &[MemberId]) -> Result<Change, Error> {
        if !self.roster.is_empty() {
            return Err(Misuse::AlreadyCreated.into());
        }
        self.require_idle()?;
        if members.len() < MEMBERS.0 as usize {
            return Err(Misuse::TooFewMembers.into());
        }
        require_room(members.len())?;
        let roster = Roster(members.to_vec());
        if let Some(member) = roster.repetition() {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if roster.place(self.me).is_none() {
            return Err(Misuse::NotMember(self.me).into());
        }
        Ok(Change { operation: Operation::Create, roster })
    }

    /// The event that takes a member in. It comes last.
    pub(crate) fn addition(&self, member: MemberId) -> Result<Change, Error> {
        let mut roster = self.roster.clone();
        if roster.is_empty() {
            self.require_idle()?;
            if member != self.me {
                return Err(Misuse::NotCreated.into());
            }
        } else {
            if roster.place(member).is_some() {
                return Err(Misuse::AlreadyMember(member).into());
            }
            self.require_idle()?;
            require_room(roster.len() + 1)?;
            roster.0.push(member);
        }
        Ok(Change { operation: Operation::Add, roster })
    }

    /// The event that evicts a member.
    pub(crate) fn removal(&self, member: MemberId) -> Result<Change, Error> {
        if self.roster.is_empty() {
            return Err(Misuse::NotCreated.into());
        }
        let place = self.roster.place(member).ok_or(Misuse::NotMember(member))?;
        if self.roster.len() == MEMBERS.0 as usize {
            return Err(Misuse::TooFewMembers.into());
        }
        if member == self.me {
            return Err(Misuse::WrongRole.into());
        }
        self.require_idle()?;
        let mut roster = self.roster.clone();
        roster.0.remove(place);
        Ok(Change { operation: Operation::Remove, roster })
    }

    /// The event that goes on without these members.
    pub(crate) fn partition(&self, apart: &[MemberId]) -> Result<Change, Error> {
        if self.roster.is_empty() {
            return Err(Misuse::NotCreated.into());
        }
        if apart.is_empty() {
            return Err(Misuse::EmptyBatch.into());
        }
        let apart = Roster::of(apart);
        if let Some(member) = apart.repetition() {
            return Err(Misuse::NamedTwice(member).into());
        }
        if let Some(member) = apart.iter().find(|&member| self.roster.place(member).is_none()) {
            return Err(Misuse::NotMember(member).into());
        }
        if apart.place(self.me).is_some() {
            return Err(Misuse::WrongRole.into());
        }
        if self.roster.len() - apart.len() < MEMBERS.0 as usize {
            return Err(Misuse::TooFewMembers.into());
        }
        self.require_idle()?;
        let rest = self.roster.iter().filter(|&member| apart.place(member).is_none());
        Ok(Change { operation: Operation::Partition, roster: Roster(rest.collect()) })
    }

    /// The event's messages are expected from now on.
    pub(crate) fn begin(&mut self, change: Change) {
        self.change = Some(change);
    }

    /// The members that the event under way leads to, if one is.
    pub(crate) fn under_way(&self) -> Option<&Roster> {
        self.change.as_ref().map(Change::roster)
    }

    /// The members that the event under way leads to. Refuses a message that is not part of it.
    pub(crate) fn expect(&self, message: &Message<'_>) -> Result<&Roster, Error> {
        match &self.change {
            Some(change) if !change.roster.is_empty() => {
                message.follows(self.epoch)?;
                if change.operation != message.header().operation {
                    return Err(Misbehaviour::UnexpectedMessage.into());
                }
                Ok(&change.roster)
            }
            _ => {
                // Whoever is in the group must learn that it has missed something.
                if !self.roster.is_empty() {
                    message.follows(self.epoch)?;
                }
                Err(Misbehaviour::UnexpectedMessage.into())
            }
        }
    }

    /// Reads the roster with which a message to a new member begins. It must come from the member
    /// before the new one, which is the last.
    pub(crate) fn read_welcome(
        &self,
        message: &Message<'_>,
        body: &mut Reader<'_>,
    ) -> Result<Roster, Error> {
        let roster = self.read_first_roster(message, body)?;
        require_sender(message, roster.at(roster.len() - 2))?;
        Ok(roster)
    }

    /// Reads the roster with which a message to a new member begins, whoever sent it.
    pub(crate) fn read_first_roster(
        &self,
        message: &Message<'_>,
        body: &mut Reader<'_>,
    ) -> Result<Roster, Error> {
        match &self.change {
            Some(change) if change.roster.is_empty() => {}
            _ => {
                self.expect(message)?;
                return Err(Misbehaviour::UnexpectedMessage.into());
            }
        }
        message.is_later_than(self.epoch)?;
        let roster = Roster::read(body)?;
        if roster.last() != Some(self.me) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        Ok(roster)
    }

    /// A new member knows the roster from now on, and expects the messages that lead to `epoch`.
    pub(crate) fn welcome(&mut self, epoch: Epoch, roster: Roster) {
        self.epoch = Epoch(epoch.0.saturating_sub(1));
        self.change = Some(Change { operation: Operation::Add, roster });
    }

    /// The group is now these members, in this epoch; nothing is under way.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>, epoch: Epoch, roster: Roster) {
        self.epoch = epoch;
        self.roster = roster;
        self.change = None;
        cx.event(Event::Rekeyed(epoch));
    }

    fn require_idle(&self) -> Result<(), Error> {
        if self.change.is_some() {
            return Err(Misuse::OperationUnderWay.into());
        }
        Ok(())
    }
}

/// Refuses a message from anybody else.
pub(crate) fn require_sender(message: &Message<'_>, sender: MemberId) -> Result<(), Error> {
    if message.header().sender == PartyId::Member(sender) {
        Ok(())
    } else {
        Err(Misbehaviour::UnexpectedSender.into())
    }
}

fn require_room(members: usize) -> Result<(), Error> {
    if members > MEMBERS.1 as usize {
        return Err(Unsupported::TooManyMembers { limit: MEMBERS.1 }.into());
    }
    Ok(())
}
