//! Candidates that are equal as far as the model knows, and which of them is taken.
//!
//! The model errs. A candidate whose cost is above another one's by less than this error may well
//! be the cheaper one, so their costs decide nothing between them. What is certain decides: who
//! wrote the scheme down, and how much room it takes.

use std::cmp::Ordering;

use groupkey::catalogue::{Provenance, Scheme};

use crate::decision::{Assessment, Quantity};
use crate::registry;

/// Returns the candidates that are equal to the cheapest one, the preferred one first: a specified
/// scheme before a reconstructed one, a foreign one and a stand-in; one with an [`rfc`] before one
/// without; a [smaller](size) before a larger one; then by cost. The order is total.
pub fn equals(assessments: &[Assessment]) -> Vec<&Assessment> {
    let Some(cheapest) = assessments.iter().min_by(|one, other| by_cost(one, other)) else {
        return Vec::new();
    };
    let mut equals: Vec<_> =
        assessments.iter().filter(|assessment| is_equal(cheapest, assessment)).collect();
    equals.sort_by(|one, other| by_preference(one, other));
    equals
}

/// Returns whether the costs of two candidates differ by less than the model can tell: by the larger
/// of 3 % and the [errors](Assessment::error) about either of them.
pub fn is_equal(one: &Assessment, other: &Assessment) -> bool {
    let tolerance = LEAST.max(one.error).max(other.error);
    one.cost.max(other.cost) <= one.cost.min(other.cost) * (1.0 + tolerance)
}

/// Returns the RFC that the source of a scheme names: `RFC 2627`.
pub fn rfc(scheme: &Scheme) -> Option<&'static str> {
    let named = &scheme.source[scheme.source.find("RFC ")?..];
    let digits = named["RFC ".len()..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &named[.."RFC ".len() + digits])
}

/// Returns the room that a candidate takes of a member (bytes): key material, the largest message,
/// and program memory. Infinite if nobody weighed its program.
pub fn size(assessment: &Assessment) -> f64 {
    let bytes = |quantity| assessment.figure(quantity).map(|figure| figure.value);
    [Quantity::Keys, Quantity::LargestMessage, Quantity::Flash]
        .into_iter()
        .map(|quantity| bytes(quantity).unwrap_or(f64::INFINITY))
        .sum()
}

/// The one that is taken if both are equal first. The order is total.
pub fn by_preference(one: &Assessment, other: &Assessment) -> Ordering {
    let standing = |assessment: &Assessment| {
        let scheme = registry::scheme(&assessment.candidate.variant.scheme);
        (scheme.map_or(u8::MAX, provenance), scheme.and_then(rfc).is_none())
    };
    standing(one)
        .cmp(&standing(other))
        .then_with(|| size(one).total_cmp(&size(other)))
        .then_with(|| by_cost(one, other))
}

fn provenance(scheme: &Scheme) -> u8 {
    match scheme.provenance {
        Provenance::Specified => 0,
        Provenance::Reconstructed => 1,
        Provenance::Foreign => 2,
        Provenance::StandIn => 3,
    }
}

/// The cheaper one first; of equal ones, the one whose changes complete sooner. The order is total.
pub(crate) fn by_cost(one: &Assessment, other: &Assessment) -> Ordering {
    let completion = |assessment: &Assessment| {
        assessment.figure(Quantity::Completion).map_or(f64::INFINITY, |figure| figure.value)
    };
    one.cost
        .total_cmp(&other.cost)
        .then(completion(one).total_cmp(&completion(other)))
        .then_with(|| one.candidate.cmp(&other.candidate))
}

/// The least share by which costs must differ.
const LEAST: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Candidate, Figure, Ground, Variant};

    fn assessment(scheme: &str, cost: f64, keys: f64) -> Assessment {
        let variant = Variant { scheme: scheme.to_owned(), ..Variant::default() };
        let figure = |quantity, value| Figure {
            quantity,
            value,
            interval: (value, value),
            ground: Ground::Counted,
            is_extrapolated: false,
        };
        let figures = [
            (Quantity::Keys, keys),
            (Quantity::LargestMessage, 100.0),
            (Quantity::Flash, 50_000.0),
        ];
        let figures = figures.map(|(quantity, value)| figure(quantity, value)).to_vec();
        Assessment { candidate: Candidate { variant, qos: 1 }, cost, error: 0.0, figures }
    }

    fn taken(assessments: &[Assessment]) -> Vec<&str> {
        equals(assessments).into_iter().map(|one| &*one.candidate.variant.scheme).collect()
    }

    #[test]
    fn provenance_then_an_rfc_then_size_then_cost_decides_among_equals() {
        let of = assessment;
        let all = [of("ofct", 1.0, 10.0), of("skdc", 1.02, 20.0), of("lkh-user", 1.01, 300.0)];
        assert_eq!(taken(&all), ["lkh-user", "skdc", "ofct"]);
        let all = [of("lkh-user", 1.0, 300.0), of("lkh-group", 1.02, 200.0)];
        assert_eq!(taken(&all), ["lkh-group", "lkh-user"]);
        let all = [of("sbsa-r", 1.0, 1.0), of("ofct", 1.02, 200.0), of("ofct", 1.01, 200.0)];
        assert_eq!(equals(&all)[0].cost, 1.01);
        assert_eq!(taken(&all), ["ofct", "ofct", "sbsa-r"]);
        // One that nobody weighed may be large.
        let mut unknown = of("lkh-user", 1.0, 300.0);
        unknown.figures.pop();
        assert_eq!(taken(&[unknown, of("lkh-key", 1.0, 900.0)]), ["lkh-key", "lkh-user"]);
    }

    #[test]
    fn costs_that_differ_by_more_than_the_model_errs_decide() {
        let all = [assessment("ofct", 1.0, 10.0), assessment("skdc", 1.04, 10.0)];
        assert_eq!(taken(&all), ["ofct"]);
        let unsure = all.clone().map(|one| Assessment { error: 0.05, ..one });
        assert_eq!(taken(&unsure), ["skdc", "ofct"]);
        // The larger error counts, whose it may be.
        assert!(is_equal(&all[0], &unsure[1]) && is_equal(&unsure[1], &all[0]));
        assert!(equals(&[]).is_empty());
    }

    #[test]
    fn the_order_does_not_depend_on_the_order_of_the_candidates() {
        let mut all: Vec<_> = ["tgdh", "dh-lkh", "lkh-key", "lkh-user", "lkh-group", "skdc"]
            .map(|scheme| assessment(scheme, 1.0, 64.0))
            .to_vec();
        let taken: Vec<_> = equals(&all).into_iter().cloned().collect();
        all.reverse();
        assert!(equals(&all).into_iter().eq(&taken));
    }

    #[test]
    fn the_catalogue_knows_which_schemes_have_an_rfc() {
        let has: Vec<_> = groupkey::catalogue::SCHEMES
            .iter()
            .filter_map(|scheme| Some((scheme.id, rfc(scheme)?)))
            .collect();
        let lkh = ["lkh-user", "lkh-key", "lkh-group"].map(|id| (id, "RFC 2627"));
        let others = [("gkmp", "RFC 2093"), ("treekem", "RFC 9420")];
        assert_eq!(has, [&others[..1], &lkh, &others[1..]].concat());
    }
}
