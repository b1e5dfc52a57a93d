//! The findings of all studies as claims to check: what to run, what decides, and what is expected.

use std::fmt::Write;

use groupkey_lab::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// A claim: what to run, how long it takes, and what comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimEntry {
    /// The study.
    pub study: String,
    /// The finding's name within the study.
    pub finding: String,
    /// The finding.
    pub claim: String,
    /// What decides it.
    pub ground: String,
    /// The smallest effect that counts against it.
    pub margin: String,
    /// The outcome that is expected.
    pub expected: String,
    /// The command that decides it.
    pub command: String,
    /// About how long the command takes (s).
    pub seconds: f64,
}

impl ClaimEntry {
    /// Lists the claims of a study that took so long.
    pub fn of_study(study: &str, verdicts: &[Verdict], seconds: f64, command: &str) -> Vec<Self> {
        let entry = |verdict: &Verdict| Self {
            study: study.to_owned(),
            finding: verdict.id.clone(),
            claim: verdict.claim.clone(),
            ground: verdict.ground.name(),
            margin: verdict.margin.clone(),
            expected: verdict.outcome.name().to_owned(),
            command: command.to_owned(),
            seconds: seconds.round(),
        };
        verdicts.iter().map(entry).collect()
    }
}

/// Returns the outcomes that are expected of `groupkey reproduce all --quick`.
pub fn expected() -> Vec<ClaimEntry> {
    serde_json::from_str(include_str!("../../../data/outcomes.json")).expect("a test reads it")
}

/// Returns how the claims differ from those expected, a sentence each.
pub fn differences(found: &[ClaimEntry], expected: &[ClaimEntry]) -> Vec<String> {
    let differs = found.iter().filter_map(|claim| {
        let same =
            |other: &&ClaimEntry| (&other.study, &other.finding) == (&claim.study, &claim.finding);
        let name = format!("{} {}", claim.study, claim.finding);
        match expected.iter().find(same) {
            None => Some(format!("{name}: not expected at all")),
            Some(other) if other.expected != claim.expected => {
                Some(format!("{name}: {}, expected: {}", claim.expected, other.expected))
            }
            Some(_) => None,
        }
    });
    differs.collect()
}

/// Formats the claims as a page.
pub fn claims_page(claims: &[ClaimEntry]) -> String {
    let mut page =
        "# Claims\n\nAfter this page you know which command decides each finding, about how \
                    long it takes, and what is expected.\n"
            .to_owned();
    for of_study in claims.chunk_by(|a, b| a.study == b.study) {
        let first = &of_study[0];
        let _ = write!(
            page,
            "\n## {}\n\n`{}`, about {:.0} s.\n\n| finding | claim | decided by | expected |\n|---|---|---|---|\n",
            first.study, first.command, first.seconds
        );
        for claim in of_study {
            let ClaimEntry { finding, claim, ground, expected, .. } = claim;
            let _ = writeln!(
                page,
                "| `{finding}` | {} | {ground} | {expected} |",
                claim.replace('|', "\\|")
            );
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_expected_once() {
        let expected = expected();
        assert_eq!(expected.len(), 57);
        assert_eq!(differences(&expected, &expected), Vec::<String>::new());
        let mut other = expected.clone();
        other[0].expected = "something else".to_owned();
        assert_eq!(differences(&other, &expected).len(), 1);
    }
}
