//! The histories that are tried: all short ones, and longer random ones.

use std::collections::BTreeSet;

use groupkey::Operation;
use groupkey::catalogue::{Law, Recovery, Scheme};

use super::audited_scheme::AuditedScheme;
use super::history::{GroupEvent, History};

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchDepth {
    /// Events after the creation in the histories that are tried exhaustively.
    pub events: usize,
    /// Largest number of members at their creation; the smallest is 2.
    pub members: u32,
    /// Number of longer, random histories.
    pub sampled: usize,
    /// Whether to try slow scripted attacks, too: without them, what they are against is left out.
    pub slow_attacks: bool,
}

impl SearchDepth {
    /// The depth of a first look: seconds for all schemes.
    pub const QUICK: Self = Self { events: 3, members: 4, sampled: 10, slow_attacks: false };
    /// The depth of a full audit: minutes for all schemes.
    pub const FULL: Self = Self { events: 3, members: 5, sampled: 500, slow_attacks: true };

    /// Returns the real depth of a search of this subject. It is less if runs take long. If all
    /// periods are planned at the beginning, it goes as far as the periods do.
    pub fn of(self, subject: &AuditedScheme) -> Self {
        let mut depth = self;
        if subject.is_slow() {
            depth.events = depth.events.min(2);
            depth.members = depth.members.min(3);
            depth.sampled /= 50;
        }
        if subject.scheme().law == Law::PlannedPeriods {
            depth = Self { events: depth.events + 2, members: 2, sampled: 0, ..depth };
        }
        depth.members = depth.members.min(subject.scheme().members.1);
        depth
    }
}

/// The largest number of members at the creation, in the longer histories.
pub(super) const MOST_MEMBERS: u32 = 12;

/// Returns the histories of a subject, always in the same order: small groups first, random
/// histories last. None is the beginning of another exhaustive history.
pub(super) fn histories(subject: &AuditedScheme, depth: SearchDepth, seed: u64) -> Vec<History> {
    let depth = depth.of(subject);
    let scheme = subject.scheme();
    if !subject.is_modelled() {
        return Vec::new();
    }
    if scheme.law == Law::PlannedPeriods {
        return planned(depth);
    }
    let mut all = Vec::new();
    for members in 2.max(scheme.members.0)..=depth.members {
        extend(scheme, &SearchState::new(History::of(members)), depth.events, &mut all);
    }
    if scheme.operations.contains(&Operation::Rekey)
        && scheme.operations.contains(&Operation::Remove)
    {
        let least = History::of(3.max(scheme.members.0));
        all.push(History { events: vec![GroupEvent::Expire(1), GroupEvent::Rekey], ..least });
    }
    let mut random = SplitMix(seed);
    for _ in 0..depth.sampled {
        all.push(sampled(subject, depth, &mut random));
    }
    all
}

/// Returns histories in which time passes. Two members have promises: all pairs of spans of
/// periods.
fn planned(depth: SearchDepth) -> Vec<History> {
    let periods = depth.events as u64;
    let spans = (0..=periods).flat_map(|first| (first..=periods).map(move |last| (first, last)));
    let spans: Vec<_> = spans.collect();
    let mut all = Vec::new();
    for &(a, b) in &spans {
        for &(c, d) in &spans {
            let history = History::of(2);
            let events = vec![GroupEvent::Rekey; periods as usize];
            all.push(History { events, grants: vec![(2, a, b), (3, c, d)], ..history });
        }
    }
    all
}

/// The state of a group that decides which events can come next.
struct SearchState {
    history: History,
    members: BTreeSet<u32>,
    apart: BTreeSet<u32>,
    /// The member that left last, and may join again.
    gone: Option<u32>,
    next: u32,
}

fn extend(scheme: &Scheme, state: &SearchState, depth: usize, all: &mut Vec<History>) {
    let events = if depth == 0 { Vec::new() } else { state.choices(scheme) };
    if events.is_empty() {
        all.push(state.history.clone());
    }
    for event in events {
        extend(scheme, &state.after(event), depth - 1, all);
    }
}

