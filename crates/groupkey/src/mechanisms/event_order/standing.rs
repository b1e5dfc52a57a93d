//! Who may be a member: the rules for joining and evicting, and the members that were evicted.
//!
//! An eviction is a decision of the group. Every announcement repeats all of them, so that a member
//! that was away learns them, too. An evicted member is refused by everybody until an operator
//! signs a ticket for it, which names the epoch of its eviction or a later one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::Roster;

/// Who may evict a member, and who may join. The same for all members of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Who may evict a member.
    pub evict: Evict,
    /// Who may join.
    pub join: Join,
}

/// Who may evict a member. One operator may, whatever the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evict {
    /// Any member.
    #[default]
    One,
    /// This many members, which ask for it in the same epoch. They ask again after every event
    /// while the member is there. The evicted member does not count.
    Members(u32),
    /// Operators alone.
    Operators,
}

/// Who may join a group. Who was evicted needs an operator's ticket, whatever the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Every party whose key the members know.
    #[default]
    Listed,
    /// A party for which an operator signed a ticket.
    Ticket,
}

/// The rules, and what the group has decided about members.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    rules: Rules,
    /// The evicted members by ascending id. A ticket counts if it names this epoch or a later one.
    evicted: Vec<(MemberId, Epoch)>,
    /// The latest epoch of the group, in this life of it or an earlier one.
    latest: Epoch,
    /// The tickets that were shown in this epoch of the group.
    shown: BTreeMap<MemberId, Epoch>,
}

/// The most evicted members of a group. The list fits an announcement.
pub(crate) const EVICTED: usize = 4096;

/// Epochs by which what one member says may be ahead of what another one knows.
const JUMP: u64 = 1 << 20;

impl Standing {
    pub(crate) const fn rules(&self) -> Rules {
        self.rules
    }

