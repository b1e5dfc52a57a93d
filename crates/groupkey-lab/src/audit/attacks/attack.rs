//! An attack, and the finding about a scheme that it is tried on.

use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::rig::RigError;

use crate::audit::claims::Claim;
use crate::audit::finding::{Finding, Found, Method};
use crate::audit::subject::Subject;

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
    pub(super) run: fn(&Configuration, u64) -> Result<Outcome, RigError>,
}

/// What came of an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It succeeded: after these events, by these steps.
    Broken { history: Vec<String>, steps: Vec<String> },
    /// It was refused or noticed, or did not work.
    Holds,
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
    pub(super) fn left_out(&self, subject: &Subject) -> Finding {
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
    pub(super) fn is_slow(&self, subject: &Subject) -> bool {
        subject.is_slow() && self.breaks.is_none()
    }
}

/// The reference of an attack that nobody published.
pub(super) const OWN_ANALYSIS: &str = "own analysis";
