//! A published finding, and whether our rows confirm it.

use serde::{Deserialize, Serialize};

/// A finding of the paper, and our verdict on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `f1`, `f2`, ...
    pub id: String,
    /// The finding.
    pub claim: String,
    /// Whether our rows confirm it.
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
    /// The rows do not suffice to decide.
    NotDecidable,
    /// It does not hold.
    Refuted,
}

impl Outcome {
    /// Returns the outcome in words, for use within a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotDecidable => "not decidable",
            Self::Refuted => "refuted",
        }
    }
}
