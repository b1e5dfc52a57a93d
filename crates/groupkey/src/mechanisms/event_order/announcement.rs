//! Messages on the group's topic beside the scheme's own: requests, and the announcement of the
//! next event.

use alloc::vec::Vec;

use super::decisions::EVICTED;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::mechanisms::membership::Roster;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::wire::{Message, Reader, parse_header};

/// A party wants to join, or a member cannot follow.
pub(crate) const JOIN: u8 = 0;
/// A member wants to leave.
pub(crate) const LEAVE: u8 = 1;
/// A member wants another one to be evicted.
pub(crate) const EVICT: u8 = 2;
/// The next event.
pub(crate) const ANNOUNCE: u8 = 3;

/// The current epoch, to a party that asked with an older one.
pub(crate) const HERE: u8 = 4;
/// An operator's word that a party may join.
pub(crate) const TICKET: u8 = 5;

/// Sends an operator's word to the group that this party may join, although it was evicted in
/// `epoch` or earlier. Zero is enough for a party that never was. `evicted` are the members that the
/// operator knows to be evicted, at most 4,096: a party that was never in the group learns so whom
/// not to follow. Make the context for a [subgroup's controller](crate::PartyId), in whose place
/// operators stand, and give all members its key.
pub fn ticket(cx: &mut Context<'_>, epoch: Epoch, party: MemberId, evicted: &[MemberId]) {
    let mut draft = cx.draft(Recipient::Group, epoch, Operation::Order, TICKET);
    draft.number(u64::from(party.0)).array(evicted.len());
    evicted.iter().for_each(|&MemberId(id)| _ = draft.number(u64::from(id)));
    draft.send();
}

/// Sends an operator's word to the group that this member is evicted, which has joined in `epoch` or
/// earlier. It does not count before the group comes to `epoch`. A ticket lets the member in again
/// that names `since` or a later epoch. So choose a later one than `epoch`, and than every ticket for
/// this member has named: whoever hears both words, in whatever order, then knows which is the last.
pub fn eviction(cx: &mut Context<'_>, epoch: Epoch, member: MemberId, since: Epoch) {
    let mut draft = cx.draft(Recipient::Group, epoch, Operation::Order, EVICT);
    draft.number(u64::from(member.0)).number(since.0).send();
}

/// Whether these bytes are an operator's word, by their header alone: nobody has checked who signed
/// them.
pub fn is_word(bytes: &[u8]) -> bool {
    word(bytes).is_some_and(|(kind, _)| matches!(kind, EVICT | TICKET))
}

/// The party that may join by these bytes, if they are an operator's ticket. Nobody has checked who
/// signed them.
pub fn admits(bytes: &[u8]) -> Option<MemberId> {
    subject(bytes, TICKET)
}

/// The member that these bytes evict, if they are an operator's word. Nobody has checked who signed
/// them.
pub fn evicts(bytes: &[u8]) -> Option<MemberId> {
    subject(bytes, EVICT)
}

fn subject(bytes: &[u8], wanted: u8) -> Option<MemberId> {
    let (_, body) = word(bytes).filter(|&(kind, _)| kind == wanted)?;
    Reader::new(body).number32().ok().map(MemberId)
}

/// The kind and the body of what may be an operator's word.
fn word(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (header, body) = parse_header(bytes).ok()?;
    let is_operators = matches!(header.sender, PartyId::SubgroupController(_));
    (is_operators && header.operation == Operation::Order).then_some((header.kind, body))
}

