//! Scenarios: one group with links that differ and change, described in a TOML file.
//!
//! `docs/scenarios.md` lists every key; `examples/scenarios` has four examples.

mod file;
pub(crate) mod name;

use groupkey_choose::input::InputError;

use crate::campaign::{self, CampaignError, CampaignOptions};
use crate::plan::{Plan, PlanAction};
use crate::results::NetworkRow;

/// A scenario, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What the scenario is about.
    pub description: String,
    /// The plan that is run.
    pub plan: Plan,
}

/// A scenario file that cannot be used. Displays as `file:line:column: problem`.
pub type ScenarioError = InputError;

impl Scenario {
    /// Returns the actions, one for each row of [`Scenario::run`].
    pub fn steps(&self) -> impl Iterator<Item = PlanAction> {
        self.plan.reported().map(|(_, action)| action)
    }

    /// Runs the scenario. Returns a row for each step, or no rows if the run was stopped.
    pub fn run(&self, options: &CampaignOptions<'_>) -> Result<Vec<NetworkRow>, CampaignError> {
        let mut rows = Vec::new();
        campaign::run(std::slice::from_ref(&self.plan), options, &mut |row| {
            rows.push(row.clone());
            Ok(())
        })?;
        Ok(rows)
    }
}
