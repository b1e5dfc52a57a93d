//! Requests that were not served yet, and the rule that chooses the next event from them.
//!
//! The rule does not depend on when a request was heard: members that heard the same requests in
//! different orders choose the same event. Leaving members come before joining ones, and the
//! smaller id before the larger.

use alloc::collections::{BTreeMap, BTreeSet};

use super::announcement::Announcement;
use super::decisions::{Evict, EvictionDecision, GroupDecisions};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::{MEMBERS, Roster};
use crate::party::Operation;
use crate::scheme::Scheme;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Parties that want to join, and members that want to begin again.
    joins: BTreeSet<MemberId>,
    /// The last ticket of each party that asked. It distinguishes a request from its repetition.
    tickets: BTreeMap<MemberId, Ticket>,
    /// How many tickets have arrived so far.
    shown: u64,
    /// How many requests of each party were refused since the last event.
    refused: BTreeMap<MemberId, usize>,
    /// Members that asked to leave, or that others want to be evicted.
    leaving: BTreeSet<MemberId>,
    evicting: BTreeMap<MemberId, EvictionDecision>,
    /// Members that others want to be evicted, each with one that has said so in this epoch.
    votes: BTreeSet<(MemberId, MemberId)>,
    /// Members that this member's application considers dead.
    dead: BTreeSet<MemberId>,
    refresh: bool,
    /// The last epoch in which each member joined or left. Its earlier requests meant an earlier
    /// membership.
    turns: BTreeMap<MemberId, Epoch>,
    /// The same for all others: this member's join, or a later turn that was forgotten.
    since: Epoch,
}

/// The ticket of a party's request.
#[derive(Debug)]
struct Ticket {
    number: u64,
    /// When it was shown last, in the order of all tickets.
    shown: u64,
}

/// Who wants a member to be evicted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evictor {
    Member(MemberId),
    /// An operator, who says which epoch a later ticket must name.
    Operator {
        since: Epoch,
    },
}

/// Number of tickets that are remembered: those of the largest group, and as many again for parties
/// that could replace it. Without signatures any party can ask under any number of names.
const TICKETS: usize = 2 * MEMBERS.1 as usize;

/// Epochs by which a request may overtake the announcements that its sender has heard.
const AHEAD: u64 = 16;

impl Requests {
    /// Takes a request to join. A member that asks with a new ticket is alive, and the same ticket
    /// again is a repetition. Returns `false` if the request may mean an earlier membership: its
    /// sender had `known` an epoch before its last turn, or the ticket was served and the sender has
    /// gone since.
    pub(crate) fn join(
        &mut self,
        member: MemberId,
        ticket: u64,
        known: Epoch,
        current: Epoch,
        present: &Roster,
    ) -> bool {
        let is_repeated = self.is_last(member, ticket);
        let counts = if is_repeated {
            self.joins.contains(&member) || present.place(member).is_some()
        } else {
            self.meant(member, known, current)
        };
        if !counts {
            return false;
        }
        self.show(member, ticket);
        if !is_repeated {
            self.joins.insert(member);
            self.dead.remove(&member);
            self.make_room(present);
        }
        true
    }

    pub(crate) fn waits(&self, member: MemberId) -> bool {
        self.joins.contains(&member) || self.goes(member)
    }

    /// Whether a member's last request to join has been served.
    pub(crate) fn has_served(&self, member: MemberId, present: &Roster) -> bool {
        present.place(member).is_some() && !self.joins.contains(&member)
    }

    /// The member that tells a party in which epoch to ask, because its request may mean an earlier
    /// membership. The chair may be lost itself, and nobody may know it yet: so the members take
    /// turns while the party asks, with one ticket or with others.
    pub(crate) fn teller(&mut self, present: &Roster, party: MemberId) -> Option<MemberId> {
        if self.refused.len() == TICKETS && !self.refused.contains_key(&party) {
            self.refused.clear();
        }
        let times = self.refused.entry(party).or_default();
        let turn = *times;
        *times += 1;
        let others = || present.iter().filter(|&member| member != party && !self.goes(member));
        others().nth(turn % others().count().max(1))
    }

