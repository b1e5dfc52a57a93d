//! Outcomes held against recorded ones.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use groupkey_choose::input::InputError;
use groupkey_reproduce::expectations::{ClaimEntry, differences, expected};

use crate::failure::Failure;

/// Which recorded outcomes are expected.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RecordedArguments {
    /// Compare the outcomes with these, the claims.json of an earlier run; the exit code is 1 if one
    /// differs [default: the recorded ones, if the settings are those of the record].
    #[arg(long, value_name = "FILE")]
    pub(super) against: Option<PathBuf>,
}

/// Outcomes beside those that were expected.
pub(super) struct OutcomeComparison {
    claims: usize,
    differences: Vec<String>,
}

impl RecordedArguments {
    /// Reads what is expected: of `--against`, or of the record if the settings are its settings.
    pub(super) fn expected(&self, is_of_record: bool) -> Result<Option<Vec<ClaimEntry>>, Failure> {
        match &self.against {
            Some(path) => read(path).map(Some),
            None => Ok(is_of_record.then(expected)),
        }
    }
}

fn read(path: &Path) -> Result<Vec<ClaimEntry>, Failure> {
    let help = "give the claims.json that groupkey reproduce all writes";
    let text = InputError::read(path);
    let text = text.map_err(|error| Failure::input(error.to_string()).with_help(help))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())).with_help(help))
}

impl OutcomeComparison {
    pub(super) fn of(found: &[ClaimEntry], expected: Option<&[ClaimEntry]>) -> Option<Self> {
        let differences = differences(found, expected?);
        Some(Self { claims: found.len(), differences })
    }

    pub(super) fn differences(&self) -> &[String] {
        &self.differences
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { claims, differences } = self;
        let same = claims.saturating_sub(differences.len());
        writeln!(out, "{same} of {claims} outcomes are as expected")?;
        differences.iter().try_for_each(|difference| writeln!(out, "  {difference}"))
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.differences[..] {
            [] => Ok(()),
            [one] => Err(Failure::running(format!("an outcome is not as expected: {one}"))),
            [first, ..] => {
                let count = self.differences.len();
                Err(Failure::running(format!(
                    "{count} outcomes are not as expected, the first of them: {first}"
                )))
            }
        }
    }
}
