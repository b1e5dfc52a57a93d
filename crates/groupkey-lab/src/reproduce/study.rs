//! Studies of what single parties compute, keep and send: what is measured, and what is made of it.

use serde::Serialize;

use crate::bench::{BenchPlan, BenchRow};
use crate::verdict::Verdict;

/// A published study of computations, to be run again with the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// Its name on the command line and in results.
    pub id: &'static str,
    /// What it is about, in a line.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What the reproduction takes for granted, one sentence each.
    pub assumptions: &'static [&'static str],
    /// The device of the study on which a role is modelled.
    pub(super) device: fn(role: &str) -> &'static str,
    pub(super) plans: fn(Extent) -> Vec<BenchPlan>,
    pub(super) examine: fn(&[BenchRow]) -> Examination,
}

/// How much of a study is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Sizes spread over all of the study's.
    Full,
    /// A few sizes and repetitions.
    Quick,
}

/// What is made of a study's rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examination {
    /// Every value that the study prints, and ours.
    pub published: Vec<Beside>,
    /// The study's findings, decided.
    pub verdicts: Vec<Verdict>,
}

/// A value that a study prints, and ours beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// What it is.
    pub what: String,
    /// The study's value, in `unit`.
    pub published: f64,
    /// The error that the study prints with it, or that follows from those that it prints.
    pub error: Option<f64>,
    /// What real parties gave here: sizes are the same everywhere, times are this machine's.
    pub measured: Option<f64>,
    /// What counted primitives cost on the study's device: a model.
    pub modelled: Option<f64>,
    /// The unit.
    pub unit: &'static str,
    /// What to keep in mind.
    pub note: String,
}

impl Study {
    /// What is measured: in other repetitions if that is wanted, and of groups of at most this many
    /// members.
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

    /// Sets the study's values beside those of the rows, and decides its findings.
    pub fn examine(&self, rows: &[BenchRow]) -> Examination {
        (self.examine)(rows)
    }
}

impl Extent {
    /// One of two things, by the extent.
    pub(super) fn of<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}
