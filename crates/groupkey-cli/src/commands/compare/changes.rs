//! What changed from one results file to the next, and whether the change is a failure.

use std::path::Path;

use groupkey_lab::bench::compare::{Comparison, Match};

use crate::failure::Failure;

/// The rows that changed.
pub(super) struct Changes<'a> {
    /// Rows with a change in counts, sizes or bytes.
    pub(super) certain: Vec<&'a Match>,
    /// Rows with a change in time.
    pub(super) times: Vec<&'a Match>,
}

impl<'a> Changes<'a> {
    pub(super) fn of(comparison: &'a Comparison, threshold: f64) -> Self {
        let matched = &comparison.matched;
        Self {
            certain: matched.iter().filter(|row| !row.changes.is_empty()).collect(),
            times: matched.iter().filter(|row| row.time.is_significant(threshold)).collect(),
        }
    }

    /// Fails if a row changed in `after`, and if the files could not have shown a change.
    pub(super) fn verdict(&self, comparison: &Comparison, after: &Path) -> Result<(), Failure> {
        if comparison.matched.is_empty() {
            return Err(Failure::input("no row is in both files: nothing was compared")
                .with_help("compare two runs of the same command"));
        }
        if !self.certain.is_empty() || !self.times.is_empty() || !comparison.missing.is_empty() {
            return Err(Failure::running(format!("{} changed", after.display())));
        }
        if comparison.tested() == 0 {
            return Err(Failure::input("no time can be tested: rows have a single repetition")
                .with_help("measure again with --repetitions 10 or more, a network with --runs"));
        }
        Ok(())
    }
}