    /// Takes a request that a member leave. Returns `false` if it was made before the member
    /// joined, or is far ahead of the `current` epoch: it meant another membership.
    pub(crate) fn leave(&mut self, member: MemberId, known: Epoch, current: Epoch) -> bool {
        let meant = self.meant(member, known, current);
        if meant {
            self.leaving.insert(member);
        }
        meant
    }

    /// Takes a word that a member be evicted. Returns `false` if it means another membership, or may
    /// not count by the rules.
    pub(crate) fn evict(
        &mut self,
        (evictor, member): (Evictor, MemberId),
        known: Epoch,
        current: Epoch,
        rule: Evict,
    ) -> bool {
        if !self.meant(member, known, current) {
            return false;
        }
        match (evictor, rule) {
            // A word of a later epoch would count again in a later membership.
            (Evictor::Operator { .. }, _) if known > current => return false,
            (Evictor::Operator { .. }, _) | (Evictor::Member(_), Evict::One) => {}
            (Evictor::Member(_), Evict::Operators) => return false,
            (Evictor::Member(voter), Evict::Members(least)) => {
                // All members of an epoch have heard the same votes that were cast in it.
                if voter == member || known != current {
                    return false;
                }
                self.votes.insert((member, voter));
                let all = (member, MemberId(0))..=(member, MemberId(u32::MAX));
                if self.votes.range(all).count() < least as usize {
                    return true;
                }
            }
        }
        self.leaving.insert(member);
        let verdict = self.evicting.entry(member).or_default();
        match evictor {
            Evictor::Member(_) => verdict.by_members = true,
            Evictor::Operator { since } => verdict.named = verdict.named.max(since),
        }
        true
    }

    pub(crate) fn verdict(&self, member: MemberId) -> Option<EvictionDecision> {
        self.evicting.get(&member).copied()
    }

    pub(crate) fn report_dead(&mut self, member: MemberId) {
        self.dead.insert(member);
    }

    pub(crate) const fn refresh(&mut self) {
        self.refresh = true;
    }

    /// Forgets that this member asked to begin again: it has the key of the last event.
    pub(crate) fn follows(&mut self, me: MemberId) {
        self.joins.remove(&me);
    }

    /// Removes the requests that an announcement serves. `before` are the members before it.
    pub(crate) fn served(&mut self, before: &Roster, announcement: &Announcement, epoch: Epoch) {
        if before.is_empty() {
            self.since = epoch;
        }
        let gone = before.without(|member| announcement.roster.place(member).is_some());
        for member in gone.iter() {
            self.joins.remove(&member);
            self.leaving.remove(&member);
            self.evicting.remove(&member);
            self.dead.remove(&member);
            self.turns.insert(member, epoch);
        }
        // The announcer follows, even if it had asked to begin again.
        if let Some(announcer) = announcement.roster.first() {
            self.joins.remove(&announcer);
        }
        for (member, ticket) in announcement.admitted() {
            // A member that has asked again since, with another ticket, has not heard of it.
            if self.tickets.get(&member).is_none_or(|last| last.number == ticket) {
                self.joins.remove(&member);
            }
            if !self.joins.contains(&member) {
                self.show(member, ticket);
            }
            self.turns.insert(member, epoch);
        }
        self.votes.clear();
        self.refused.clear();
        self.make_room(&announcement.roster);
        self.refresh = false;
    }

