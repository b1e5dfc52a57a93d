//! The feature tables that studies print, compared with what the audit finds. Each difference has a
//! reason.
//!
//! S003 (table 2 and section 3.1) prints forward and backward secrecy, and whether the group's size
//! is limited. S002 prints no such table. It says (section 5.2) which schemes only create groups,
//! and points to a survey for the rest. Neither study prints anything on collusion. This file has
//! facts only, none of their words.

use groupkey::Operation;
use groupkey::catalogue::{Adversary, Profile, Scheme, scheme};
use serde::Serialize;

use super::{Finding, Found};
use crate::bench::requirements::requirements;

/// A feature that a study prints for a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Members join and leave a running group.
    AddAndRemove,
    /// A new member cannot get earlier keys.
    BackwardSecrecy,
    /// A removed member cannot get later keys.
    ForwardSecrecy,
    /// Only memory at the controller limits the size of the group.
    UnlimitedSize,
}

/// What a study prints about a feature of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedFeature {
    /// The study, and the place in it.
    pub source: &'static str,
    /// The scheme's id in the catalogue.
    pub scheme: &'static str,
    /// The feature.
    pub feature: Feature,
    /// Whether the study says that the scheme has it.
    pub has: bool,
}

/// What a study prints about a feature, and what we found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureComparison {
    /// The study, and the place in it.
    pub source: &'static str,
    /// The scheme's id in the catalogue.
    pub scheme: &'static str,
    /// The form of the scheme that was examined.
    pub profile: &'static str,
    /// The feature.
    pub feature: Feature,
    /// Whether the study says that the scheme has it.
    pub printed: bool,
    /// Whether this form of the scheme has the feature; absent if nothing was examined.
    pub found: Option<bool>,
    /// Why the two differ, if they do.
    pub explanation: Option<&'static str>,
}

/// Returns everything that the studies print.
pub fn printed() -> Vec<PublishedFeature> {
    let mut all = Vec::new();
    for (scheme, limited) in SECRECY {
        let row = |feature, has| PublishedFeature { source: "S003 table 2", scheme, feature, has };
        all.push(row(Feature::ForwardSecrecy, true));
        all.push(row(Feature::BackwardSecrecy, true));
        all.push(row(Feature::UnlimitedSize, !limited));
    }
    all.push(PublishedFeature {
        source: "S003 section 3.1",
        scheme: "sgcsh",
        feature: Feature::BackwardSecrecy,
        has: false,
    });
    for (source, schemes) in MEASURED {
        for scheme in schemes {
            let has = !CREATION_ONLY.contains(scheme);
            all.push(PublishedFeature { source, scheme, feature: Feature::AddAndRemove, has });
        }
    }
    all
}

/// Compares what the studies print with findings, for both forms of each scheme. Secrecy without
/// any finding about it gets a row without a result; so does the size of a scheme without any, which
/// groups would have to run for.
pub fn compare(findings: &[Finding]) -> Vec<FeatureComparison> {
    let mut all = Vec::new();
    for printed in printed() {
        for profile in Profile::ALL {
            let Some(scheme) = scheme(printed.scheme) else { continue };
            let found = found(scheme, profile, printed.feature, findings);
            let differs = found.is_some_and(|found| found != printed.has);
            let explanation = differs.then(|| explanation(&printed, profile)).flatten();
            all.push(FeatureComparison {
                source: printed.source,
                scheme: printed.scheme,
                profile: profile.name(),
                feature: printed.feature,
                printed: printed.has,
                found,
                explanation,
            });
        }
    }
    all
}

impl Feature {
    /// Returns the claims and attacks that decide on the feature: if one is broken, so is the
    /// feature.
    const fn claims(self) -> &'static [&'static str] {
        match self {
            Self::BackwardSecrecy => &["backward-secrecy", "boneh-newcomer", "nishat-newcomer"],
            Self::ForwardSecrecy => &[
                "forward-secrecy",
                "boneh-eavesdropper",
                "boneh-outsider",
                "nishat-evicted",
                "nishat-gcd",
            ],
            Self::AddAndRemove | Self::UnlimitedSize => &[],
        }
    }
}

