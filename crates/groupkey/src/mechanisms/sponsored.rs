//! Changes of a group without a controller in which one member acts for all, the *sponsor*: what a
//! command asks of each member, and which messages belong to it.
//!
//! Every member gets the same command, and knows by it, without a message, who sponsors: the members
//! that stay take turns, by the epoch. A joining member is told nothing but its command. It announces
//! its keys, and waits for a welcome.

mod announcements;

use alloc::vec::Vec;
use core::cmp::Ordering;

pub use self::announcements::Announcements;

use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::operation::Operation;
use crate::party::Command;
use crate::scheme::Configuration;
use crate::wire::Message;

/// What a member knows when it gets a command.
#[derive(Clone, Copy, Debug)]
pub struct GroupStanding<'a> {
    /// The member.
    pub me: MemberId,
    /// The group's configuration.
    pub configuration: &'a Configuration,
    /// The group's epoch and its members, in an order that all of them know; none outside of a
    /// group.
    pub group: Option<(Epoch, &'a [MemberId])>,
    /// Whether another change is under way.
    pub is_busy: bool,
}

/// A change that a command asks for, as it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SponsoredChange {
    /// The operation.
    pub operation: Operation,
    /// The epoch that it leads to. A joining member may learn a later one.
    pub epoch: Epoch,
    /// What this member does.
    pub part: SponsoredPart,
    /// Who joins, in an order that all members know.
    pub joining: Vec<MemberId>,
    /// Who leaves, in an order that all members know.
    pub leaving: Vec<MemberId>,
}

/// What a member does in a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SponsoredPart {
    /// It announces its keys, and waits for a welcome.
    Joins {
        /// The only member that may welcome it, if the group is new.
        founder: Option<MemberId>,
        /// The group's members, if it is told them: of a new group in the order of the command, of
        /// two parts that merge by ascending id.
        told: Vec<MemberId>,
    },
    /// It makes the change, or the group.
    Sponsors,
    /// It takes the change of this sponsor.
    Stays {
        /// The sponsor.
        sponsor: MemberId,
    },
}

impl GroupStanding<'_> {
    /// Returns the change that a command asks for. The command to ask for missed changes is none.
    ///
    /// # Errors
    ///
    /// [`Misuse`], if the group's state does not allow it; [`Unsupported`], if the group would be too
    /// large, and for commands that change no membership and no key.
    pub fn change(&self, command: Command<'_>) -> Result<SponsoredChange, Error> {
        match command {
            Command::Create(members) => self.creation(members),
            Command::Add(member) => self.exchange(Operation::Add, &[member], &[]),
            Command::Remove(member) => self.exchange(Operation::Remove, &[], &[member]),
            Command::Batch { joining, leaving } => {
                if joining.is_empty() && leaving.is_empty() {
                    return Err(Misuse::EmptyBatch.into());
                }
                self.exchange(Operation::Batch, joining, leaving)
            }
            Command::Partition(apart) => {
                if apart.is_empty() {
                    return Err(Misuse::EmptyBatch.into());
                }
                self.exchange(Operation::Partition, &[], apart)
            }
            Command::Rekey => self.exchange(Operation::Rekey, &[], &[]),
            Command::Merge { members, epoch } => self.merger(members, epoch),
            Command::Enroll(_) => Err(Misuse::WrongRole.into()),
            Command::CatchUp | Command::Grant { .. } | Command::Send => {
                Err(Unsupported::Operation.into())
            }
        }
    }

    fn creation(&self, members: &[MemberId]) -> Result<SponsoredChange, Error> {
        if self.group.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        self.require_idle()?;
        require_size(self.configuration, members.len())?;
        if let Some(member) = repetition(members) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if !members.contains(&self.me) {
            return Err(Misuse::NotMember(self.me).into());
        }
        let founder = members[0];
        let part = match founder == self.me {
            true => SponsoredPart::Sponsors,
            false => SponsoredPart::Joins { founder: Some(founder), told: members.to_vec() },
        };
        let epoch = self.configuration.epoch_before().next();
        Ok(SponsoredChange::new(Operation::Create, epoch, part, &members[1..], &[]))
    }

    /// The change that adds these members and removes those.
    fn exchange(
        &self,
        operation: Operation,
        joining: &[MemberId],
        leaving: &[MemberId],
    ) -> Result<SponsoredChange, Error> {
        let Some((epoch, members)) = self.group else {
            if !joining.contains(&self.me) {
                return Err(Misuse::NotCreated.into());
            }
            self.require_idle()?;
            let part = SponsoredPart::Joins { founder: None, told: Vec::new() };
            let epoch = self.configuration.epoch_before().next();
            return Ok(SponsoredChange::new(operation, epoch, part, joining, leaving));
        };
        if let Some(&member) = joining.iter().find(|member| members.contains(member)) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if let Some(member) = repetition(joining).or_else(|| repetition(leaving)) {
            return Err(Misuse::NamedTwice(member).into());
        }
        if let Some(&member) = leaving.iter().find(|member| !members.contains(member)) {
            return Err(Misuse::NotMember(member).into());
        }
        require_size(self.configuration, members.len() + joining.len() - leaving.len())?;
        if leaving.contains(&self.me) {
            return Err(Misuse::WrongRole.into());
        }
        self.require_idle()?;
        let part = self.part(epoch.next(), members, leaving)?;
        Ok(SponsoredChange::new(operation, epoch.next(), part, joining, leaving))
    }

    /// The change that merges this part of the group with the part of these others. The members of
    /// the smaller part join the larger one; of two equally large parts, the one with the smallest
    /// id is joined.
    fn merger(&self, others: &[MemberId], epoch: Epoch) -> Result<SponsoredChange, Error> {
        let Some((current, members)) = self.group else { return Err(Misuse::NotCreated.into()) };
        if others.is_empty() {
            return Err(Misuse::EmptyBatch.into());
        }
        if let Some(member) = repetition(others) {
            return Err(Misuse::NamedTwice(member).into());
        }
        if let Some(&member) = others.iter().find(|member| members.contains(member)) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if epoch <= current {
            return Err(Misuse::EpochOver(epoch).into());
        }
        self.require_idle()?;
        require_size(self.configuration, members.len() + others.len())?;
        let rank = |part: &[MemberId]| (core::cmp::Reverse(part.len()), part.iter().min().copied());
        let (part, guests) = match rank(members) < rank(others) {
            true => (self.part(epoch, members, &[])?, others),
            false => {
                let told = sorted(&[members, others].concat());
                (SponsoredPart::Joins { founder: None, told }, members)
            }
        };
        Ok(SponsoredChange::new(Operation::Merge, epoch, part, &sorted(guests), &[]))
    }

    /// What this member does in a change of its group. The members that stay take turns to sponsor,
    /// in their order.
    fn part(
        &self,
        epoch: Epoch,
        members: &[MemberId],
        leaving: &[MemberId],
    ) -> Result<SponsoredPart, Error> {
        let stay = || members.iter().filter(|member| !leaving.contains(member));
        let turn = epoch.0 % stay().count().max(1) as u64;
        let sponsor = stay().nth(turn as usize).copied().ok_or(Misuse::TooFewMembers)?;
        Ok(match sponsor == self.me {
            true => SponsoredPart::Sponsors,
            false => SponsoredPart::Stays { sponsor },
        })
    }

    fn require_idle(&self) -> Result<(), Error> {
        if self.is_busy { Err(Misuse::OperationUnderWay.into()) } else { Ok(()) }
    }
}

