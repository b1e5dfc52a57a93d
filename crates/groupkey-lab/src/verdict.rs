//! A published finding, and whether our rows bear it out.

use serde::{Deserialize, Serialize};

/// A finding of the paper and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `f1`, `f2`, ...
    pub id: String,
    /// The finding.
    pub claim: String,
    /// Whether our rows bear it out.
    pub outcome: Outcome,
    /// The figures that decide it.
    pub evidence: String,
}

/// Whether a finding holds in our rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds.
    Confirmed,
    /// The rows do not suffice to say.
    NotDecidable,
    /// It does not hold.
    Refuted,
}

impl Outcome {
    /// In words, as within a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotDecidable => "not decidable",
            Self::Refuted => "refuted",
        }
    }
}
