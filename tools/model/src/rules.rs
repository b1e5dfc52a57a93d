//! What a device does with what it hears, as the library does it. Each function names its original in
//! `crates/groupkey/src/mechanisms/event_order`.

use std::collections::{BTreeMap, BTreeSet};

/// A device's number.
pub type Id = u8;

/// An epoch of the group.
pub type EpochNumber = u8;

/// Evicted devices, each with the epoch that a ticket for it must name.
pub type Evictions = BTreeMap<Id, EpochNumber>;

/// Who may evict a member beside an operator: `Evict` in `decisions.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionRule {
    /// So many members that ask for it in one epoch.
    Members(u8),
    /// Nobody else.
    Operators,
}

/// What was mended after a review. Each mend can be taken away alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mends {
    /// What one member says of evictions is a report: `GroupDecisions::hear` and `believe`.
    pub reports: bool,
    /// Announcements of a new beginning take in nobody against the rules:
    /// `GroupDecisions::require_admissible`.
    pub admission: bool,
    /// Evictions are later than every ticket of before: `GroupDecisions::next_since`, and `latest` in
    /// an announcement.
    pub marks: bool,
    /// No epoch comes again: the first check of `Ordered::receive_announcement`.
    pub epochs: bool,
    /// Of an operator's words about one device the later one counts: an eviction names what later
    /// tickets must name. `EvictionDecision`, and `GroupDecisions::require_last_word`.
    pub words: bool,
}

impl Mends {
    /// The rules before the mends.
    pub const NONE: Self =
        Self { reports: false, admission: false, marks: false, epochs: false, words: false };
    /// The rules of now.
    pub const ALL: Self =
        Self { reports: true, admission: true, marks: true, epochs: true, words: true };
}

/// The rules of a group.
#[derive(Clone, Copy, Debug)]
pub struct ModelRules {
    /// Who may evict.
    pub evict: EvictionRule,
    /// Which mends there are.
    pub mends: Mends,
}

/// An event as a member announces it: `Announcement` in `announcement.rs`. Every one is a `Create`,
/// the operation that may change most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelAnnouncement {
    /// The founding.
    pub life: u8,
    /// The epoch after the event.
    pub epoch: EpochNumber,
    /// The members after it. The first one signs.
    pub roster: Vec<Id>,
    /// The tickets of those that are taken in, which are the last of the members.
    pub admitted: BTreeMap<Id, u8>,
    /// Who was evicted so far.
    pub evicted: Evictions,
    /// The latest epoch that the announcer knows to have been named.
    pub latest: EpochNumber,
}

/// An operator's word. It counts in every founding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// A device that was evicted in this epoch, or earlier, may join.
    Ticket(Id, EpochNumber),
    /// A member that joined in the first epoch, or earlier, is evicted until a ticket names the second
    /// one, or a later one.
    Eviction(Id, EpochNumber, EpochNumber),
}

/// How a group has decided to evict a member: `EvictionDecision` in `decisions.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct ModelEvictionDecision {
    by_members: bool,
    named: EpochNumber,
}

/// A device: `Ordered`, with `Requests` and `GroupDecisions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModelDevice {
    /// The founding that it is in, or hears of; 0 for none.
    pub life: u8,
    /// The epoch of the last event that it followed.
    pub epoch: EpochNumber,
    /// The members; empty if it is none.
    pub roster: Vec<Id>,
    former: Vec<Id>,
    passed: BTreeSet<EpochNumber>,
    /// The ticket of its own request to join or to begin again.
    pub ticket: Option<u8>,
    votes: BTreeSet<(Id, Id)>,
    evicting: BTreeMap<Id, ModelEvictionDecision>,
    turns: BTreeMap<Id, EpochNumber>,
    since: EpochNumber,
    /// Who was evicted, as it knows.
    pub evicted: Evictions,
    reports: BTreeMap<Id, Evictions>,
    words: BTreeMap<Id, EpochNumber>,
    admitted: BTreeMap<Id, EpochNumber>,
    latest: EpochNumber,
    shown: BTreeMap<Id, EpochNumber>,
}