/// An event and the members that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) operation: Operation,
    pub(crate) roster: Roster,
    /// The tickets of the added members, which are at the end of the roster. So every member knows
    /// which request was served, and no old announcement can be replayed to a joining member.
    pub(crate) tickets: Vec<u64>,
    /// The members that were evicted so far, by ascending id. A later operator's ticket must name
    /// the epoch beside the id, or a later one.
    pub(crate) evicted: Vec<(MemberId, Epoch)>,
    /// The latest epoch that the announcer knows to have been named, by the group in an earlier life
    /// of it or by a ticket. At least the announced one, and sent only if it is later.
    pub(crate) latest: Epoch,
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
        draft.array(self.evicted.len());
        for &(MemberId(member), Epoch(since)) in &self.evicted {
            draft.array(2).number(u64::from(member)).number(since);
        }
        if self.latest > epoch {
            draft.number(self.latest.0);
        }
        draft.send();
    }

    /// Reads what [`Self::send`] wrote. The sender must be the first of the announced members.
    pub(crate) fn read(message: &Message<'_>) -> Result<Self, Error> {
        let mut body = message.body();
        let operation = u8::try_from(body.number()?).ok().and_then(Operation::from_code);
        let operation = operation.ok_or(Misbehaviour::Malformed)?;
        let roster = Roster::read(&mut body)?;
        let count = body.array()?;
        // At least the announcer was a member before.
        if count >= roster.len() as u64 {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let tickets = (0..count).map(|_| body.number()).collect::<Result<_, _>>()?;
        let evicted = read_evicted(&mut body)?;
        let epoch = message.header().epoch;
        let is_behind = body.remaining() > 0;
        let latest = if is_behind { Epoch(body.number()?) } else { epoch };
        body.finish()?;
        if is_behind && latest <= epoch {
            return Err(Misbehaviour::Malformed.into());
        }
        if evicted.iter().any(|&(member, _)| roster.place(member).is_some()) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        message.require_sender(roster.at(0).into())?;
        Ok(Self { operation, roster, tickets, evicted, latest })
    }

    pub(crate) fn admitted(&self) -> impl Iterator<Item = (MemberId, u64)> {
        let stay = self.roster.len() - self.tickets.len();
        self.roster.iter().skip(stay).zip(self.tickets.iter().copied())
    }

    /// Refuses an announcement that cannot follow a group of these members. Continuing members must
    /// keep their order and come first, and the operation must do what it says. So only the first
    /// continuing member can announce anything. The next one in line can do so only if the one
    /// before leaves, or begins again as the last.
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

    pub(crate) fn admits(&self, newcomer: MemberId, ticket: u64) -> bool {
        let takes_in = matches!(self.operation, Operation::Add | Operation::Create);
        takes_in && self.admitted().any(|admitted| admitted == (newcomer, ticket))
    }
}

/// Reads at most [`EVICTED`] members, each once and by ascending id.
fn read_evicted(body: &mut Reader<'_>) -> Result<Vec<(MemberId, Epoch)>, Error> {
    let count = body.array()?;
    if count > EVICTED as u64 {
        return Err(Misbehaviour::InvalidRoster.into());
    }
    let mut evicted: Vec<(MemberId, Epoch)> = Vec::new();
    for _ in 0..count {
        if body.array()? != 2 {
            return Err(Misbehaviour::Malformed.into());
        }
        let member = MemberId(body.number32()?);
        if evicted.last().is_some_and(|&(last, _)| last >= member) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        evicted.push((member, Epoch(body.number()?)));
    }
    Ok(evicted)
}

#[cfg(test)]
mod tests {
    use minicbor::Encoder;

    use super::*;

    #[test]
    fn an_announced_operation_does_what_it_says() {
        let roster =
            |ids: &[u32]| Roster::of(&ids.iter().copied().map(MemberId).collect::<Vec<_>>());
        for (operation, members, came, fits) in [
            (Operation::Add, &[1, 2, 3, 4][..], 1, true),
            (Operation::Add, &[2, 1, 3, 4], 1, false),
            (Operation::Add, &[1, 2, 4], 1, false),
            (Operation::Add, &[1, 2, 3], 0, false),
            (Operation::Add, &[1, 2, 3, 4, 5], 2, false),
            (Operation::Create, &[1, 3, 4], 1, true),
            (Operation::Create, &[3, 1, 4], 1, false),
            (Operation::Partition, &[1, 2], 0, true),
            (Operation::Partition, &[1], 0, true),
            (Operation::Partition, &[1, 2, 3], 0, false),
            (Operation::Partition, &[1, 2, 4], 1, false),
            (Operation::Rekey, &[1, 2, 3], 0, true),
            (Operation::Rekey, &[1, 2], 0, false),
            (Operation::Rekey, &[1, 2, 3, 4], 1, false),
            (Operation::Remove, &[1, 2], 0, true),
            (Operation::Remove, &[1], 0, false),
            (Operation::Remove, &[1, 2, 3], 0, false),
            (Operation::Remove, &[1, 2, 4], 1, false),
        ] {
            let (roster, present) = (roster(members), roster(&[1, 2, 3]));
            let (tickets, evicted) = ([7].repeat(came), Vec::new());
            let next = Announcement { operation, roster, tickets, evicted, latest: Epoch(1) };
            let is_taken = next.require_successor_of(&present).is_ok();
            assert_eq!(is_taken, fits, "{operation:?} {members:?}");
        }
    }

    #[test]
    fn an_announcement_names_each_evicted_member_once_and_not_too_many() {
        let read = |ids: &[u32]| {
            let mut body = Encoder::new(Vec::new());
            body.array(ids.len() as u64).unwrap();
            for &id in ids {
                body.array(2).and_then(|body| body.u32(id)).and_then(|body| body.u32(1)).unwrap();
            }
            read_evicted(&mut Reader::new(body.writer())).is_ok()
        };
        let many: Vec<_> = (0..=EVICTED as u32).collect();
        assert!(read(&[]) && read(&[1, 2]) && read(&many[1..]));
        assert!(!read(&[1, 1]) && !read(&[2, 1]) && !read(&many));
    }
}
