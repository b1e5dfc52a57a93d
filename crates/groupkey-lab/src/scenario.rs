//! Scenarios.
use std::path::{Path, PathBuf};

use crate::campaign::{CampaignError, Options};
use crate::plan::Plan;
use crate::results::NetworkRow;

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it shows.
    pub description: String,
    /// What is run.
    pub plan: Plan,
}

/// A scenario file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if the file could not be read.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong, and what to do about it.
    pub problem: String,
}

impl Scenario {
    /// Reads a scenario file.
    pub fn load(_path: &Path) -> Result<Self, ScenarioError> {
        todo!()
    }

    /// Runs it: a row for each step.
    pub fn run(&self, _options: &Options<'_>) -> Result<Vec<NetworkRow>, CampaignError> {
        todo!()
    }
}
