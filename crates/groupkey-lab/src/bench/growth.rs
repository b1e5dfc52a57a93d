//! How a cost grows with the group: the form that fits counted costs best.
//!
//! Counted costs have no noise. They have steps (a tree has whole levels) and lower terms (a
//! constant part, a last subgroup that is not full). So each form `a + b·g(n)` is fitted, with `b`
//! not negative, by least squares of relative errors. With these, a form shows at small sizes as
//! much as at large ones. `a` may be negative, or n - 1 would not be linear. The Bayesian
//! information criterion then weighs the error against the number of parameters. Errors of less
//! than [`NEGLIGIBLE`] count as none. Of two forms that fit alike, the slower is taken.

use std::collections::BTreeMap;

use groupkey::catalogue::Profile;
use groupkey::catalogue::growth::{Form, Role};
use serde::Serialize;

use super::{Activity, BenchRow};
use crate::registry;

/// A cost at one size of the group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostAtSize {
    /// Members of the group.
    pub members: u32,
    /// The cost, in any unit.
    pub cost: f64,
}

/// The form of growth that fits, `constant + factor · g(n)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthFit {
    /// The form.
    pub form: Form,
    /// The part that does not grow, in the unit of the costs; negative if growth begins late.
    pub constant: f64,
    /// The factor of the form's function of n; logarithms are to base 2.
    pub factor: f64,
    /// Root of the mean squared relative error.
    pub error: f64,
}

/// How one role's cost of one operation grows: a line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grown {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// `centralized`, `hybrid` or `distributed`.
    pub class: String,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// Parameters that differ from the profile's, as in [`BenchRow::parameters`].
    pub parameters: String,
    /// Suite of algorithms.
    pub suite: String,
    /// Protection of messages: `none`, `mac`, `signature` or `merkle`.
    pub protection: String,
    /// Seed of the run.
    pub seed: u64,
    /// The operation.
    pub operation: String,
    /// The role.
    pub role: String,
    /// Smallest and largest number of members.
    pub members: (u32, u32),
    /// The form's name.
    pub growth: &'static str,
    /// The part that does not grow (ns).
    pub constant_ns: f64,
    /// The factor of the form's function of n (ns).
    pub factor_ns: f64,
    /// Root of the mean squared relative error: 0.01 is one percent.
    pub error: f64,
    /// The form that the scheme's entry in the catalogue states for groups whose messages are not
    /// protected. Absent for activities that are no operation of the scheme.
    pub stated: Option<&'static str>,
    /// Whether the costs may grow as stated.
    pub agrees: Option<bool>,
}

/// Relative errors below this count as none: bytes of a longer number in an input, for example.
pub const NEGLIGIBLE: f64 = 0.005;

/// The difference of two forms' criteria that is strong evidence for one of the forms.
pub const STRONG: f64 = 6.0;

/// Number of sizes that are needed to tell forms apart.
pub const LEAST_SIZES: usize = 4;

impl GrowthFit {
    /// Returns the best fit of all forms.
    ///
    /// `None` for less than [`LEAST_SIZES`] different sizes, or for costs that are negative or no
    /// numbers.
    pub fn of(points: &[CostAtSize]) -> Option<Self> {
        let valid =
            |point: &CostAtSize| point.cost.is_finite() && point.cost >= 0.0 && point.members > 0;
        let mut sizes: Vec<_> = points.iter().map(|point| point.members).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() < LEAST_SIZES || !points.iter().all(valid) {
            return None;
        }
        let mut best: Option<(f64, Self)> = None;
        for form in Form::ALL {
            let fit = Self::with(form, points);
            let score = fit.criterion(points.len());
            // The forms go from the slowest to the fastest, so that a tie goes to the slower.
            if best.is_none_or(|(least, _)| score < least - 1e-9) {
                best = Some((score, fit));
            }
        }
        best.map(|(_, fit)| fit)
    }

    /// Whether costs may grow in a form. They may not if there is strong evidence for another form:
    /// a difference of [`STRONG`] in the criterion (Kass and Raftery 1995).
    pub fn allows(form: Form, points: &[CostAtSize]) -> bool {
        let Some(best) = Self::of(points) else { return false };
        let score = |fit: &Self| fit.criterion(points.len());
        score(&Self::with(form, points)) - score(&best) < STRONG
    }

    /// Returns the cost that the fit predicts.
    pub fn cost(&self, members: u32) -> f64 {
        self.constant + self.factor * function(self.form, members)
    }

