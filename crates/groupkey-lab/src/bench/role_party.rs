//! The party of each role's row.

use groupkey::PartyId;
use groupkey::catalogue::Class;
use groupkey::catalogue::growth::Role;

use super::Activity;
use super::parties::{leaver, newcomer};
use super::state::{PartyShare, PhaseRecord};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RolePart {
    pub(crate) role: Role,
    pub(crate) party: PartyId,
}

/// Returns the parts in an episode of a group of this many members. Each row is of one party. If
/// several observed parties play a role, the row is of the party with most to do. Among members
/// without a controller, it is of the member in the middle, the sponsor left out. The member that
/// begins a message is its sponsor.
///
/// `effort` says how much work a share is. It must not depend on measured times, or rows of two
/// runs would be of different parties.
pub(crate) fn parts(
    class: Class,
    count: u32,
    episode: &PhaseRecord,
    effort: &dyn Fn(&PartyShare) -> u64,
) -> Vec<RolePart> {
    let mut by_effort: Vec<(u64, PartyId)> =
        episode.shares.iter().map(|(&party, share)| (effort(share), party)).collect();
    // Of equal parties the first counts.
    by_effort.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let busiest = |is_one: &dyn Fn(PartyId) -> bool| {
        by_effort.iter().rev().map(|&(_, party)| party).find(|&party| is_one(party))
    };
    let is_new = |party: PartyId| {
        let joins = matches!(episode.activity, Activity::Add | Activity::Batch);
        joins && matches!(party, PartyId::Member(member) if member >= newcomer(count))
    };
    let begins = |party: PartyId| {
        episode.activity == Activity::Send && party == PartyId::from(leaver(count))
    };

    let mut parts = Vec::new();
    let mut add = |role, party: Option<PartyId>| {
        parts.extend(party.map(|party| RolePart { role, party }));
    };
    add(Role::Controller, busiest(&|party| party == PartyId::Controller));
    add(
        Role::SubgroupController,
        busiest(&|party| matches!(party, PartyId::SubgroupController(_))),
    );
    add(Role::NewMember, busiest(&is_new));
    let is_old = |party: PartyId| matches!(party, PartyId::Member(_)) && !is_new(party);
    if class == Class::Distributed {
        let members: Vec<_> = by_effort.iter().filter(|(_, party)| is_old(*party)).collect();
        match members[..] {
            [] => {}
            [.., most] if most.0 > members[0].0 => {
                let rest = &members[..members.len() - 1];
                add(Role::Sponsor, Some(most.1));
                add(Role::Member, Some(rest[(rest.len() - 1) / 2].1));
            }
            _ => add(Role::Member, Some(members[(members.len() - 1) / 2].1)),
        }
    } else {
        add(Role::Sponsor, busiest(&begins));
        add(Role::Member, busiest(&|party| is_old(party) && !begins(party)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use groupkey::MemberId;
    use groupkey::crypto::meter::{Primitive, Probe};

    use super::*;
    use crate::bench::Phase;

    fn told(
        class: Class,
        activity: Activity,
        efforts: &[(PartyId, usize)],
    ) -> Vec<(Role, PartyId)> {
        let shares = efforts.iter().map(|&(party, effort)| {
            let mut share = PartyShare::default();
            share.work.meter.record(Primitive::Derive, effort);
            (party, share)
        });
        let episode = PhaseRecord { activity, phase: Phase::Operational, shares: shares.collect() };
        let effort = |share: &PartyShare| share.work.meter.tally(Primitive::Derive).amount;
        let parts = parts(class, 4, &episode, &effort);
        parts.into_iter().map(|part| (part.role, part.party)).collect()
    }

    fn member(id: u32) -> PartyId {
        MemberId(id).into()
    }

    #[test]
    fn of_a_served_group_the_busiest_member_is_told_of() {
        let efforts = [
            (PartyId::Controller, 9),
            (member(0), 1),
            (member(1), 3),
            (member(3), 3),
            (member(4), 7),
        ];
        assert_eq!(
            told(Class::Centralized, Activity::Add, &efforts),
            [
                (Role::Controller, PartyId::Controller),
                (Role::NewMember, member(4)),
                (Role::Member, member(1))
            ]
        );
    }

    #[test]
    fn among_themselves_who_does_most_is_the_sponsor_and_the_median_the_member() {
        let efforts = [(member(0), 5), (member(1), 1), (member(2), 2), (member(3), 3)];
        assert_eq!(
            told(Class::Distributed, Activity::Create, &efforts),
            [(Role::Sponsor, member(0)), (Role::Member, member(2))]
        );
        let alike = [(member(0), 2), (member(1), 2), (member(2), 2)];
        assert_eq!(told(Class::Distributed, Activity::Create, &alike), [(Role::Member, member(1))]);
    }

    #[test]
    fn who_begins_a_message_is_its_sponsor() {
        let efforts = [(member(0), 1), (member(2), 1)];
        assert_eq!(
            told(Class::Hybrid, Activity::Send, &efforts),
            [(Role::Sponsor, member(2)), (Role::Member, member(0))]
        );
    }
}
