//! Attacks that follow a script: what no closure over derivations finds, because it is arithmetic, or
//! because it makes honest parties do something.
//!
//! Each [`Attack`] is tried on every scheme to which it can apply, in both profiles, on a small group
//! in a rig ([`run`]). It is `broken` where the attack succeeds, with the history and the steps, and
//! `holds` where it is refused or noticed, or simply does not work. The adversary is the one that the
//! attack names: somebody on the wire, with the shared MAC key of the deployment where it says
//! *insider*, for that key keeps out only those who never were in it. What no scheme says anything
//! about (key control, say) has no claim beside it: a break is then a fact to know, not a defect.
//! `docs/attacks.md` has the list in words.

mod boneh;
mod elements;
mod equivocation;
mod healing;
mod impersonation;
mod key_control;
mod key_share;
mod nishat;
mod replay;
mod rollback;
mod stage;
mod tampering;

use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::rig::RigError;

use super::sweep::Sweep;
use super::{Claim, Finding, Found, Method, Subject};

/// An attack, by the book.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its id: the claim of its findings.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Where it was published, or `own analysis`.
    pub reference: &'static str,
    /// What it shows where it succeeds.
    pub shows: &'static str,
    /// Whether it can be tried on a scheme in a profile.
    pub applies_to: fn(&Scheme, Profile) -> bool,
    /// The claim that it breaks where it succeeds; of most attacks no scheme says anything.
    pub breaks: Option<Claim>,
    run: fn(&Configuration, u64) -> Result<Outcome, RigError>,
}

/// What came of an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It succeeded: after these events, by these steps.
    Broken { history: Vec<String>, steps: Vec<String> },
    /// It was refused or noticed, or did not work.
    Holds,
}

/// All attacks, in the order of their ids.
pub static ATTACKS: &[Attack] = &[
    boneh::EAVESDROPPER,
    boneh::NEWCOMER,
    boneh::OUTSIDER,
    tampering::DROPPED,
    impersonation::FALSE_EPOCH_MAC,
    impersonation::FALSE_EPOCH_SIGNATURE,
    elements::IDENTITY,
    impersonation::IMPOSTOR_MAC,
    impersonation::IMPOSTOR_SIGNATURE,
    key_control::ATTACK,
    healing::ATTACK,
    nishat::EVICTED,
    nishat::COMMON_DIVISOR,
    nishat::NEWCOMER,
    replay::SAME_GROUP,
    replay::OLD_GROUP,
    rollback::ROLLBACK,
    elements::SMALL_SUBGROUP,
    equivocation::ATTACK,
    rollback::STALE_ANSWER,
    tampering::TAMPERED,
    key_share::ATTACK,
];

/// All attacks that apply, each with the number of its subject, in their order.
pub(super) fn applying(subjects: &[Subject]) -> Vec<(usize, &'static Attack)> {
    let of = |(number, subject): (usize, &Subject)| {
        let (scheme, profile) = (subject.scheme(), subject.profile);
        let applies = move |attack: &&Attack| (attack.applies_to)(scheme, profile);
        ATTACKS.iter().filter(applies).map(move |attack| (number, attack)).collect::<Vec<_>>()
    };
    subjects.iter().enumerate().flat_map(of).collect()
}

/// Tries these attacks on several threads, the slow ones first: nobody waits for them at the end.
pub(super) fn try_all(
    subjects: &[Subject],
    attacks: &[(usize, &Attack)],
    sweep: &Sweep<'_>,
) -> Option<Vec<Finding>> {
    let is_quick = |&place: &usize| {
        let (subject, _) = attacks[place];
        !subjects[subject].is_slow()
    };
    let mut order: Vec<usize> = (0..attacks.len()).collect();
    order.sort_by_key(is_quick);
    let tried = sweep.spread(order.len(), |turn| {
        let (subject, attack) = attacks[order[turn]];
        let audited = &subjects[subject];
        let configuration = audited.scheme().configuration(audited.profile);
        let finding = match attack.is_slow(audited) && !sweep.options.depth.slow_attacks {
            true => attack.left_out(audited),
            false => attack.run(&configuration, sweep.options.seed),
        };
        sweep.advance(1, subject);
        finding
    })?;
    let mut findings: Vec<_> = order.into_iter().zip(tried).collect();
    findings.sort_by_key(|&(place, _)| place);
    Some(findings.into_iter().map(|(_, finding)| finding).collect())
}

/// Tries every attack that applies on a scheme. The same seed gives the same findings.
pub fn run(configuration: &Configuration, seed: u64) -> Vec<Finding> {
    let (scheme, profile) = (configuration.scheme(), configuration.profile());
    let applying = ATTACKS.iter().filter(|attack| (attack.applies_to)(scheme, profile));
    applying.map(|attack| attack.run(configuration, seed)).collect()
}

impl Attack {
    /// Tries it on a scheme. An attack that cannot even be begun is `not-applicable`.
    pub fn run(&self, configuration: &Configuration, seed: u64) -> Finding {
        let (scheme, profile) = (configuration.scheme(), configuration.profile());
        let applies = (self.applies_to)(scheme, profile);
        let outcome = applies.then(|| (self.run)(configuration, seed));
        let (found, history, derivation) = match outcome {
            Some(Ok(Outcome::Broken { history, steps })) => (Found::Broken, history, steps),
            Some(Ok(Outcome::Holds)) => (Found::Holds, Vec::new(), Vec::new()),
            // A group that cannot do what the attack takes cannot be attacked with it.
            Some(Err(_)) | None => (Found::NotApplicable, Vec::new(), Vec::new()),
        };
        Finding { found, history, derivation, ..self.finding(scheme, profile) }
    }

    /// That it was left out.
    fn left_out(&self, subject: &Subject) -> Finding {
        self.finding(subject.scheme(), subject.profile)
    }

    /// A finding about a scheme, without a result yet.
    fn finding(&self, scheme: &Scheme, profile: Profile) -> Finding {
        Finding {
            scheme: scheme.id.to_owned(),
            profile: profile.name().to_owned(),
            provenance: scheme.provenance.name().to_owned(),
            claim: self.id.to_owned(),
            claimed: self.breaks.and_then(|claim| claim.is_claimed(scheme, profile)),
            found: Found::LeftOut,
            method: Method::Script,
            attack: Some(self.id.to_owned()),
            reference: Some(self.reference.to_owned()),
            history: Vec::new(),
            derivation: Vec::new(),
            searched: None,
        }
    }

    /// Whether it takes seconds on this subject: pairings, and nothing that anybody claims.
    fn is_slow(&self, subject: &Subject) -> bool {
        subject.is_slow() && self.breaks.is_none()
    }
}

const OWN_ANALYSIS: &str = "own analysis";

#[cfg(test)]
mod tests;
