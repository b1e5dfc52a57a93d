//! The header of runs of which nothing is to be continued: audits, traces, choices and policies.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::file::{FileHeader, FileRow, Origin, PRINTED, UNKNOWN};

/// First line of such a results file: what was run, on what, and how to run it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(bound = "R: RunRow + schemars::JsonSchema", rename = "RunHeaderOf{R}"))]
pub struct RunHeader<R> {
    /// The kind of rows: `groupkey-` and a word.
    pub format: String,
    /// Version of the format; readers refuse any other.
    pub version: u32,
    /// What was run: the name of the trace, of the requirements, or of the scenario.
    pub name: String,
    /// Seed of everything that was drawn.
    pub seed: u64,
    /// Commit of the code that ran.
    pub commit: String,
    /// Processor model and number of cores; never a host name or a path.
    pub machine: String,
    /// What the run assumes, one sentence each.
    pub assumptions: Vec<String>,
    #[serde(skip)]
    rows: PhantomData<R>,
}

/// A row of such a run.
pub trait RunRow: FileRow {
    /// The value of the header's field `format`.
    const FORMAT: &'static str;

    /// Returns the seed of the run, if the row knows it.
    fn seed(&self) -> Option<u64>;
}

impl<R: RunRow> RunHeader<R> {
    /// Returns the header of a run.
    pub fn new(
        name: impl Into<String>,
        seed: u64,
        commit: impl Into<String>,
        machine: impl Into<String>,
        assumptions: Vec<String>,
    ) -> Self {
        Self {
            format: R::FORMAT.to_owned(),
            version: Self::VERSION,
            name: name.into(),
            seed,
            commit: commit.into(),
            machine: machine.into(),
            assumptions,
            rows: PhantomData,
        }
    }
}

impl<R: RunRow> FileHeader for RunHeader<R> {
    type Row = R;
    const FORMAT: &'static str = R::FORMAT;
    const VERSION: u32 = 1;

    fn of_printed(rows: &[R]) -> Option<Self> {
        let seed = rows.iter().find_map(RunRow::seed).unwrap_or_default();
        Some(Self::new("printed", seed, UNKNOWN, UNKNOWN, vec![PRINTED.to_owned()]))
    }

    fn origin(&self) -> Origin<'_> {
        Origin { commit: &self.commit, machine: &self.machine, seed: self.seed }
    }
}