impl ModelDevice {
    /// A member with these others since this epoch, which remembers these evictions and this latest
    /// epoch.
    pub fn member(
        epoch: EpochNumber,
        roster: &[Id],
        evicted: &Evictions,
        latest: EpochNumber,
    ) -> Self {
        Self {
            life: 1,
            epoch,
            roster: roster.to_vec(),
            passed: [epoch].into(),
            turns: evicted.keys().map(|&member| (member, epoch)).collect(),
            since: epoch,
            evicted: evicted.clone(),
            latest,
            ..Self::default()
        }
    }

    /// `Ordered::is_member`.
    pub fn is_member(&self) -> bool {
        !self.roster.is_empty()
    }

    /// `EventOrder::counts_as_member`.
    pub fn counts_as_member(&self, member: Id) -> bool {
        !self.is_member() || self.roster.contains(&member)
    }

    /// The same device after a restart: `Ordered::remembering`.
    pub fn restarted(&self, remembers: bool) -> Self {
        let (evicted, latest) = match remembers {
            true => (self.evicted.clone(), self.latest),
            false => Default::default(),
        };
        Self { evicted, latest, ..Self::default() }
    }

    /// `Ordered::found`: refused if one of the founders was evicted.
    pub fn found(&mut self, life: u8, founders: &[Id]) -> Option<()> {
        if self.is_member() || founders.iter().any(|member| self.evicted.contains_key(member)) {
            return None;
        }
        (self.life, self.epoch, self.roster, self.ticket) = (life, 1, founders.to_vec(), None);
        self.passed.clear();
        self.advance(1);
        Some(())
    }

    /// `Requests::evict`, for a member's vote that was cast in this founding and epoch.
    pub fn receive_vote(
        &mut self,
        (voter, member): (Id, Id),
        (life, epoch): (u8, EpochNumber),
        rules: ModelRules,
    ) -> Option<()> {
        let EvictionRule::Members(least) = rules.evict else { return None };
        let are_present = self.roster.contains(&voter) && self.roster.contains(&member);
        if (life, epoch) != (self.life, self.epoch) || voter == member || !are_present {
            return None;
        }
        self.votes.insert((member, voter));
        if self.votes.iter().filter(|&&(subject, _)| subject == member).count()
            >= usize::from(least)
        {
            self.evicting.entry(member).or_default().by_members = true;
        }
        Some(())
    }

    /// `Ordered::receive_ticket`, and the operator's part of `Ordered::receive_request`.
    pub fn receive_word(&mut self, me: Id, word: Word, rules: ModelRules) -> Option<()> {
        match word {
            Word::Ticket(party, named) if party == me && !self.is_member() => {
                self.evicted.retain(|&member, since| member != me || *since > named);
                self.note_ticket(me, named);
            }
            Word::Ticket(party, named) => self.show(party, named)?,
            Word::Eviction(member, epoch, since) => {
                let since = if rules.mends.words { since } else { epoch + 1 };
                let is_undone = self.admitted.get(&member).is_some_and(|&named| named >= since);
                (!rules.mends.words || !is_undone).then_some(())?;
                let is_present = self.roster.contains(&member);
                let is_out = rules.mends.words && self.evicted.contains_key(&member);
                let may_be_out = is_out || !self.turns.contains_key(&member);
                if member != me && !is_present && may_be_out && rules.mends.reports {
                    if is_out {
                        self.bar(member, since);
                        return Some(());
                    }
                    let latest = self.words.entry(member).or_default();
                    *latest = since.max(*latest);
                    self.believe(rules);
                    return Some(());
                }
                let turn = self.turns.get(&member).copied().unwrap_or(self.since);
                if !is_present || !(turn..=self.epoch).contains(&epoch) {
                    return None;
                }
                let verdict = self.evicting.entry(member).or_default();
                match rules.mends.words {
                    true => verdict.named = verdict.named.max(since),
                    false => verdict.by_members = true,
                }
            }
        }
        Some(())
    }