fn found(
    scheme: &'static Scheme,
    profile: Profile,
    feature: Feature,
    findings: &[Finding],
) -> Option<bool> {
    match feature {
        Feature::AddAndRemove => {
            let has = |operation| scheme.operations.contains(&operation);
            Some(has(Operation::Add) && has(Operation::Remove))
        }
        Feature::UnlimitedSize => {
            findings.iter().find(|finding| finding.scheme == scheme.id)?;
            requirements(scheme, profile).ok().map(|needs| !needs.is_limited())
        }
        Feature::BackwardSecrecy | Feature::ForwardSecrecy => {
            let about = |finding: &&Finding| {
                finding.scheme == scheme.id
                    && finding.profile == profile.name()
                    && (finding.claim_is_attack() || finding.adversary == Adversary::Passive)
                    && feature.claims().contains(&finding.claim.as_str())
            };
            let looked = |found| matches!(found, Found::Broken | Found::Holds);
            let found = findings.iter().filter(about).map(|finding| finding.found);
            let found: Vec<_> = found.filter(|found| looked(*found)).collect();
            (!found.is_empty()).then(|| !found.contains(&Found::Broken))
        }
    }
}

fn explanation(printed: &PublishedFeature, profile: Profile) -> Option<&'static str> {
    let of = |(scheme, feature, form, _): &&(&str, Feature, Option<Profile>, &str)| {
        (*scheme, *feature) == (printed.scheme, printed.feature)
            && form.is_none_or(|form| form == profile)
    };
    EXPLANATIONS.iter().find(of).map(|(.., text)| *text)
}

/// Schemes of S003's table 2, and whether S003 calls their size limited.
const SECRECY: [(&str, bool); 4] =
    [("skdc", false), ("nishat", true), ("boneh-thin", false), ("boneh-fat", true)];

/// Schemes whose operations S002 measures or says to be missing. S002 does not say how LKH groups
/// its messages, nor which G-DH it is: `lkh-group` and `gdh2-relay` take their place.
const MEASURED: [(&str, &[&str]); 3] = [
    (
        "S002 section 5.1",
        &[
            "cfkm",
            "gkmp",
            "lkh-group",
            "lkh-plus",
            "oft",
            "s2rp",
            "sbsa-r",
            "sgcsh",
            "skdc",
            "xfks-r",
        ],
    ),
    ("S002 section 5.2", &["marks", "alohali-r", "riseg", "lnt", "dep", "kronos", "igkmp"]),
    ("S002 section 7", &["gdh2-relay", "dh-lkh", "d-oft", "d-lkh", "bd", "cka"]),
];

/// Schemes for which S002 has creations only.
const CREATION_ONLY: [&str; 4] = ["marks", "alohali-r", "bd", "cka"];

/// Why members do not limit the size of a Boneh+ group.
pub const FAT_CLIENTS_KEEP_NO_PUBLIC_KEY: &str = "Our fat client of the published profile gets the public key again in each broadcast and keeps none, \
     so that its memory does not limit the group.";

/// Why print and findings differ: scheme, feature, form (or both), reason.
const EXPLANATIONS: &[(&str, Feature, Option<Profile>, &str)] = &[
    (
        "nishat",
        Feature::ForwardSecrecy,
        None,
        "A removed member knows gamma + k, of which the next gamma gives it k' by continued fractions; \
         another member's prime gives it every k. S003 infers secrecy from there being an update.",
    ),
    (
        "nishat",
        Feature::BackwardSecrecy,
        None,
        "A newcomer finds the k before its time in the same way, from the old gamma. S003 infers \
         secrecy from there being an update.",
    ),
    (
        "boneh-fat",
        Feature::ForwardSecrecy,
        None,
        "Capacity grows by moving the hole to an element that was public before: anybody computes the \
         next key, removed members included.",
    ),
    (
        "boneh-thin",
        Feature::ForwardSecrecy,
        None,
        "What a thin client decrypts with is sent in the open, and an element that will lie at the \
         next hole is, too: anybody who listens computes keys.",
    ),
    (
        "boneh-fat",
        Feature::BackwardSecrecy,
        None,
        "A newcomer gets the element at the hole before its time, which opens the last header.",
    ),
    (
        "boneh-thin",
        Feature::BackwardSecrecy,
        None,
        "A newcomer gets the element at the hole before its time, which opens the last header.",
    ),
    (
        "sgcsh",
        Feature::BackwardSecrecy,
        Some(Profile::Sound),
        "S003 denies it, the scheme's own abstract claims it. With one hash chain, as in our published \
         form, there is none; the sound form has two chains and a fresh value in each session.",
    ),
    ("boneh-fat", Feature::UnlimitedSize, Some(Profile::Published), FAT_CLIENTS_KEEP_NO_PUBLIC_KEY),
    (
        "bd",
        Feature::AddAndRemove,
        None,
        "S002 measures creations only. Every change is a new run, as Kim, Perrig and Tsudik (2004, \
         table 1) count it, and so it is here.",
    ),
];

#[cfg(test)]
mod tests;
