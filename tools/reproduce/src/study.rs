//! Studies of what single parties compute, keep and send: the measurements, and their examination.

use groupkey_lab::bench::{BenchPlan, BenchRow};
use groupkey_lab::report::Beside;
use groupkey_lab::verdict::{Thresholds, Verdict};
use serde::Serialize;

use crate::expectations::p_values_beside;
use crate::grade::settle;
use crate::{benchmark, centralized, nishat, tgdh};

/// A published study of computations, to be run again with the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// Its name on the command line and in results.
    pub id: &'static str,
    /// What the study is about, in a line.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What the reproduction assumes, one sentence each.
    pub assumptions: &'static [&'static str],
    pub(super) device: fn(role: &str) -> &'static str,
    pub(super) plans: fn(StudyExtent) -> Vec<BenchPlan>,
    pub(super) examine: fn(&[BenchRow], &Thresholds) -> StudyResult,
}

/// How much of a study is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyExtent {
    /// Sizes spread over all sizes of the study.
    Full,
    /// A few sizes and repetitions.
    Quick,
}

/// The values and verdicts from a study's rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StudyResult {
    /// Every value that the study prints, and our value.
    pub published: Vec<Beside>,
    /// The study's findings, decided.
    pub verdicts: Vec<Verdict>,
}

impl Study {
    /// Returns the plans to measure, for groups of at most this many members. `repetitions`
    /// replaces the number of repetitions in the plans.
    pub fn plans(
        &self,
        extent: StudyExtent,
        repetitions: Option<u32>,
        most_members: u32,
        seed: u64,
    ) -> Vec<BenchPlan> {
        let mut plans = (self.plans)(extent);
        for plan in &mut plans {
            plan.workload = self.id.to_owned();
            plan.seed = seed;
            plan.repetitions = repetitions.unwrap_or(plan.repetitions);
            plan.members.retain(|&members| members <= most_members);
        }
        plans
    }

    /// Sets the study's values beside the values of the rows, and decides its findings.
    pub fn examine(&self, rows: &[BenchRow]) -> StudyResult {
        self.examine_by(rows, &Thresholds::in_use())
    }

    /// Does the same by other thresholds.
    pub fn examine_by(&self, rows: &[BenchRow], thresholds: &Thresholds) -> StudyResult {
        let mut result = (self.examine)(rows, thresholds);
        settle(&mut result.verdicts, &p_values_beside(self.id), thresholds);
        result
    }
}

impl StudyExtent {
    pub(super) fn of<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

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
