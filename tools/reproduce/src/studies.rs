//! The studies of computations that the laboratory runs again.

use super::study::Study;
use super::{benchmark, centralized, nishat, tgdh};

/// Returns all studies of computations.
pub fn studies() -> [&'static Study; 4] {
    [&benchmark::STUDY, &centralized::STUDY, &tgdh::STUDY, &nishat::STUDY]
}

impl Study {
    /// Returns the study of this name.
    pub fn named(id: &str) -> Option<&'static Self> {
        studies().into_iter().find(|study| study.id == id)
    }
}
