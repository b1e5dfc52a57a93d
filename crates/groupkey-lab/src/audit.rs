//! The audit: what a scheme claims, and what attacks on it found.
//!
//! The audit works in two ways. First, it runs a history of a group and traces every operation.
//! From the trace it derives everything that an adversary can know. A claim is broken if that
//! includes a group key that the adversary must not have. This way has no knowledge of any scheme:
//! it finds the known weaknesses by itself. Second, the audit tries attacks that were written down,
//! because no derivation finds them. A claim is broken if either way breaks it. `docs/audit.md` and
//! `docs/attacks.md` have the model.

pub mod attacks;
mod audited_scheme;
mod claims;
mod closure;
mod derivation;
mod examination;
mod finding;
mod history;
mod knowledge;
mod minimise;
pub mod published_features;
pub mod recorded;
mod rules;
mod search;
mod sweep;
mod trial;

use std::fmt;
use std::sync::atomic::AtomicBool;

use groupkey::catalogue::Adversary;

use self::attacks::ATTACKS;
use self::sweep::Sweep;
use crate::campaign::Progress;

pub use self::audited_scheme::AuditedScheme;
pub use self::claims::Claim;
pub use self::finding::{AttackCondition, Audit, Finding, Found, SearchMethod, Searched};
pub use self::history::{GroupEvent, History};
pub use self::search::SearchDepth;

/// Audits these subjects. Returns `None` if the audit was stopped.
pub fn audit(subjects: &[AuditedScheme], options: &AuditOptions<'_>) -> Option<Audit> {
    let histories: Vec<Vec<History>> = subjects
        .iter()
        .map(|subject| search::histories(subject, options.depth, options.seed))
        .collect();
    let attacks = attacks::applying(subjects);
    let total = histories.iter().map(Vec::len).sum::<usize>() + attacks.len();
    let sweep = Sweep::new(options, total, subjects.len());
    let scripted = attacks::try_all(subjects, &attacks, &sweep)?;
    let mut audit = trial::try_all(subjects, &histories, &sweep)?;
    for subject in subjects {
        let claims = Claim::against(Adversary::Active);
        let open = |claim| subject.finding(claim, Adversary::Active, Found::NotApplicable);
        audit.findings.extend(claims.map(open));
    }
    combine(&mut audit.findings, &scripted);
    audit.findings.extend(scripted);
    // A stable sort: claims stay before attacks.
    let place = |finding: &Finding| {
        subjects.iter().position(|subject| {
            subject.scheme().id == finding.scheme && subject.profile.name() == finding.profile
        })
    };
    audit.findings.sort_by_cached_key(place);
    for finding in &mut audit.findings {
        finding.searched = place(finding).map(|place| options.searched(&subjects[place]));
    }
    Some(audit)
}

/// Merges the results of the attacks into the findings about the claims that they target. A claim
/// that any attack breaks is broken. If no attack breaks a claim but some were not tried, nothing
/// is known about it.
fn combine(claims: &mut [Finding], scripted: &[Finding]) {
    for script in scripted {
        let attack = ATTACKS.iter().find(|attack| attack.id == script.claim);
        let Some(attack) = attack.filter(|attack| attack.bears_on_claim()) else { continue };
        let about = |finding: &&mut Finding| {
            finding.claim == attack.breaks.name()
                && finding.adversary == attack.adversary
                && finding.scheme == script.scheme
                && finding.profile == script.profile
        };
        let Some(finding) = claims.iter_mut().find(about) else { continue };
        match (finding.found, script.found) {
            (Found::Broken, _) | (_, Found::NotApplicable | Found::NotModelled) => {}
            (_, Found::Broken) => {
                let claim = std::mem::take(&mut finding.claim);
                let inherent = finding.inherent.take();
                *finding = Finding { claim, claimed: finding.claimed, inherent, ..script.clone() };
            }
            (_, Found::LeftOut) => finding.found = Found::LeftOut,
            (Found::NotApplicable, Found::Holds) => finding.found = Found::Holds,
            (Found::Holds | Found::LeftOut | Found::NotModelled, Found::Holds) => {}
        }
    }
}

/// Options of an audit.
#[derive(Clone, Copy)]
pub struct AuditOptions<'a> {
    /// How far to search.
    pub depth: SearchDepth,
    /// Seed of everything that is drawn at random.
    pub seed: u64,
    /// Number of threads; 0 counts as 1. The findings do not depend on it.
    pub threads: usize,
    /// When this becomes true, the audit stops at the next opportunity.
    pub stop: &'a AtomicBool,
    /// Called whenever some histories or an attack are done.
    pub on_progress: &'a (dyn Fn(Progress) + Sync),
}

