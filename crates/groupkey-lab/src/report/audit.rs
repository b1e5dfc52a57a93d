//! The findings of an audit, beside the claims of the schemes and the features that studies print.

use groupkey::catalogue::Adversary;

use super::page::PageBlock;
use super::table::{PageCell, PageColumn, PageTable};
use super::text::escaped;
use crate::audit::published_features::{FeatureComparison, compare};
use crate::audit::{Finding, Found, SearchMethod};

/// Makes a table of findings, and the steps that break what does not hold. Their anchors begin with
/// `prefix`. If they are about one scheme, its name is said elsewhere.
pub(super) fn findings(findings: &[&Finding], prefix: &str, about_one: bool) -> Vec<PageBlock> {
    let numbered: Vec<(usize, &Finding)> = findings.iter().copied().enumerate().collect();
    let mut columns = vec![
        PageColumn::text("Scheme", |(_, one): &(usize, &Finding)| one.scheme.clone()),
        PageColumn::text("Provenance", |(_, one): &(usize, &Finding)| one.provenance.clone()),
        PageColumn::text("Claim or attack", |(_, one): &(usize, &Finding)| claim(one)),
        PageColumn::text("Profile", |(_, one): &(usize, &Finding)| one.profile.clone()),
        PageColumn::text("Claimed", |(_, one): &(usize, &Finding)| match one.claimed {
            Some(true) => "yes",
            Some(false) => "no",
            None => "says nothing",
        }),
        PageColumn::text("Audited", |(_, one): &(usize, &Finding)| audited(one)),
        PageColumn::text("How", |(_, one): &(usize, &Finding)| match one.method {
            SearchMethod::Closure => "search",
            SearchMethod::Script => "attack",
        }),
        PageColumn::text("Reference", |(_, one): &(usize, &Finding)| one.reference.clone()),
        PageColumn::text("What breaks it", |(number, one): &(usize, &Finding)| {
            let steps = one.history.len() + one.derivation.len();
            let link = || PageCell::link(&format!("#{prefix}-{number}"), &format!("{steps} steps"));
            (steps > 0).then(link)
        }),
    ];
    if about_one {
        columns.drain(..2);
    }
    let table = PageTable::of("What the audit found", &numbered, columns).without_empty();
    let broken =
        numbered.iter().filter(|(_, one)| !(one.history.is_empty() && one.derivation.is_empty()));
    let traces = broken.map(|(number, one)| PageBlock::Trace {
        id: format!("{prefix}-{number}"),
        title: format!("{}, {}, {}", one.scheme, claim(one), one.profile),
        steps: one.history.iter().chain(&one.derivation).cloned().collect(),
    });
    [PageBlock::Table(table)].into_iter().chain(traces).collect()
}

fn claim(finding: &Finding) -> String {
    match (finding.claim_is_attack(), finding.adversary) {
        (false, Adversary::Active) => format!("{}, actively attacked", finding.claim),
        _ => finding.claim.clone(),
    }
}

fn audited(finding: &Finding) -> PageCell {
    let (class, word) = match finding.found {
        Found::Broken => ("refuted", "Broken"),
        Found::Holds => ("everywhere", "Holds"),
        Found::LeftOut => ("open", "Left out"),
        Found::NotApplicable => ("open", "Not applicable"),
        Found::NotModelled => ("open", "Not modelled"),
    };
    // The page draws attention to claims that do not hold.
    let differs = finding.claimed == Some(true) && finding.found == Found::Broken;
    outcome(class, word, if differs { " <small>though it is claimed</small>" } else { "" })
}

/// Sets the feature tables that studies print beside the findings, for the schemes of the findings.
/// A feature that the audit did not look for has no line.
pub(super) fn features(findings: &[Finding]) -> PageTable {
    let comparisons = compare(findings);
    let has_findings = |comparison: &&FeatureComparison| {
        findings.iter().any(|finding| finding.scheme == comparison.scheme)
    };
    let compared = comparisons.iter().filter(has_findings).filter(|one| one.found.is_some());
    let yes_or_no = |has| if has { "yes" } else { "no" };
    let columns = vec![
        PageColumn::text("Scheme", |one: &FeatureComparison| one.scheme),
        PageColumn::text("Profile", |one: &FeatureComparison| one.profile),
        PageColumn::text("Feature", |one: &FeatureComparison| {
            // The serialized name is in kebab-case, which reads well without the hyphens.
            let feature = serde_json::to_value(one.feature).unwrap_or_default();
            feature.as_str().unwrap_or_default().replace('-', " ")
        }),
        PageColumn::text("Source", |one: &FeatureComparison| one.source),
        PageColumn::text("Published", move |one: &FeatureComparison| yes_or_no(one.printed)),
        PageColumn::text("Audited", move |one: &FeatureComparison| {
            let class = if one.found == Some(one.printed) { "everywhere" } else { "refuted" };
            one.found.map(|found| outcome(class, yes_or_no(found), ""))
        }),
        PageColumn::text("Why they differ", |one: &FeatureComparison| {
            one.explanation.unwrap_or_default()
        }),
    ];
    PageTable::of("Published feature tables", compared, columns)
}

fn outcome(class: &str, word: &str, remark: &str) -> PageCell {
    PageCell::markup(
        format!("<span class=\"outcome {class}\">{}</span>{remark}", escaped(word)),
        word,
    )
}
