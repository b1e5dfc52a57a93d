//! Comparing samples, setting by setting, for one finding.
//!
//! A comparison states that the mean of one sample is at most a multiple of the mean of another.
//! The multiple contains the finding's margin, so that only an effect beyond the margin fails. Each
//! comparison is wrong with a probability of at most [`Thresholds::error`]. Samples that grow until they decide
//! spend it over their looks ([`sequential`]). It is not divided by the number of comparisons: no
//! single setting decides a finding, and only a setting that lies exactly at its limit is ruled
//! wrongly so often.

use std::cmp::Ordering;

use groupkey_lab::statistics::{Moments, Summary, sequential, welch};
use groupkey_lab::verdict::{Compared, Ruling, Statement, Thresholds, Verdict, Void, VoidKind};

use crate::grade::may_change;
use crate::verdict::{FindingDescription, tell};

/// A statement of a finding, and the settings in which it must hold.
#[derive(Debug)]
pub(crate) struct FindingStatement {
    claim: String,
    comparisons: Vec<SettingComparison>,
    not_run: usize,
    note: String,
    /// Whether settings that it leaves open may get more runs.
    samples: bool,
}

#[derive(Debug)]
pub(crate) struct SettingComparison {
    /// All must hold.
    tests: Vec<Test>,
    words: String,
    factors: Vec<(&'static str, String)>,
    rows: Vec<usize>,
    /// The factor within which two values are a tie, if one is said to be below the other.
    tie: Option<f64>,
    void: Option<Void>,
}

/// What runs gave.
#[derive(Clone, Debug)]
pub(crate) struct RunValues {
    values: Vec<f64>,
    quantity: SampleStatistic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleStatistic {
    Mean,
    /// The mean distance from the median (Brown and Forsythe 1974).
    Spread,
}

#[derive(Debug)]
enum Test {
    /// The mean of `a` is at most `factor` times the mean of `b`.
    AtMost { a: RunValues, b: RunValues, factor: f64, grows: Grows },
    /// An exact value divided by its limit. NaN decides nothing.
    Exact(f64),
    /// An observation without a size.
    Seen(bool),
}

/// Whether a sample is tested once, or again whenever it has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grows {
    Never,
    UntilDecided,
}

impl FindingStatement {
    /// Creates a part without comparisons.
    pub(crate) fn new(claim: impl Into<String>) -> Self {
        Self {
            claim: claim.into(),
            comparisons: Vec::new(),
            not_run: 0,
            note: String::new(),
            samples: true,
        }
    }

    /// Creates a part that is compared with the runs that there are: it asks for no more.
    pub(crate) fn of_runs_done(claim: impl Into<String>) -> Self {
        Self { samples: false, ..Self::new(claim) }
    }

    pub(crate) fn claim(&self) -> &str {
        &self.claim
    }

    /// Adds the comparison of a setting; `None` if its rows are missing.
    pub(crate) fn add(&mut self, comparison: Option<SettingComparison>) {
        match comparison {
            Some(comparison) => self.comparisons.push(comparison),
            None => self.not_run += 1,
        }
    }

    /// Sets what else there is to say.
    pub(crate) fn note(&mut self, note: String) {
        self.note = note;
    }

    /// Returns the number of settings, run or not.
    pub(crate) const fn total(&self) -> usize {
        self.comparisons.len() + self.not_run
    }

    /// Returns the number of settings in which the sample means are as claimed, decided or not.
    pub(crate) fn claimed_by_means(&self) -> usize {
        let claimed = |c: &&SettingComparison| c.effect().is_some_and(|effect| effect < 1.0);
        self.comparisons.iter().filter(claimed).count()
    }

