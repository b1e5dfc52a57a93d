//! The statements of the papers: each is tested by a finding, or has a reason why it is not.

use std::fmt::Write;

use groupkey_lab::verdict::Outcome;
use serde::Deserialize;

use crate::expectations::ClaimEntry;

/// A statement of a paper, in our own words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperStatement {
    /// The paper: `S000` to `S004`.
    pub paper: String,
    /// Its number among all statements. One with a point was added to the one before it.
    pub number: String,
    /// Where it stands in the paper.
    pub place: String,
    /// What it says.
    pub says: String,
    /// The study and the finding that tests it: `tgdh/leave`.
    pub finding: Option<String>,
    /// Why no finding tests it.
    pub reason: Option<String>,
}

/// Returns all statements, paper by paper (`data/statements.toml`).
pub fn statements() -> Vec<PaperStatement> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        statement: Vec<PaperStatement>,
    }
    let file: File =
        toml::from_str(include_str!("../data/statements.toml")).expect("a test reads it");
    file.statement
}

/// Formats the statements as a section of a page: how many came out how, then each.
pub(crate) fn statements_section(claims: &[ClaimEntry]) -> String {
    let statements = statements();
    let outcome = |statement: &PaperStatement| {
        let (study, finding) = statement.finding.as_deref()?.split_once('/')?;
        let mut claims = claims.iter();
        claims.find(|it| it.study == study && it.finding == finding).map(|it| it.expected.as_str())
    };
    let names = Outcome::ALL.map(Outcome::name);
    let mut page = format!(
        "\n## Statements\n\nWhat the papers say, and what tests it. A statement without a finding has the reason \
         why not.\n\n| paper | statements | without a finding | {} |\n|---|---|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    let line = |page: &mut String, name: &str, of: &[PaperStatement]| {
        let untested = of.iter().filter(|statement| statement.reason.is_some()).count();
        let counts = names.map(|name| {
            of.iter().filter(|statement| outcome(statement) == Some(name)).count().to_string()
        });
        let _ = writeln!(page, "| {name} | {} | {untested} | {} |", of.len(), counts.join(" | "));
    };
    for of_paper in statements.chunk_by(|a, b| a.paper == b.paper) {
        line(&mut page, &of_paper[0].paper, of_paper);
    }
    line(&mut page, "all", &statements);
    for of_paper in statements.chunk_by(|a, b| a.paper == b.paper) {
        let _ = write!(
            page,
            "\n### {}\n\n| | place | statement | finding | outcome, or why there is none |\n|---|---|---|---|---|\n",
            of_paper[0].paper
        );
        for statement in of_paper {
            let PaperStatement { number, place, says, finding, reason, .. } = statement;
            let finding = finding.as_ref().map_or_else(|| "–".to_owned(), |it| format!("`{it}`"));
            let told = reason.as_deref().or_else(|| outcome(statement)).unwrap_or("not run");
            let _ = writeln!(page, "| {number} | {place} | {says} | {finding} | {told} |");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::expectations::expected;

    #[test]
    fn every_statement_has_a_finding_that_exists_or_a_reason() {
        let findings: BTreeSet<String> =
            expected().iter().map(|it| format!("{}/{}", it.study, it.finding)).collect();
        let mut numbers = BTreeSet::new();
        let mut tested = BTreeSet::new();
        for statement in statements() {
            let PaperStatement { paper, number, place, says, finding, reason } = statement;
            assert!(finding.is_some() != reason.is_some(), "{paper} {number}: one of both");
            assert!(!place.is_empty() && !says.is_empty(), "{paper} {number}");
            if let Some(finding) = finding {
                assert!(findings.contains(&finding), "{paper} {number}: no finding {finding}");
                tested.insert(finding);
            }
            assert!(numbers.insert(number.clone()), "{number} stands twice");
        }
        let untold: Vec<_> = findings.difference(&tested).collect();
        assert!(untold.is_empty(), "no statement has {untold:?}");
        for number in 1..=167 {
            let is_part = |it: &String| it.split('.').next() == Some(&number.to_string());
            assert!(numbers.iter().any(is_part), "statement {number} is missing");
        }
    }
}
