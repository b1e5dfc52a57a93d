//! Which test bed explains the study? It says that loss and delay act on each client. It does not
//! say on which packets and in which direction, what TCP the clients ran, or which of several times
//! it reports. [`infer`] searches over such test beds, ranks them by the likelihood of the
//! published values, and predicts every cell of the study with the best one.
//!
//! The search goes from coarse to fine. Delay alone rules out most ways of a message to its
//! subscriber, without chance. The rest are run a few times each, and only the best many times. The
//! times of a packet and of reading a payload are solved for each test bed, as for the study itself,
//! so that the values without loss and delay come out.

mod bed;
mod observation;
mod prediction;
mod search;

use std::fmt;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

pub use self::bed::{Direction, Lossy, Reported, TestBed};
pub use self::prediction::{CellPrediction, Prediction};
use self::search::Search;
use crate::campaign::CampaignError;

/// How an inference is run.
#[derive(Clone, Copy)]
pub struct InferenceOptions<'a> {
    /// Seed of all randomness.
    pub seed: u64,
    /// Number of threads; 0 counts as 1. The result does not depend on it.
    pub threads: usize,
    /// When this becomes true the search stops at the next opportunity.
    pub stop: &'a AtomicBool,
    /// Called with the number of runs done and planned, whenever a run is done.
    pub on_progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Runs of each value on the forty best test beds, and of each cell on the best one. The ten
    /// best get five times as many, all others fewer.
    pub runs: u32,
}

impl fmt::Debug for InferenceOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, threads, runs, .. } = self;
        let mut options = f.debug_struct("InferenceOptions");
        options.field("seed", seed).field("threads", threads).field("runs", runs);
        options.finish_non_exhaustive()
    }
}

/// The outcome of an inference.
#[derive(Clone, Debug, Serialize)]
pub struct Inference {
    /// Number of test beds that were searched.
    pub searched: usize,
    /// Of those, test beds that delay alone rules out.
    pub ruled_out_by_delay: usize,
    /// The best test beds, the most likely first.
    pub ranking: Vec<Ranked>,
    /// The best test bed beside each published value.
    pub predictions: Vec<Prediction>,
    /// What the test bed that is best without a value says of that value.
    pub left_out: Vec<LeftOut>,
    /// The best test bed's prediction of each cell of the study.
    pub cells: Vec<CellPrediction>,
    /// The largest relative error of the best test bed over all values that are no means of
    /// calibration.
    pub largest_error: f64,
    /// The value that has this error.
    pub resists: String,
    /// The smallest such error that any test bed of the ranking reaches, and its rank from 1.
    pub smallest_largest_error: f64,
    /// That test bed's rank, from 1.
    pub rank_of_smallest: usize,
}

/// A test bed and how well it explains the study.
#[derive(Clone, Debug, Serialize)]
pub struct Ranked {
    /// The test bed.
    pub bed: TestBed,
    /// The test bed in words.
    pub words: String,
    /// Logarithm of the likelihood of all values.
    pub log_likelihood: f64,
    /// Its share among all searched test beds, taken as equally likely before.
    pub share: f64,
    /// Runs of each value.
    pub runs: u32,
    /// The largest relative error over the values that are no means of calibration.
    pub largest_error: f64,
    /// What it says of each value (ms), in the order of [`Inference::predictions`].
    pub means_ms: Vec<f64>,
}

/// A value, and what the test bed says of it that is best without it.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The value's name.
    pub key: String,
    /// The published value (ms).
    pub published_ms: f64,
    /// What that test bed says (ms).
    pub predicted_ms: f64,
    /// Relative error.
    pub error: f64,
    /// The test bed in words.
    pub words: String,
}

/// Searches the test beds. Returns `None` if it was stopped.
pub fn infer(options: &InferenceOptions<'_>) -> Result<Option<Inference>, CampaignError> {
    let mut search = Search::new(options);
    let Some(candidates) = search.run()? else {
        return Ok(None);
    };
    let observations = search.observations();
    let best = &candidates[0];
    let Some(cells) = prediction::cells(options, best)? else {
        return Ok(None);
    };
    let free: Vec<usize> =
        (0..observations.len()).filter(|place| !observations[*place].calibrated).collect();
    let error_at = |candidate: &search::Candidate, place: usize| {
        candidate.found[place].mean / observations[place].value - 1.0
    };
    let largest = |candidate: &search::Candidate| {
        let errors = free.iter().map(|&place| (error_at(candidate, place).abs(), place));
        errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are free values")
    };
    let total: f64 =
        candidates.iter().map(|other| (other.log_likelihood - best.log_likelihood).exp()).sum();
    let ranking: Vec<Ranked> = candidates
        .iter()
        .take(RANKED)
        .map(|candidate| Ranked {
            bed: candidate.bed,
            words: candidate.bed.to_string(),
            log_likelihood: candidate.log_likelihood,
            share: (candidate.log_likelihood - best.log_likelihood).exp() / total,
            runs: candidate.runs,
            largest_error: largest(candidate).0,
            means_ms: candidate.found.iter().map(|found| found.mean).collect(),
        })
        .collect();
    let left_out = free
        .iter()
        .map(|&place| {
            let without = |candidate: &search::Candidate| {
                candidate.log_likelihood
                    - observations[place].log_likelihood(&candidate.found[place])
            };
            let chosen = candidates
                .iter()
                .max_by(|a, b| without(a).total_cmp(&without(b)))
                .expect("there are candidates");
            LeftOut {
                key: observations[place].key.clone(),
                published_ms: observations[place].value,
                predicted_ms: chosen.found[place].mean,
                error: error_at(chosen, place),
                words: chosen.bed.to_string(),
            }
        })
        .collect();
    let (largest_error, resists) = largest(best);
    let smallest = (0..ranking.len())
        .min_by(|&a, &b| ranking[a].largest_error.total_cmp(&ranking[b].largest_error))
        .expect("there is a best test bed");
    Ok(Some(Inference {
        searched: search.searched(),
        ruled_out_by_delay: search.ruled_out(),
        predictions: prediction::of_values(observations, best),
        left_out,
        cells,
        largest_error,
        resists: observations[resists].key.clone(),
        smallest_largest_error: ranking[smallest].largest_error,
        rank_of_smallest: smallest + 1,
        ranking,
    }))
}

/// Test beds in the ranking.
const RANKED: usize = 20;