    fn ruled(&self, ruling: impl Fn(&SettingComparison) -> Ruling) -> Statement {
        let settings = self.comparisons.iter().map(|comparison| Compared {
            words: comparison.words.clone(),
            ruling: ruling(comparison),
            effect: comparison.effect(),
            factors: comparison.factors.clone(),
            void: comparison.void.clone(),
        });
        Statement {
            claim: self.claim.clone(),
            settings: settings.collect(),
            not_run: self.not_run,
            note: self.note.clone(),
        }
    }

    /// Says of comparisons of two operations why they are no evidence.
    pub(crate) fn void_between_operations(&mut self, void: &Void) {
        let between = |comparison: &&mut SettingComparison| {
            !comparison.factors.iter().any(|(factor, _)| *factor == "operation")
        };
        let these = self.comparisons.iter_mut().filter(between);
        these.for_each(|comparison| comparison.set_void(Some(void.clone())));
    }

    /// Says of all settings so far why they are no evidence.
    pub(crate) fn void(mut self, kind: VoidKind, why: &str) -> Self {
        let void = Void { kind, why: why.to_owned() };
        self.comparisons.iter_mut().for_each(|comparison| comparison.set_void(Some(void.clone())));
        self
    }
}

impl SettingComparison {
    /// Claims that the mean of `a` is at most `factor` times the mean of `b`. The samples may grow
    /// until that is decided.
    pub(crate) fn at_most(a: RunValues, b: RunValues, factor: f64, words: String) -> Self {
        Self::of(Test::AtMost { a, b, factor, grows: Grows::UntilDecided }, words)
    }

    /// Claims the same of samples that cannot grow.
    pub(crate) fn at_most_as_they_are(
        a: RunValues,
        b: RunValues,
        factor: f64,
        words: String,
    ) -> Self {
        Self::of(Test::AtMost { a, b, factor, grows: Grows::Never }, words)
    }

    /// Claims that the mean of `a` is `ratio` times the mean of `b`, give or take `tolerance` (a
    /// ratio).
    pub(crate) fn about(
        a: RunValues,
        b: RunValues,
        ratio: f64,
        tolerance: f64,
        words: String,
    ) -> Self {
        let low = Self::at_most(b.clone(), a.clone(), 1.0 / (ratio * (1.0 - tolerance)), words);
        low.and(Self::at_most(a, b, ratio * (1.0 + tolerance), String::new()))
    }

    /// Compares an exact value with its limit, as their ratio: at most 1 if the claim holds. NaN
    /// decides nothing.
    pub(crate) fn exact(effect: f64, words: String) -> Self {
        Self::of(Test::Exact(effect), words)
    }

    /// Creates a comparison that has no size and needs no test.
    pub(crate) fn seen(holds: bool, words: String) -> Self {
        Self::of(Test::Seen(holds), words)
    }

    /// Creates a comparison that no observation decides.
    pub(crate) fn open(words: String) -> Self {
        Self::exact(f64::NAN, words)
    }

    /// Claims that both hold, in the words of the first.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.tests.extend(other.tests);
        self
    }

    pub(crate) fn with(mut self, factor: &'static str, value: impl Into<String>) -> Self {
        self.factors.push((factor, value.into()));
        self
    }

    /// States that one value is below the other, not at most the other: two within this factor of
    /// each other are a tie.
    pub(crate) fn strictly(mut self, factor: f64) -> Self {
        self.tie = Some(factor);
        self
    }

    /// Says why this setting is no evidence. The first reason counts.
    pub(crate) fn set_void(&mut self, void: Option<Void>) {
        self.void = self.void.take().or(void);
    }

    /// Says why this setting is no evidence. The first reason counts.
    pub(crate) fn void(mut self, void: Option<Void>) -> Self {
        self.set_void(void);
        self
    }

    pub(crate) fn of_rows(mut self, rows: impl Into<Vec<usize>>) -> Self {
        self.rows = rows.into();
        self
    }

    fn of(test: Test, words: String) -> Self {
        Self {
            tests: vec![test],
            words,
            factors: Vec::new(),
            rows: Vec::new(),
            tie: None,
            void: None,
        }
    }