/// Returns a history of a larger group, longer than the exhaustive ones.
fn sampled(subject: &AuditedScheme, depth: SearchDepth, random: &mut SplitMix) -> History {
    let scheme = subject.scheme();
    let most = MOST_MEMBERS as usize;
    let members = (2 + random.below(most - 1) as u32).clamp(scheme.members.0, scheme.members.1);
    let mut history = History::of(members);
    for parameter in scheme.parameters {
        let values = subject.variations(parameter.name);
        if let Some(&value) = values.get(random.below(values.len())) {
            history.parameters.push((parameter.name, value));
        }
    }
    let mut state = SearchState::new(history);
    for _ in 0..depth.events + 1 + random.below(5) {
        let mut events = state.choices(scheme);
        let can_sleep = scheme.recovery != Recovery::Rejoin && scheme.has_controller();
        if can_sleep && random.below(4) == 0 {
            let sleeper = random.below(state.members.len());
            let sleeper = state.members.iter().nth(sleeper).copied().unwrap_or_default();
            state = state.after(GroupEvent::Sleep(sleeper));
            events = state.choices(scheme);
        }
        if events.is_empty() {
            break;
        }
        let event = events.swap_remove(random.below(events.len()));
        state = state.after(event);
    }
    state.history
}

impl SearchState {
    fn new(history: History) -> Self {
        let members: BTreeSet<_> = history.members.iter().copied().collect();
        let next = history.members.len() as u32;
        Self { history, members, apart: BTreeSet::new(), gone: None, next }
    }

    /// Returns all events that can come next.
    fn choices(&self, scheme: &Scheme) -> Vec<GroupEvent> {
        let can = |operation| scheme.operations.contains(&operation);
        let mut events = Vec::new();
        let can_leave = self.members.len() > 2;
        if can(Operation::Add) {
            events.push(GroupEvent::Add(self.next));
            events.extend(self.gone.map(GroupEvent::Add));
        }
        if can(Operation::Remove) && can_leave {
            events.extend(self.members.iter().map(|&member| GroupEvent::Remove(member)));
        }
        if can(Operation::Rekey) {
            events.push(GroupEvent::Rekey);
        }
        if can(Operation::Batch) {
            let leavers = self.members.iter().map(|&member| vec![member]);
            events.extend(leavers.map(|leaver| GroupEvent::Batch(vec![self.next], leaver)));
            if self.members.len() > 3 {
                let ends = [self.members.first(), self.members.last()].map(Option::<&u32>::copied);
                events.push(GroupEvent::Batch(Vec::new(), ends.into_iter().flatten().collect()));
            }
        }
        if !self.apart.is_empty() {
            events.push(GroupEvent::Merge);
        } else if can(Operation::Partition) && self.members.len() > 3 {
            let half = self.members.len() / 2;
            events.push(GroupEvent::Partition(self.members.iter().copied().take(half).collect()));
            events.push(GroupEvent::Partition(self.members.iter().copied().step_by(2).collect()));
        }
        events
    }

    fn after(&self, event: GroupEvent) -> Self {
        let Self { history, mut members, mut apart, mut gone, mut next } = Self {
            history: self.history.clone(),
            members: self.members.clone(),
            apart: self.apart.clone(),
            ..*self
        };
        let mut join = |member: u32, members: &mut BTreeSet<u32>, gone: &mut Option<u32>| {
            members.insert(member);
            next = next.max(member + 1);
            if *gone == Some(member) {
                *gone = None;
            }
        };
        match &event {
            GroupEvent::Add(member) => join(*member, &mut members, &mut gone),
            GroupEvent::Remove(member) => {
                members.remove(member);
                gone = Some(*member);
            }
            GroupEvent::Batch(joining, leaving) => {
                joining.iter().for_each(|&member| join(member, &mut members, &mut gone));
                members.retain(|member| !leaving.contains(member));
            }
            GroupEvent::Merge => members.append(&mut apart),
            GroupEvent::Partition(part) => {
                apart = part.iter().copied().collect();
                members.retain(|member| !apart.contains(member));
            }
            GroupEvent::Expire(_) | GroupEvent::Rekey | GroupEvent::Sleep(_) => {}
        }
        let mut history = history;
        history.events.push(event);
        Self { history, members, apart, gone, next }
    }
}