    fn with(form: Form, points: &[CostAtSize]) -> Self {
        let largest = points.iter().map(|point| point.cost).fold(0.0, f64::max);
        if largest == 0.0 {
            return Self { form, constant: 0.0, factor: 0.0, error: 0.0 };
        }
        // Costs near zero would outweigh all others.
        let scale = |point: &CostAtSize| point.cost.max(1e-3 * largest);
        let (mut one, mut g1, mut g2, mut y1, mut gy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for point in points {
            let weight = scale(point).powi(-2);
            let g = function(form, point.members);
            one += weight;
            g1 += weight * g;
            g2 += weight * g * g;
            y1 += weight * point.cost;
            gy += weight * g * point.cost;
        }
        let determinant = one * g2 - g1 * g1;
        let (constant, factor) = match form {
            Form::Constant => (y1 / one, 0.0),
            _ => {
                let factor = (one * gy - g1 * y1) / determinant;
                let constant = (g2 * y1 - g1 * gy) / determinant;
                // The factor must not be negative. The best fit then has a factor of zero.
                if factor < 0.0 { (y1 / one, 0.0) } else { (constant, factor) }
            }
        };
        let fit = Self { form, constant, factor, error: 0.0 };
        let squares = points
            .iter()
            .map(|point| ((point.cost - fit.cost(point.members)) / scale(point)).powi(2));
        Self { error: (squares.sum::<f64>() / points.len() as f64).sqrt(), ..fit }
    }

    /// Returns the Bayesian information criterion: the smaller, the better.
    fn criterion(&self, points: usize) -> f64 {
        let parameters = if self.form == Form::Constant { 1.0 } else { 2.0 };
        let n = points as f64;
        2.0 * n * self.error.max(NEGLIGIBLE).ln() + parameters * n.ln()
    }
}

/// Returns how the counted costs of rows grow, by scheme, profile, parameters, suite, operation and
/// role. Costs with fewer than [`LEAST_SIZES`] sizes are left out.
///
/// Rows that differ otherwise (workload, protection, phase, length of messages) are kept apart, and
/// the largest set of sizes is taken.
pub fn table(rows: &[BenchRow]) -> Vec<Grown> {
    let mut curves: BTreeMap<_, BTreeMap<_, Vec<&BenchRow>>> = BTreeMap::new();
    let mut order = Vec::new();
    for row in rows {
        let BenchRow { scheme, profile, parameters, suite, operation, role, .. } = row;
        let key = (scheme, profile, parameters, suite, operation, role);
        let apart = (&row.workload, &row.protection, &row.phase, row.message_bytes);
        if !curves.contains_key(&key) {
            order.push(key);
        }
        curves.entry(key).or_default().entry(apart).or_default().push(row);
    }
    let grown = order.into_iter().filter_map(|key| {
        let rows = curves[&key].values().max_by_key(|rows| rows.len())?;
        let point = |row: &&BenchRow| CostAtSize { members: row.members, cost: row.counted_ns };
        let points: Vec<_> = rows.iter().map(point).collect();
        let fit = GrowthFit::of(&points)?;
        let members = points.iter().map(|point| point.members);
        // All rows of the set have these values in common.
        let BenchRow { class, provenance, protection, seed, .. } = rows.first()?;
        let (scheme, profile, parameters, suite, operation, role) = key;
        let stated = stated(scheme, profile, operation, role);
        Some(Grown {
            scheme: scheme.clone(),
            class: class.clone(),
            provenance: provenance.clone(),
            profile: profile.clone(),
            parameters: parameters.clone(),
            suite: suite.clone(),
            protection: protection.clone(),
            seed: *seed,
            operation: operation.clone(),
            role: role.clone(),
            members: (members.clone().min()?, members.max()?),
            growth: fit.form.name(),
            constant_ns: fit.constant,
            factor_ns: fit.factor,
            error: fit.error,
            stated: stated.map(Form::name),
            agrees: stated.map(|form| GrowthFit::allows(form, &points)),
        })
    });
    grown.collect()
}

fn stated(scheme: &str, profile: &str, operation: &str, role: &str) -> Option<Form> {
    let scheme = registry::scheme(scheme)?;
    let profile = Profile::ALL.into_iter().find(|known| known.name() == profile)?;
    let activity = Activity::ALL.into_iter().find(|known| known.name() == operation)?;
    let role = Role::ALL.into_iter().find(|known| known.name() == role)?;
    scheme.growth_of(profile, activity.operation()?, role)
}

fn function(form: Form, members: u32) -> f64 {
    let n = f64::from(members);
    match form {
        Form::Constant => 1.0,
        Form::Logarithmic => n.log2(),
        Form::LogarithmSquared => n.log2().powi(2),
        Form::Linear => n,
        Form::Linearithmic => n * n.log2(),
        Form::Quadratic => n * n,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bench::example::row;

    const SIZES: [u32; 8] = [4, 8, 12, 24, 48, 96, 160, 256];

    fn form(cost: impl Fn(f64) -> f64) -> Form {
        let points = SIZES.map(|members| CostAtSize { members, cost: cost(f64::from(members)) });
        GrowthFit::of(&points).expect("eight sizes").form
    }

    #[test]
    fn each_form_is_recognised() {
        assert_eq!(form(|_| 0.0), Form::Constant);
        assert_eq!(form(|_| 17.0), Form::Constant);
        assert_eq!(form(|n| 3.0 + 2.0 * n.log2()), Form::Logarithmic);
        assert_eq!(form(|n| 5.0 * n.log2().powi(2)), Form::LogarithmSquared);
        assert_eq!(form(|n| 100.0 + n), Form::Linear);
        assert_eq!(form(|n| n * n.log2()), Form::Linearithmic);
        assert_eq!(form(|n| 1.0 + n * n), Form::Quadratic);
    }

    /// Formulas as in the headers of schemes: whole levels, one less, lower terms.
    #[test]
    fn steps_and_lower_terms_do_not_mislead() {
        assert_eq!(form(|n| n.log2().ceil()), Form::Logarithmic);
        assert_eq!(form(|n| (n.log2() / 2.0).ceil()), Form::Logarithmic);
        assert_eq!(form(|n| 2.0 * n.log2().ceil() - 1.0), Form::Logarithmic);
        assert_eq!(form(|n| n.log2().ceil() - 1.0), Form::Logarithmic);
        assert_eq!(form(|n| n - 1.0), Form::Linear);
        assert_eq!(form(|n| 2.0 * n - 2.0 + n.log2().ceil()), Form::Linear);
        assert_eq!(form(|n| (n * n + 3.0 * n) / 2.0 - 1.0), Form::Quadratic);
        assert_eq!(form(|n| n * n.log2().ceil()), Form::Linearithmic);
        let half = |n: f64| n.log2().ceil() * (n.log2().ceil() + 3.0) / 2.0;
        assert_eq!(form(half), Form::LogarithmSquared);
        assert_eq!(form(|n| 1_000.0 + n.log10().ceil()), Form::Constant);
    }

    #[test]
    fn few_sizes_and_bad_costs_tell_nothing() {
        let points = SIZES.map(|members| CostAtSize { members, cost: 1.0 });
        assert_eq!(GrowthFit::of(&points[..3]), None);
        assert_eq!(GrowthFit::of(&[points[0]; 8]), None);
        for cost in [-1.0, f64::NAN, f64::INFINITY] {
            let mut points = points;
            points[3].cost = cost;
            assert_eq!(GrowthFit::of(&points), None);
        }
    }

    #[test]
    fn the_table_has_a_line_for_each_operation_of_a_role() {
        let rows: Vec<_> = SIZES
            .iter()
            .flat_map(|&members| {
                let controller =
                    BenchRow { counted_ns: f64::from(members), ..row("skdc", members) };
                let member =
                    BenchRow { role: "member".to_owned(), counted_ns: 3.0, ..controller.clone() };
                [controller, member]
            })
            .collect();
        let table = table(&rows);
        let told: Vec<_> = table.iter().map(|line| (&*line.role, line.growth)).collect();
        assert_eq!(told, [("controller", "linear"), ("member", "constant")]);
        assert_eq!(table[0].members, (4, 256));
        let stated: Vec<_> = table.iter().map(|line| (line.stated, line.agrees)).collect();
        assert_eq!(stated, [(Some("linear"), Some(true)), (Some("constant"), Some(true))]);
    }

    #[test]
    fn other_parameters_are_another_curve() {
        let rows = SIZES.iter().flat_map(|&members| {
            [(1.0, ""), (40.0, "degree=2")].map(|(factor, parameters)| BenchRow {
                counted_ns: factor * f64::from(members),
                parameters: parameters.to_owned(),
                ..row("skdc", members)
            })
        });
        let table = table(&rows.collect::<Vec<_>>());
        let told: Vec<_> =
            table.iter().map(|line| (&*line.parameters, line.factor_ns.round())).collect();
        assert_eq!(told, [("", 1.0), ("degree=2", 40.0)]);
    }

    proptest! {
        #[test]
        fn any_unit_gives_the_same_form(factor in 1e-3..1e9_f64, constant in 0.0..10.0_f64) {
            prop_assert_eq!(form(|n| factor * (constant + n)), Form::Linear);
            prop_assert_eq!(form(|n| factor * (1.0 + n.log2())), Form::Logarithmic);
        }

        #[test]
        fn any_costs_give_a_fit_that_does_not_shrink(
            costs in prop::array::uniform8(0.0..1e12_f64)
        ) {
            let mut points = SIZES.map(|members| CostAtSize { members, cost: 0.0 });
            points.iter_mut().zip(costs).for_each(|(point, cost)| point.cost = cost);
            let fit = GrowthFit::of(&points).expect("eight sizes");
            prop_assert!(fit.constant.is_finite() && fit.factor >= 0.0 && fit.error >= 0.0, "{fit:?}");
        }
    }
}