    /// The event that `me` must announce, if it is the member to announce and there is something to
    /// do. Before the event under way is `settled`, only a death or a member that cannot follow is
    /// a reason. Then every member begins again, because no member knows how far the others came.
    pub(crate) fn next(
        &self,
        me: MemberId,
        present: &Roster,
        settled: bool,
        scheme: &Scheme,
        decisions: &GroupDecisions,
        epoch: Epoch,
    ) -> Option<Announcement> {
        let lost = |member| self.joins.contains(&member) && !self.goes(member);
        let mut rest = present.without(|member| self.goes(member) || lost(member));
        if rest.is_empty() {
            // All members are lost: one must announce, and the others rejoin.
            let first = present.without(|member| self.goes(member)).first();
            rest = first.map_or_else(Roster::default, |first| Roster::of(&[first]));
        }
        if rest.first() != Some(me) {
            return None;
        }
        let can = |operation| scheme.operations.contains(&operation);
        // No announcement has more members than that, whatever the scheme could do.
        let (least, most) = (scheme.members.0 as usize, scheme.members.1.min(MEMBERS.1) as usize);
        let may_join = |party| {
            let is_known = self.knows(party) || !decisions.is_reported(party, me, &rest);
            present.place(party).is_some() || (is_known && decisions.may_join(party))
        };
        let newcomers = self.newcomers(&rest, may_join, most.saturating_sub(rest.len()));
        let announce = |operation, rest: &Roster, newcomers: &Roster| {
            let roster = rest.followed_by(newcomers);
            let tickets = newcomers.iter().map(|member| self.tickets[&member].number).collect();
            let verdicts = self.evicting.iter().map(|(&member, &verdict)| (member, verdict));
            let gone = verdicts.filter(|&(member, _)| present.place(member).is_some());
            let evicted = decisions.after(epoch, &roster, gone);
            let latest = decisions.latest().max(epoch);
            let next = Announcement { operation, roster, tickets, evicted, latest };
            (next.roster.len() >= least).then_some(next)
        };
        let nobody = Roster::default();

        // A member that cannot follow and must leave is not part of the next event, but blocks this
        // one.
        let absent = |member| self.dead.contains(&member) || self.joins.contains(&member);
        let stuck = !settled && present.iter().any(absent);
        let needs_company = rest.len() < least && (stuck || settled);
        if present.iter().any(lost) || needs_company {
            return announce(Operation::Create, &rest, &newcomers);
        }
        if stuck {
            return announce(Operation::Create, &rest, &nobody);
        }
        if !settled {
            return None;
        }
        match present.len() - rest.len() {
            0 => {}
            1 if can(Operation::Remove) => return announce(Operation::Remove, &rest, &nobody),
            _ if can(Operation::Partition) => {
                return announce(Operation::Partition, &rest, &nobody);
            }
            _ if can(Operation::Remove) && present.first() == Some(me) => {
                let leaver = present.iter().filter(|&member| self.goes(member)).min();
                let rest = present.without(|member| Some(member) == leaver);
                return announce(Operation::Remove, &rest, &nobody);
            }
            _ => return announce(Operation::Create, &rest, &nobody),
        }
        match newcomers.first() {
            Some(first) if can(Operation::Add) => {
                return announce(Operation::Add, &rest, &Roster::of(&[first]));
            }
            Some(_) => return announce(Operation::Create, &rest, &newcomers),
            None if !self.refresh => return None,
            None => {}
        }
        let operation = if can(Operation::Rekey) { Operation::Rekey } else { Operation::Create };
        announce(operation, &rest, &nobody)
    }

    /// Whether this member was there when another one joined or left last. It knows then whether that
    /// one was evicted.
    pub(crate) fn knows(&self, member: MemberId) -> bool {
        self.turns.contains_key(&member)
    }

    /// The epoch since which a member's requests mean its current membership, or the next.
    fn turn(&self, member: MemberId) -> Epoch {
        self.turns.get(&member).copied().unwrap_or(self.since)
    }

    /// Whether a request about a member means its current membership, by the last epoch that its
    /// sender has `known`.
    fn meant(&self, member: MemberId, known: Epoch, current: Epoch) -> bool {
        let latest = Epoch(current.0.saturating_add(AHEAD));
        (self.turn(member)..=latest).contains(&known)
    }

    /// Whether this is the ticket that the member asked with last.
    fn is_last(&self, member: MemberId, ticket: u64) -> bool {
        self.tickets.get(&member).is_some_and(|last| last.number == ticket)
    }

    /// Remembers a ticket. Returns the member's previous one.
    fn show(&mut self, member: MemberId, number: u64) -> Option<u64> {
        self.shown += 1;
        let ticket = Ticket { number, shown: self.shown };
        self.tickets.insert(member, ticket).map(|last| last.number)
    }

