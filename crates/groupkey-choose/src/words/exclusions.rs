//! Excluded schemes in words: why each is out, and what would let it in.

use crate::decision::{Decision, ExcludedScheme, Reason};
use crate::requirements::Security;

/// Returns the scheme that comes nearest to meeting all requirements, and the fields that would let
/// it in. `None` if no values would let any scheme in. A stand-in is no remedy, and neither is to
/// give up what is required by default.
pub fn nearest_miss(decision: &Decision) -> Option<(&str, String)> {
    let could = decision
        .out
        .iter()
        .filter(|out| !out.reasons.is_empty())
        .filter(|out| out.reasons.iter().all(|reason| reason.nearest.is_some()))
        .filter(|out| !out.reasons.iter().any(is_kept));
    let out = could.min_by_key(|out| out.reasons.len())?;
    let fields: Vec<String> = out.reasons.iter().filter_map(setting).collect();
    Some((&out.scheme, fields.join(" and ")))
}

/// Returns why a scheme is out, reason by reason.
pub fn reasons(out: &ExcludedScheme) -> Vec<String> {
    out.reasons
        .iter()
        .map(|reason| {
            let needs = match setting(reason) {
                Some(setting) => format!("; it needs {setting}"),
                None => String::new(),
            };
            format!("{}: {}, but {}{needs}", reason.requirement, reason.required, reason.has)
        })
        .collect()
}

/// Whether a requirement is kept, whatever it would let in.
fn is_kept(reason: &Reason) -> bool {
    let Security { passive, active, .. } = Security::default();
    let claim = reason.nearest.as_deref().and_then(|value| value.strip_prefix("without "));
    let is_among = |claims: &[String]| claims.iter().any(|known| Some(&**known) == claim);
    match &*reason.requirement {
        "security.stand-ins" => true,
        "security.passive" => is_among(&passive),
        "security.active" => is_among(&active),
        _ => false,
    }
}

/// Returns what would let a scheme in, as it would stand in a file.
fn setting(reason: &Reason) -> Option<String> {
    let value = reason.nearest.as_deref()?;
    Some(match value.strip_prefix("without ") {
        // One name less in a list.
        Some(name) => format!("{} without {name}", reason.requirement),
        None => format!("{} = {value}", reason.requirement),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::Requirements;
    use crate::words::recommendation;

    fn out(scheme: &str, requirement: &str, nearest: &str) -> ExcludedScheme {
        ExcludedScheme {
            candidate: None,
            scheme: scheme.into(),
            reasons: vec![Reason {
                requirement: requirement.into(),
                required: String::new(),
                has: String::new(),
                nearest: Some(nearest.into()),
            }],
        }
    }

    #[test]
    fn no_stand_in_and_no_weaker_security_is_a_remedy() {
        let mut decision = Decision {
            out: vec![
                out("sbsa-r", "security.stand-ins", "true"),
                out("cfkm", "security.passive", "without collusion-resistance"),
                out("iolus", "security.active", "without forward-secrecy"),
            ],
            ..Decision::default()
        };
        assert_eq!(nearest_miss(&decision), None);
        let told = recommendation(&decision, &Requirements::default());
        assert_eq!(told, ["No scheme meets all requirements."]);
        // What the asker required beyond that may go.
        decision.out.push(out("tgdh", "security.active", "without agreement"));
        let nearest = nearest_miss(&decision);
        assert_eq!(nearest, Some(("tgdh", "security.active without agreement".to_owned())));
    }
}