    pub(crate) fn ruling(&self, alpha: f64, first_look: usize) -> Ruling {
        let claimed = self.at_most_ruling(alpha, first_look);
        let Some(factor) = self.tie.filter(|_| claimed == Ruling::Holds) else { return claimed };
        let converse = self.tests.iter().filter_map(|test| test.converse(factor));
        let rulings: Vec<Ruling> = converse.map(|test| test.ruling(alpha, first_look)).collect();
        match rulings[..] {
            _ if rulings.contains(&Ruling::Fails) => Ruling::Holds,
            _ if rulings.contains(&Ruling::Open) => Ruling::Open,
            [] => claimed,
            _ => Ruling::Tie,
        }
    }

    /// Rules with an error of `alpha` whether the claim fails by more than the margin.
    fn at_most_ruling(&self, alpha: f64, first_look: usize) -> Ruling {
        let rulings = self.tests.iter().map(|test| test.ruling(alpha, first_look));
        rulings.fold(Ruling::Holds, |all, one| match (all, one) {
            (Ruling::Fails, _) | (_, Ruling::Fails) => Ruling::Fails,
            (Ruling::Open, _) | (_, Ruling::Open) => Ruling::Open,
            (Ruling::Holds | Ruling::Tie, Ruling::Holds | Ruling::Tie) => Ruling::Holds,
        })
    }

    /// Returns whether more runs may decide it.
    fn is_hopeful(&self, first_look: usize) -> bool {
        self.tests.iter().all(|test| match test {
            Test::AtMost { a, b, factor, .. } => {
                let runs = a.values.len().max(b.values.len());
                let [a, b] = [a.of_first(runs, 1.0), b.of_first(runs, *factor)];
                sequential::is_hopeful(first_look, runs, &welch(&a, &b))
            }
            Test::Exact(_) | Test::Seen(_) => true,
        })
    }

    fn effect(&self) -> Option<f64> {
        let effects = self.tests.iter().filter_map(Test::effect);
        effects.filter(|effect| !effect.is_nan()).reduce(f64::max)
    }
}

impl Test {
    fn ruling(&self, alpha: f64, first_look: usize) -> Ruling {
        let found = match self {
            Self::Seen(holds) => Some(if *holds { Ordering::Less } else { Ordering::Greater }),
            // Sums of doubles may miss a limit that they reach by the last bit.
            Self::Exact(effect) => effect.partial_cmp(&(1.0 + 1e-9)),
            Self::AtMost { a, b, factor, grows: Grows::UntilDecided } => sequential::smaller(
                first_look,
                alpha,
                a.values.len().max(b.values.len()),
                |runs| a.of_first(runs, 1.0),
                |runs| b.of_first(runs, *factor),
            ),
            Self::AtMost { a, b, factor, grows: Grows::Never } => {
                let found = welch(&a.of_first(usize::MAX, 1.0), &b.of_first(usize::MAX, *factor));
                let is_decided = found.p_value < alpha || found.ci95_half_width == 0.0;
                is_decided.then(|| found.difference.total_cmp(&0.0))
            }
        };
        match found {
            Some(Ordering::Less | Ordering::Equal) => Ruling::Holds,
            Some(Ordering::Greater) => Ruling::Fails,
            None => Ruling::Open,
        }
    }

    fn converse(&self, factor: f64) -> Option<Self> {
        match self {
            Self::Seen(_) => None,
            Self::Exact(effect) => Some(Self::Exact(1.0 / (effect * factor * factor))),
            Self::AtMost { a, b, factor, grows } => {
                Some(Self::AtMost { a: b.clone(), b: a.clone(), factor: *factor, grows: *grows })
            }
        }
    }

