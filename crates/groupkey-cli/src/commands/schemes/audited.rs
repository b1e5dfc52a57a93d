//! What a scheme claims, beside the findings of the full audit. Neither is shown without the other.

use std::io::{self, Write};

use groupkey::schemes::catalogue::{Profile, Scheme};
use groupkey_lab::audit::{Claim, Found, recorded};
use serde_json::{Map, Value};

/// Returns the first letter of each claim that the scheme makes.
pub(super) fn claimed(scheme: &Scheme, profile: Profile) -> String {
    let letter = |(claim, letter): (Claim, char)| match claim.is_claimed(scheme, profile) {
        Some(true) => letter,
        _ => '-',
    };
    CLAIMS.map(letter).iter().collect()
}

/// Returns the first letter of each claim that was found to hold.
pub(super) fn found(scheme: &Scheme, profile: Profile) -> String {
    let letter = |(claim, letter): (Claim, char)| match recorded::found(scheme, profile, claim) {
        Some(Found::Holds) => letter,
        Some(Found::Broken) => '-',
        Some(Found::NotApplicable) => '.',
        Some(Found::LeftOut) | None => '?',
    };
    CLAIMS.map(letter).iter().collect()
}

/// Prints a line for each claim.
pub(super) fn describe(scheme: &Scheme, out: &mut dyn Write) -> io::Result<()> {
    for (claim, _) in CLAIMS {
        let told = |profile: Profile| {
            let claimed = match claim.is_claimed(scheme, profile) {
                Some(true) => "yes",
                _ => "no",
            };
            let found = recorded::found(scheme, profile, claim);
            let found = found.map_or_else(
                || format!("not audited, see groupkey audit --scheme {}", scheme.id),
                |found| format!("audited: {}", found.name()),
            );
            format!("{} {claimed} ({found})", profile.name())
        };
        let (sound, published) = (told(Profile::Sound), told(Profile::Published));
        let name = claim.name().replace('-', " ");
        writeln!(out, "  claim       {name}: {sound}; {published}")?;
    }
    Ok(())
}

/// Returns the finding for each claim in each profile; `null` if the claim was not audited.
pub(super) fn object(scheme: &Scheme) -> Value {
    let profile = |profile: Profile| -> (String, Value) {
        let found = CLAIMS.map(|(claim, _)| {
            let found = recorded::found(scheme, profile, claim);
            (claim.name().replace('-', "_"), found.map(Found::name).into())
        });
        (profile.name().to_owned(), Map::from_iter(found).into())
    };
    Map::from_iter(Profile::ALL.map(profile)).into()
}

/// The claims in the catalogue, and the letter for each.
const CLAIMS: [(Claim, char); 4] = [
    (Claim::ForwardSecrecy, 'F'),
    (Claim::BackwardSecrecy, 'B'),
    (Claim::CollusionResistance, 'C'),
    (Claim::KeyIndependence, 'I'),
];
