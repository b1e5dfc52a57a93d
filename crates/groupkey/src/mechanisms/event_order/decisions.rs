//! Who may be a member: the rules for joining and evicting, and the members that were evicted.
//!
//! An eviction is a decision of the group, and stays. Members that were there when it was made know
//! it. Others hear of it: every announcement and every answer of a peer repeats all evictions. What
//! one member alone reports is not repeated as known, unless the rules let one member evict. So one
//! member makes up no eviction, neither at who was there nor through who was not. An evicted member
//! is refused by everybody until an operator signs a ticket for it, which names the epoch of its
//! eviction or a later one.
//!
//! Of an operator's words about one party the later one counts, in whatever order, group or epoch they
//! are heard: an eviction names the epoch that later tickets must name, and earlier ones do not.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::event_order::announcement::Announcement;
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

/// How a group has decided to evict a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EvictionDecision {
    /// Whether as many members want it as the rules say.
    pub(crate) by_members: bool,
    /// The epoch that a later ticket must name by an operator's word; zero without one.
    pub(crate) named: Epoch,
}

/// Members that were evicted, each with the epoch that a ticket for it must name.
type Evictions = Vec<(MemberId, Epoch)>;

/// The rules, and what the group has decided about members.
#[derive(Debug, Default)]
pub(crate) struct GroupDecisions {
    rules: Rules,
    /// The evicted members by ascending id. A ticket counts if it names this epoch or a later one.
    evicted: Evictions,
    /// What each other party reports last of evictions that are not known here.
    reports: BTreeMap<MemberId, Evictions>,
    /// What tickets must name by operators' words that evict parties that were not there when the
    /// words came.
    words: BTreeMap<MemberId, Epoch>,
    /// The latest epoch that an operator's ticket for each party has named.
    admitted: BTreeMap<MemberId, Epoch>,
    latest: Epoch,
    shown: BTreeMap<MemberId, Epoch>,
}

/// The most evicted members of a group. The list fits an announcement.
pub(crate) const EVICTED: usize = 4096;

/// The most evictions that are remembered although they are only reported.
const REPORTED: usize = 16 * EVICTED;

/// Epochs by which what one member says may be ahead of what another one knows. No group comes that
/// far while a member is away.
const JUMP: u64 = 1 << 20;

/// The epochs that a party believes that is in no group. Whoever leads members on, jump by jump, does
/// not get there.
const ANY: u64 = 1 << 32;

impl GroupDecisions {
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

    /// Whether most of the other members report that a party was evicted. A party that was not there
    /// cannot know, and takes nobody in against them.
    pub(crate) fn is_reported(&self, party: MemberId, me: MemberId, present: &Roster) -> bool {
        let says_so = |other: &MemberId| {
            let said = self.reports.get(other);
            said.is_some_and(|said| said.iter().any(|&(member, _)| member == party))
        };
        let others = present.without(|member| member == me);
        2 * others.iter().filter(says_so).count() > others.len()
    }