    /// Forgets the parties that are not members and have not asked for the longest time. A party
    /// that still waits asks again.
    fn make_room(&mut self, present: &Roster) {
        while self.turns.len() > TICKETS {
            let gone = self.turns.iter().filter(|&(&member, _)| present.place(member).is_none());
            let Some((&member, &turn)) = gone.min_by_key(|&(_, &turn)| turn) else { break };
            self.turns.remove(&member);
            self.since = self.since.max(turn);
        }
        while self.tickets.len() > TICKETS {
            let strangers =
                self.tickets.iter().filter(|&(&member, _)| present.place(member).is_none());
            let oldest =
                strangers.min_by_key(|(_, ticket)| ticket.shown).map(|(&member, _)| member);
            let Some(oldest) = oldest else { return };
            self.tickets.remove(&oldest);
            self.joins.remove(&oldest);
        }
    }

    fn goes(&self, member: MemberId) -> bool {
        self.leaving.contains(&member) || self.dead.contains(&member)
    }

    fn newcomers(&self, rest: &Roster, may_join: impl Fn(MemberId) -> bool, room: usize) -> Roster {
        let waiting = self.joins.iter().filter(|&&member| {
            rest.place(member).is_none() && !self.goes(member) && may_join(member)
        });
        Roster::of(&waiting.take(room).copied().collect::<alloc::vec::Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// The chair may have restarted and be silent. Who asks again draws another ticket.
    #[test]
    fn every_member_tells_a_lost_one_in_turn() {
        let present = Roster::of(&[1, 2, 4].map(MemberId));
        let mut requests = Requests::default();
        let told = [(); 4].map(|()| requests.teller(&present, MemberId(4)).map(|member| member.0));
        assert_eq!(told, [Some(1), Some(2), Some(1), Some(2)]);
        // Each party has its own turns, and who leaves tells nobody.
        let mut requests = Requests::default();
        let told = [4, 5, 4, 5].map(|party| requests.teller(&present, MemberId(party)));
        assert_eq!(told, [1, 1, 2, 2].map(|member| Some(MemberId(member))));
        assert!(requests.leave(MemberId(2), Epoch(0), Epoch(0)));
        let told = [(); 3].map(|()| requests.teller(&present, MemberId(4)));
        assert_eq!(told, [Some(MemberId(1)); 3]);
        for party in 0..2 * TICKETS as u32 {
            requests.teller(&present, MemberId(100 + party));
            assert!(requests.refused.len() <= TICKETS);
        }
    }

    /// It asked to begin again, and could follow after all. The others count on it to announce.
    #[test]
    fn who_follows_after_all_is_next_in_line_again() {
        let scheme = crate::catalogue::scheme("tgdh").expect("it is in the catalogue");
        let present = Roster::of(&[1, 2, 4].map(MemberId));
        let (decisions, epoch) = (GroupDecisions::default(), Epoch(7));
        let mut requests = Requests::default();
        for (member, ticket) in [(2, 5), (1, 6)] {
            assert!(requests.join(MemberId(member), ticket, Epoch(6), Epoch(6), &present));
        }
        let two = MemberId(2);
        assert_eq!(requests.next(two, &present, true, scheme, &decisions, epoch), None);
        requests.follows(two);
        let next = requests.next(two, &present, true, scheme, &decisions, epoch);
        let roster = next.map(|next| next.roster.iter().map(|member| member.0).collect());
        assert_eq!(roster, Some(BTreeSet::from([1, 2, 4])));
    }

    /// It died before it heard that it was taken in, and was reported. It asks with the same ticket
    /// after its return, and must hear that it needs another one.
    #[test]
    fn a_ticket_that_was_served_is_refused_when_its_holder_has_gone() {
        let [one, two] = [1, 2].map(MemberId);
        let (alone, both) = (Roster::of(&[one]), Roster::of(&[one, two]));
        let announced = |operation, roster: &Roster, tickets: Vec<u64>| Announcement {
            operation,
            roster: roster.clone(),
            tickets,
            evicted: Vec::new(),
            latest: Epoch(0),
        };
        let mut requests = Requests::default();
        assert!(requests.join(two, 5, Epoch(1), Epoch(1), &alone));
        requests.served(&alone, &announced(Operation::Add, &both, vec![5]), Epoch(2));
        assert!(requests.join(two, 5, Epoch(1), Epoch(2), &both), "it has not heard of it yet");
        requests.report_dead(two);
        requests.served(&both, &announced(Operation::Remove, &alone, Vec::new()), Epoch(3));
        assert!(!requests.join(two, 5, Epoch(3), Epoch(3), &alone));
        assert!(requests.join(two, 6, Epoch(3), Epoch(3), &alone));
    }

    #[test]
    fn a_full_group_takes_nobody_in() {
        let scheme = crate::schemes::catalogue::scheme("tgdh").unwrap();
        let ids: Vec<_> = (0..MEMBERS.1).map(MemberId).collect();
        for (count, taken) in [(MEMBERS.1 - 1, true), (MEMBERS.1, false)] {
            let present = Roster::of(&ids[..count as usize]);
            let mut requests = Requests::default();
            requests.join(MemberId(5_000), 1, Epoch(0), Epoch(0), &present);
            assert_eq!(
                requests
                    .next(MemberId(0), &present, true, scheme, &GroupDecisions::default(), Epoch(1))
                    .is_some(),
                taken
            );
        }
    }

    /// One member died in mid-operation. The others asked to begin again before that was known.
    #[test]
    fn if_all_are_lost_one_leads_the_others_in_once() {
        let scheme = crate::schemes::catalogue::scheme("tgdh").unwrap();
        let (present, decisions) =
            (Roster::of(&[1, 2, 3].map(MemberId)), GroupDecisions::default());
        let mut requests = Requests::default();
        requests.join(MemberId(2), 7, Epoch(0), Epoch(0), &present);
        requests.join(MemberId(3), 8, Epoch(0), Epoch(0), &present);
        requests.report_dead(MemberId(1));
        let announced =
            requests.next(MemberId(2), &present, false, scheme, &decisions, Epoch(2)).unwrap();
        assert_eq!(announced.operation, Operation::Create);
        assert!(announced.roster.iter().eq([2, 3].map(MemberId)));
        assert_eq!(announced.tickets, [8]);
        requests.served(&present, &announced, Epoch(2));
        for settled in [false, true] {
            assert!(
                requests
                    .next(MemberId(2), &announced.roster, settled, scheme, &decisions, Epoch(3))
                    .is_none()
            );
        }
    }

    #[test]
    fn a_request_of_another_life_does_nothing() {
        let (present, now) = (Roster::of(&[1, 2].map(MemberId)), Epoch(5));
        for (known, is_meant) in [(4, false), (5, true), (5 + AHEAD, true), (6 + AHEAD, false)] {
            let mut requests = Requests { since: Epoch(5), ..Requests::default() };
            assert_eq!(requests.leave(MemberId(1), Epoch(known), now), is_meant, "{known}");
            assert_eq!(requests.leaving.contains(&MemberId(1)), is_meant, "{known}");
            let joined = requests.join(MemberId(2), 7, Epoch(known), now, &present);
            assert_eq!(joined, is_meant, "{known}");
        }
    }

    #[test]
    fn however_many_ask_members_and_the_last_ones_are_remembered() {
        let (present, mut requests) = (Roster::of(&[1, 2].map(MemberId)), Requests::default());
        requests.join(MemberId(1), 5, Epoch(0), Epoch(0), &present);
        for id in 10..10 + 2 * TICKETS as u32 {
            requests.join(MemberId(id), 5, Epoch(0), Epoch(0), &present);
            // A party that waits repeats its request.
            requests.join(MemberId(10), 5, Epoch(0), Epoch(0), &present);
        }
        assert_eq!((requests.tickets.len(), requests.joins.len()), (TICKETS, TICKETS));
        for (id, known) in [(1, true), (10, true), (11, false), (9 + 2 * TICKETS as u32, true)] {
            assert_eq!(requests.joins.contains(&MemberId(id)), known, "{id}");
            assert_eq!(requests.tickets.contains_key(&MemberId(id)), known, "{id}");
        }
    }

    /// It would count again in a later membership.
    #[test]
    fn an_operators_word_of_a_later_epoch_does_not_count() {
        for (known, counts) in [(2, false), (3, true), (4, true), (5, false)] {
            let mut requests = Requests { since: Epoch(3), ..Requests::default() };
            let word = (Evictor::Operator { since: Epoch(9) }, MemberId(1));
            let is_taken = requests.evict(word, Epoch(known), Epoch(4), Evict::Operators);
            let is_decided = requests.verdict(MemberId(1)).is_some();
            assert_eq!((is_taken, is_decided), (counts, counts), "{known}");
            assert_eq!(requests.waits(MemberId(1)), counts);
            assert!(!requests.waits(MemberId(2)));
        }
    }

    #[test]
    fn a_request_that_was_served_does_not_wait_again() {
        let (before, after) = (Roster::of(&[1].map(MemberId)), Roster::of(&[1, 5].map(MemberId)));
        let mut requests = Requests::default();
        let ask = |requests: &mut Requests, ticket, present| {
            assert!(requests.join(MemberId(5), ticket, Epoch(1), Epoch(1), present));
            requests.waits(MemberId(5))
        };
        assert!(ask(&mut requests, 7, &before));
        let served = Announcement {
            operation: Operation::Add,
            roster: after.clone(),
            tickets: [7].into(),
            evicted: [].into(),
            latest: Epoch(1),
        };
        for mut requests in [requests, Requests::default()] {
            assert!(!requests.knows(MemberId(5)));
            requests.served(&before, &served, Epoch(1));
            assert!(requests.knows(MemberId(5)));
            assert!(!ask(&mut requests, 7, &after), "a repetition");
            assert!(ask(&mut requests, 8, &after));
        }
    }

    /// The scheme removes one member at a time.
    #[test]
    fn of_two_that_leave_the_smaller_one_goes_first() {
        let (present, mut requests) =
            (Roster::of(&[1, 4, 3, 2].map(MemberId)), Requests::default());
        let takes_out_one = Scheme {
            operations: &[Operation::Create, Operation::Add, Operation::Remove],
            ..*crate::schemes::catalogue::scheme("tgdh").unwrap()
        };
        for member in [4, 3] {
            assert!(requests.leave(MemberId(member), Epoch(1), Epoch(1)));
        }
        let decisions = GroupDecisions::default();
        let next = |present| {
            let me = MemberId(1);
            let next = requests.next(me, present, true, &takes_out_one, &decisions, Epoch(2));
            let next = next.unwrap();
            (next.operation, next.roster)
        };
        let smaller = Roster::of(&[1, 4, 2].map(MemberId));
        assert_eq!(next(&present), (Operation::Remove, smaller));
        let (both, rest) =
            (Roster::of(&[4, 1, 3, 2].map(MemberId)), Roster::of(&[1, 2].map(MemberId)));
        assert_eq!(next(&both), (Operation::Create, rest.clone()), "the chair goes, too");
        let one = Roster::of(&[1, 3, 2].map(MemberId));
        assert_eq!(next(&one), (Operation::Remove, rest));
    }

    #[test]
    fn however_many_leave_the_last_ones_are_remembered() {
        let after = Roster::of(&[1].map(MemberId));
        let mut requests = Requests::default();
        let last = 10 + TICKETS as u32;
        for id in 10..=last {
            let announcement = Announcement {
                operation: Operation::Remove,
                roster: after.clone(),
                tickets: [].into(),
                evicted: [].into(),
                latest: Epoch(1),
            };
            let before = Roster::of(&[1, id].map(MemberId));
            requests.served(&before, &announcement, Epoch(u64::from(id)));
        }
        assert_eq!(requests.turns.len(), TICKETS);
        assert!(requests.knows(MemberId(last)) && !requests.knows(MemberId(10)));
        assert_eq!(requests.since, Epoch(10));
    }
}
