//! Studies of what single parties compute, keep and send: the measurements, and their examination.

use serde::Serialize;

use crate::bench::{BenchPlan, BenchRow};
use crate::verdict::Verdict;

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
    /// The device of the study on which a role is modelled.
    pub(super) device: fn(role: &str) -> &'static str,
    pub(super) plans: fn(Extent) -> Vec<BenchPlan>,
    pub(super) examine: fn(&[BenchRow]) -> Examination,
}

/// How much of a study is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Sizes spread over all sizes of the study.
    Full,
    /// A few sizes and repetitions.
    Quick,
}

/// The values and verdicts from a study's rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examination {
    /// Every value that the study prints, and our value.
    pub published: Vec<Beside>,
    /// The study's findings, decided.
    pub verdicts: Vec<Verdict>,
}

/// A value that a study prints, and our value beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// What the value is.
    pub what: String,
    /// The study's value, in `unit`.
    pub published: f64,
    /// The error that the study prints with the value, or an error that follows from printed
    /// errors.
    pub error: Option<f64>,
    /// Our value from real parties. Sizes are the same everywhere, times are this machine's.
    pub measured: Option<f64>,
    /// Our modelled value: what counted primitives cost on the study's device.
    pub modelled: Option<f64>,
    /// The unit.
    pub unit: &'static str,
    /// What to keep in mind.
    pub note: String,
}

impl Study {
    /// Returns the plans to measure, for groups of at most this many members. `repetitions`
    /// replaces the number of repetitions in the plans.
    pub fn plans(
        &self,
        extent: Extent,
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
    pub fn examine(&self, rows: &[BenchRow]) -> Examination {
        (self.examine)(rows)
    }
}

impl Extent {
    /// Returns one of two values, by the extent.
    pub(super) fn of<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}
