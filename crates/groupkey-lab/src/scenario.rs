//! Scenarios: one group with links that differ and change, told in a TOML file.
//!
//! `docs/scenarios.md` lists every key; `examples/scenarios` has three examples.

mod file;
mod name;

use std::path::{Path, PathBuf};
use std::{error, fmt, fs};

use crate::campaign::{self, CampaignError, Options};
use crate::plan::{Action, Plan};
use crate::results::NetworkRow;

/// A scenario, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is about.
    pub description: String,
    /// What is run.
    pub plan: Plan,
}

/// A scenario file that cannot be used. Displays as `file:line:column: problem`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, and the column, from 1; `None` if the file could not be read.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and what to do about it.
    pub problem: String,
}

impl Scenario {
    /// Reads a scenario file.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = fs::read_to_string(path).map_err(|error| ScenarioError {
            path: path.to_owned(),
            position: None,
            problem: error.to_string(),
        })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a scenario file; errors name it by `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        file::parse(text).map_err(|mistake| ScenarioError {
            path: path.to_owned(),
            position: Some(line_and_column(text, mistake.offset)),
            problem: mistake.problem,
        })
    }

    /// What happens, one for each row of [`Scenario::run`].
    pub fn steps(&self) -> impl Iterator<Item = Action> {
        self.plan.reported()
    }

    /// Runs it: a row for each step, all or (when stopped) none.
    pub fn run(&self, options: &Options<'_>) -> Result<Vec<NetworkRow>, CampaignError> {
        let mut rows = Vec::new();
        campaign::run(std::slice::from_ref(&self.plan), options, &mut |row| {
            rows.push(row.clone());
            Ok(())
        })?;
        Ok(rows)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, position, problem } = self;
        write!(f, "{}:", path.display())?;
        if let Some((line, column)) = position {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {problem}")
    }
}

impl error::Error for ScenarioError {}

/// Line and column (in characters) of a byte, both from 1.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
