//! The members, their order, and the membership event under way. Commands and messages of
//! distributed schemes are checked against them.

pub(crate) mod agreement;
pub(crate) mod early_messages;
pub(crate) mod pairs;
pub(crate) mod round;
pub(crate) mod transition;

use alloc::vec::Vec;
use core::ops::Range;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::outbox::{Event, Recipient};
use crate::party::Operation;
use crate::scheme::{Configuration, Scheme};
use crate::wire::{Message, Reader};

/// The smallest and the largest group. The list of partial keys of a larger one fits no message.
pub(crate) const MEMBERS: (u32, u32) = (2, 1000);

/// Members in their order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roster(Vec<MemberId>);

/// A membership event under way, and the epoch and the members that it leads to. A joining member
/// does not know these two until it is told. Until then there are no members.
#[derive(Clone, Debug)]
pub(crate) struct MembershipChange {
    operation: Operation,
    epoch: Epoch,
    roster: Roster,
}

/// Two parts of a group that merge. The larger part is the host. Of two equally large parts, it is
/// the one with the smallest id. Its members keep their order, and the guests follow them by
/// ascending id. A guest is like a joining member: it knows which members there will be, but not in
/// which order.
#[derive(Debug)]
pub(crate) struct Merger {
    epoch: Epoch,
    is_host: bool,
    hosts: Roster,
    guests: Roster,
}

/// What a member knows of its group: its members, its epoch, and the event under way.
#[derive(Debug)]
pub(crate) struct View {
    configuration: Configuration,
    me: MemberId,
    epoch: Epoch,
    roster: Roster,
    change: Option<MembershipChange>,
    /// Present at a guest that was not told the roster yet.
    merger: Option<Merger>,
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

    /// The place of a member. Every message looks up a joining or leaving member among many, so
    /// whole blocks are compared at once.
    pub(crate) fn place(&self, member: MemberId) -> Option<usize> {
        const BLOCK: usize = 64;
        let is_in =
            |block: &[MemberId]| block.iter().fold(false, |is, &other| is | (other == member));
        let start = self.0.chunks(BLOCK).position(is_in)? * BLOCK;
        let within = self.0[start..].iter().position(|&other| other == member)?;
        Some(start + within)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = MemberId> {
        self.0.iter().copied()
    }

    pub(crate) fn between(&self, places: Range<usize>) -> &[MemberId] {
        &self.0[places]
    }

    /// Adds a member at the end, unless it is in the roster.
    pub(crate) fn want(&mut self, member: MemberId) {
        if self.place(member).is_none() {
            self.0.push(member);
        }
    }

    /// Adds members that are not in the roster yet, before the one at a place.
    pub(crate) fn insert(&mut self, place: usize, members: &[MemberId]) {
        self.0.splice(place..place, members.iter().copied());
    }

    pub(crate) fn remove(&mut self, place: usize) {
        self.0.remove(place);
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

    /// A roster of these members, which must be distinct.
    pub(crate) fn of(members: &[MemberId]) -> Self {
        Self(members.to_vec())
    }

    /// The members for which `leaves` is false, in their order.
    pub(crate) fn without(&self, leaves: impl Fn(MemberId) -> bool) -> Self {
        Self(self.iter().filter(|&member| !leaves(member)).collect())
    }

    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        Self([&self.0[..], &others.0].concat())
    }

    /// The same members by ascending id.
    pub(crate) fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        sorted.0.sort_unstable();
        sorted
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn repetition(&self) -> Option<MemberId> {
        self.sorted().0.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

impl MembershipChange {
    /// The join of this member, once it knows the group.
    pub(crate) const fn addition_to(epoch: Epoch, roster: Roster) -> Self {
        Self { operation: Operation::Add, epoch, roster }
    }

    /// The members that the event leads to.
    pub(crate) const fn roster(&self) -> &Roster {
        &self.roster
    }

    pub(crate) fn into_roster(self) -> Roster {
        self.roster
    }

    pub(crate) const fn operation(&self) -> Operation {
        self.operation
    }

    /// The epoch that the event leads to.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Begins a message that tells joining members the roster.
    pub(crate) fn welcome<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        to: Recipient,
        kind: u8,
    ) -> Draft<'d, 'a> {
        let mut draft = cx.draft(to, self.epoch, self.operation, kind);
        self.roster.write(&mut draft);
        draft
    }
}

impl Merger {
    pub(crate) const fn is_host(&self) -> bool {
        self.is_host
    }

    pub(crate) const fn hosts(&self) -> &Roster {
        &self.hosts
    }

    pub(crate) const fn guests(&self) -> &Roster {
        &self.guests
    }

    /// The event, for a member that knows the members in their order: a host, or a guest that was
    /// told. A guest that was not told passes no members.
    pub(crate) fn change(&self, roster: Roster) -> MembershipChange {
        MembershipChange { operation: Operation::Merge, epoch: self.epoch, roster }
    }

    /// The members after the merger, as a host knows them.
    pub(crate) fn roster(&self) -> Roster {
        self.hosts.followed_by(&self.guests)
    }

    /// Refuses a roster that a host sent, unless it is these hosts in some order, followed by the
    /// guests.
    pub(crate) fn require_told(&self, roster: &Roster) -> Result<(), Error> {
        let hosts = self.hosts.len();
        let fits = roster.len() == hosts + self.guests.len()
            && roster.0[hosts..] == self.guests.0
            && Roster::of(&roster.0[..hosts]).sorted() == self.hosts;
        if fits { Ok(()) } else { Err(Misbehaviour::InvalidRoster.into()) }
    }
}

impl View {
    /// The view of a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            configuration: configuration.clone(),
            me,
            epoch: configuration.epoch_before(),
            roster: Roster::default(),
            change: None,
            merger: None,
        }
    }

