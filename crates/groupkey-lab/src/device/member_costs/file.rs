//! The files with member costs: those of [`crate::results`], with a header and columns of their own.

use serde::{Deserialize, Serialize};

use super::row::MemberCost;
use crate::results::{FileHeader, FileRow, Origin, ResultColumn, fields};

/// First line of a file of member costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemberCostHeader {
    /// Always `groupkey-member-costs`.
    #[cfg_attr(test, schemars(extend("const" = Self::FORMAT)))]
    pub format: String,
    /// Version of the format; readers refuse any other.
    #[cfg_attr(test, schemars(extend("const" = Self::VERSION)))]
    pub version: u32,
    /// Processor: `cortex-m4` or `rv32imac`.
    pub target: String,
    /// Seed of everything that was drawn.
    pub seed: u64,
    /// Commit of the code that ran.
    pub commit: String,
    /// Emulator and compiler, with their versions.
    pub machine: String,
    /// What the figures assume, one sentence each.
    pub assumptions: Vec<String>,
}

impl MemberCostHeader {
    /// Returns the header of a run on a processor.
    pub fn new(target: &str, seed: u64, commit: String, machine: String) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            target: target.to_owned(),
            seed,
            commit,
            machine,
            assumptions: ASSUMPTIONS.map(str::to_owned).to_vec(),
        }
    }
}

const ASSUMPTIONS: [&str; 3] = [
    "Instructions are counted in an emulator; they are not cycles.",
    "Keys that protect messages, and certified keys of other members, are there before and are not counted.",
    "Heap is what the program asks the allocator for; the allocator takes some more.",
];

impl FileHeader for MemberCostHeader {
    type Row = MemberCost;
    const FORMAT: &'static str = "groupkey-member-costs";
    const VERSION: u32 = 1;

    fn origin(&self) -> Origin<'_> {
        Origin { commit: &self.commit, machine: &self.machine, seed: self.seed }
    }
}

impl FileRow for MemberCost {
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: target, scheme, class, provenance, profile, suite]);
        columns.extend(fields![text: protection]);
        columns.extend(fields![integer: members]);
        columns.extend(fields![text: operation, role, phase]);
        columns.extend(fields![optional integer: instructions, modelled_instructions]);
        columns.extend(fields![optional integer: stack_bytes, heap_peak_bytes, heap_kept_bytes]);
        columns.extend(fields![optional integer: steps, received_messages, received_bytes]);
        columns.extend(fields![optional integer: sent_messages, sent_bytes]);
        columns.extend(fields![text: hash]);
        columns
            .push(ResultColumn::text("fits", |row: &Self| row.fits.map(|fits| fits.to_string())));
        columns.extend(fields![text: reason]);
        columns
    }
}