impl SponsoredChange {
    fn new(
        operation: Operation,
        epoch: Epoch,
        part: SponsoredPart,
        joining: &[MemberId],
        leaving: &[MemberId],
    ) -> Self {
        Self { operation, epoch, part, joining: joining.to_vec(), leaving: leaving.to_vec() }
    }
}

impl SponsoredPart {
    /// Returns whether the member joins.
    pub const fn joins(&self) -> bool {
        matches!(self, Self::Joins { .. })
    }
}

/// Refuses a message to a member that stays, unless it is of this operation and leads to the awaited
/// epoch. `current` is the member's epoch.
pub fn require_part(
    message: &Message<'_>,
    (operation, awaited): (Operation, Epoch),
    current: Epoch,
) -> Result<(), Error> {
    if message.header().operation != operation {
        return Err(Misbehaviour::UnexpectedMessage.into());
    }
    let got = message.header().epoch;
    match got.cmp(&awaited) {
        Ordering::Less => Err(Misbehaviour::StaleEpoch { got, current }.into()),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(Misbehaviour::SkippedEpoch { got, current }.into()),
    }
}

/// Refuses a welcome that cannot be that of a change in which a member joins, with this founder and
/// these members if it is told them. Who knows the members knows the epoch; any other member takes
/// one that is later than `before`.
pub fn require_welcome(
    message: &Message<'_>,
    (operation, awaited): (Operation, Epoch),
    (founder, told): (Option<MemberId>, &[MemberId]),
    before: Epoch,
) -> Result<(), Error> {
    if message.header().operation != operation {
        return Err(Misbehaviour::UnexpectedMessage.into());
    }
    let sender = message.from_member()?;
    if founder.is_some_and(|founder| founder != sender) {
        return Err(Misbehaviour::UnexpectedSender.into());
    }
    let got = message.header().epoch;
    match told.is_empty() {
        true => message.require_later_epoch(before),
        false if got == awaited => Ok(()),
        false => Err(Misbehaviour::StaleEpoch { got, current: before }.into()),
    }
}

