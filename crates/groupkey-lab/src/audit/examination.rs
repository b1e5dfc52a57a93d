//! Finds the adversary that breaks a claim in a run.

use groupkey::author::Rule;
use groupkey::catalogue::{Class, Law, Scheme};
use groupkey::{MemberId, PartyId};
use groupkey_testkit::rig::ValueId;

use super::claims::{Claim, ClaimSet};
use super::closure::Closure;
use super::history::{ExecutedHistory, GroupKey, Stay};
use super::knowledge::KnowledgeReader;
use super::rules::DerivationRules;

/// A source of secrets that the adversary has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Corrupted {
    Controller,
    /// A member during its stay.
    Member(usize),
    /// All group keys but this one.
    OtherKeys(usize),
    /// A subgroup controller up to this event, without long-term keys.
    Retired(usize, u32),
    /// A subgroup controller, all the time.
    Station(usize),
}

/// A break of a claim: the parties that work together, and the key that they get.
#[derive(Clone, Debug)]
pub(super) struct Break {
    pub(super) claim: Claim,
    pub(super) coalition: Vec<Corrupted>,
    pub(super) key: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RunResult {
    pub(super) breaks: Vec<Break>,
    pub(super) tested: ClaimSet,
}

pub(super) struct Examination<'r> {
    pub(super) run: &'r ExecutedHistory,
    pub(super) reader: &'r KnowledgeReader<'r>,
    pub(super) public: Closure<'r>,
    scheme: &'static Scheme,
    wanted: ClaimSet,
    verdict: RunResult,
}

impl<'r> Examination<'r> {
    pub(super) fn new(
        scheme: &'static Scheme,
        run: &'r ExecutedHistory,
        reader: &'r KnowledgeReader<'r>,
        rules: &'r DerivationRules,
    ) -> Self {
        let public = Closure::of_public(rules);
        let (wanted, verdict) = (ClaimSet::ALL, RunResult::default());
        Self { run, reader, public, scheme, wanted, verdict }
    }

    /// Tries all adversaries against these claims. Keeps the first break of each claim.
    pub(super) fn examine(mut self, wanted: ClaimSet) -> RunResult {
        self.wanted = wanted;
        let members = self.members();
        self.key_independence();
        let public = self.closure(&[]);
        self.any_key(Claim::OutsiderSecrecy, &public, &[], |_, _| true);
        self.wraps();
        self.coalitions(&members);
        if self.scheme.class() == Class::Hybrid {
            self.subgroups(&members);
        }
        if self.scheme.has_controller() && self.wanted.has(Claim::ControllerSecrecy) {
            let closure = self.closure(&[Corrupted::Controller]);
            self.any_key(Claim::ControllerSecrecy, &closure, &[Corrupted::Controller], |_, _| true);
        }
        self.verdict
    }