impl AuditOptions<'_> {
    pub(super) fn searched(&self, subject: &AuditedScheme) -> Searched {
        let SearchDepth { events, members, sampled, slow_attacks } = self.depth.of(subject);
        let (seed, depth, quick) = (self.seed, self.depth.events, !slow_attacks);
        Searched { seed, depth, quick, members, events, sampled }
    }
}

impl fmt::Debug for AuditOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditOptions")
            .field("depth", &self.depth)
            .field("seed", &self.seed)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{Adversary, Assumption, Profile, SCHEMES, Scheme};
    use groupkey::{MemberId, Operation, Suite};

    use super::closure::Closure;
    use super::knowledge::KnowledgeReader;
    use super::rules::DerivationRules;
    use super::*;

    /// A script that breaks a claim replaces the result of the search. A script that was not tried
    /// leaves the claim unknown.
    #[test]
    fn a_claim_is_broken_where_a_script_breaks_it() {
        let nishat = groupkey::catalogue::scheme("nishat").expect("it is in the catalogue");
        let subject = AuditedScheme::new(nishat, Profile::Published);
        let script = |id: &str, found| Finding {
            found,
            method: SearchMethod::Script,
            attack: Some(id.to_owned()),
            claim: id.to_owned(),
            ..subject.finding(Claim::ForwardSecrecy, Adversary::Passive, found)
        };
        let combined = |closure, scripts: &[Finding]| {
            let mut claims = [subject.finding(Claim::ForwardSecrecy, Adversary::Passive, closure)];
            combine(&mut claims, scripts);
            let [claim] = claims;
            assert_eq!(claim.claim, Claim::ForwardSecrecy.name());
            (claim.found, claim.attack)
        };
        let breaks = script("nishat-gcd", Found::Broken);
        let fails = script("nishat-evicted", Found::Holds);
        let untried = script("nishat-evicted", Found::LeftOut);
        let unclaimed = script("stale-answer", Found::Broken);
        let gcd = Some("nishat-gcd".to_owned());
        let all = [untried.clone(), breaks, fails.clone()];
        assert_eq!(combined(Found::Holds, &all), (Found::Broken, gcd));
        assert_eq!(combined(Found::Broken, &all), (Found::Broken, None));
        assert_eq!(combined(Found::Holds, &[untried, fails.clone()]), (Found::LeftOut, None));
        assert_eq!(combined(Found::Holds, &[fails, unclaimed]), (Found::Holds, None));
    }

    /// A member's own secrets and the rules give it all keys that it may have. The rules redo what
    /// honest members compute, so a key that is not found is not missing for lack of a rule.
    #[test]
    fn from_its_own_secrets_a_member_derives_every_key_that_it_may_have() {
        // What encapsulates keys computes something else in the post-quantum suite.
        let encapsulates = |scheme: &Scheme| scheme.assumption == Assumption::Encapsulation;
        for scheme in SCHEMES {
            let hybrid = encapsulates(scheme).then_some((Profile::Sound, Some(Suite::Pq)));
            for (profile, suite) in
                Profile::ALL.map(|profile| (profile, None)).into_iter().chain(hybrid)
            {
                let mut subject = AuditedScheme::new(scheme, profile);
                subject.suite = suite;
                let mut history = History::of(3);
                let events = [
                    GroupEvent::Add(3),
                    GroupEvent::Remove(1),
                    GroupEvent::Rekey,
                    GroupEvent::Add(4),
                ];
                history.events = events.to_vec();
                history.events.retain(|event| {
                    scheme.operations.contains(&match event {
                        GroupEvent::Remove(_) => Operation::Remove,
                        GroupEvent::Rekey => Operation::Rekey,
                        _ => Operation::Add,
                    })
                });
                let mut run = history.run(&subject, 1).expect("the scheme has these operations");
                let trace = std::mem::take(run.rig.trace().expect("it is traced"));
                let reader = KnowledgeReader::new(&trace);
                let rules = DerivationRules::of(&reader);
                let public = Closure::of_public(&rules);
                for (number, stay) in run.stays.iter().enumerate() {
                    let closure = public.with(reader.own(MemberId(stay.member).into()));
                    for key in run.keys.iter().filter(|key| key.entitled >> number & 1 == 1) {
                        let (id, profile, epoch) = (scheme.id, profile.name(), key.epoch);
                        let knows = closure.knows(key.value);
                        assert!(knows, "{id} {profile}: member {} epoch {epoch}", stay.member);
                        // In Boneh+'s growing form with thin clients, a party that only listens
                        // gets the key: its page says how.
                        let open = id == "boneh-thin" && profile == Profile::Published.name();
                        let known = public.knows(key.value);
                        assert!(open || !known, "{id} {profile}: all know epoch {epoch}");
                    }
                }
                assert!(!run.keys.is_empty(), "{}", scheme.id);
            }
        }
    }
}
