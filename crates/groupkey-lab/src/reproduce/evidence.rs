//! Deciding a finding by many comparisons of samples.
//!
//! A finding has parts, and a part is compared in many settings. A comparison states that the mean
//! of one sample is below the mean of another. It is decided when Welch's test rejects equal means
//! at 5 %, divided by the number of the finding's comparisons (Bonferroni). This keeps chance from
//! refuting a true finding of many settings. A finding holds in all its settings or not at all: one
//! counterexample refutes it.

use crate::statistics::{Difference, Summary, welch};
use crate::verdict::{Outcome, Verdict};

/// A part of a finding, and the settings in which it must hold.
#[derive(Debug)]
pub(crate) struct Part {
    claim: String,
    comparisons: Vec<Comparison>,
    not_run: usize,
}

/// A part's claim in one setting.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Each below zero if the claim holds.
    differences: Vec<Difference>,
    words: String,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ruling {
    Fails,
    Holds,
    Open,
}

impl Part {
    /// Creates a part without comparisons.
    pub(crate) fn new(claim: impl Into<String>) -> Self {
        Self { claim: claim.into(), comparisons: Vec::new(), not_run: 0 }
    }

    /// Returns what the part claims.
    pub(crate) fn claim(&self) -> &str {
        &self.claim
    }

    /// Adds the comparison of a setting; `None` if its rows are missing.
    pub(crate) fn add(&mut self, comparison: Option<Comparison>) {
        match comparison {
            Some(comparison) => self.comparisons.push(comparison),
            None => self.not_run += 1,
        }
    }

    /// Returns the number of settings, run or not.
    pub(crate) const fn total(&self) -> usize {
        self.comparisons.len() + self.not_run
    }

    /// Returns the number of settings in which the sample means are as claimed, decided or not.
    pub(crate) fn claimed_by_means(&self) -> usize {
        let claimed = |c: &&Comparison| c.differences.iter().all(|found| found.difference < 0.0);
        self.comparisons.iter().filter(claimed).count()
    }
}

impl Comparison {
    /// Claims that the mean of `a` is below the mean of `b`.
    pub(crate) fn below(a: &[f64], b: &[f64], words: String) -> Self {
        Self { differences: vec![welch(a, b)], words }
    }

    /// Claims that the mean of `a` is above the mean of `b` by no more than `tolerance` (a ratio).
    pub(crate) fn not_above(a: &[f64], b: &[f64], tolerance: f64, words: String) -> Self {
        Self::below(a, &scaled(b, 1.0 + tolerance), words)
    }

    /// Claims that the mean of `a` is `ratio` times the mean of `b`, give or take `tolerance` (a
    /// ratio).
    pub(crate) fn about(a: &[f64], b: &[f64], ratio: f64, tolerance: f64, words: String) -> Self {
        let low = welch(&scaled(b, ratio * (1.0 - tolerance)), a);
        let high = welch(a, &scaled(b, ratio * (1.0 + tolerance)));
        Self { differences: vec![low, high], words }
    }

