//! What the firmware prints of primitives: a line for each, `standard wrap 5971.00 46232.00`. Numbers are
//! of a call and of a unit, in what the machine counts.

use std::collections::HashMap;

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_testkit::workbench::Handling;

use super::costs::{Costs, HandlingCosts, Instructions, PrimitiveCost};
use super::measured::{all_suites, figures};

/// Figures by suite and primitive, as they come in.
#[derive(Debug, Default)]
pub(super) struct Figures(HashMap<String, Instructions>);

type AllCosts = (HandlingCosts, [Option<Costs>; Suite::ALL.len()]);

impl Figures {
    /// Returns how many figures there must be.
    pub(super) fn wanted() -> usize {
        figures() + Handling::ALL.len()
    }

    pub(super) fn number(&self) -> usize {
        self.0.len()
    }

    pub(super) fn take(&mut self, line: &str) -> bool {
        let figure = figure(line);
        let is_one = figure.is_some();
        self.0.extend(figure);
        is_one
    }

    /// Makes costs of the figures. `instead` may give the cost of a primitive without one. Fails with the
    /// name of the first figure that is missing.
    pub(super) fn costs(
        &self,
        cost: impl Fn(Instructions) -> PrimitiveCost,
        instead: impl Fn(Suite, Primitive) -> Option<PrimitiveCost>,
    ) -> Result<AllCosts, String> {
        let mut missing = None;
        let mut named = |table: &str, name: &str, instead: Option<PrimitiveCost>| {
            let name = [table, name].join(" ");
            let found = self.0.get(&name).copied().map(&cost).or(instead);
            if found.is_none() {
                missing.get_or_insert(name);
            }
            found
        };
        let messages = Handling::ALL.map(|handling| named("messages", handling.name(), None));
        let messages: Option<Vec<PrimitiveCost>> = messages.into_iter().collect();
        let suites = all_suites(|suite, primitive| {
            named(suite.name(), primitive.name(), instead(suite, primitive))
        });
        let all = messages.and_then(|costs| costs.try_into().ok()).zip(suites);
        let (messages, suites) = all.ok_or_else(|| missing.unwrap_or_default())?;
        Ok((HandlingCosts(messages), suites))
    }
}

/// No figure is larger: it would take a processor a week.
const MOST: f64 = 1e15;

fn figure(line: &str) -> Option<(String, Instructions)> {
    let [suite, primitive, per_call, per_unit] =
        line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let amount = |text: &str| text.parse().ok().filter(|n: &f64| (0.0..=MOST).contains(n));
    let instructions = Instructions { per_call: amount(per_call)?, per_unit: amount(per_unit)? };
    Some(([suite, primitive].join(" "), instructions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_figure_or_refused() {
        let (name, instructions) = figure("standard wrap 5971.00 46232.25").expect("a figure");
        assert_eq!(name, "standard wrap");
        assert_eq!(instructions, Instructions { per_call: 5971.0, per_unit: 46232.25 });
        for line in [
            "",
            "standard wrap 1",
            "standard wrap 1 2 3",
            "a b x 0",
            "a b -1 0",
            "a b NaN 0",
            "a b 1e300 0",
        ] {
            assert_eq!(figure(line), None, "{line}");
        }
    }
}
