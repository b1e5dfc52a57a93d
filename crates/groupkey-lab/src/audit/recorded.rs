//! The findings of the full audit, kept with the program. They are shown wherever a claim is.
//!
//! `groupkey audit --json` prints the file. No test takes the file for the truth.
//! `--against` compares it with a fresh audit. After a change to a scheme or a claim, the file must
//! be written again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use groupkey::catalogue::{Adversary, Profile, Scheme};

use super::{Claim, Finding, Found};
use crate::results::{ResultsError, RunHeader, read_jsonl};

/// Returns all findings of the full audit of the catalogue, with the default seed.
pub fn findings() -> &'static [Finding] {
    static FINDINGS: OnceLock<Vec<Finding>> = OnceLock::new();
    FINDINGS.get_or_init(|| {
        let lines = include_str!("../../data/audit.jsonl").lines();
        lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
    })
}

/// Returns what was found about a claim. Collusion resistance includes collusion with a subgroup
/// controller. `None` if the scheme was not audited, for example a scheme that a program adds.
pub fn found(
    scheme: &Scheme,
    profile: Profile,
    claim: Claim,
    adversary: Adversary,
) -> Option<Found> {
    found_in(findings(), scheme, profile, claim, adversary)
}

/// Does the same with the findings of another audit.
pub fn found_in(
    findings: &[Finding],
    scheme: &Scheme,
    profile: Profile,
    claim: Claim,
    adversary: Adversary,
) -> Option<Found> {
    let parts = match claim {
        Claim::CollusionResistance => {
            &[claim, Claim::SubgroupAndEvicted, Claim::SubgroupAndNewcomer][..]
        }
        _ => &[claim],
    };
    let of = |finding: &&Finding| {
        finding.scheme == scheme.id
            && finding.profile == profile.name()
            && finding.adversary == adversary
            && parts.iter().any(|part| part.name() == finding.claim)
    };
    // The worst result is the smallest.
    findings.iter().filter(of).map(|finding| finding.found).min()
}

/// Reads findings that `groupkey audit` wrote with `--out`, or printed with `--json`.
pub fn read(path: &Path) -> Result<Vec<Finding>, ResultsError> {
    Ok(read_jsonl::<RunHeader<Finding>>(path)?.1)
}

/// Returns the differences between a fresh audit and recorded findings, in words, one difference
/// each. They are in what is claimed, in what was found, and in which findings there are. Schemes
/// and profiles that the fresh audit does not have are not compared. Neither are attacks that were
/// left out.
pub fn differences(fresh: &[Finding], recorded: &[Finding]) -> Vec<String> {
    type FindingKey<'a> = (&'a str, &'a str, &'a str, Adversary);
    fn key(finding: &Finding) -> FindingKey<'_> {
        (&finding.scheme, &finding.profile, &finding.claim, finding.adversary)
    }
    let told = |finding: &Finding| {
        let Finding { scheme, profile, claim, adversary, .. } = finding;
        format!("{scheme}, {profile} profile, {claim} ({})", adversary.name())
    };
    let known: BTreeMap<FindingKey<'_>, &Finding> = recorded.iter().map(|f| (key(f), f)).collect();
    let audited: BTreeMap<FindingKey<'_>, &Finding> = fresh.iter().map(|f| (key(f), f)).collect();
    let mut all = Vec::new();
    for finding in fresh {
        let Some(known) = known.get(&key(finding)) else {
            all.push(format!("{}: {}, not recorded", told(finding), finding.found.name()));
            continue;
        };
        if finding.claimed != known.claimed {
            let said = |claimed| match claimed {
                Some(true) => "claimed",
                Some(false) => "not claimed",
                None => "nothing said",
            };
            let (now, then) = (said(finding.claimed), said(known.claimed));
            all.push(format!("{}: {now}, recorded as {then}", told(finding)));
        }
        let tried = finding.found != Found::LeftOut && known.found != Found::LeftOut;
        if tried && finding.found != known.found {
            let (now, then) = (finding.found.name(), known.found.name());
            all.push(format!("{}: {now}, recorded as {then}", told(finding)));
        }
    }
    let subjects: Vec<_> = fresh.iter().map(|f| (&f.scheme, &f.profile)).collect();
    let gone = recorded.iter().filter(|finding| {
        subjects.contains(&(&finding.scheme, &finding.profile))
            && !audited.contains_key(&key(finding))
    });
    all.extend(gone.map(|finding| format!("{}: recorded, and not audited", told(finding))));
    all
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::SCHEMES;

    use super::*;

    /// Every claim of every scheme is recorded, and nothing was left out.
    #[test]
    fn the_whole_catalogue_is_recorded() {
        for scheme in SCHEMES {
            for profile in Profile::ALL {
                for adversary in Adversary::ALL {
                    for claim in Claim::against(adversary) {
                        let found = found(scheme, profile, claim, adversary);
                        let (id, profile, claim) = (scheme.id, profile.name(), claim.name());
                        assert!(found.is_some(), "{id}, {profile}, {claim}: tools/record audit");
                    }
                }
            }
        }
        for finding in findings() {
            assert_ne!(finding.found, Found::LeftOut, "{finding:?}");
            let explained = !finding.history.is_empty() && !finding.derivation.is_empty();
            assert_eq!(explained, finding.found == Found::Broken, "{finding:?}");
        }
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        let recorded: Vec<_> = findings().iter().filter(|f| f.scheme == "oft").cloned().collect();
        assert_eq!(differences(&recorded, findings()), [""; 0]);
        let mut fresh = recorded.clone();
        let claimed = fresh.iter_mut().find(|f| f.claimed == Some(true)).unwrap();
        claimed.claimed = Some(false);
        let held = fresh.iter_mut().find(|f| f.found == Found::Holds).unwrap();
        held.found = Found::Broken;
        fresh.pop();
        fresh.push(Finding { claim: "new".into(), ..recorded[0].clone() });
        let told = differences(&fresh, &recorded);
        assert_eq!(told.len(), 4, "{told:?}");
        for words in ["recorded as claimed", "recorded as holds", "not recorded", "not audited"] {
            assert_eq!(told.iter().filter(|line| line.contains(words)).count(), 1, "{told:?}");
        }
    }

    #[test]
    fn what_was_left_out_is_not_compared() {
        let recorded = &findings()[..1];
        let left_out = Finding { found: Found::LeftOut, ..recorded[0].clone() };
        assert!(differences(&[left_out], recorded).is_empty());
    }
}
