//! What a scheme claims, beside the findings of the full audit. Neither is shown without the other.

use groupkey::catalogue::{Adversary, Profile, Scheme};
use groupkey_lab::audit::{Claim, Found, recorded};
use serde_json::{Map, Value};

/// Returns the first letter of each claim that the scheme makes against an adversary.
pub(super) fn claimed(scheme: &Scheme, profile: Profile, adversary: Adversary) -> String {
    let letter =
        |&(claim, letter): &(Claim, char)| match claim.is_claimed(scheme, profile, adversary) {
            Some(true) => letter,
            _ => '-',
        };
    claims(adversary).iter().map(letter).collect()
}

/// Returns the first letter of each claim that was found to hold.
pub(super) fn found(scheme: &Scheme, profile: Profile, adversary: Adversary) -> String {
    let letter =
        |&(claim, letter): &(Claim, char)| match recorded::found(scheme, profile, claim, adversary)
        {
            Some(Found::Holds) => letter,
            Some(Found::Broken) => '-',
            Some(Found::NotApplicable) => '.',
            Some(Found::LeftOut | Found::NotModelled) | None => '?',
        };
    claims(adversary).iter().map(letter).collect()
}

pub(super) fn lines(scheme: &Scheme) -> Vec<String> {
    let mut lines = Vec::new();
    for adversary in Adversary::ALL {
        for &(claim, _) in claims(adversary) {
            let told = |profile: Profile| {
                let claimed = match claim.is_claimed(scheme, profile, adversary) {
                    Some(true) => "yes",
                    _ => "no",
                };
                let found = recorded::found(scheme, profile, claim, adversary);
                let found = found.map_or_else(
                    || format!("not audited, see groupkey audit --scheme {}", scheme.id),
                    |found| format!("audited: {}", found.name()),
                );
                format!("{} {claimed} ({found})", profile.name())
            };
            let (sound, published) = (told(Profile::Sound), told(Profile::Published));
            let name = claim.name().replace('-', " ");
            let whom = match adversary {
                Adversary::Passive => "",
                Adversary::Active => ", actively attacked",
            };
            lines.push(format!("claim       {name}{whom}: {sound}; {published}"));
        }
    }
    lines
}

pub(super) fn active_claims(scheme: &Scheme) -> Value {
    let profile = |profile: Profile| -> (String, Value) {
        let claimed = claims(Adversary::Active).iter().map(|&(claim, _)| {
            let claimed = claim.is_claimed(scheme, profile, Adversary::Active) == Some(true);
            (claim.name().replace('-', "_"), claimed.into())
        });
        (profile.name().to_owned(), Map::from_iter(claimed).into())
    };
    Map::from_iter(Profile::ALL.map(profile)).into()
}

/// Returns the finding for each claim in each profile against an adversary; `null` if the claim was
/// not audited.
pub(super) fn object(scheme: &Scheme, adversary: Adversary) -> Value {
    let profile = |profile: Profile| -> (String, Value) {
        let found = claims(adversary).iter().map(|&(claim, _)| {
            let found = recorded::found(scheme, profile, claim, adversary);
            (claim.name().replace('-', "_"), found.map(Found::name).into())
        });
        (profile.name().to_owned(), Map::from_iter(found).into())
    };
    Map::from_iter(Profile::ALL.map(profile)).into()
}

const fn claims(adversary: Adversary) -> &'static [(Claim, char)] {
    match adversary {
        Adversary::Passive => &[
            (Claim::ForwardSecrecy, 'F'),
            (Claim::BackwardSecrecy, 'B'),
            (Claim::CollusionResistance, 'C'),
            (Claim::KeyIndependence, 'I'),
        ],
        Adversary::Active => &[
            (Claim::ForwardSecrecy, 'F'),
            (Claim::BackwardSecrecy, 'B'),
            (Claim::OutsiderSecrecy, 'O'),
            (Claim::Agreement, 'A'),
        ],
    }
}