/// Splitmix64: random enough to choose histories.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use groupkey::catalogue::{Profile, scheme};

    use super::*;

    /// Returns the histories of the full depth that were drawn at random.
    fn longer(id: &str) -> (AuditedScheme, Vec<History>) {
        let subject = AuditedScheme::new(scheme(id).expect("in the catalogue"), Profile::Sound);
        let all = histories(&subject, SearchDepth::FULL, 1);
        let longer = all[all.len() - SearchDepth::FULL.sampled..].to_vec();
        (subject, longer)
    }

    /// Some history with this parameter has more than so many events of a kind, and can be run.
    fn goes_beyond(id: &str, parameter: (&'static str, u32), is_of_kind: fn(&GroupEvent) -> bool) {
        let (subject, longer) = longer(id);
        let beyond = longer.iter().filter(|history| {
            let count = history.events.iter().filter(|event| is_of_kind(event)).count();
            history.parameters.contains(&parameter) && count > parameter.1 as usize
        });
        let runs = beyond.filter(|history| history.run(&subject, 1).is_some()).count();
        assert!(runs > 0, "{id}: no history goes beyond {parameter:?}");
    }

    #[test]
    fn longer_histories_reach_the_next_generation_and_the_end_of_chains() {
        goes_beyond("sgcsh", ("sessions", 4), |event| !matches!(event, GroupEvent::Sleep(_)));
        goes_beyond("s2rp", ("chain", 2), |event| matches!(event, GroupEvent::Remove(_)));
    }

    /// Whether no event is about a member while a lower one has the same past: the history then
    /// stands for those in which another of these members takes its place.
    fn stands_for_its_like(history: &History) -> bool {
        let mut pasts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut members: BTreeSet<u32> = history.members.iter().copied().collect();
        history.events.iter().enumerate().all(|(number, event)| {
            let (joining, leaving) = match event {
                GroupEvent::Add(member) => (vec![*member], Vec::new()),
                GroupEvent::Remove(member) => (Vec::new(), vec![*member]),
                GroupEvent::Batch(joining, leaving) => (joining.clone(), leaving.clone()),
                _ => return true,
            };
            let past = |member: &u32| pasts.get(member);
            let chosen = leaving.first().filter(|_| leaving.len() == 1);
            let is_least = chosen.is_none_or(|chosen| {
                members
                    .iter()
                    .take_while(|&other| other < chosen)
                    .all(|it| past(it) != past(chosen))
            });
            members.retain(|member| !leaving.contains(member));
            members.extend(&joining);
            for member in joining.into_iter().chain(leaving) {
                pasts.entry(member).or_default().push(number);
            }
            is_least
        })
    }

    /// What `docs/audit.md` says of the growth with depth, and of what symmetry would leave.
    #[test]
    fn an_event_more_is_ten_times_as_many_histories() {
        let lkh = scheme("lkh-group").expect("in the catalogue");
        let subject = AuditedScheme::new(lkh, Profile::Sound);
        let counts = [2, 3, 4].map(|events| {
            let depth = SearchDepth { events, sampled: 0, ..SearchDepth::FULL };
            let mut all = histories(&subject, depth, 1);
            // The last has an eviction by time alone.
            all.pop();
            (all.len(), all.iter().filter(|history| stands_for_its_like(history)).count())
        });
        assert_eq!(counts, [(347, 90), (3_452, 556), (35_129, 3_877)]);
    }

    #[test]
    fn longer_histories_have_large_groups_and_both_degrees() {
        for id in ["lkh-group", "s2rp", "skdc"] {
            let (_, longer) = longer(id);
            let members = longer.iter().map(|history| history.members.len() as u32).max();
            assert_eq!(members, Some(MOST_MEMBERS), "{id}");
        }
        let (_, longer) = longer("lkh-group");
        for degree in [2, 4] {
            assert!(longer.iter().any(|history| history.parameters == [("degree", degree)]));
        }
        let words = longer[0].described();
        assert!(words[0].contains(", with degree "), "{words:?}");
    }
}