    /// `EventOrder::hear_evicted`, for what another device answers.
    pub fn receive_answer(&mut self, me: Id, reporter: Id, said: &Evictions, rules: ModelRules) {
        if rules.mends.reports {
            self.hear(me, reporter, said, rules);
        }
    }

    /// `GroupDecisions::hear`.
    fn hear(&mut self, me: Id, reporter: Id, said: &Evictions, rules: ModelRules) {
        self.reports.remove(&reporter);
        let is_news = |&(&member, &since): &(&Id, &EpochNumber)| {
            let is_later = |&known: &EpochNumber| rules.mends.words && since > known;
            member != me && self.evicted.get(&member).is_none_or(is_later)
        };
        let news: Evictions =
            said.iter().filter(is_news).map(|(&member, &since)| (member, since)).collect();
        if news.is_empty() || (rules.mends.reports && reporter == me) {
            return;
        }
        if rules.mends.reports {
            self.reports.insert(reporter, news);
            self.believe(rules);
        } else {
            news.into_iter().for_each(|(member, since)| self.bar(member, since));
        }
    }

    /// What the member announces that holds these for dead, and has heard these ask with these tickets,
    /// if it is the one to do so: `Requests::next`.
    pub fn announce(
        &self,
        me: Id,
        dead: &BTreeSet<Id>,
        joins: &BTreeMap<Id, u8>,
        rules: ModelRules,
    ) -> Option<ModelAnnouncement> {
        let goes = |member: &Id| dead.contains(member) || self.evicting.contains_key(member);
        let stays = |member: &&Id| !goes(member) && !joins.contains_key(member);
        let mut rest: Vec<_> = self.roster.iter().filter(stays).copied().collect();
        if rest.is_empty() {
            rest = self.roster.iter().find(|member| !goes(member)).copied().into_iter().collect();
        }
        if rest.first() != Some(&me) {
            return None;
        }
        let may_be_in = |party: Id| {
            let is_known = self.turns.contains_key(&party) || !self.is_reported(party, me, &rest);
            self.roster.contains(&party) || (is_known && self.may_join(party))
        };
        let is_new = |party: &Id| !rest.contains(party) && !goes(party) && may_be_in(*party);
        let admitted: BTreeMap<_, _> = joins
            .iter()
            .filter(|(party, _)| is_new(party))
            .map(|(&party, &ticket)| (party, ticket))
            .collect();
        let epoch = self.epoch + 1;
        let mut evicted = self.evicted.clone();
        let gone = self.evicting.iter().filter(|(member, _)| self.roster.contains(member));
        let since = |verdict| self.next_since(epoch, verdict, Mends { marks: true, ..rules.mends });
        evicted.extend(gone.map(|(&member, &verdict)| (member, since(verdict))));
        let roster = [rest, admitted.keys().copied().collect()].concat();
        evicted.retain(|member, _| !roster.contains(member));
        let latest = if rules.mends.marks { self.latest.max(epoch) } else { epoch };
        let is_event = roster != self.roster && roster.len() >= 2;
        is_event.then_some(ModelAnnouncement {
            life: self.life,
            epoch,
            roster,
            admitted,
            evicted,
            latest,
        })
    }

    /// `Ordered::receive_announcement`. Returns nothing if it changes nothing.
    pub fn receive_announcement(
        &mut self,
        me: Id,
        next: &ModelAnnouncement,
        rules: ModelRules,
    ) -> Option<()> {
        let (got, mends, announcer) = (next.epoch, rules.mends, *next.roster.first()?);
        let admits_me = self.ticket.is_some() && next.admitted.get(&me) == self.ticket.as_ref();
        let is_early = got <= self.epoch && (mends.epochs || (!admits_me && self.is_member()));
        let is_over = is_early || self.passed.contains(&got);
        if next.life != self.life || is_over || self.evicted.contains_key(&announcer) {
            return None;
        }
        match (admits_me, self.is_member()) {
            (true, false) => {}
            (true, true) => self.roster.contains(&announcer).then_some(())?,
            (false, true) => {
                (got == self.epoch + 1 && self.is_successor(next)).then_some(())?;
                let is_decided = |(member, since): (&Id, &EpochNumber)| {
                    let counts =
                        |verdict: &ModelEvictionDecision| !verdict.by_members || *since >= got;
                    !self.roster.contains(member) || self.evicting.get(member).is_some_and(counts)
                };
                next.evicted.iter().all(is_decided).then_some(())?;
            }
            // It remembers that the epoch is taken, which keeps out more than is kept out here.
            (false, false) => return None,
        }
        let is_checked = mends.admission || !admits_me;
        if is_checked && !next.roster.iter().all(|&party| self.may_be_in(me, party)) {
            return None;
        }
        match next.roster.contains(&me) {
            true => self.follow(me, next, rules),
            false => self.leave(me, next, rules),
        }
        Some(())
    }