    /// Claims that both hold, in the words of the first.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.differences.extend(other.differences);
        self
    }

    /// Creates a comparison that no observation decides.
    pub(crate) fn open(words: String) -> Self {
        Self::below(&[], &[], words)
    }

    /// Creates a comparison that needs no test.
    pub(crate) fn certain(holds: bool, words: String) -> Self {
        let difference = if holds { -1.0 } else { 1.0 };
        Self {
            differences: vec![Difference { difference, ci95_half_width: 0.0, p_value: 0.0 }],
            words,
        }
    }

    fn ruling(&self, significance: f64) -> Ruling {
        let rulings = self.differences.iter().map(|found| match found.difference {
            // Samples without spread leave nothing open.
            difference if found.p_value < significance || found.ci95_half_width == 0.0 => {
                if difference < 0.0 {
                    Ruling::Holds
                } else {
                    Ruling::Fails
                }
            }
            _ => Ruling::Open,
        });
        rulings.fold(Ruling::Holds, |all, one| match (all, one) {
            (Ruling::Fails, _) | (_, Ruling::Fails) => Ruling::Fails,
            (Ruling::Open, _) | (_, Ruling::Open) => Ruling::Open,
            (Ruling::Holds, Ruling::Holds) => Ruling::Holds,
        })
    }

    /// Returns how clearly the claim fails, to pick the most telling counterexample.
    fn excess(&self) -> f64 {
        let excess = self.differences.iter().map(|found| {
            let scale = found.ci95_half_width.max(f64::MIN_POSITIVE);
            if found.difference == 0.0 { 0.0 } else { found.difference / scale }
        });
        excess.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Decides a finding. `remark` is what a reader must know beside the figures.
pub(crate) fn decide(id: &str, claim: &str, parts: &[Part], remark: &str) -> Verdict {
    let comparisons: usize = parts.iter().map(|part| part.comparisons.len()).sum();
    let significance = SIGNIFICANCE / comparisons.max(1) as f64;

    let mut outcome = Outcome::Confirmed;
    let mut evidence = Vec::new();
    for part in parts {
        let of = |wanted| {
            let found = part.comparisons.iter().filter(|c| c.ruling(significance) == wanted);
            found.collect::<Vec<_>>()
        };
        let [fails, open, holds] = [Ruling::Fails, Ruling::Open, Ruling::Holds].map(of);
        let most = |these: &[&Comparison]| {
            let found = these.iter().max_by(|a, b| a.excess().total_cmp(&b.excess()));
            found.map(|c| c.words.clone())
        };
        let mut words =
            format!("{}: holds in {} of {} settings", part.claim, holds.len(), part.total());
        if let Some(example) = most(&fails) {
            words += &format!(", fails in {}, most clearly: {example}", fails.len());
        }
        if let Some(example) = most(&open) {
            words += &format!(", undecided in {}", open.len());
            if fails.is_empty() {
                words += &format!(", such as: {example}");
            }
        }
        if part.not_run > 0 {
            words += &format!(", not run in {}", part.not_run);
        }
        if let (true, Some(example)) = (fails.is_empty() && open.is_empty(), most(&holds)) {
            words += &format!(", the closest being: {example}");
        }
        evidence.push(words + ".");

        let part_outcome = if !fails.is_empty() {
            Outcome::Refuted
        } else if !open.is_empty() || part.not_run > 0 || part.comparisons.is_empty() {
            Outcome::NotDecidable
        } else {
            Outcome::Confirmed
        };
        outcome = match (outcome, part_outcome) {
            (Outcome::Refuted, _) | (_, Outcome::Refuted) => Outcome::Refuted,
            (Outcome::NotDecidable, _) | (_, Outcome::NotDecidable) => Outcome::NotDecidable,
            (Outcome::Confirmed, Outcome::Confirmed) => Outcome::Confirmed,
        };
    }
    if !remark.is_empty() {
        evidence.push(remark.to_owned());
    }
    Verdict { id: id.to_owned(), claim: claim.to_owned(), outcome, evidence: evidence.join(" ") }
}

/// Returns distances from the median. Their means compare spreads (Brown and Forsythe 1974).
pub(crate) fn deviations(samples: &[f64]) -> Vec<f64> {
    let median = Summary::of(samples).p50;
    samples.iter().map(|sample| (sample - median).abs()).collect()
}

/// Formats the mean and its 95 % confidence interval: `12.3 ± 0.4`. A single sample has no
/// interval.
pub(crate) fn mean_words(samples: &[f64]) -> String {
    let Summary { mean, ci95, .. } = Summary::of(samples);
    let digits = if mean < 100.0 { 1 } else { 0 };
    match ci95 {
        None => format!("{mean:.digits$}"),
        Some(ci95) => format!("{mean:.digits$} ± {ci95:.digits$}"),
    }
}

const SIGNIFICANCE: f64 = 0.05;

fn scaled(samples: &[f64], factor: f64) -> Vec<f64> {
    samples.iter().map(|sample| sample * factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: [f64; 5] = [9.0, 10.0, 11.0, 10.5, 9.5];
    const HIGH: [f64; 5] = [19.0, 20.0, 21.0, 20.5, 19.5];
    const WIDE: [f64; 5] = [1.0, 30.0, 5.0, 14.0, 9.0];

    #[test]
    fn below_is_decided_by_welch() {
        assert_eq!(below(&LOW, &HIGH), Outcome::Confirmed);
        assert_eq!(below(&HIGH, &LOW), Outcome::Refuted);
        assert_eq!(below(&LOW, &WIDE), Outcome::NotDecidable);
        assert_eq!(below(&LOW, &[]), Outcome::NotDecidable);
    }

    #[test]
    fn samples_without_spread_are_decided() {
        assert_eq!(below(&[1.0, 1.0], &[2.0, 2.0]), Outcome::Confirmed);
        assert_eq!(below(&[1.0, 1.0], &[1.0, 1.0]), Outcome::Refuted);
    }

    #[test]
    fn about_has_two_sides() {
        let about = |a, ratio| one(Comparison::about(a, &HIGH, ratio, 0.25, String::new()));
        assert_eq!(about(&LOW, 0.5), Outcome::Confirmed);
        assert_eq!(about(&HIGH, 0.5), Outcome::Refuted);
        assert_eq!(about(&LOW, 1.0), Outcome::Refuted);
        assert_eq!(about(&WIDE, 0.5), Outcome::NotDecidable);
    }

    #[test]
    fn a_missing_setting_leaves_a_finding_open_but_does_not_save_it() {
        let mut part = Part::new("low below high");
        part.add(None);
        assert_eq!(decide("f", "", &[part], "").outcome, Outcome::NotDecidable);
        let mut part = Part::new("low below high");
        part.add(None);
        part.add(Some(Comparison::below(&HIGH, &LOW, "20 against 10".to_owned())));
        let verdict = decide("f", "", &[part], "Mind this.");
        assert_eq!(verdict.outcome, Outcome::Refuted);
        assert_eq!(
            verdict.evidence,
            "low below high: holds in 0 of 2 settings, fails in 1, most clearly: 20 against 10, not \
             run in 1. Mind this."
        );
    }

    #[test]
    fn many_comparisons_need_clearer_figures() {
        // Two samples with p of about 0.02: enough alone, not among fifty.
        let (a, b) = ([1.0, 2.0, 3.0, 2.0, 1.5, 2.5], [2.0, 3.0, 4.0, 3.0, 2.6, 3.6]);
        let many = |count| {
            let mut part = Part::new("");
            (0..count).for_each(|_| part.add(Some(Comparison::below(&a, &b, String::new()))));
            decide("f", "", &[part], "").outcome
        };
        assert_eq!((many(1), many(50)), (Outcome::Confirmed, Outcome::NotDecidable));
    }

    #[test]
    fn deviations_are_distances_from_the_median() {
        assert_eq!(deviations(&[5.0, 1.0, 3.0]), [2.0, 2.0, 0.0]);
    }

    fn below(a: &[f64], b: &[f64]) -> Outcome {
        one(Comparison::below(a, b, String::new()))
    }

    fn one(comparison: Comparison) -> Outcome {
        let mut part = Part::new("");
        part.add(Some(comparison));
        decide("f", "", &[part], "").outcome
    }
}
