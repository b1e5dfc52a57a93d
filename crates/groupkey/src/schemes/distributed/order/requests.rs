//! What was asked for and not served yet, and the rule by which the next event is chosen of it.
//!
//! The rule does not ask when something was heard: members that heard the same requests in different
//! orders choose the same. Who goes comes before who comes, and the smaller id before the larger.

use alloc::collections::{BTreeMap, BTreeSet};

use super::announcement::Announcement;
use crate::identity::{Epoch, MemberId};
use crate::party::Operation;
use crate::schemes::catalogue::Scheme;
use crate::schemes::distributed::gdh::Roster;

#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Who wants to be taken in, or, being a member, to begin anew.
    joins: BTreeSet<MemberId>,
    /// The last ticket of everybody who ever asked. It tells a request from its repetition.
    tickets: BTreeMap<MemberId, u64>,
    /// Members that asked to leave, or that others want to be evicted.
    leaving: BTreeSet<MemberId>,
    /// Those whom the own application holds for dead.
    dead: BTreeSet<MemberId>,
    refresh: bool,
    /// The epoch in which a member came, as far as it came after the own arrival.
    arrivals: BTreeMap<MemberId, Epoch>,
}

impl Requests {
    /// Who asks with a new ticket is alive, and the same ticket again is a repetition.
    pub(super) fn join(&mut self, member: MemberId, ticket: u64) {
        if self.tickets.insert(member, ticket) != Some(ticket) {
            self.joins.insert(member);
            self.dead.remove(&member);
        }
    }

    /// A member is to go. Returns false if the request was made before it came: it meant another life.
    pub(super) fn leave(&mut self, member: MemberId, known: Epoch) -> bool {
        let meant = self.arrivals.get(&member).is_none_or(|&arrival| arrival <= known);
        if meant {
            self.leaving.insert(member);
        }
        meant
    }

    pub(super) fn report_dead(&mut self, member: MemberId) {
        self.dead.insert(member);
    }

    pub(super) const fn refresh(&mut self) {
        self.refresh = true;
    }

    /// Strikes out what an announcement serves that leads on from these members.
    pub(super) fn served(&mut self, before: &Roster, announcement: &Announcement, epoch: Epoch) {
        let gone = before.without(|member| announcement.roster.place(member).is_some());
        for member in gone.iter() {
            self.joins.remove(&member);
            self.leaving.remove(&member);
            self.dead.remove(&member);
            self.arrivals.remove(&member);
        }
        for (member, ticket) in announcement.admitted() {
            self.tickets.insert(member, ticket);
            self.joins.remove(&member);
            self.arrivals.insert(member, epoch);
        }
        self.refresh = false;
    }

    /// The event that `me` has to announce, if it is the one to announce and there is something to do.
    /// Before the event under way is `settled`, only a death or a member that cannot follow is a
    /// reason: then everybody begins anew, because nobody knows how far the others have come.
    pub(super) fn next(
        &self,
        me: MemberId,
        present: &Roster,
        settled: bool,
        scheme: &Scheme,
    ) -> Option<Announcement> {
        let lost = |member| self.joins.contains(&member) && !self.goes(member);
        let mut rest = present.without(|member| self.goes(member) || lost(member));
        if rest.is_empty() {
            // All are lost: somebody has to.
            rest = present.without(|member| self.goes(member));
        }
        if rest.first() != Some(me) {
            return None;
        }
        let can = |operation| scheme.operations.contains(&operation);
        let (least, most) = (scheme.members.0 as usize, scheme.members.1 as usize);
        let newcomers = self.newcomers(&rest, most.saturating_sub(rest.len()));
        let announce = |operation, rest: &Roster, newcomers: &Roster| {
            let roster = rest.followed_by(newcomers);
            let tickets = newcomers.iter().map(|member| self.tickets[&member]).collect();
            (roster.len() >= least).then_some(Announcement { operation, roster, tickets })
        };
        let nobody = Roster::default();

        // Who cannot follow and is to go has no part in what comes, but holds up what is under way.
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

    fn goes(&self, member: MemberId) -> bool {
        self.leaving.contains(&member) || self.dead.contains(&member)
    }

    fn newcomers(&self, rest: &Roster, room: usize) -> Roster {
        let waiting =
            self.joins.iter().filter(|&&member| rest.place(member).is_none() && !self.goes(member));
        Roster::of(&waiting.take(room).copied().collect::<alloc::vec::Vec<_>>())
    }
}