    /// `Announcement::require_successor_of`, for a `Create`.
    fn is_successor(&self, next: &ModelAnnouncement) -> bool {
        let stay = &next.roster[..next.roster.len() - next.admitted.len()];
        let rest = self.roster.iter().filter(|member| stay.contains(member));
        rest.eq(stay)
    }

    /// `GroupDecisions::require_admissible`.
    fn may_be_in(&self, me: Id, party: Id) -> bool {
        let known = if self.is_member() { &self.roster } else { &self.former };
        let needs_no_ticket = known.is_empty() || known.contains(&party);
        party == me
            || self.may_join(party)
            || (needs_no_ticket && !self.evicted.contains_key(&party))
    }

    /// `Ordered::follow`, with `Requests::served`.
    fn follow(&mut self, me: Id, next: &ModelAnnouncement, rules: ModelRules) {
        let is_next = next.epoch == self.epoch + 1;
        self.adopt(me, next, rules);
        if !is_next {
            self.roster.clear();
            self.forget_requests();
        }
        if self.roster.is_empty() {
            self.since = next.epoch;
        }
        for member in self.roster.iter().filter(|member| !next.roster.contains(member)) {
            self.evicting.remove(member);
            self.turns.insert(*member, next.epoch);
        }
        self.turns.extend(next.admitted.keys().map(|&member| (member, next.epoch)));
        self.votes.clear();
        // A `Create` gives every member a new party.
        (self.epoch, self.roster, self.ticket) = (next.epoch, next.roster.clone(), None);
        self.former.clear();
        self.passed.retain(|&passed| passed < next.epoch);
        self.passed.insert(next.epoch);
    }

    /// `Ordered::leave`.
    fn leave(&mut self, me: Id, next: &ModelAnnouncement, rules: ModelRules) {
        self.adopt(me, next, rules);
        self.former = std::mem::take(&mut self.roster);
        self.forget_requests();
        (self.epoch, self.ticket) = (next.epoch, None);
        self.passed.insert(next.epoch);
    }

    fn forget_requests(&mut self) {
        self.votes.clear();
        self.evicting.clear();
        self.turns.clear();
        self.since = 0;
    }

    /// `GroupDecisions::adopt`.
    fn adopt(&mut self, me: Id, next: &ModelAnnouncement, rules: ModelRules) {
        let ModelAnnouncement { roster, evicted: announced, .. } = next;
        let before = std::mem::replace(&mut self.roster, roster.clone());
        if rules.mends.marks && next.latest > next.epoch {
            self.latest = self.latest.max(next.latest);
        }
        for (member, known) in self.evicted.iter_mut().filter(|_| !rules.mends.words) {
            *known = announced.get(member).map_or(*known, |&since| since.max(*known));
        }
        let verdict = |member: &Id| Some((*member, *self.evicting.get(member)?));
        let gone = before.iter().filter(|member| !roster.contains(member));
        let now: Vec<_> = gone.filter_map(verdict).collect();
        for (member, verdict) in now.into_iter().filter(|_| rules.mends.reports) {
            let since = self.next_since(next.epoch, verdict, rules.mends);
            let said = announced.get(&member).copied().filter(|_| verdict.by_members);
            let mark = if rules.mends.marks { said.max(Some(since)) } else { said.or(Some(since)) };
            mark.into_iter().for_each(|mark| self.bar(member, mark));
        }
        self.evicted.retain(|member, _| !roster.contains(member));
        self.words.retain(|member, _| !roster.contains(member));
        self.advance(next.epoch);
        self.reports.retain(|reporter, said| {
            said.retain(|member, _| !roster.contains(member));
            roster.contains(reporter) && !said.is_empty()
        });
        self.hear(me, roster[0], announced, rules);
        self.believe(rules);
        self.latest = self.evicted.values().fold(self.latest, |latest, &since| latest.max(since));
        self.roster = before;
    }

