//! What goes over the group's topic beside the scheme's own messages: requests, and the announcement
//! of the event that comes next.

use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::Roster;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::wire::Message;

/// A member wants to be taken in, or, if it is a member, cannot follow.
pub(crate) const JOIN: u8 = 0;
/// A member wants to leave.
pub(crate) const LEAVE: u8 = 1;
/// A member wants another one to be evicted.
pub(crate) const EVICT: u8 = 2;
/// The event that comes next.
pub(crate) const ANNOUNCE: u8 = 3;

/// The present epoch, to one that asked with an older one.
pub(crate) const HERE: u8 = 4;

/// An event and the members that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) operation: Operation,
    pub(crate) roster: Roster,
    /// Of those that are added, which are at the end of the roster: with what they asked for it. So
    /// every member knows which request was served, and no old announcement can be passed to a
    /// joining member.
    pub(crate) tickets: Vec<u64>,
}

impl Announcement {
    pub(crate) fn send(&self, cx: &mut Context<'_>, epoch: Epoch) {
        let mut draft = cx.draft(Recipient::Group, epoch, Operation::Order, ANNOUNCE);
        draft.number(self.operation as u64);
        self.roster.write(&mut draft);
        draft.array(self.tickets.len());
        for &ticket in &self.tickets {
            draft.number(ticket);
        }
        draft.send();
    }

    /// Reads what [`Self::send`] wrote. A party that announces is the first of those whom it
    /// announces.
    pub(crate) fn read(message: &Message<'_>) -> Result<Self, Error> {
        let mut body = message.body();
        let operation = u8::try_from(body.number()?).ok().and_then(Operation::from_code);
        let operation = operation.ok_or(Misbehaviour::Malformed)?;
        let roster = Roster::read(&mut body)?;
        let count = body.array()?;
        // At least the one who announces was there before.
        if count >= roster.len() as u64 {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let tickets = (0..count).map(|_| body.number()).collect::<Result<_, _>>()?;
        body.finish()?;
        message.require_sender(roster.at(0).into())?;
        Ok(Self { operation, roster, tickets })
    }

    /// Members that are taken in, with their tickets.
    pub(crate) fn admitted(&self) -> impl Iterator<Item = (MemberId, u64)> {
        let stay = self.roster.len() - self.tickets.len();
        self.roster.iter().skip(stay).zip(self.tickets.iter().copied())
    }

    /// Refuses what cannot follow a group of these members: members that stay keep their order and
    /// come first, and the operation does what it says. So only the first of members that stay can
    /// announce anything, and the next one in line only if the one before goes, or begins again as
    /// the last.
    pub(crate) fn require_successor_of(&self, present: &Roster) -> Result<(), Error> {
        let stay = self.roster.len() - self.tickets.len();
        let rest = present.without(|member| self.roster.place(member).is_none_or(|at| at >= stay));
        let in_order = rest.iter().eq(self.roster.iter().take(stay));
        let (gone, came) = (present.len() - rest.len(), self.tickets.len());
        let fits = match self.operation {
            Operation::Add => gone == 0 && came == 1,
            Operation::Create => true,
            Operation::Partition => gone > 0 && came == 0,
            Operation::Rekey => gone == 0 && came == 0,
            Operation::Remove => gone == 1 && came == 0,
            _ => false,
        };
        if in_order && fits { Ok(()) } else { Err(Misbehaviour::InvalidRoster.into()) }
    }

    /// Whether it takes this joining member in, for this request.
    pub(crate) fn admits(&self, newcomer: MemberId, ticket: u64) -> bool {
        let takes_in = matches!(self.operation, Operation::Add | Operation::Create);
        takes_in && self.admitted().any(|admitted| admitted == (newcomer, ticket))
    }
}
