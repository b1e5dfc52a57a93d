//! The findings of all studies as claims to check: what to run, what decides, and what is expected.

use std::fmt::Write;

use groupkey_lab::verdict::{Thresholds, Verdict};
use serde::{Deserialize, Serialize};

use crate::grade;
use crate::sensitivity::{Sensitivity, sensitivity_section};
use crate::statements::statements_section;

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
    /// In how many of its settings that are evidence it holds.
    pub share: String,
    /// The condition that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The probability that chance has a condition as broad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The same after Holm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
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
            share: verdict.share.to_string(),
            condition: verdict.condition.as_ref().map(|condition| condition.words.clone()),
            p_value: verdict.condition.as_ref().map(|condition| condition.p_value),
            p_holm: verdict.condition.as_ref().map(|condition| condition.p_holm),
            command: command.to_owned(),
            seconds: seconds.round(),
        };
        verdicts.iter().map(entry).collect()
    }
}

/// Returns the outcomes that are expected of `groupkey reproduce all --quick`.
pub fn expected() -> Vec<ClaimEntry> {
    serde_json::from_str(include_str!("../data/outcomes.json")).expect("a test reads it")
}

/// Returns the recorded p-values of the other studies' findings: 1 for one that tried no condition.
pub(crate) fn p_values_beside(study: &str) -> Vec<f64> {
    let others = expected().into_iter().filter(|claim| claim.study != study);
    others.map(|claim| claim.p_value.unwrap_or(1.0)).collect()
}

/// Corrects the findings of all studies of one run for each other, whatever is recorded.
pub fn settle_together(studies: &mut [&mut Vec<Verdict>]) {
    grade::settle_together(studies, &Thresholds::in_use());
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
            Some(other) if (&other.share, other.p_value) != (&claim.share, claim.p_value) => {
                let told = |it: &ClaimEntry| match it.p_value {
                    Some(p) => format!("{}, p = {p}", it.share),
                    None => it.share.clone(),
                };
                Some(format!("{name}: {}, expected: {}", told(claim), told(other)))
            }
            Some(_) => None,
        }
    });
    let is_found = |other: &&ClaimEntry| {
        found.iter().any(|it| (&it.study, &it.finding) == (&other.study, &other.finding))
    };
    let is_run = |other: &&ClaimEntry| found.iter().any(|it| it.study == other.study);
    let missing = expected.iter().filter(is_run).filter(|other| !is_found(other));
    let missing = missing.map(|other| format!("{} {}: not found", other.study, other.finding));
    differs.chain(missing).collect()
}

/// Formats the claims as a page: each finding, each statement of the papers, and what the thresholds
/// are worth.
pub fn claims_page(claims: &[ClaimEntry], sensitivity: &[Sensitivity]) -> String {
    let mut page =
        "# Claims\n\nAfter this page you know which command decides each finding, how it came out, and which \
         statements of the papers no finding tests.\n\n**p** is the probability, after Holm, that chance has a \
         condition as broad as the one that was tried.\n"
            .to_owned();
    for of_study in claims.chunk_by(|a, b| a.study == b.study) {
        let first = &of_study[0];
        let _ = write!(
            page,
            "\n## {}\n\n`{}`, about {:.0} s.\n\n| finding | claim | decided by | outcome | holds in | p |\n\
             |---|---|---|---|---|---|\n",
            first.study, first.command, first.seconds
        );
        for claim in of_study {
            let ClaimEntry { finding, claim, ground, expected, share, p_holm, .. } = claim;
            let p = p_holm.map_or_else(|| "–".to_owned(), |p| format!("{p:.3}"));
            let claim = claim.replace('|', "\\|");
            let _ =
                writeln!(page, "| `{finding}` | {claim} | {ground} | {expected} | {share} | {p} |");
        }
    }
    page + &statements_section(claims) + &sensitivity_section(sensitivity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_expected_once() {
        let expected = expected();
        assert_eq!(differences(&expected, &expected), Vec::<String>::new());
        let mut other = expected.clone();
        other[0].expected = "something else".to_owned();
        assert_eq!(differences(&other, &expected).len(), 1);
    }
}