    const fn scheme(&self) -> &'static Scheme {
        self.configuration.scheme()
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

    /// Whether the group's creation is under way.
    pub(crate) fn is_creating(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.operation == Operation::Create)
    }

    /// Whether this member's join is under way, and it does not know the members yet.
    pub(crate) fn is_joining(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.roster.is_empty())
    }

    pub(crate) fn is_controller(&self) -> bool {
        self.roster.last() == Some(self.me)
    }

    /// The event that creates a group of these members.
    pub(crate) fn creation(&self, members: &[MemberId]) -> Result<MembershipChange, Error> {
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
        Ok(MembershipChange { operation: Operation::Create, epoch: self.epoch.next(), roster })
    }

    /// The event that adds a member, in the last place.
    pub(crate) fn addition(&self, member: MemberId) -> Result<MembershipChange, Error> {
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
        Ok(MembershipChange { operation: Operation::Add, epoch: self.epoch.next(), roster })
    }

    /// The event that evicts a member.
    pub(crate) fn removal(&self, member: MemberId) -> Result<MembershipChange, Error> {
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
        Ok(MembershipChange { operation: Operation::Remove, epoch: self.epoch.next(), roster })
    }

    /// The event that continues without these members.
    pub(crate) fn partition(&self, apart: &[MemberId]) -> Result<MembershipChange, Error> {
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
        let (operation, epoch) = (Operation::Partition, self.epoch.next());
        Ok(MembershipChange { operation, epoch, roster: Roster(rest.collect()) })
    }

    /// The event that merges this member's part of the group with the part of these others, for
    /// `epoch`. It must be later than this part's epoch.
    pub(crate) fn merger(&self, others: &[MemberId], epoch: Epoch) -> Result<Merger, Error> {
        if self.roster.is_empty() {
            return Err(Misuse::NotCreated.into());
        }
        let others = Roster::of(others).sorted();
        if others.is_empty() {
            return Err(Misuse::EmptyBatch.into());
        }
        if let Some(member) = others.repetition() {
            return Err(Misuse::NamedTwice(member).into());
        }
        if let Some(member) = others.iter().find(|&member| self.roster.place(member).is_some()) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if epoch <= self.epoch {
            return Err(Misuse::EpochOver(epoch).into());
        }
        self.require_idle()?;
        require_room(self.roster.len() + others.len())?;
        let ours = self.roster.sorted();
        // The part with the smaller rank is the host.
        let rank = |part: &Roster| (core::cmp::Reverse(part.len()), part.first());
        let is_host = rank(&ours) < rank(&others);
        let (hosts, guests) = if is_host { (self.roster.clone(), others) } else { (others, ours) };
        Ok(Merger { epoch, is_host, hosts, guests })
    }

    /// The event that changes the key of the same members.
    pub(crate) fn refreshment(&self) -> Result<MembershipChange, Error> {
        if self.roster.is_empty() {
            return Err(Misuse::NotCreated.into());
        }
        self.require_idle()?;
        let (operation, epoch) = (Operation::Rekey, self.epoch.next());
        Ok(MembershipChange { operation, epoch, roster: self.roster.clone() })
    }

    /// Begins an event. Its messages are expected from now on.
    pub(crate) fn begin(&mut self, change: MembershipChange) {
        self.change = Some(change);
    }

    /// Begins a merger at a guest, which waits until it is told the roster.
    pub(crate) fn await_welcome(&mut self, merger: Merger) {
        self.change = Some(merger.change(Roster::default()));
        self.merger = Some(merger);
    }

    /// The event under way, if one is.
    pub(crate) const fn change(&self) -> Option<&MembershipChange> {
        self.change.as_ref()
    }

    /// The members that the event under way leads to, if one is.
    pub(crate) fn under_way(&self) -> Option<&Roster> {
        self.change.as_ref().map(MembershipChange::roster)
    }

    /// The members that the event under way leads to. Refuses a message that is not part of it.
    pub(crate) fn require_under_way(&self, message: &Message<'_>) -> Result<&Roster, Error> {
        match &self.change {
            Some(change) if !change.roster.is_empty() => {
                self.require_epoch(message, change.epoch)?;
                if change.operation != message.header().operation {
                    return Err(Misbehaviour::UnexpectedMessage.into());
                }
                Ok(&change.roster)
            }
            change => {
                // A member must learn that it missed something.
                if change.is_none() && !self.roster.is_empty() {
                    message.require_next_epoch(self.epoch)?;
                }
                Err(Misbehaviour::UnexpectedMessage.into())
            }
        }
    }

    /// Reads the roster at the start of a message to a joining member. The sender must be the
    /// member before it in the roster.
    pub(crate) fn read_welcome(
        &self,
        message: &Message<'_>,
        body: &mut Reader<'_>,
    ) -> Result<Roster, Error> {
        let roster = self.read_first_roster(message, body)?;
        let before = roster.place(self.me).and_then(|place| place.checked_sub(1));
        message.require_sender(roster.at(before.ok_or(Misbehaviour::InvalidRoster)?).into())?;
        Ok(roster)
    }

    /// Reads the roster at the start of a message to a joining member, from any sender. A joining
    /// member comes last. The guests of a merger follow their hosts.
    pub(crate) fn read_first_roster(
        &self,
        message: &Message<'_>,
        body: &mut Reader<'_>,
    ) -> Result<Roster, Error> {
        match &self.change {
            Some(change) if change.roster.is_empty() => {}
            _ => {
                self.require_under_way(message)?;
                return Err(Misbehaviour::UnexpectedMessage.into());
            }
        }
        let operation = message.header().operation;
        let Some(merger) = &self.merger else {
            message.require_later_epoch(self.epoch)?;
            let roster = Roster::read(body)?;
            self.require_announced(&roster)?;
            return match (operation, roster.last() == Some(self.me)) {
                (Operation::Add, true) => Ok(roster),
                (Operation::Add, false) => Err(Misbehaviour::InvalidRoster.into()),
                _ => Err(Misbehaviour::UnexpectedMessage.into()),
            };
        };
        self.require_epoch(message, merger.epoch)?;
        if operation != Operation::Merge {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let roster = Roster::read(body)?;
        merger.require_told(&roster)?;
        Ok(roster)
    }

    /// Refuses the members that a message names to a joining member, unless they are the announced
    /// ones. A sender proves its place among the members that it names itself, so only the
    /// announcement tells who may welcome.
    pub(crate) fn require_announced(&self, roster: &Roster) -> Result<(), Error> {
        match self.configuration.expects(roster.iter()) {
            true => Ok(()),
            false => Err(Misbehaviour::InvalidRoster.into()),
        }
    }

    /// Tells a joining member the roster. It then expects the messages that lead to `epoch`.
    pub(crate) fn welcome(&mut self, epoch: Epoch, roster: Roster) {
        self.change = Some(if let Some(merger) = self.merger.take() {
            merger.change(roster)
        } else {
            self.epoch = Epoch(epoch.0.saturating_sub(1));
            MembershipChange::addition_to(epoch, roster)
        });
    }

    /// Ends the event. The group now has these members and this epoch, and nothing is under way.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>, epoch: Epoch, roster: Roster) {
        self.epoch = epoch;
        self.roster = roster;
        self.change = None;
        self.merger = None;
        cx.event(Event::Rekeyed(epoch));
    }

    /// Refuses a message that does not lead to `awaited`.
    fn require_epoch(&self, message: &Message<'_>, awaited: Epoch) -> Result<(), Error> {
        let (got, current) = (message.header().epoch, self.epoch);
        if got < awaited {
            Err(Misbehaviour::StaleEpoch { got, current }.into())
        } else if got > awaited {
            Err(Misbehaviour::SkippedEpoch { got, current }.into())
        } else {
            Ok(())
        }
    }

    fn require_idle(&self) -> Result<(), Error> {
        if self.change.is_some() {
            return Err(Misuse::OperationUnderWay.into());
        }
        Ok(())
    }
}

