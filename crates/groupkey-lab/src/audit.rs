//! The audit: what a scheme claims, beside what attacking it found.
//!
//! It goes two ways. A history of a group is run with every operation traced; from the trace follows
//! what an adversary can derive, and a claim is broken where a group key that it must not have is among
//! that: this knows no scheme, what is known of the schemes comes out. And attacks that were written down
//! are tried, for what no derivation finds. A claim that either breaks is broken. `docs/audit.md` and
//! `docs/attacks.md` have the model.

pub mod attacks;
mod claims;
mod closure;
mod derivation;
mod examination;
mod finding;
mod history;
mod knowledge;
mod minimise;
mod options;
pub mod published_features;
pub mod recorded;
mod rules;
mod search;
mod subject;
mod sweep;
mod trial;

use self::attacks::ATTACKS;
use self::sweep::Sweep;

pub use self::claims::Claim;
pub use self::finding::{Audit, Finding, Found, Method, Searched};
pub use self::history::{Event, History};
pub use self::options::Options;
pub use self::search::Depth;
pub use self::subject::Subject;

/// Audits these subjects. `None` if it was stopped.
pub fn audit(subjects: &[Subject], options: &Options<'_>) -> Option<Audit> {
    let histories: Vec<Vec<History>> = subjects
        .iter()
        .map(|subject| search::histories(subject, options.depth, options.seed))
        .collect();
    let attacks = attacks::applying(subjects);
    let total = histories.iter().map(Vec::len).sum::<usize>() + attacks.len();
    let sweep = Sweep::new(options, total, subjects.len());
    let scripted = attacks::try_all(subjects, &attacks, &sweep)?;
    let mut audit = trial::try_all(subjects, &histories, &sweep)?;
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

/// What the attacks say about the claims that they are against: one that any of them breaks is
/// broken, and of one that none breaks, but some were not tried, nothing is known.
fn combine(claims: &mut [Finding], scripted: &[Finding]) {
    for script in scripted {
        let attack = ATTACKS.iter().find(|attack| attack.id == script.claim);
        let Some(claim) = attack.and_then(|attack| attack.breaks) else { continue };
        let about = |finding: &&mut Finding| {
            finding.claim == claim.name()
                && finding.scheme == script.scheme
                && finding.profile == script.profile
        };
        let Some(finding) = claims.iter_mut().find(about) else { continue };
        match (finding.found, script.found) {
            (Found::Broken, _) | (_, Found::NotApplicable) => {}
            (_, Found::Broken) => {
                let claim = std::mem::take(&mut finding.claim);
                *finding = Finding { claim, claimed: finding.claimed, ..script.clone() };
            }
            (_, Found::LeftOut) => finding.found = Found::LeftOut,
            (Found::NotApplicable, Found::Holds) => finding.found = Found::Holds,
            (Found::Holds | Found::LeftOut, Found::Holds) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::{Profile, SCHEMES};
    use groupkey::{MemberId, Operation};

    use super::closure::Closure;
    use super::knowledge::Reader;
    use super::rules::Rules;
    use super::*;

    /// A script that breaks a claim replaces the search that finds nothing, and one that was not
    /// tried for nothing known.
    #[test]
    fn a_claim_is_broken_where_a_script_breaks_it() {
        let nishat = groupkey::catalogue::scheme("nishat").expect("it is in the catalogue");
        let subject = Subject::new(nishat, Profile::Published);
        let script = |id: &str, found| Finding {
            found,
            method: Method::Script,
            attack: Some(id.to_owned()),
            claim: id.to_owned(),
            ..subject.finding(Claim::ForwardSecrecy, found)
        };
        let combined = |closure, scripts: &[Finding]| {
            let mut claims = [subject.finding(Claim::ForwardSecrecy, closure)];
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

    /// What a member has of its own, with the rules, gives it all keys that it may have: the rules redo
    /// what honest members compute, so that what is not found is not missing for want of a rule.
    #[test]
    fn from_its_own_secrets_a_member_derives_every_key_that_it_may_have() {
        for scheme in SCHEMES {
            for profile in Profile::ALL {
                let subject = Subject::new(scheme, profile);
                let mut history = History::of(3);
                let events = [Event::Add(3), Event::Remove(1), Event::Rekey, Event::Add(4)];
                history.events = events.to_vec();
                history.events.retain(|event| {
                    scheme.operations.contains(&match event {
                        Event::Remove(_) => Operation::Remove,
                        Event::Rekey => Operation::Rekey,
                        _ => Operation::Add,
                    })
                });
                let mut run = history.run(&subject, 1).expect("the scheme has these operations");
                let trace = std::mem::take(run.rig.trace().expect("it is traced"));
                let reader = Reader::new(&trace);
                let rules = Rules::of(&reader);
                let public = Closure::of_public(&rules);
                for (number, stay) in run.stays.iter().enumerate() {
                    let closure = public.with(reader.own(MemberId(stay.member).into()));
                    for key in run.keys.iter().filter(|key| key.entitled >> number & 1 == 1) {
                        let (id, profile, epoch) = (scheme.id, profile.name(), key.epoch);
                        let knows = closure.knows(key.value);
                        assert!(knows, "{id} {profile}: member {} epoch {epoch}", stay.member);
                        // A party that listens has Boneh+'s growing form, thin clients: its page says
                        // how.
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
