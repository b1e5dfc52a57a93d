//! The findings of an audit, beside the claims of the schemes and the features that studies print.

use groupkey::catalogue::Adversary;
use minijinja::{Value, context};

use crate::audit::published_features::{Comparison, compare};
use crate::audit::{Finding, Found, Method};

/// Lists the findings about one scheme, or about all schemes.
pub(super) fn findings(findings: &[Finding], scheme: Option<&str>) -> Vec<Value> {
    findings
        .iter()
        .filter(|finding| scheme.is_none_or(|scheme| finding.scheme == scheme))
        .enumerate()
        .map(|(number, finding)| {
            let (class, word) = match finding.found {
                Found::Broken => ("refuted", "Broken"),
                Found::Holds => ("confirmed", "Holds"),
                Found::LeftOut => ("open", "Left out"),
                Found::NotApplicable => ("open", "Not applicable"),
            };
            // The page draws attention to claims that do not hold.
            let differs = finding.claimed == Some(true) && finding.found == Found::Broken;
            context! {
                number => number + 1,
                scheme => &finding.scheme,
                profile => &finding.profile,
                provenance => &finding.provenance,
                claim => match (finding.claim_is_attack(), finding.adversary) {
                    (false, Adversary::Active) => format!("{}, actively attacked", finding.claim),
                    _ => finding.claim.clone(),
                },
                claimed => match finding.claimed {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "says nothing",
                },
                class, word, differs,
                method => match finding.method {
                    Method::Closure => "search",
                    Method::Script => "attack",
                },
                reference => &finding.reference,
                history => &finding.history,
                derivation => &finding.derivation,
            }
        })
        .collect()
}

/// Sets the feature tables that studies print beside the findings, for the schemes of the findings.
/// A feature that the audit did not look for has no line.
pub(super) fn features(findings: &[Finding]) -> Vec<Value> {
    if findings.is_empty() {
        return Vec::new();
    }
    let yes_or_no = |has| if has { "yes" } else { "no" };
    let audited = |comparison: &&Comparison| {
        findings.iter().any(|finding| finding.scheme == comparison.scheme)
    };
    compare(findings)
        .iter()
        .filter(audited)
        .filter_map(|comparison| {
            let found = comparison.found?;
            // The serialized name is in kebab-case, which reads well without the hyphens.
            let feature = serde_json::to_value(comparison.feature).ok()?;
            Some(context! {
                scheme => comparison.scheme,
                profile => comparison.profile,
                source => comparison.source,
                feature => feature.as_str().unwrap_or_default().replace('-', " "),
                printed => yes_or_no(comparison.printed),
                found => yes_or_no(found),
                agrees => comparison.printed == found,
                explanation => comparison.explanation,
            })
        })
        .collect()
}