    /// Returns all values that a coalition knows, and all that follow from them.
    pub(super) fn closure(&self, coalition: &[Corrupted]) -> Closure<'r> {
        let held = coalition.iter().flat_map(|&corrupted| self.known_to(corrupted));
        self.public.with(held)
    }

    /// Looks for keys that were wrapped without their epoch and place.
    fn wraps(&mut self) {
        let trace = self.reader.trace;
        if !self.wanted.has(Claim::WrapBinding) || self.run.keys.is_empty() {
            return;
        }
        let wraps = trace.acts().iter().filter(|act| act.rule == Rule::Wrap);
        for act in wraps {
            self.verdict.tested.insert(Claim::WrapBinding);
            if trace.is_bound(act) {
                continue;
            }
            let broken = Break { claim: Claim::WrapBinding, coalition: Vec::new(), key: 0 };
            self.verdict.breaks.push(broken);
            self.wanted.remove(Claim::WrapBinding);
            return;
        }
    }

    pub(super) fn known_to(&self, corrupted: Corrupted) -> Vec<ValueId> {
        let run = self.run;
        match corrupted {
            Corrupted::Controller => self.reader.known_to(PartyId::Controller, 0, run.end),
            Corrupted::Member(stay) => {
                let Stay { member, from, until, .. } = run.stays[stay];
                let party = MemberId(member).into();
                match self.scheme.law {
                    // The member has the seeds of its promised time from the beginning.
                    Law::PlannedPeriods => self.reader.known_to(party, 0, run.end),
                    _ => self.reader.known_to(party, from, until.saturating_sub(1)),
                }
            }
            Corrupted::OtherKeys(key) => {
                let others = run.keys.iter().enumerate().filter(|&(number, _)| number != key);
                others.map(|(_, key)| key.value).collect()
            }
            Corrupted::Retired(station, to) => {
                let mut known = self.reader.known_to(run.stations[station].id.into(), 0, to);
                known.retain(|value| !self.reader.is_entrusted(*value));
                known
            }
            Corrupted::Station(station) => {
                self.reader.known_to(run.stations[station].id.into(), 0, run.end)
            }
        }
    }

    /// Examines each member by itself: forward and backward secrecy. Returns what each member
    /// knows.
    fn members(&mut self) -> Vec<Option<Closure<'r>>> {
        let all = u64::MAX >> (64 - self.run.keys.len().clamp(1, 64));
        let run = self.run;
        let mut closures = Vec::new();
        for (number, stay) in run.stays.iter().enumerate() {
            let entitled = self.entitled(number);
            if entitled == all {
                closures.push(None);
                continue;
            }
            if let Some(all_stays) = self.returns(number) {
                let entitled = all_stays.iter().fold(0, |all, &stay| all | self.entitled(stay));
                let coalition: Vec<_> = all_stays.into_iter().map(Corrupted::Member).collect();
                let closure = self.closure(&coalition);
                self.any_key(Claim::CollusionResistance, &closure, &coalition, |place, _| {
                    entitled >> place & 1 == 0
                });
                closures.push(None);
                continue;
            }
            let coalition = [Corrupted::Member(number)];
            let closure = self.closure(&coalition);
            let from = stay.from;
            let is_earlier = move |key: &GroupKey| key.event < from;
            let must_not = move |place: usize| entitled >> place & 1 == 0;
            let later = match stay.expired {
                true => Claim::EvictionByRekey,
                false => Claim::ForwardSecrecy,
            };
            self.any_key(later, &closure, &coalition, |place, key| {
                must_not(place) && !is_earlier(key)
            });
            self.any_key(Claim::BackwardSecrecy, &closure, &coalition, |place, key| {
                must_not(place) && is_earlier(key)
            });
            closures.push((!stay.expired).then_some(closure));
        }
        closures
    }

    /// Returns all stays of a member that joins again with the same long-term key. A party that has
    /// this key has what is sent in each of the stays, so they count as one. The member must not
    /// get what is sent between them.
    fn returns(&self, stay: usize) -> Option<Vec<usize>> {
        let stays = &self.run.stays;
        let same = |&other: &usize| stays[other].member == stays[stay].member;
        let all: Vec<usize> = (0..stays.len()).filter(same).collect();
        (self.scheme.class() == Class::Distributed && all.len() > 1).then_some(all)
    }

    /// Examines members of different times together: all pairs, then all that left, then all.
    fn coalitions(&mut self, alone: &[Option<Closure<'r>>]) {
        if !self.wanted.has(Claim::CollusionResistance) {
            return;
        }
        let limited: Vec<usize> = (0..alone.len()).filter(|&stay| alone[stay].is_some()).collect();
        let mut coalitions: Vec<Vec<usize>> = Vec::new();
        for (place, &a) in limited.iter().enumerate() {
            coalitions.extend(limited[place + 1..].iter().map(|&b| vec![a, b]));
        }
        let left: Vec<usize> = limited
            .iter()
            .copied()
            .filter(|&stay| self.run.stays[stay].until != u32::MAX)
            .collect();
        for larger in [left, limited] {
            if larger.len() > 2 {
                coalitions.push(larger);
            }
        }
        for coalition in coalitions {
            if !self.wanted.has(Claim::CollusionResistance) {
                return;
            }
            let entitled = coalition.iter().fold(0, |all, &stay| all | self.entitled(stay));
            let corrupted: Vec<_> = coalition.iter().map(|&stay| Corrupted::Member(stay)).collect();
            let forbidden = |place: usize| entitled >> place & 1 == 0;
            if !(0..self.run.keys.len()).any(forbidden) {
                continue;
            }
            let closure = self.closure(&corrupted);
            self.any_key(Claim::CollusionResistance, &closure, &corrupted, |place, key| {
                let gets = |&stay: &usize| {
                    alone[stay].as_ref().is_none_or(|closure| closure.knows(key.value))
                };
                forbidden(place) && !coalition.iter().any(gets)
            });
        }
    }

    fn key_independence(&mut self) {
        for key in 0..self.run.keys.len() {
            if !self.wanted.has(Claim::KeyIndependence) || self.run.keys.len() < 2 {
                return;
            }
            let mut coalition = vec![Corrupted::OtherKeys(key)];
            let closure = self.closure(&coalition);
            self.any_key(Claim::KeyIndependence, &closure, &coalition, |place, _| place == key);
            // If each message has a key, subgroup controllers stay in a group of their own.
            if self.scheme.law == Law::OneMessage {
                continue;
            }
            for (station, last) in self.retired(self.run.keys[key].event) {
                coalition.push(Corrupted::Retired(station, last));
                let closure = self.closure(&coalition);
                self.any_key(Claim::KeyIndependence, &closure, &coalition, |place, _| place == key);
                coalition.pop();
            }
        }
    }

    /// Examines what subgroup controllers can do: alone, after they have served, and with a member.
    fn subgroups(&mut self, alone: &[Option<Closure<'r>>]) {
        for key in 0..self.run.keys.len() {
            for (station, last) in self.retired(self.run.keys[key].event) {
                if self.wanted.has(Claim::SubgroupForwardSecrecy) {
                    let coalition = [Corrupted::Retired(station, last)];
                    let closure = self.closure(&coalition);
                    self.any_key(
                        Claim::SubgroupForwardSecrecy,
                        &closure,
                        &coalition,
                        |place, _| place == key,
                    );
                }
            }
        }
        let stations = 0..self.run.stations.len();
        for station in stations {
            let controller = Corrupted::Station(station);
            let by_itself = self.closure(&[controller]);
            self.any_key(Claim::SubgroupSecrecy, &by_itself, &[controller], |_, _| true);
            for (stay, closure) in alone.iter().enumerate() {
                let Some(closure) = closure else { continue };
                let (entitled, from) = (self.entitled(stay), self.run.stays[stay].from);
                let gains = |place: usize, key: &GroupKey| {
                    entitled >> place & 1 == 0
                        && !by_itself.knows(key.value)
                        && !closure.knows(key.value)
                };
                let coalition = [Corrupted::Member(stay), controller];
                let together = self.closure(&coalition);
                self.any_key(Claim::SubgroupAndEvicted, &together, &coalition, |place, key| {
                    gains(place, key) && key.event >= from
                });
                self.any_key(Claim::SubgroupAndNewcomer, &together, &coalition, |place, key| {
                    gains(place, key) && key.event < from
                });
            }
        }
    }

    /// Returns the subgroup controllers that served a member once but serve none at this event.
    /// Each has the last event at which it did.
    fn retired(&self, event: u32) -> Vec<(usize, u32)> {
        let stations = self.run.stations.iter().enumerate();
        let last = |served: u64| {
            let before = served & ((1 << event) - 1);
            let serves_now = served >> event & 1 == 1;
            (before != 0 && !serves_now).then(|| 63 - before.leading_zeros())
        };
        stations.filter_map(|(number, station)| Some((number, last(station.served)?))).collect()
    }

    /// Looks for a key that the adversary must not have and has. Notes that the claim was tested.
    fn any_key(
        &mut self,
        claim: Claim,
        closure: &Closure<'_>,
        coalition: &[Corrupted],
        forbidden: impl Fn(usize, &GroupKey) -> bool,
    ) {
        if !self.wanted.has(claim) {
            return;
        }
        for (place, key) in self.run.keys.iter().enumerate() {
            if !forbidden(place, key) {
                continue;
            }
            self.verdict.tested.insert(claim);
            if closure.knows(key.value) {
                let coalition = coalition.to_vec();
                self.verdict.breaks.push(Break { claim, coalition, key: place });
                self.wanted.remove(claim);
                return;
            }
        }
    }

    /// Returns the keys that a stay may have, as bits.
    fn entitled(&self, stay: usize) -> u64 {
        let keys = self.run.keys.iter().enumerate();
        keys.fold(0, |all, (place, key)| all | (key.entitled >> stay & 1) << place)
    }
}