/// Refuses a group that is too small or too large for its scheme.
pub fn require_size(configuration: &Configuration, members: usize) -> Result<(), Error> {
    let (least, limit) = configuration.scheme().members;
    if members < least as usize {
        return Err(Misuse::TooFewMembers.into());
    }
    if members > limit as usize {
        return Err(Unsupported::TooManyMembers { limit }.into());
    }
    Ok(())
}

/// Returns whether it is a member's turn to answer another one that asks for what it missed: that of
/// the next one in their order, and at each further time of the one after it.
pub(crate) fn has_turn_to_answer(
    members: &[MemberId],
    me: MemberId,
    asking: MemberId,
    times: usize,
) -> Result<bool, Error> {
    let place = members.iter().position(|&member| member == asking).filter(|_| asking != me);
    let place = place.ok_or(Misbehaviour::UnexpectedSender)?;
    let turn = (place + 1 + times % (members.len() - 1).max(1)) % members.len();
    Ok(members[turn] == me)
}

/// Returns the members by ascending id.
pub fn sorted(members: &[MemberId]) -> Vec<MemberId> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    sorted
}

fn repetition(members: &[MemberId]) -> Option<MemberId> {
    let sorted = sorted(members);
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Profile, scheme};

    fn ids<const N: usize>(ids: [u32; N]) -> [MemberId; N] {
        ids.map(MemberId)
    }

    /// What the member `me` of 5, 2, 9 does in epoch 7, or of no group.
    fn told(me: u32, is_in: bool, command: Command<'_>) -> Result<SponsoredChange, Error> {
        let configuration = scheme("treekem").expect("it is there").configuration(Profile::Sound);
        let members = ids([5, 2, 9]);
        let standing = GroupStanding {
            me: MemberId(me),
            configuration: &configuration,
            group: is_in.then_some((Epoch(7), &members[..])),
            is_busy: false,
        };
        standing.change(command)
    }

    #[test]
    fn the_members_that_stay_take_turns() {
        // Epoch 8, in the order of the members.
        for (me, part) in
            [(9, SponsoredPart::Sponsors), (5, SponsoredPart::Stays { sponsor: MemberId(9) })]
        {
            let change = told(me, true, Command::Rekey).expect("it is allowed");
            assert_eq!((change.epoch, change.part), (Epoch(8), part));
        }
        let change = told(5, true, Command::Remove(MemberId(2))).expect("it is allowed");
        assert_eq!(change.part, SponsoredPart::Sponsors, "place 8 mod 2 of those that stay");
    }

    #[test]
    fn the_smaller_part_joins_the_larger_one() {
        let others = ids([4, 1]);
        let merge = Command::Merge { members: &others, epoch: Epoch(9) };
        let change = told(5, true, merge).expect("it is allowed");
        assert_eq!((change.part, &change.joining[..]), (SponsoredPart::Sponsors, &ids([1, 4])[..]));
        let others = ids([4, 1, 6, 7]);
        let merge = Command::Merge { members: &others, epoch: Epoch(9) };
        let change = told(5, true, merge).expect("it is allowed");
        let all = ids([1, 2, 4, 5, 6, 7, 9]).to_vec();
        assert_eq!(change.part, SponsoredPart::Joins { founder: None, told: all });
        assert_eq!(change.joining, ids([2, 5, 9]));
    }

    #[test]
    fn what_the_state_does_not_allow_is_refused() {
        let (one, present) = (ids([6]), ids([5, 6]));
        for (me, is_in, command, misuse) in [
            (5, true, Command::Create(&present), Misuse::AlreadyCreated),
            (4, false, Command::Create(&present), Misuse::NotMember(MemberId(4))),
            (5, true, Command::Add(MemberId(2)), Misuse::AlreadyMember(MemberId(2))),
            (4, false, Command::Add(MemberId(2)), Misuse::NotCreated),
            (5, true, Command::Remove(MemberId(5)), Misuse::WrongRole),
            (5, true, Command::Remove(MemberId(4)), Misuse::NotMember(MemberId(4))),
            (5, true, Command::Partition(&[]), Misuse::EmptyBatch),
            (
                5,
                true,
                Command::Merge { members: &one, epoch: Epoch(7) },
                Misuse::EpochOver(Epoch(7)),
            ),
        ] {
            assert_eq!(told(me, is_in, command), Err(misuse.into()), "{command:?}");
        }
    }

    #[test]
    fn another_one_answers_each_time() {
        let members = ids([5, 2, 9, 4]);
        let turns = |times| {
            let answers = |&&me: &&MemberId| {
                me != members[1] && has_turn_to_answer(&members, me, members[1], times) == Ok(true)
            };
            members.iter().filter(answers).map(|member| member.0).collect::<Vec<_>>()
        };
        assert_eq!([0, 1, 2, 3].map(turns), [[9], [4], [5], [9]]);
        let unknown = has_turn_to_answer(&members, members[0], MemberId(77), 0);
        assert_eq!(unknown, Err(Misbehaviour::UnexpectedSender.into()));
    }
}