    /// Takes an operator's ticket for a party, which counts until the next event. Later evictions
    /// are of later epochs than it names, so that it does not undo them, nor they it.
    pub(crate) fn show(&mut self, party: MemberId, named: Epoch) -> Result<(), Error> {
        let current = self.since(party).unwrap_or_default();
        if named < current {
            return Err(Misbehaviour::StaleEpoch { got: named, current }.into());
        }
        if named > self.horizon(self.latest, false) {
            // No later eviction could name a later epoch.
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.latest = self.latest.max(named);
        self.shown.insert(party, named);
        self.note_ticket(party, named);
        self.forget_reports(|_, (member, since)| member == party && since <= named);
        self.words.retain(|&member, &mut since| member != party || since > named);
        Ok(())
    }

    /// Takes this party's own ticket, and the operator's word that others were evicted, unless this
    /// party knows the group from later on.
    pub(crate) fn show_own(&mut self, me: MemberId, named: Epoch, others: &[MemberId]) {
        self.evicted.retain(|&(member, since)| member != me || since > named);
        self.note_ticket(me, named);
        if self.latest > named {
            return;
        }
        for &other in others.iter().filter(|&&other| other != me) {
            self.bar(other, named);
        }
    }

    /// Takes a party's word that these were evicted, in place of its last word. Returns `false` if
    /// there is no room for it.
    pub(crate) fn hear(
        &mut self,
        reporter: MemberId,
        said: &[(MemberId, Epoch)],
        me: MemberId,
        current: Epoch,
        present: &Roster,
    ) -> bool {
        self.reports.remove(&reporter);
        let horizon = self.horizon(current, !present.is_empty());
        let is_news = |&(member, since): &(MemberId, Epoch)| {
            member != me && self.since(member).is_none_or(|known| since > known)
        };
        let news = said.iter().copied().take(EVICTED).filter(is_news);
        let news: BTreeMap<_, _> =
            news.map(|(member, since)| (member, since.min(horizon))).collect();
        let kept: usize = self.reports.values().map(Vec::len).sum();
        if kept + news.len() > REPORTED {
            return false;
        }
        if !news.is_empty() && reporter != me {
            self.reports.insert(reporter, news.into_iter().collect());
            self.believe(present);
        }
        true
    }

    /// Refuses an operator's word that evicts a party, if a ticket or an eviction of it is later, or
    /// if no ticket could be.
    pub(crate) fn require_last_word(&self, member: MemberId, since: Epoch) -> Result<(), Error> {
        let ticket = self.admitted.get(&member).copied().filter(|&named| named >= since);
        let eviction = self.since(member).max(self.words.get(&member).copied());
        if let Some(current) = ticket.max(eviction.filter(|&known| known > since)) {
            return Err(Misbehaviour::StaleEpoch { got: since, current }.into());
        }
        if since > self.horizon(self.latest, false) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        Ok(())
    }

    /// Takes an operator's word that evicts a party which is not there. The word may be an old one,
    /// so it counts if that eviction is known, or a member reports it.
    pub(crate) fn hear_word(&mut self, member: MemberId, since: Epoch, present: &Roster) {
        if self.is_evicted(member) {
            self.bar(member, since);
        } else if self.words.len() < EVICTED || self.words.contains_key(&member) {
            let latest = self.words.entry(member).or_default();
            *latest = since.max(*latest);
            self.believe(present);
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
        evicts: impl Iterator<Item = (MemberId, EvictionDecision)>,
    ) -> Evictions {
        let mut after: BTreeMap<_, _> = self.evicted.iter().copied().collect();
        after.extend(evicts.map(|(member, verdict)| (member, self.next_since(epoch, verdict))));
        after.retain(|&member, _| roster.place(member).is_none());
        after.into_iter().take(EVICTED).collect()
    }

    /// Refuses an announcement that evicts a present member without a decision.
    pub(crate) fn require_decided(
        &self,
        epoch: Epoch,
        present: &Roster,
        announcement: &Announcement,
        decided: impl Fn(MemberId) -> Option<EvictionDecision>,
    ) -> Result<(), Error> {
        let is_decided = announcement.evicted.iter().all(|&(member, since)| {
            let counts = |verdict: EvictionDecision| !verdict.by_members || since >= epoch;
            present.place(member).is_none() || decided(member).is_some_and(counts)
        });
        if is_decided { Ok(()) } else { Err(Misbehaviour::InvalidRoster.into()) }
    }

    /// Refuses an announcement, of whatever kind, that takes in a party against the rules, or of an
    /// epoch that no group comes to. `known` are the members that this party knows from its
    /// present membership, or its last one. Nobody can tell a newcomer who has shown a ticket; but
    /// who was evicted needs one everywhere.
    pub(crate) fn require_admissible(
        &self,
        (epoch, horizon): (Epoch, Epoch),
        (me, known): (MemberId, &Roster),
        announcement: &Announcement,
    ) -> Result<(), Error> {
        let may_be_in = |party| {
            let needs_no_ticket = known.is_empty() || known.place(party).is_some();
            party == me || self.may_join(party) || (needs_no_ticket && !self.is_evicted(party))
        };
        if !announcement.roster.iter().all(may_be_in) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        if epoch <= horizon { Ok(()) } else { Err(Misbehaviour::UnexpectedMessage.into()) }
    }

    /// The latest epoch that a party in this epoch believes. Later ones count as this one.
    pub(crate) fn horizon(&self, current: Epoch, is_member: bool) -> Epoch {
        let near = self.latest.max(current).0.saturating_add(JUMP);
        Epoch(if is_member { near } else { near.max(ANY) })
    }

    /// Takes over what an announcement says of evictions. Members of `before` that are `decided` to
    /// be evicted and are gone were evicted now, whether the announcer says so or not. Other
    /// evictions that are not known here, or of later epochs, are the announcer's report. What is
    /// known stays, unless the member is there again.
    pub(crate) fn adopt(
        &mut self,
        epoch: Epoch,
        (me, before): (MemberId, &Roster),
        announcement: &Announcement,
        decided: impl Fn(MemberId) -> Option<EvictionDecision>,
    ) {
        let Announcement { roster, evicted, latest, .. } = announcement;
        let horizon = self.horizon(epoch, !before.is_empty());
        if *latest > epoch {
            self.latest = self.latest.max(horizon.min(*latest));
        }
        let announced: BTreeMap<_, _> =
            evicted.iter().map(|&(member, since)| (member, since.min(horizon))).collect();
        let gone = before.without(|member| roster.place(member).is_some());
        let decided: Vec<_> =
            gone.iter().filter_map(|member| Some((member, decided(member)?))).collect();
        for (member, verdict) in decided {
            let since = self.next_since(epoch, verdict);
            let announced = announced.get(&member).filter(|_| verdict.by_members);
            self.bar(member, announced.map_or(since, |&announced| since.max(announced)));
        }
        self.evicted.retain(|&(member, _)| roster.place(member).is_none());
        self.words.retain(|&member, _| roster.place(member).is_none());
        self.advance(epoch);
        self.forget_reports(|reporter, (member, _)| {
            roster.place(reporter).is_none() || roster.place(member).is_some()
        });
        if self.rules.evict == Evict::One {
            // All members hear this word alike.
            announced.into_iter().for_each(|(member, since)| self.bar(member, since));
        }
        self.hear(roster.at(0), evicted, me, epoch, roster);
        self.believe(roster);
        let marks = self.evicted.iter().map(|&(_, since)| since);
        self.latest = marks.fold(self.latest, Epoch::max);
    }

    /// Notes that the group has come to an epoch. Tickets must be shown again: so all members of
    /// an epoch have seen the same ones, those that came with it included.
    pub(crate) fn advance(&mut self, epoch: Epoch) {
        self.latest = self.latest.max(epoch);
        self.shown.clear();
    }

    /// Takes as known what enough parties report of parties that are not present: as many members
    /// as may evict, and at least two; or one beside an operator's word. A party without a group
    /// knows no members, and takes the report of any.
    fn believe(&mut self, present: &Roster) {
        let is_in_group = !present.is_empty();
        let least = match self.rules.evict {
            Evict::Members(least) => (least as usize).max(2),
            Evict::One | Evict::Operators => 2,
        };
        let mut said: BTreeMap<MemberId, Vec<Epoch>> = BTreeMap::new();
        let believed = self.reports.iter().filter(|&(&reporter, _)| {
            !self.is_evicted(reporter) && (!is_in_group || present.place(reporter).is_some())
        });
        for &(member, since) in believed.flat_map(|(_, reported)| reported) {
            said.entry(member).or_default().push(since);
        }
        for (member, mut since) in said {
            // So many say this epoch or a later one.
            since.sort_unstable_by(|one, other| other.cmp(one));
            let by_word = self.words.get(&member).copied();
            let since = since.get(least - 1).copied().max(by_word);
            if let Some(since) = since.filter(|_| present.place(member).is_none()) {
                self.bar(member, since);
            }
        }
        let known: BTreeMap<_, _> = self.evicted.iter().copied().collect();
        self.forget_reports(|_, (member, since)| {
            known.get(&member).is_some_and(|&known| since <= known)
        });
        self.words.retain(|member, _| !known.contains_key(member));
    }

    /// Notes an eviction, which may be known as of an earlier epoch.
    fn bar(&mut self, member: MemberId, since: Epoch) {
        match self.place(member) {
            Ok(place) => self.evicted[place].1 = since.max(self.evicted[place].1),
            Err(place) if self.has_room() => self.evicted.insert(place, (member, since)),
            Err(_) => {}
        }
    }

    /// Remembers a ticket: earlier words of operators evict its holder no more.
    fn note_ticket(&mut self, party: MemberId, named: Epoch) {
        if self.admitted.len() < EVICTED || self.admitted.contains_key(&party) {
            let latest = self.admitted.entry(party).or_default();
            *latest = named.max(*latest);
        }
    }

    fn forget_reports(&mut self, is_over: impl Fn(MemberId, (MemberId, Epoch)) -> bool) {
        self.reports.retain(|&reporter, said| {
            said.retain(|&eviction| !is_over(reporter, eviction));
            !said.is_empty()
        });
    }

    /// The epoch that a ticket must name for a member that is evicted now. An operator's word says so
    /// by itself: it may be an old one, which a ticket has undone that is not known here. If members
    /// decide, tickets of this group's earlier lives name epochs up to the latest one.
    fn next_since(
        &self,
        epoch: Epoch,
        EvictionDecision { by_members, named }: EvictionDecision,
    ) -> Epoch {
        if by_members { named.max(epoch).max(self.latest.next()) } else { named }
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
    use crate::party::Operation;

    const ME: MemberId = MemberId(1);
    const TWO: MemberId = MemberId(2);
    const FOUR: MemberId = MemberId(4);
    const NINE: MemberId = MemberId(9);
    const RULES: [Evict; 4] = [Evict::One, Evict::Members(2), Evict::Members(3), Evict::Operators];

    fn decisions(join: Join) -> GroupDecisions {
        let mut decisions = GroupDecisions::default();
        decisions.follow(Rules { join, ..Rules::default() });
        decisions.remember(Epoch(6), &[(NINE, Epoch(5))]);
        decisions
    }

    fn ruled(evict: Evict) -> GroupDecisions {
        let mut decisions = decisions(Join::Listed);
        decisions.follow(Rules { evict, ..Rules::default() });
        decisions
    }

    const BY_MEMBERS: EvictionDecision = EvictionDecision { by_members: true, named: Epoch(0) };

    fn evicts_two(member: MemberId) -> Option<EvictionDecision> {
        (member == TWO).then_some(BY_MEMBERS)
    }

    fn ids(ids: &[u32]) -> Roster {
        Roster::of(&ids.iter().copied().map(MemberId).collect::<Vec<_>>())
    }

    /// By the first of these members.
    fn announced(members: &[u32], evicted: &[(MemberId, Epoch)]) -> Announcement {
        Announcement {
            operation: Operation::Create,
            roster: ids(members),
            tickets: Vec::new(),
            evicted: evicted.to_vec(),
            latest: Epoch(0),
        }
    }

    #[test]
    fn only_a_ticket_of_the_eviction_or_later_lets_an_evicted_member_in() {
        for join in [Join::Listed, Join::Ticket] {
            for (named, is_in) in [(0, false), (4, false), (5, true), (6, true), (7, true)] {
                let mut decisions = decisions(join);
                assert!(!decisions.may_join(NINE));
                assert_eq!(decisions.show(NINE, Epoch(named)).is_ok(), is_in, "{named}");
                assert_eq!(decisions.may_join(NINE), is_in, "{named}");
                decisions.advance(Epoch(7));
                assert!(!decisions.may_join(NINE), "it must be shown again");
            }
            let mut decisions = decisions(join);
            assert_eq!(decisions.may_join(ME), join == Join::Listed);
            decisions.show(ME, Epoch(0)).unwrap();
            assert!(decisions.may_join(ME));
            assert!(decisions.show(ME, Epoch(1 + ANY)).is_err(), "no epoch is so late");
        }
    }

    /// A member hears of the eviction only after it has seen the ticket.
    #[test]
    fn a_ticket_that_was_shown_undoes_no_later_eviction() {
        for join in [Join::Listed, Join::Ticket] {
            let (mut decisions, present) = (decisions(join), ids(&[1, 2, 3]));
            decisions.show(FOUR, Epoch(3)).unwrap();
            assert!(decisions.may_join(FOUR));
            for reporter in [2, 3].map(MemberId) {
                decisions.hear(reporter, &[(FOUR, Epoch(5))], ME, Epoch(6), &present);
            }
            assert!(!decisions.may_join(FOUR));
        }
    }

    /// The group was founded anew, so that its epochs are small again. The announcer does not know of
    /// the ticket.
    #[test]
    fn a_ticket_undoes_no_later_eviction() {
        for named in [None, Some(Epoch(3)), Some(Epoch(60))] {
            let mut decisions = decisions(Join::Listed);
            decisions.show(NINE, Epoch(6)).unwrap();
            let (before, with) = (ids(&[1]), ids(&[1, 9]));
            decisions.adopt(Epoch(2), (ME, &before), &announced(&[1, 9], &[]), |_| None);
            assert!(!decisions.is_evicted(NINE));
            let again = match named {
                None => decisions.after(Epoch(3), &before, [(NINE, BY_MEMBERS)].into_iter()),
                Some(since) => [(NINE, since)].into(),
            };
            decisions.adopt(Epoch(3), (ME, &with), &announced(&[1], &again), |_| Some(BY_MEMBERS));
            assert!(decisions.show(NINE, Epoch(6)).is_err());
            let since = named.unwrap_or_default().max(Epoch(7));
            assert_eq!((decisions.evicted(), decisions.latest()), (&[(NINE, since)][..], since));
            decisions.show(NINE, since).unwrap();
        }
    }

    #[test]
    fn an_announcement_takes_in_nobody_against_the_rules_and_is_of_no_far_epoch() {
        let event = (Epoch(7), Epoch(8));
        for (known, members, is_taken) in [
            (&[1, 2][..], &[1, 2][..], true),
            (&[1, 2], &[1, 2, 4], true),
            (&[1, 2], &[1, 2, 9], false),
            (&[], &[2, 1, 9], false),
            (&[1, 2, 9], &[2, 1, 9], false),
        ] {
            let (decisions, next) = (decisions(Join::Listed), announced(members, &[]));
            let taken = decisions.require_admissible(event, (ME, &ids(known)), &next);
            assert_eq!(taken.is_ok(), is_taken, "{known:?} {members:?}");
        }
        for (is_member, farthest) in [(true, 6 + JUMP), (false, ANY)] {
            for (epoch, is_taken) in [(farthest, true), (farthest + 1, false)] {
                let (decisions, next) = (decisions(Join::Listed), announced(&[1, 2], &[]));
                let event = (Epoch(epoch), decisions.horizon(Epoch(4), is_member));
                let taken = decisions.require_admissible(event, (ME, &ids(&[1, 2])), &next);
                assert_eq!(taken.is_ok(), is_taken, "{epoch}");
            }
        }
        for (known, is_taken) in [(&[1, 2][..], false), (&[1, 2, 4], true), (&[], true)] {
            let (mut decisions, next) = (decisions(Join::Ticket), announced(&[2, 1, 4], &[]));
            let taken = decisions.require_admissible(event, (ME, &ids(known)), &next);
            assert_eq!(taken.is_ok(), is_taken, "{known:?}");
            decisions.show(FOUR, Epoch(0)).unwrap();
            decisions.require_admissible(event, (ME, &ids(known)), &next).unwrap();
        }
    }

    /// What a later epoch than any does to who hears of it: a ticket must name a late one, and no
    /// announcement is refused.
    #[test]
    fn far_epochs_beside_evictions_use_none_up() {
        let (mut decisions, present) = (decisions(Join::Listed), ids(&[1, 2]));
        let far = Epoch(u64::MAX);
        for turn in 1..4 {
            let evicted = [(TWO, far), (NINE, far)];
            let next = Announcement { latest: far, ..announced(&[1], &evicted) };
            decisions.adopt(Epoch(6 + turn), (ME, &present), &next, evicts_two);
            let latest = decisions.latest();
            assert!(latest <= Epoch(8 + turn + 2 * turn * JUMP), "{latest:?}");
            assert!(decisions.evicted().iter().all(|&(_, since)| since <= latest));
            decisions.show(NINE, latest).unwrap();
        }
    }

    #[test]
    fn a_present_member_is_evicted_by_decision_alone() {
        let (decisions, present) = (ruled(Evict::Operators), ids(&[1, 2]));
        let by_operator = EvictionDecision { by_members: false, named: Epoch(6) };
        for (evicted, decided, is_taken) in [
            (&[(TWO, Epoch(7))][..], Some(BY_MEMBERS), true),
            (&[(TWO, Epoch(7))], None, false),
            (&[(TWO, Epoch(6))], Some(BY_MEMBERS), false),
            (&[(TWO, Epoch(6))], Some(by_operator), true),
            (&[(FOUR, Epoch(6))], None, true),
        ] {
            let next = announced(&[1], evicted);
            let taken = decisions.require_decided(Epoch(7), &present, &next, |_| decided);
            assert_eq!(taken.is_ok(), is_taken, "{evicted:?} {decided:?}");
        }
        for announcer_says_so in [false, true] {
            let mut decisions = ruled(Evict::Operators);
            let evicted = [(TWO, Epoch(7))];
            let next = announced(&[1], if announcer_says_so { &evicted } else { &[] });
            decisions.adopt(Epoch(7), (ME, &present), &next, evicts_two);
            assert_eq!(decisions.evicted(), [evicted[0], (NINE, Epoch(5))]);
        }
    }

    /// Neither in announcements, however many, nor in answers.
    #[test]
    fn what_one_member_says_of_evictions_is_a_report() {
        for evict in RULES {
            let mut decisions = ruled(evict);
            let (made_up, present) = ((FOUR, Epoch(7)), ids(&[2, 1, 3]));
            decisions.hear(TWO, &[made_up], ME, Epoch(7), &present);
            assert!(!decisions.is_evicted(FOUR), "others have not heard this");
            for epoch in [7, 8] {
                let next = announced(&[2, 1, 3], &[made_up]);
                decisions.adopt(Epoch(epoch), (ME, &present), &next, |_| None);
                decisions.hear(TWO, &[made_up], ME, Epoch(epoch), &present);
            }
            assert_eq!(decisions.is_evicted(FOUR), evict == Evict::One, "{evict:?}");
            let two = ids(&[1, 2]);
            assert!(!decisions.is_reported(FOUR, ME, &present), "the third does not say so");
            assert_eq!(decisions.is_reported(FOUR, ME, &two), evict != Evict::One);
            let report = |decisions: &mut GroupDecisions, reporter, since| {
                decisions.hear(MemberId(reporter), &[(FOUR, Epoch(since))], ME, Epoch(8), &present);
                decisions.is_evicted(FOUR)
            };
            assert_eq!(report(&mut decisions, 8, 7), evict == Evict::One, "8 is no member");
            let two_suffice = evict != Evict::Members(3);
            assert_eq!(report(&mut decisions, 3, 9), two_suffice);
            if evict != Evict::One && two_suffice {
                assert_eq!(decisions.since(FOUR), Some(Epoch(7)), "of 7 and 9, both say 7");
            }
            // The reporters leave, and their word with them.
            let mut decisions = ruled(evict);
            decisions.hear(TWO, &[made_up], ME, Epoch(8), &present);
            decisions.adopt(Epoch(9), (ME, &present), &announced(&[1, 3], &[]), |_| None);
            assert!(decisions.reports.is_empty());
        }
    }

    #[test]
    fn a_party_without_a_group_believes_no_single_report() {
        for evict in RULES {
            let (mut decisions, nobody) = (ruled(evict), Roster::default());
            let told = [(FOUR, Epoch(3)), (NINE, Epoch(9))];
            decisions.hear(TWO, &told, ME, Epoch(0), &nobody);
            decisions.hear(TWO, &told, ME, Epoch(0), &nobody);
            assert_eq!(decisions.evicted(), [(NINE, Epoch(5))]);
            decisions.hear(MemberId(3), &told, ME, Epoch(0), &nobody);
            assert_eq!(decisions.is_evicted(FOUR), evict != Evict::Members(3), "{evict:?}");
        }
    }

    #[test]
    fn an_operators_old_word_counts_beside_a_report() {
        for present in [&[1, 2, 3][..], &[]] {
            for is_word_first in [false, true] {
                let (mut decisions, present) = (ruled(Evict::Operators), ids(present));
                let report = |decisions: &mut GroupDecisions| {
                    decisions.hear(TWO, &[(FOUR, Epoch(9))], ME, Epoch(8), &present)
                };
                let word =
                    |decisions: &mut GroupDecisions| decisions.hear_word(FOUR, Epoch(8), &present);
                if is_word_first {
                    word(&mut decisions);
                    assert!(!decisions.is_evicted(FOUR), "it may be old");
                    report(&mut decisions);
                } else {
                    report(&mut decisions);
                    assert!(!decisions.is_evicted(FOUR));
                    word(&mut decisions);
                }
                assert_eq!(decisions.since(FOUR), Some(Epoch(8)));
                for (since, is_last) in [(7, false), (8, true), (9, true)] {
                    assert_eq!(decisions.require_last_word(FOUR, Epoch(since)).is_ok(), is_last);
                }
                assert!(decisions.words.is_empty());
            }
        }
        let (mut decisions, present) = (ruled(Evict::Operators), ids(&[1, 2, 3]));
        decisions.hear_word(FOUR, Epoch(8), &present);
        decisions.show(FOUR, Epoch(8)).unwrap();
        decisions.hear(TWO, &[(FOUR, Epoch(8))], ME, Epoch(8), &present);
        assert!(!decisions.is_evicted(FOUR), "the ticket is later");
    }

    #[test]
    fn reports_do_not_fill_the_memory() {
        let (mut decisions, nobody) = (ruled(Evict::Operators), Roster::default());
        let made_up = |turn: u32| {
            (0..2 * EVICTED as u32).map(move |id| (MemberId(100 + turn * 10_000 + id), Epoch(1)))
        };
        let kept =
            |decisions: &GroupDecisions| decisions.reports.values().map(Vec::len).sum::<usize>();
        for turn in 0..100 {
            let said: Vec<_> = made_up(turn).collect();
            assert!(decisions.hear(TWO, &said, ME, Epoch(0), &nobody));
            assert_eq!(kept(&decisions), EVICTED);
        }
        let room = REPORTED / EVICTED;
        for reporter in 0..100 {
            let said: Vec<_> = made_up(reporter).collect();
            let has_room = decisions.hear(MemberId(10 + reporter), &said, ME, Epoch(0), &nobody);
            assert_eq!(has_room, (reporter as usize) < room - 1);
        }
        assert_eq!(kept(&decisions), REPORTED);
    }

    #[test]
    fn no_eviction_is_forgotten() {
        let mut decisions = decisions(Join::Listed);
        let (three, present) = (MemberId(3), ids(&[1, 2]));
        let said = [(three, Epoch(7)), (NINE, Epoch(4))];
        decisions.adopt(Epoch(7), (ME, &present), &announced(&[2, 1], &said), |_| None);
        assert_eq!(decisions.evicted(), [(three, Epoch(7)), (NINE, Epoch(5))]);
        decisions.adopt(Epoch(8), (ME, &present), &announced(&[2, 1, 9], &[]), |_| None);
        assert_eq!(decisions.evicted(), [(three, Epoch(7))]);
    }

    #[test]
    fn an_operators_ticket_leaves_other_words_and_later_ones() {
        for (party, word) in [(NINE, Epoch(5)), (FOUR, Epoch(9))] {
            let (mut decisions, present) = (ruled(Evict::Operators), ids(&[1, 2, 3]));
            decisions.hear_word(FOUR, word, &present);
            decisions.show(party, Epoch(8)).unwrap();
            decisions.hear(TWO, &[(FOUR, word)], ME, Epoch(8), &present);
            assert!(decisions.is_evicted(FOUR), "{party:?} {word:?}");
        }
    }

    #[test]
    fn a_full_list_takes_no_eviction() {
        for (count, has_room) in [(EVICTED - 1, true), (EVICTED, false)] {
            let mut decisions = GroupDecisions::default();
            let evicted: Vec<_> = (0..count as u32).map(|id| (MemberId(id), Epoch(1))).collect();
            decisions.remember(Epoch(1), &evicted);
            assert_eq!(decisions.has_room(), has_room);
        }
    }

    #[test]
    fn who_shows_its_own_ticket_learns_who_else_is_out_unless_it_knows_better() {
        for (named, counts) in [(5, false), (6, true), (7, true)] {
            let mut decisions = decisions(Join::Listed);
            decisions.show_own(ME, Epoch(named), &[FOUR, ME]);
            assert_eq!(decisions.since(FOUR), counts.then_some(Epoch(named)), "{named}");
            assert!(!decisions.is_evicted(ME));
        }
    }

    #[test]
    fn a_ticket_ends_reports_of_its_party_alone() {
        let (mut decisions, present) = (ruled(Evict::Operators), ids(&[1, 2, 3, 5]));
        decisions.hear(TWO, &[(FOUR, Epoch(7))], ME, Epoch(8), &present);
        decisions.show(NINE, Epoch(8)).unwrap();
        decisions.hear(MemberId(3), &[(FOUR, Epoch(7))], ME, Epoch(8), &present);
        assert!(decisions.is_evicted(FOUR));
    }

    #[test]
    fn words_do_not_fill_the_memory() {
        let (mut decisions, present) = (ruled(Evict::Operators), ids(&[1, 2]));
        for id in 0..EVICTED as u32 + 2 {
            decisions.hear_word(MemberId(100 + id), Epoch(7), &present);
        }
        assert_eq!(decisions.words.len(), EVICTED);
    }

    #[test]
    fn a_ticket_ends_what_was_reported_before_it() {
        for (since, stays) in [(7, false), (8, false), (9, true)] {
            let (mut decisions, present) = (ruled(Evict::Operators), ids(&[1, 2, 3]));
            decisions.hear(TWO, &[(FOUR, Epoch(since))], ME, Epoch(8), &present);
            decisions.show(FOUR, Epoch(8)).unwrap();
            decisions.hear(MemberId(3), &[(FOUR, Epoch(since))], ME, Epoch(8), &present);
            assert_eq!(decisions.is_evicted(FOUR), stays, "{since}");
        }
        assert!(decisions(Join::Listed).show(ME, Epoch(ANY)).is_ok());
    }

    #[test]
    fn reports_are_of_others_and_of_no_far_epoch() {
        let (mut decisions, present) = (ruled(Evict::Operators), ids(&[1, 2, 3]));
        let far = [(FOUR, Epoch(u64::MAX))];
        for reporter in [ME, TWO] {
            decisions.hear(reporter, &far, ME, Epoch(8), &present);
            assert!(!decisions.is_evicted(FOUR));
        }
        decisions.hear(MemberId(3), &far, ME, Epoch(8), &present);
        assert_eq!(decisions.since(FOUR), Some(Epoch(8 + JUMP)));
    }
}
