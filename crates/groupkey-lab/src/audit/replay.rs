//! One attack, told message by message: what was sent, what the adversary did with it, and who came
//! to which key.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use groupkey::catalogue::Adversary;
use groupkey_testkit::rig::{JournalEntry, RigJournal};

use super::AuditOptions;
use super::attacks::{ATTACKS, Attack};
use super::audited_scheme::AuditedScheme;
use super::claims::Claim;
use super::finding::{Finding, Found};
use super::{minimise, search};

/// What is told: a scripted attack, or the shortest history in which what an adversary derives breaks
/// a claim.
#[derive(Clone, Copy, Debug)]
pub enum ReplaySubject {
    /// An attack that follows a script.
    Attack(&'static Attack),
    /// A claim.
    Claim(Claim),
}

/// An attack as it went.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The groups that the attack needed, in order: the last one is attacked.
    pub groups: Vec<ReplayedGroup>,
    /// The number of groups in which the attack was tried before, in vain.
    pub in_vain: usize,
    /// What was found, with the adversary's steps.
    pub finding: Finding,
}

/// What happened in a group, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedGroup(pub Vec<JournalEntry>);

impl ReplaySubject {
    /// Returns all subjects: claims that a passive adversary can break, then attacks.
    pub fn all() -> impl Iterator<Item = Self> {
        let claims = Claim::against(Adversary::Passive).map(Self::Claim);
        claims.chain(ATTACKS.iter().map(Self::Attack))
    }

    /// The id of the attack, or the name of the claim.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attack(attack) => attack.id,
            Self::Claim(claim) => claim.name(),
        }
    }

    /// What it shows if it succeeds.
    pub const fn shows(self) -> &'static str {
        match self {
            Self::Attack(attack) => attack.shows,
            Self::Claim(_) => "an adversary derives a key that it must not have",
        }
    }
}

/// Tries an attack again and tells how it goes. Returns `None` if it was stopped.
///
/// What an attack needs besides the group that it ends in, such as an earlier group of the same name,
/// is told too, if a message of it is planted.
pub fn replay(
    subject: &AuditedScheme,
    told: ReplaySubject,
    options: &AuditOptions<'_>,
) -> Option<Replay> {
    match told {
        ReplaySubject::Attack(attack) => {
            let configuration = subject.scheme().configuration(subject.profile);
            let (mut finding, journals) =
                attack.run_recorded(&configuration, subject.suite, options.seed);
            finding.searched = Some(options.searched(subject));
            let groups = journals.iter().map(|journal| journal.entries().to_vec()).collect();
            Some(Replay::of(groups, finding))
        }
        ReplaySubject::Claim(claim) => replay_claim(subject, claim, options),
    }
}

fn replay_claim(
    subject: &AuditedScheme,
    claim: Claim,
    options: &AuditOptions<'_>,
) -> Option<Replay> {
    let seed = options.seed;
    let found = if subject.is_modelled() { Found::Holds } else { subject.unseen(claim) };
    let mut finding = subject.finding(claim, Adversary::Passive, found);
    finding.searched = Some(options.searched(subject));
    for history in search::histories(subject, options.depth, seed) {
        if options.stop.load(Ordering::Relaxed) {
            return None;
        }
        if !minimise::breaks(subject, &history, claim, seed) {
            continue;
        }
        let journal = RigJournal::default();
        let broken = minimise::retell(subject, &history, claim, seed, journal.clone());
        finding.found = Found::Broken;
        finding.history = broken.history.described();
        finding.derivation = broken.derivation;
        let entries = journal.entries().to_vec();
        return Some(Replay::of(vec![entries], finding));
    }
    Some(Replay::of(Vec::new(), finding))
}

impl Replay {
    /// Keeps the last group, and the last of those before it whose messages are planted in it.
    fn of(mut groups: Vec<Vec<JournalEntry>>, finding: Finding) -> Self {
        let last = groups.pop();
        let foreign = last.as_deref().map(planted_from_elsewhere).unwrap_or_default();
        let source = groups.iter().rposition(|group| {
            group.iter().any(|entry| match entry {
                JournalEntry::Sent { bytes, .. } => foreign.contains(bytes),
                _ => false,
            })
        });
        let source = source.map(|place| groups.swap_remove(place));
        let in_vain = groups.len();
        let groups = source.into_iter().chain(last).map(ReplayedGroup).collect();
        Self { groups, in_vain, finding }
    }
}

/// Returns the messages that were planted in a group and not sent in it.
fn planted_from_elsewhere(group: &[JournalEntry]) -> BTreeSet<Vec<u8>> {
    let (mut planted, mut sent) = (BTreeSet::new(), BTreeSet::new());
    for entry in group {
        match entry {
            JournalEntry::Planted { bytes, .. } => planted.insert(bytes.clone()),
            JournalEntry::Sent { bytes, .. } => sent.insert(bytes.clone()),
            _ => false,
        };
    }
    planted.difference(&sent).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use groupkey::catalogue::Profile;

    use super::*;
    use crate::audit::SearchDepth;

    fn replayed(scheme: &str, profile: Profile, name: &str) -> Replay {
        let scheme = groupkey::catalogue::scheme(scheme).expect("in the catalogue");
        let options = AuditOptions {
            depth: SearchDepth::QUICK,
            seed: 1,
            threads: 1,
            stop: &AtomicBool::new(false),
            on_progress: &|_| {},
        };
        let told = ReplaySubject::all().find(|told| told.name() == name).expect("it is told");
        replay(&AuditedScheme::new(scheme, profile), told, &options).expect("nobody stopped it")
    }

    /// The keys that a party came to.
    fn keys(group: &ReplayedGroup, of: impl Fn(&str) -> bool) -> Vec<[u8; 16]> {
        let key = |entry: &JournalEntry| match entry {
            JournalEntry::Learned { who, key, .. } if of(who) => Some(*key),
            _ => None,
        };
        group.0.iter().filter_map(key).collect()
    }

    /// What is told is what happened: the derivation ends in a key that members came to in the journal.
    #[test]
    fn a_broken_claim_ends_in_a_key_of_the_journal() {
        let told = replayed("oft", Profile::Published, "collusion-resistance");
        assert_eq!(told.finding.found, Found::Broken);
        let last = told.finding.derivation.last().expect("there are steps");
        let [group] = &told.groups[..] else { panic!("{} groups", told.groups.len()) };
        let is_told = |key: &[u8; 16]| {
            let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            last.contains(&hex)
        };
        assert!(keys(group, |_| true).iter().any(is_told), "{last}");
    }

    /// The earlier group of the same name is told, because its messages are sent again.
    #[test]
    fn what_an_attack_takes_from_another_group_is_told_with_it() {
        let told = replayed("lkh-group", Profile::Sound, "restored-store");
        assert_eq!((told.finding.found, told.groups.len()), (Found::Broken, 2));
        let victims = keys(&told.groups[1], |who| who.starts_with("member"));
        let evicted = keys(&told.groups[0], |who| who == "member 1");
        assert!(evicted.iter().any(|key| victims.contains(key)), "the evicted member has the key");
    }

    #[test]
    fn an_attack_that_fails_is_told_with_the_refusals() {
        let told = replayed("lkh-group", Profile::Sound, "false-epoch-signature");
        assert_eq!((told.finding.found, told.groups.len()), (Found::Holds, 1));
        let is_refused = |entry: &JournalEntry| matches!(entry, JournalEntry::Refused { .. });
        assert!(told.groups[0].0.iter().any(is_refused));
        assert!(replayed("skdc", Profile::Sound, "forward-secrecy").groups.is_empty());
    }
}