/// What a key of distributed schemes is derived for: this group, this epoch, these members in this
/// order.
pub(crate) fn circumstances(cx: &Context<'_>, epoch: Epoch, roster: &Roster) -> Vec<u8> {
    let mut context = Vec::with_capacity(20 + 4 * roster.len());
    context.extend_from_slice(&cx.group().0.to_be_bytes());
    context.extend_from_slice(&epoch.0.to_be_bytes());
    context.extend_from_slice(&(roster.len() as u32).to_be_bytes());
    for member in roster.iter() {
        context.extend_from_slice(&member.0.to_be_bytes());
    }
    context
}

fn require_room(members: usize) -> Result<(), Error> {
    if members > MEMBERS.1 as usize {
        return Err(Unsupported::TooManyMembers { limit: MEMBERS.1 }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::GroupId;
    use crate::wire::Header;

    fn roster(ids: &[u32]) -> Roster {
        Roster::of(&ids.iter().copied().map(MemberId).collect::<Vec<_>>())
    }

    #[test]
    fn a_group_has_a_thousand_members_at_most() {
        assert!(require_room(MEMBERS.1 as usize).is_ok());
        assert!(require_room(MEMBERS.1 as usize + 1).is_err());
    }

    #[test]
    fn guests_follow_the_hosts_and_nobody_else_comes_along() {
        let (hosts, guests) = (roster(&[1, 2]), roster(&[3, 4]));
        let merger = Merger { epoch: Epoch(1), is_host: false, hosts, guests };
        for (told, fits) in [
            (&[1, 2, 3, 4][..], true),
            (&[2, 1, 3, 4], true),
            (&[1, 2, 4, 3], false),
            (&[1, 5, 3, 4], false),
            (&[1, 2, 3, 5], false),
            (&[1, 2, 3], false),
            (&[1, 2, 3, 4, 5], false),
        ] {
            assert_eq!(merger.require_told(&roster(told)).is_ok(), fits, "{told:?}");
        }
    }

    fn view() -> View {
        let scheme = crate::schemes::catalogue::scheme("tgdh").unwrap();
        View::new(&scheme.configuration(crate::scheme::Profile::Sound), MemberId(0))
    }

    fn message(epoch: u64) -> Message<'static> {
        let header = Header {
            group: GroupId(1),
            epoch: Epoch(epoch),
            operation: Operation::Add,
            kind: 0,
            sender: MemberId(1).into(),
            to: Recipient::Group,
            nonce: None,
        };
        Message::new(header, &[])
    }

    #[test]
    fn no_event_leads_to_more_than_a_thousand() {
        let mut view = view();
        for (members, has_room) in [(999, true), (1_000, false)] {
            view.roster = roster(&(0..members).collect::<Vec<_>>());
            assert_eq!(view.addition(MemberId(5_000)).is_ok(), has_room);
            let others = [MemberId(6_000)];
            assert_eq!(view.merger(&others, Epoch(9)).is_ok(), has_room);
        }
    }

    #[test]
    fn a_message_leads_to_the_awaited_epoch_of_the_event_under_way() {
        let mut view = view();
        let epochs = [4, 5, 6].map(|epoch| view.require_epoch(&message(epoch), Epoch(5)));
        assert!(matches!(epochs, [Err(_), Ok(()), Err(_)]));
        let unexpected = Error::from(Misbehaviour::UnexpectedMessage);
        assert_eq!(view.require_under_way(&message(9)).err(), Some(unexpected), "in no group");
        view.change = Some(view.addition(MemberId(0)).unwrap());
        assert!(view.is_joining() && !view.is_creating());
        assert!(view.require_under_way(&message(1)).is_err(), "its members are not known");
        view.change = None;
        view.change = Some(view.creation(&[0, 1].map(MemberId)).unwrap());
        assert!(view.is_creating() && !view.is_joining());
    }
}