    fn effect(&self) -> Option<f64> {
        match self {
            Self::Seen(_) => None,
            Self::Exact(effect) => Some(*effect),
            Self::AtMost { a, b, factor, .. } => {
                let mean = |sample: &RunValues| Moments::of(&sample.of_first(usize::MAX, 1.0)).mean;
                let (a, b) = (mean(a), mean(b));
                Some(if a == b { 1.0 / factor } else { a / (factor * b) })
            }
        }
    }
}

impl RunValues {
    /// Creates a sample whose means are compared.
    pub(crate) const fn new(values: Vec<f64>) -> Self {
        Self { values, quantity: SampleStatistic::Mean }
    }

    pub(crate) const fn comparing(quantity: SampleStatistic, values: Vec<f64>) -> Self {
        Self { values, quantity }
    }

    /// Returns the compared values of the first runs, each multiplied.
    fn of_first(&self, runs: usize, factor: f64) -> Vec<f64> {
        let first = &self.values[..runs.min(self.values.len())];
        match self.quantity {
            SampleStatistic::Mean => scaled(first, factor),
            SampleStatistic::Spread => scaled(&deviations(first), factor),
        }
    }
}

/// Decides a finding. Samples that grow were first looked at when they had `first_look` runs.
pub(crate) fn decide(
    told: FindingDescription,
    parts: &[FindingStatement],
    first_look: usize,
    thresholds: &Thresholds,
) -> Verdict {
    let ruling = |it: &SettingComparison| it.ruling(thresholds.error.value, first_look);
    tell(told, parts.iter().map(|part| part.ruled(ruling)).collect(), thresholds)
}

