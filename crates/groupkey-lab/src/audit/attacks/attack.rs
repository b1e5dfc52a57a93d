//! An attack, and the finding about a scheme that it is tried on.

use std::ops::Deref;

use groupkey::Suite;
use groupkey::catalogue::{Adversary, Configuration, Profile, Scheme};
use groupkey::error::Unsupported;
use groupkey_testkit::rig::{Guard, RigError};

use crate::audit::audited_scheme::AuditedScheme;
use crate::audit::claims::Claim;
use crate::audit::finding::{AttackCondition, Finding, Found, SearchMethod};

/// An attack that follows a script.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its id, which is also the claim of its findings.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Where it was published, or `own analysis`.
    pub reference: &'static str,
    /// What its success shows.
    pub shows: &'static str,
    /// Whether it can be tried on a scheme in a profile.
    pub applies_to: fn(&Scheme, Profile) -> bool,
    /// The claim that it breaks if it succeeds.
    pub breaks: Claim,
    /// Passive if it only computes.
    pub adversary: Adversary,
    /// What it needs that the sound profile does not have: then it breaks no claim.
    pub condition: Option<AttackCondition>,
    /// Why no scheme withstands it by itself, if none can: then it breaks no claim.
    pub inherent: Option<&'static str>,
    pub(super) run: fn(&AttackTarget<'_>, u64) -> Result<AttackOutcome, RigError>,
}

/// The scheme that an attack is tried on.
pub(super) struct AttackTarget<'a> {
    configuration: &'a Configuration,
    signing: Guard,
    suite: Option<Suite>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttackOutcome {
    /// It succeeded after these events, by these steps.
    Broken { history: Vec<String>, steps: Vec<String> },
    /// It was refused or noticed, or did not work.
    Holds,
}

impl Attack {
    /// Tries the attack on a scheme. An attack that cannot even be begun is `not-applicable`.
    pub fn run(&self, configuration: &Configuration, seed: u64) -> Finding {
        self.run_on(&AttackTarget::of(configuration), seed)
    }

    /// Does the same in a suite, or in the usual one.
    pub(in crate::audit) fn run_in(
        &self,
        configuration: &Configuration,
        suite: Option<Suite>,
        seed: u64,
    ) -> Finding {
        self.run_on(&AttackTarget { suite, ..AttackTarget::of(configuration) }, seed)
    }

    pub(super) fn run_on(&self, target: &AttackTarget<'_>, seed: u64) -> Finding {
        let (scheme, profile) = (target.scheme(), target.profile());
        let applies = (self.applies_to)(scheme, profile);
        let outcome = applies.then(|| (self.run)(target, seed));
        let (found, history, derivation) = match outcome {
            Some(Ok(AttackOutcome::Broken { history, steps })) => (Found::Broken, history, steps),
            Some(Ok(AttackOutcome::Holds)) => (Found::Holds, Vec::new(), Vec::new()),
            // A group that cannot do what the attack needs cannot be attacked with it.
            Some(Err(_)) | None => (Found::NotApplicable, Vec::new(), Vec::new()),
        };
        let suite = target.suite.map(|suite| suite.name().to_owned());
        Finding { found, history, derivation, suite, ..self.finding(scheme, profile) }
    }

    pub(super) fn left_out(&self, subject: &AuditedScheme) -> Finding {
        Finding { suite: subject.suite_name(), ..self.finding(subject.scheme(), subject.profile) }
    }

    /// Returns a finding about a scheme, without a result yet.
    fn finding(&self, scheme: &Scheme, profile: Profile) -> Finding {
        Finding {
            scheme: scheme.id.to_owned(),
            profile: profile.name().to_owned(),
            suite: None,
            provenance: scheme.provenance.name().to_owned(),
            claim: self.id.to_owned(),
            adversary: self.adversary,
            claimed: match self.bears_on_claim() {
                true => self.breaks.is_claimed(scheme, profile, self.adversary),
                false => Some(false),
            },
            condition: self.condition,
            inherent: self.inherent.or_else(|| self.breaks.inherent(scheme)).map(str::to_owned),
            found: Found::LeftOut,
            method: SearchMethod::Script,
            attack: Some(self.id.to_owned()),
            reference: Some(self.reference.to_owned()),
            history: Vec::new(),
            derivation: Vec::new(),
            searched: None,
        }
    }

    /// Whether its success breaks its claim: it does not where more is needed than the profile has.
    pub(in crate::audit) const fn bears_on_claim(&self) -> bool {
        self.condition.is_none() && self.inherent.is_none()
    }

    /// Whether the attack takes seconds on this subject: it makes parties compute pairings.
    pub(super) fn is_slow(&self, subject: &AuditedScheme) -> bool {
        subject.is_slow() && self.adversary == Adversary::Active
    }
}

impl<'a> AttackTarget<'a> {
    pub(super) const fn of(configuration: &'a Configuration) -> Self {
        Self { configuration, signing: Guard::Signature, suite: None }
    }

    /// The same scheme, whose messages are signed in another way.
    #[cfg(test)]
    pub(super) fn signing(self, signing: Guard) -> Self {
        Self { signing, ..self }
    }

    pub(super) const fn protection(&self, guard: Guard) -> Guard {
        if guard.signs() { self.signing } else { guard }
    }

    pub(super) fn suite(&self) -> Suite {
        self.suite_or(self.profile().default_suite())
    }

    pub(super) fn suite_or(&self, usual: Suite) -> Suite {
        self.suite.unwrap_or(usual)
    }

    /// Returns the only suite in which an attack works, unless another one was asked for.
    pub(super) fn only_in(&self, suite: Suite) -> Result<Suite, RigError> {
        match self.suite_or(suite) == suite {
            true => Ok(suite),
            false => Err(RigError::Command(Unsupported::Suite.into())),
        }
    }
}

impl Deref for AttackTarget<'_> {
    type Target = Configuration;

    fn deref(&self) -> &Configuration {
        self.configuration
    }
}

/// The reference of an unpublished attack.
pub(super) const OWN_ANALYSIS: &str = "own analysis";