    /// `GroupDecisions::believe`.
    fn believe(&mut self, rules: ModelRules) {
        let least = match rules.evict {
            EvictionRule::Members(least) => usize::from(least).max(2),
            EvictionRule::Operators => 2,
        };
        let mut said: BTreeMap<Id, Vec<EpochNumber>> = BTreeMap::new();
        for (reporter, reported) in &self.reports {
            if !self.evicted.contains_key(reporter) && self.counts_as_member(*reporter) {
                reported
                    .iter()
                    .for_each(|(&member, &since)| said.entry(member).or_default().push(since));
            }
        }
        for (member, mut since) in said {
            since.sort_unstable_by(|one, other| other.cmp(one));
            let by_word = self.words.get(&member).copied();
            let since = since.get(least - 1).copied().max(by_word);
            if let Some(since) = since.filter(|_| !self.roster.contains(&member)) {
                self.bar(member, since);
            }
        }
        let Self { evicted, reports, words, .. } = self;
        reports.retain(|_, said| {
            said.retain(|member, since| evicted.get(member).is_none_or(|known| *since > *known));
            !said.is_empty()
        });
        words.retain(|member, _| !evicted.contains_key(member));
    }

    /// `GroupDecisions::is_reported`.
    fn is_reported(&self, party: Id, me: Id, present: &[Id]) -> bool {
        let says_so =
            |other: &&Id| self.reports.get(other).is_some_and(|said| said.contains_key(&party));
        let others = present.iter().filter(|&&member| member != me);
        2 * others.clone().filter(says_so).count() > others.count()
    }

    /// `GroupDecisions::may_join`, where every listed device may join.
    fn may_join(&self, party: Id) -> bool {
        let Some(since) = self.evicted.get(&party) else { return true };
        self.shown.get(&party).is_some_and(|named| named >= since)
    }

    /// `GroupDecisions::show`.
    fn show(&mut self, party: Id, named: EpochNumber) -> Option<()> {
        (named >= self.evicted.get(&party).copied().unwrap_or_default()).then_some(())?;
        self.latest = self.latest.max(named);
        self.shown.insert(party, named);
        self.note_ticket(party, named);
        self.reports.retain(|_, said| {
            said.retain(|&member, since| member != party || *since > named);
            !said.is_empty()
        });
        self.words.retain(|&member, since| member != party || *since > named);
        Some(())
    }

    /// `GroupDecisions::advance`.
    fn advance(&mut self, epoch: EpochNumber) {
        self.latest = self.latest.max(epoch);
        self.shown.clear();
    }

    /// `GroupDecisions::bar`.
    fn bar(&mut self, member: Id, since: EpochNumber) {
        let known = self.evicted.entry(member).or_insert(since);
        *known = since.max(*known);
    }

    /// `GroupDecisions::note_ticket`.
    fn note_ticket(&mut self, party: Id, named: EpochNumber) {
        let latest = self.admitted.entry(party).or_default();
        *latest = named.max(*latest);
    }

    /// `GroupDecisions::next_since`.
    fn next_since(
        &self,
        epoch: EpochNumber,
        verdict: ModelEvictionDecision,
        mends: Mends,
    ) -> EpochNumber {
        let ModelEvictionDecision { by_members, named } = verdict;
        let latest = if mends.marks { self.latest + 1 } else { 0 };
        if by_members { named.max(epoch).max(latest) } else { named }
    }
}
