//! What is audited: a scheme in a profile, from the catalogue or from elsewhere.

use groupkey::Suite;
use groupkey::catalogue::{Adversary, Profile, Provenance, Scheme};
use groupkey_testkit::rig::{Rig, Settings};

use super::claims::Claim;
use super::finding::{Finding, Found, SearchMethod};

/// A scheme in a profile, with parameters that suit small groups.
#[derive(Clone, Debug)]
pub struct AuditedScheme {
    scheme: &'static Scheme,
    /// The form of the scheme.
    pub profile: Profile,
    /// Parameters that differ from the profile's.
    pub parameters: Vec<(&'static str, u32)>,
    /// The suite of all groups, in which the scheme must be able to run. If there is none, derivations
    /// are of groups in `standard`, and a script has the suite of its profile, or one of its own.
    pub suite: Option<Suite>,
}

impl AuditedScheme {
    /// Returns a scheme in a profile, with parameters that suit short histories of small groups:
    /// capacities and promised times as small as the scheme allows, binary trees, two subgroups.
    /// Some leaks need other values, so an audit tries variations of them too.
    pub fn new(scheme: &'static Scheme, profile: Profile) -> Self {
        let small = |name| match (scheme.id, name) {
            (_, "subgroups") => Some(2),
            ("lkh-user" | "lkh-key" | "lkh-group" | "lkh-plus" | "s2rp", "degree") => Some(2),
            ("sgcsh", "sessions") => Some(24),
            ("marks", "depth") => Some(4),
            ("marks", "planned") => Some(2),
            (_, "capacity") => {
                scheme.parameters.iter().find(|p| p.name == "capacity").map(|p| p.range.0)
            }
            _ => None,
        };
        let names = scheme.parameters.iter().map(|parameter| parameter.name);
        let parameters = names.filter_map(|name| Some((name, small(name)?))).collect();
        Self { scheme, profile, parameters, suite: None }
    }

    /// Returns values of a parameter that are all tried in the longer histories: trees of two
    /// degrees, sessions and chains that end within the history and some that do not.
    pub(super) fn variations(&self, name: &str) -> &'static [u32] {
        match (self.scheme.id, name) {
            (_, "degree") => &[2, 4],
            ("sgcsh", "sessions") => &[4, 24],
            ("s2rp", "chain") => &[2, 14],
            _ => &[],
        }
    }

    /// Returns the scheme.
    pub const fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    pub(super) fn suite_name(&self) -> Option<String> {
        self.suite.map(|suite| suite.name().to_owned())
    }

    /// Returns the number of subgroups.
    pub fn subgroups(&self) -> u32 {
        self.parameter("subgroups").unwrap_or(0)
    }

    pub(super) fn parameter(&self, name: &str) -> Option<u32> {
        self.parameters.iter().find(|&&(set, _)| set == name).map(|&(_, value)| value)
    }

    /// Whether a derivation sees what its parties compute: not if a foreign library does.
    pub fn is_modelled(&self) -> bool {
        self.scheme.provenance != Provenance::Foreign
    }

    /// Returns what a derivation says of a claim of a scheme that is not modelled. Such a scheme has no
    /// controllers.
    pub(super) const fn unseen(&self, claim: Claim) -> Found {
        match claim {
            Claim::ForwardSecrecy
            | Claim::BackwardSecrecy
            | Claim::CollusionResistance
            | Claim::KeyIndependence
            | Claim::OutsiderSecrecy => Found::NotModelled,
            _ => Found::NotApplicable,
        }
    }

    /// Whether a run takes milliseconds rather than microseconds.
    pub fn is_slow(&self) -> bool {
        self.scheme.computes_pairings()
    }

    /// Returns a finding about this subject, without evidence yet.
    pub(super) fn finding(&self, claim: Claim, adversary: Adversary, found: Found) -> Finding {
        let by_scripts = adversary == Adversary::Active;
        Finding {
            scheme: self.scheme.id.to_owned(),
            profile: self.profile.name().to_owned(),
            suite: self.suite_name(),
            provenance: self.scheme.provenance.name().to_owned(),
            claim: claim.name().to_owned(),
            adversary,
            claimed: claim.is_claimed(self.scheme, self.profile, adversary),
            condition: None,
            inherent: claim.inherent(self.scheme).map(str::to_owned),
            found,
            method: if by_scripts { SearchMethod::Script } else { SearchMethod::Closure },
            attack: None,
            reference: None,
            history: Vec::new(),
            derivation: Vec::new(),
            searched: None,
        }
    }

    pub(super) fn rig(&self, settings: Settings) -> Rig {
        Rig::new(self.scheme, settings)
    }
}