/// Returns the places of the rows that need more runs before the finding is decided. A comparison
/// whose effect is so close to the limit that all runs will not tell is given up.
pub(crate) fn undecided(
    parts: &[FindingStatement],
    first_look: usize,
    thresholds: &Thresholds,
) -> Vec<usize> {
    let ruling = |it: &SettingComparison| it.at_most_ruling(thresholds.error.value, first_look);
    let parts: Vec<_> = parts.iter().filter(|part| part.samples).collect();
    let statements: Vec<_> = parts.iter().map(|part| part.ruled(ruling)).collect();
    if !may_change(&statements, thresholds) {
        return Vec::new();
    }
    let open = parts.iter().zip(&statements).flat_map(|(part, statement)| {
        let all = part.comparisons.iter().zip(&statement.settings);
        all.filter(|(comparison, compared)| {
            compared.ruling == Ruling::Open && comparison.is_hopeful(first_look)
        })
    });
    open.flat_map(|(comparison, _)| comparison.rows.iter().copied()).collect()
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

/// Returns distances from the median.
pub(crate) fn deviations(samples: &[f64]) -> Vec<f64> {
    let median = Summary::of(samples).p50;
    samples.iter().map(|sample| (sample - median).abs()).collect()
}

fn scaled(samples: &[f64], factor: f64) -> Vec<f64> {
    samples.iter().map(|sample| sample * factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groupkey_lab::verdict::{Outcome, VerdictGround};

    const LOW: [f64; 5] = [9.0, 10.0, 11.0, 10.5, 9.5];
    const HIGH: [f64; 5] = [19.0, 20.0, 21.0, 20.5, 19.5];
    const WIDE: [f64; 5] = [1.0, 30.0, 5.0, 14.0, 9.0];

    #[test]
    fn an_effect_within_the_margin_does_not_fail() {
        assert_eq!(at_most(&LOW, &HIGH, 1.1), Outcome::HoldsEverywhere);
        assert_eq!(at_most(&HIGH, &LOW, 1.1), Outcome::Refuted);
        assert_eq!(at_most(&HIGH, &LOW, 2.5), Outcome::HoldsEverywhere);
        assert_eq!(at_most(&LOW, &WIDE, 1.1), Outcome::NotDecidable);
        assert_eq!(at_most(&LOW, &[], 1.1), Outcome::NotDecidable);
    }

    #[test]
    fn what_is_said_to_be_below_is_no_tie() {
        let strictly = |a: f64, b: f64| {
            one(SettingComparison::exact(a / b / 1.1, String::new()).strictly(1.1))
        };
        assert_eq!(strictly(1.0, 2.0), Outcome::HoldsEverywhere);
        assert_eq!(strictly(1.0, 1.05), Outcome::NotDecidable, "a tie");
        assert_eq!(strictly(1.05, 1.0), Outcome::NotDecidable, "a tie");
        assert_eq!(strictly(2.0, 1.0), Outcome::Refuted);
        let strictly = |a: &[f64], b: &[f64]| one(comparison(a, b).strictly(1.1));
        assert_eq!(strictly(&LOW, &HIGH), Outcome::HoldsEverywhere);
        assert_eq!(strictly(&[1.0, 1.0], &[1.05, 1.05]), Outcome::NotDecidable, "a tie");
        assert_eq!(strictly(&HIGH, &LOW), Outcome::Refuted);
    }

    #[test]
    fn samples_without_spread_are_decided() {
        assert_eq!(at_most(&[1.0, 1.0], &[2.0, 2.0], 1.0), Outcome::HoldsEverywhere);
        assert_eq!(at_most(&[1.2, 1.2], &[1.0, 1.0], 1.1), Outcome::Refuted);
        assert_eq!(at_most(&[1.0, 1.0], &[1.0, 1.0], 1.0), Outcome::HoldsEverywhere);
    }

    #[test]
    fn about_has_two_sides() {
        let about = |a: &[f64], ratio| {
            one(SettingComparison::about(sample(a), sample(&HIGH), ratio, 0.25, String::new()))
        };
        assert_eq!(about(&LOW, 0.5), Outcome::HoldsEverywhere);
        assert_eq!(about(&HIGH, 0.5), Outcome::Refuted);
        assert_eq!(about(&LOW, 1.0), Outcome::Refuted);
        assert_eq!(about(&WIDE, 0.5), Outcome::NotDecidable);
    }

    #[test]
    fn what_is_open_names_the_rows_that_need_more_runs() {
        let mut part = FindingStatement::new("");
        part.add(Some(comparison(&LOW, &HIGH).of_rows([0, 1])));
        part.add(Some(comparison(&LOW, &WIDE).of_rows([2, 3])));
        assert_eq!(undecided(&[part], 5, &Thresholds::in_use()), [2, 3]);
        // One of many that fail changes nothing any more.
        let mut part = FindingStatement::new("");
        (0..20).for_each(|_| part.add(Some(comparison(&HIGH, &LOW).of_rows([0, 1]))));
        part.add(Some(comparison(&LOW, &WIDE).of_rows([2, 3])));
        assert!(undecided(&[part], 5, &Thresholds::in_use()).is_empty());
    }

    #[test]
    fn deviations_are_distances_from_the_median() {
        assert_eq!(deviations(&[5.0, 1.0, 3.0]), [2.0, 2.0, 0.0]);
    }

    fn at_most(a: &[f64], b: &[f64], factor: f64) -> Outcome {
        one(SettingComparison::at_most(sample(a), sample(b), factor, String::new()))
    }

    fn comparison(a: &[f64], b: &[f64]) -> SettingComparison {
        SettingComparison::at_most(sample(a), sample(b), 1.1, String::new())
    }

    fn sample(values: &[f64]) -> RunValues {
        RunValues::new(values.to_vec())
    }

    fn one(comparison: SettingComparison) -> Outcome {
        let mut part = FindingStatement::new("");
        part.add(Some(comparison));
        decide(told(), &[part], 5, &Thresholds::in_use()).outcome
    }

    fn told() -> FindingDescription {
        FindingDescription {
            id: "f".to_owned(),
            claim: String::new(),
            ground: VerdictGround::Network,
            margin: String::new(),
            remark: String::new(),
        }
    }
}