    pub(crate) const fn follow(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// What was known before a restart.
    pub(crate) fn remember(&mut self, latest: Epoch, evicted: &[(MemberId, Epoch)]) {
        self.latest = latest;
        let known: BTreeMap<_, _> = evicted.iter().copied().take(EVICTED).collect();
        self.evicted = known.into_iter().collect();
    }

    pub(crate) fn evicted(&self) -> &[(MemberId, Epoch)] {
        &self.evicted
    }

    pub(crate) const fn latest(&self) -> Epoch {
        self.latest
    }

    pub(crate) fn is_evicted(&self, member: MemberId) -> bool {
        self.since(member).is_some()
    }

    /// Whether a party that is not a member may join in this epoch.
    pub(crate) fn may_join(&self, party: MemberId) -> bool {
        let ticket = self.shown.get(&party);
        match (self.since(party), self.rules.join) {
            (Some(since), _) => ticket.is_some_and(|&named| named >= since),
            (None, Join::Ticket) => ticket.is_some(),
            (None, Join::Listed) => true,
        }
    }

    /// Refuses an epoch that no group comes to while a member is away.
    pub(crate) fn require_near(&self, got: Epoch, current: Epoch) -> Result<(), Error> {
        let latest = self.latest.max(current).0.saturating_add(JUMP);
        if got.0 <= latest { Ok(()) } else { Err(Misbehaviour::UnexpectedMessage.into()) }
    }

    /// Takes an operator's ticket for a party, which counts until the next event. Later evictions
    /// are of later epochs than it names, so that it does not undo them.
    pub(crate) fn show(&mut self, party: MemberId, named: Epoch) -> Result<(), Error> {
        let current = self.since(party).unwrap_or_default();
        if named < current {
            return Err(Misbehaviour::StaleEpoch { got: named, current }.into());
        }
        self.latest = self.latest.max(named);
        self.shown.insert(party, named);
        Ok(())
    }

    /// Takes this party's own ticket, and the operator's word that others were evicted.
    pub(crate) fn show_own(&mut self, me: MemberId, named: Epoch, others: &[MemberId]) {
        self.evicted.retain(|&(member, since)| member != me || since > named);
        for &other in others {
            if let Err(place) = self.place(other)
                && self.evicted.len() < EVICTED
                && other != me
            {
                self.evicted.insert(place, (other, named));
            }
        }
    }

    /// Takes others' word that a member was evicted.
    pub(crate) fn learn(&mut self, member: MemberId, since: Epoch, current: Epoch) {
        if let Err(place) = self.place(member)
            && self.evicted.len() < EVICTED
            && self.require_near(since, current).is_ok()
        {
            self.evicted.insert(place, (member, since));
        }
    }

    /// Whether one more member can be evicted.
    pub(crate) const fn has_room(&self) -> bool {
        self.evicted.len() < EVICTED
    }

    /// The evicted members after an event that leads to this roster and evicts these members.
    pub(crate) fn after(
        &self,
        epoch: Epoch,
        roster: &Roster,
        evicts: impl Iterator<Item = MemberId>,
    ) -> Vec<(MemberId, Epoch)> {
        // Tickets of this group's earlier lives name epochs up to the latest one.
        let since = epoch.max(self.latest.next());
        let mut after: BTreeMap<_, _> = self.evicted.iter().copied().collect();
        after.extend(evicts.map(|member| (member, since)));
        after.retain(|&member, _| roster.place(member).is_none());
        after.into_iter().take(EVICTED).collect()
    }

    /// Refuses an announcement that evicts a member without a decision, or takes in a party against
    /// the rules. An announcer may know of earlier evictions that this member has not heard of, and
    /// the other way round.
    pub(crate) fn require_successor(
        &self,
        (epoch, present, roster): (Epoch, &Roster, &Roster),
        evicted: &[(MemberId, Epoch)],
        decided: impl Fn(MemberId) -> bool,
    ) -> Result<(), Error> {
        let is_decided = evicted.iter().all(|&(member, since)| {
            present.place(member).is_none() || (decided(member) && since >= epoch)
        });
        let may_join = |party| present.place(party).is_some() || self.may_join(party);
        if !(is_decided && roster.iter().all(may_join)) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        evicted.iter().try_for_each(|&(_, since)| self.require_near(since, epoch))
    }

    /// Takes over the evictions that a member announced, beside those that this member knows. It
    /// forgets those of members that are there again.
    pub(crate) fn adopt(&mut self, epoch: Epoch, roster: &Roster, evicted: &[(MemberId, Epoch)]) {
        let mut all: BTreeMap<_, _> = evicted.iter().copied().collect();
        for &(member, since) in &self.evicted {
            if roster.place(member).is_none() && all.len() < EVICTED {
                let kept = all.entry(member).or_insert(since);
                *kept = since.max(*kept);
            }
        }
        self.evicted = all.into_iter().collect();
        self.advance(epoch);
        let marks = self.evicted.iter().map(|&(_, since)| since);
        self.latest = marks.fold(self.latest, Epoch::max);
    }

    /// Notes that the group has come to an epoch. Tickets must be shown again: so all members of
    /// an epoch have seen the same ones, those that came with it included.
    pub(crate) fn advance(&mut self, epoch: Epoch) {
        self.latest = self.latest.max(epoch);
        self.shown.clear();
    }

    /// The epoch that a ticket for an evicted member must name, or a later one.
    fn since(&self, member: MemberId) -> Option<Epoch> {
        self.place(member).ok().map(|place| self.evicted[place].1)
    }

    fn place(&self, member: MemberId) -> Result<usize, usize> {
        self.evicted.binary_search_by_key(&member, |&(evicted, _)| evicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NINE: MemberId = MemberId(9);

    fn standing(join: Join) -> Standing {
        let mut standing = Standing::default();
        standing.follow(Rules { join, ..Rules::default() });
        standing.remember(Epoch(6), &[(NINE, Epoch(5))]);
        standing
    }

    #[test]
    fn only_a_ticket_of_the_eviction_or_later_lets_an_evicted_member_in() {
        for join in [Join::Listed, Join::Ticket] {
            for (named, is_in) in [(0, false), (4, false), (5, true), (6, true), (7, true)] {
                let mut standing = standing(join);
                assert!(!standing.may_join(NINE));
                assert_eq!(standing.show(NINE, Epoch(named)).is_ok(), is_in, "{named}");
                assert_eq!(standing.may_join(NINE), is_in, "{named}");
                standing.advance(Epoch(7));
                assert!(!standing.may_join(NINE), "it must be shown again");
            }
            let mut standing = standing(join);
            assert_eq!(standing.may_join(MemberId(1)), join == Join::Listed);
            standing.show(MemberId(1), Epoch(0)).unwrap();
            assert!(standing.may_join(MemberId(1)));
        }
    }

    /// A member hears of the eviction only after it has seen the ticket.
    #[test]
    fn a_ticket_that_was_shown_undoes_no_later_eviction() {
        for join in [Join::Listed, Join::Ticket] {
            let (mut standing, four) = (standing(join), MemberId(4));
            standing.show(four, Epoch(3)).unwrap();
            assert!(standing.may_join(four));
            standing.learn(four, Epoch(5), Epoch(6));
            assert!(!standing.may_join(four));
        }
    }

    /// The group was founded anew, so that its epochs are small again.
    #[test]
    fn a_ticket_undoes_no_later_eviction() {
        let mut standing = standing(Join::Listed);
        standing.show(NINE, Epoch(6)).unwrap();
        let (before, with) = (Roster::of(&[MemberId(1)]), Roster::of(&[MemberId(1), NINE]));
        standing.adopt(Epoch(2), &with, &[]);
        assert!(!standing.is_evicted(NINE));
        let again = standing.after(Epoch(3), &before, [NINE].into_iter());
        standing.adopt(Epoch(3), &before, &again);
        assert!(standing.show(NINE, Epoch(6)).is_err());
        standing.show(NINE, again[0].1).unwrap();
    }

    #[test]
    fn no_eviction_is_made_up_and_none_is_forgotten() {
        let mut standing = standing(Join::Listed);
        let ids = |ids: &[u32]| Roster::of(&ids.iter().copied().map(MemberId).collect::<Vec<_>>());
        let (one, two, nine) = (MemberId(1), MemberId(2), (NINE, Epoch(5)));
        for (after, evicted, decided, is_taken) in [
            (ids(&[1, 2]), &[nine][..], false, true),
            (ids(&[1, 2]), &[], false, true),
            (ids(&[1, 2]), &[(NINE, Epoch(4 + 2 * JUMP))], false, false),
            (ids(&[1]), &[(two, Epoch(7)), nine], true, true),
            (ids(&[1]), &[(two, Epoch(7)), nine], false, false),
            (ids(&[1]), &[(two, Epoch(6)), nine], true, false),
            (ids(&[1]), &[(two, Epoch(7 + 2 * JUMP)), nine], true, false),
            (ids(&[1, 2]), &[(MemberId(3), Epoch(7)), nine], false, true),
            (ids(&[1, 2, 9]), &[], true, false),
            (ids(&[1, 2, 4]), &[nine], false, true),
        ] {
            let event = (Epoch(7), &Roster::of(&[one, two]), &after);
            let taken = standing.require_successor(event, evicted, |_| decided);
            assert_eq!(taken.is_ok(), is_taken, "{after:?}, {evicted:?}");
        }
        standing.adopt(Epoch(7), &ids(&[1, 2]), &[(NINE, Epoch(4)), (MemberId(3), Epoch(7))]);
        assert_eq!(standing.evicted(), [(MemberId(3), Epoch(7)), nine]);
        standing.adopt(Epoch(8), &ids(&[1, 2, 9]), &[]);
        assert_eq!(standing.evicted(), [(MemberId(3), Epoch(7))]);
    }
}
