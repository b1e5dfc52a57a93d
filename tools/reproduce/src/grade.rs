//! The rule that makes one outcome of a finding's settings.
//!
//! 1. Only settings that are evidence count. A setting is void if it rests on the statement that it
//!    tests, if ours is another algorithm or definition, or if a scheme in it was made to the paper's
//!    profile.
//! 2. A statement fails in a setting only if the effect is beyond the finding's margin. Of two values
//!    one of which is said to be above the other, two within the margin of each other are a tie.
//! 3. A finding *holds everywhere* if it holds in all settings, *with exceptions* if it fails in few
//!    of them, and is *refuted* if it holds in few of them ([`Thresholds::exceptions`]).
//! 4. Otherwise the rule looks for one condition: values of one factor (a scheme, an operation, a
//!    loss) in which the finding holds everywhere or with exceptions. Of several conditions the
//!    broadest counts, and it covers at least [`Thresholds::condition`] of all settings. The finding
//!    *holds only under this condition* if most halves of the settings find a condition that the other
//!    half confirms, and shuffled rulings have a condition as broad with a probability below
//!    [`Thresholds::chance`], corrected by Holm for all findings ([`settle`]).
//! 5. Otherwise it is *mixed*.
//! 6. Settings that are open, are a tie or were not run are taken as failing, then as holding. If
//!    that makes no difference, the finding is decided. Otherwise it is *not decidable*.
//! 7. A finding without a setting that is evidence is *not comparable* or *circular*.

use std::collections::BTreeMap;

use groupkey_lab::statistics::holm;
use groupkey_lab::verdict::{
    Compared, ConditionTest, Outcome, Ruling, Share, Statement, Thresholds, Verdict, VoidKind,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::verdict::sentence;

/// The factor by which the statements of a finding differ. It is no condition: a finding that holds
/// but for some of its statements is a finding without these.
const STATEMENT: &str = "statement";

/// The outcome of a finding, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grade {
    pub(crate) outcome: Outcome,
    pub(crate) share: Share,
    /// The condition that was tried, if the finding has one.
    pub(crate) condition: Option<ConditionTest>,
}

/// Grades a finding by its statements, as if it were the only one: [`settle`] corrects for the
/// others. `id` seeds what is drawn.
pub(crate) fn grade(id: &str, statements: &[Statement], thresholds: &Thresholds) -> Grade {
    let settings = Settings::of(statements, false);
    let share = Share { holds: settings.holds(false), settings: settings.all() };
    let graded = |outcome| Grade { outcome, share, condition: None };
    if settings.all() == 0 {
        return graded(without_evidence(statements));
    }
    let [worst, best] = [false, true].map(|open_holds| settings.reach(open_holds, thresholds));
    match (worst, best) {
        (Reach::All, _) => graded(Outcome::HoldsEverywhere),
        (Reach::Most, _) => graded(Outcome::HoldsWithExceptions),
        (_, Reach::Few) => graded(Outcome::Refuted),
        (Reach::Within(condition), Reach::Within(_)) => {
            let condition = settings.tested(id, condition, thresholds);
            let outcome = with_condition(&condition, thresholds);
            Grade { outcome, share, condition: Some(condition) }
        }
        (Reach::Within(_) | Reach::Part, Reach::Within(_) | Reach::Part) => graded(Outcome::Mixed),
        _ => graded(Outcome::NotDecidable),
    }
}

/// Returns whether more runs could change where the finding holds: by the settings as they were
/// compared, void or not, with each statement as a condition. So a later grade changes no rows.
pub(crate) fn may_change(statements: &[Statement], thresholds: &Thresholds) -> bool {
    let settings = Settings::of(statements, true);
    let [worst, best] = [false, true].map(|open_holds| settings.reach(open_holds, thresholds));
    match (worst, best) {
        (Reach::All | Reach::Most, _) | (_, Reach::Few | Reach::Part) => false,
        (Reach::Within(_), Reach::Within(_)) => false,
        _ => settings.all() > 0,
    }
}

/// Corrects the p-values of a study's conditions for the findings of all studies, of which `others`
/// are those of the other studies, and grades anew what does not stand it.
pub(crate) fn settle(verdicts: &mut [Verdict], others: &[f64], thresholds: &Thresholds) {
    let own = verdicts.iter().map(|verdict| p_value(verdict.condition.as_ref()));
    let family: Vec<f64> = own.chain(others.iter().copied()).collect();
    for (verdict, corrected) in verdicts.iter_mut().zip(holm(&family)) {
        let Some(condition) = &mut verdict.condition else { continue };
        condition.p_holm = corrected;
        verdict.outcome = with_condition(condition, thresholds);
        verdict.sentence = sentence(verdict);
    }
}

pub(crate) fn settle_together(studies: &mut [&mut Vec<Verdict>], thresholds: &Thresholds) {
    let p_values: Vec<Vec<f64>> = studies
        .iter()
        .map(|verdicts| verdicts.iter().map(|it| p_value(it.condition.as_ref())).collect())
        .collect();
    for (place, verdicts) in studies.iter_mut().enumerate() {
        let others = p_values.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<f64> = others.flat_map(|(_, p_values)| p_values.clone()).collect();
        settle(verdicts, &others, thresholds);
    }
}

/// Returns the p-value with which a finding enters the correction: 1 if it tried no condition.
pub(crate) fn p_value(condition: Option<&ConditionTest>) -> f64 {
    condition.map_or(1.0, |condition| condition.p_value)
}

fn with_condition(condition: &ConditionTest, thresholds: &Thresholds) -> Outcome {
    let is_confirmed = condition.confirmed > 0.5;
    match is_confirmed && condition.p_holm < thresholds.chance.value {
        true => Outcome::HoldsConditionally,
        false => Outcome::Mixed,
    }
}

fn without_evidence(statements: &[Statement]) -> Outcome {
    let settings = statements.iter().flat_map(|statement| &statement.settings);
    let kinds: Vec<VoidKind> =
        settings.filter_map(|compared| compared.void.as_ref().map(|void| void.kind)).collect();
    match &kinds[..] {
        [] => Outcome::NotDecidable,
        kinds if kinds.iter().all(|kind| *kind == VoidKind::Circular) => Outcome::Circular,
        _ => Outcome::NotComparable,
    }
}

/// How far a finding reaches if its open settings are taken as decided.
#[derive(Debug)]
enum Reach {
    All,
    /// All but a few.
    Most,
    Within(FactorCondition),
    Part,
    Few,
}

/// Values of a factor with which a finding holds.
#[derive(Clone, Debug, PartialEq)]
struct FactorCondition {
    factor: usize,
    values: Vec<usize>,
    within: Share,
    elsewhere: Share,
}

/// The settings of a finding, their factors by number.
struct Settings {
    rulings: Vec<Ruling>,
    not_run: usize,
    factors: Vec<Factor>,
}

struct Factor {
    name: &'static str,
    values: Vec<String>,
    /// The value of each setting, if it has this factor.
    of: Vec<Option<usize>>,
}

impl Settings {
    /// Collects the settings that are evidence; for sampling, all of them.
    fn of(statements: &[Statement], for_sampling: bool) -> Self {
        let is_taken = |compared: &&Compared| for_sampling || compared.void.is_none();
        let mut rulings = Vec::new();
        let mut by_name: BTreeMap<&'static str, Factor> = BTreeMap::new();
        for statement in statements {
            let claim = for_sampling.then(|| (STATEMENT, statement.claim.clone()));
            for compared in statement.settings.iter().filter(is_taken) {
                for (name, value) in compared.factors.iter().chain(&claim) {
                    let empty = || Factor { name, values: Vec::new(), of: Vec::new() };
                    by_name.entry(name).or_insert_with(empty).set(rulings.len(), value);
                }
                rulings.push(compared.ruling);
            }
        }
        let mut factors: Vec<Factor> = by_name.into_values().collect();
        factors.iter_mut().for_each(|factor| factor.of.resize(rulings.len(), None));
        let not_run = statements.iter().map(|statement| statement.not_run).sum();
        Self { rulings, not_run, factors }
    }

    fn all(&self) -> usize {
        self.rulings.len() + self.not_run
    }

    fn held(&self, open_holds: bool) -> Vec<bool> {
        let is_held = |ruling: &Ruling| match ruling {
            Ruling::Holds => true,
            Ruling::Open | Ruling::Tie => open_holds,
            Ruling::Fails => false,
        };
        self.rulings.iter().map(is_held).collect()
    }

    fn holds(&self, open_holds: bool) -> usize {
        let run = self.held(open_holds).into_iter().filter(|held| *held).count();
        run + if open_holds { self.not_run } else { 0 }
    }

    fn reach(&self, open_holds: bool, thresholds: &Thresholds) -> Reach {
        let (holds, all) = (self.holds(open_holds), self.all());
        if holds == all {
            return Reach::All;
        }
        if is_most(holds, all, thresholds) {
            return Reach::Most;
        }
        match self.broadest(&self.held(open_holds), thresholds) {
            Some(condition) => Reach::Within(condition),
            None if is_most(all - holds, all, thresholds) => Reach::Few,
            None => Reach::Part,
        }
    }

    fn broadest(&self, held: &[bool], thresholds: &Thresholds) -> Option<FactorCondition> {
        let conditions = self.factors.iter().enumerate().filter_map(|(place, factor)| {
            let condition = factor.condition(place, held, |_| true, thresholds)?;
            let is_broad =
                condition.within.settings as f64 >= thresholds.condition.value * self.all() as f64;
            is_broad.then_some(condition)
        });
        self.broader(conditions)
    }

    /// Returns the broadest of these conditions. Of equally broad ones, the one that is told in the
    /// fewest values.
    fn broader(
        &self,
        conditions: impl Iterator<Item = FactorCondition>,
    ) -> Option<FactorCondition> {
        conditions.max_by_key(|condition| {
            let all = self.factors[condition.factor].values.len();
            let told = condition.values.len().min(all - condition.values.len());
            (condition.within.settings, std::cmp::Reverse(told))
        })
    }

    fn tested(
        &self,
        id: &str,
        condition: FactorCondition,
        thresholds: &Thresholds,
    ) -> ConditionTest {
        let mut draw = Draw::seeded(id);
        let mut held = self.held(false);
        let confirmed =
            (0..HALVINGS).filter(|_| self.is_confirmed(&held, &mut draw, thresholds)).count();
        let mut as_broad = 0;
        for _ in 0..SHUFFLES {
            draw.shuffle(&mut held);
            let found = self.broadest(&held, thresholds);
            as_broad += usize::from(
                found.is_some_and(|found| found.within.settings >= condition.within.settings),
            );
        }
        let p_value = (1 + as_broad) as f64 / (1 + SHUFFLES) as f64;
        ConditionTest {
            words: self.factors[condition.factor].words(&condition.values),
            within: condition.within,
            elsewhere: condition.elsewhere,
            confirmed: confirmed as f64 / HALVINGS as f64,
            p_value,
            p_holm: p_value,
        }
    }

    /// Finds a condition on a random half of the settings. Returns whether on the other half the
    /// finding holds where it is met, and does not hold where it is not.
    fn is_confirmed(&self, held: &[bool], draw: &mut Draw, thresholds: &Thresholds) -> bool {
        let mut first = vec![false; held.len()];
        first[..held.len() / 2].fill(true);
        draw.shuffle(&mut first);
        let half = self.factors.iter().enumerate().filter_map(|(place, factor)| {
            factor.condition(place, held, |setting| first[setting], thresholds)
        });
        let Some(found) = self.broader(half) else { return false };
        let [within, elsewhere] =
            self.factors[found.factor].split(&found.values, held, |setting| !first[setting]);
        let holds =
            |share: Share| share.settings > 0 && is_most(share.holds, share.settings, thresholds);
        holds(within) && elsewhere.settings > 0 && !holds(elsewhere)
    }
}

impl Factor {
    fn set(&mut self, setting: usize, value: &str) {
        let known = self.values.iter().position(|known| known == value);
        let place = known.unwrap_or_else(|| {
            self.values.push(value.to_owned());
            self.values.len() - 1
        });
        self.of.resize(setting + 1, None);
        self.of[setting] = Some(place);
    }

    /// Returns the values in which the finding holds in the chosen settings, if there are others.
    fn condition(
        &self,
        factor: usize,
        held: &[bool],
        is_chosen: impl Fn(usize) -> bool,
        thresholds: &Thresholds,
    ) -> Option<FactorCondition> {
        let mut shares = vec![Share::default(); self.values.len()];
        for (setting, value) in self.of.iter().enumerate() {
            if let Some(value) = value
                && is_chosen(setting)
            {
                shares[*value].settings += 1;
                shares[*value].holds += usize::from(held[setting]);
            }
        }
        let mut found = FactorCondition {
            factor,
            values: Vec::new(),
            within: Share::default(),
            elsewhere: Share::default(),
        };
        for (value, share) in shares.into_iter().enumerate().filter(|(_, it)| it.settings > 0) {
            let sum = match is_most(share.holds, share.settings, thresholds) {
                true => {
                    found.values.push(value);
                    &mut found.within
                }
                false => &mut found.elsewhere,
            };
            sum.settings += share.settings;
            sum.holds += share.holds;
        }
        (found.within.settings > 0 && found.elsewhere.settings > 0).then_some(found)
    }

    /// Returns how the finding holds in the chosen settings with these values, and with others.
    fn split(
        &self,
        values: &[usize],
        held: &[bool],
        is_chosen: impl Fn(usize) -> bool,
    ) -> [Share; 2] {
        let mut both = [Share::default(); 2];
        for (setting, value) in self.of.iter().enumerate() {
            if let Some(value) = value
                && is_chosen(setting)
            {
                let share = &mut both[usize::from(!values.contains(value))];
                share.settings += 1;
                share.holds += usize::from(held[setting]);
            }
        }
        both
    }

    fn words(&self, values: &[usize]) -> String {
        let named = |is_named: bool| {
            let all = self.values.iter().enumerate();
            let these = all.filter(|(place, _)| values.contains(place) == is_named);
            these.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
        };
        match self.values.len() - values.len() < values.len() {
            false => format!("only for {} {}", self.name, named(true)),
            true => format!("for every {} but {}", self.name, named(false)),
        }
    }
}

fn is_most(holds: usize, all: usize, thresholds: &Thresholds) -> bool {
    // A share that is reached exactly counts, whatever the last bit of the product.
    holds as f64 + 1e-9 >= (1.0 - thresholds.exceptions.value) * all as f64
}

/// Random halves of a finding's settings.
const HALVINGS: usize = 101;

/// Shuffles of a finding's rulings.
const SHUFFLES: usize = 9_999;

/// What is drawn for a finding: the same in every run.
struct Draw(ChaCha20Rng);

impl Draw {
    fn seeded(id: &str) -> Self {
        // FNV-1a
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(ChaCha20Rng::seed_from_u64(hash))
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, values: &mut [bool]) {
        for last in (1..values.len()).rev() {
            let drawn = self.0.next_u64() % (last as u64 + 1);
            values.swap(last, drawn as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groupkey_lab::verdict::Void;

    #[test]
    fn one_exception_of_many_does_not_refute() {
        for (holds, fails, expected) in [
            (11, 0, Outcome::HoldsEverywhere),
            (10, 1, Outcome::HoldsWithExceptions),
            (9, 1, Outcome::HoldsWithExceptions),
            (8, 1, Outcome::Mixed),
            (1, 8, Outcome::Mixed),
            (1, 9, Outcome::Refuted),
            (0, 1, Outcome::Refuted),
            (0, 0, Outcome::NotDecidable),
        ] {
            let found = graded(&[statement("s", holds, fails, 0)]);
            assert_eq!(found.outcome, expected, "{holds} hold, {fails} fail");
            assert_eq!(found.share, Share { holds, settings: holds + fails });
        }
    }

    #[test]
    fn an_open_setting_matters_only_if_it_can_change_the_outcome() {
        let outcome = |holds, fails, open| graded(&[statement("s", holds, fails, open)]).outcome;
        assert_eq!(outcome(215, 0, 1), Outcome::HoldsWithExceptions);
        assert_eq!(outcome(0, 9, 1), Outcome::Refuted);
        assert_eq!(outcome(5, 5, 1), Outcome::Mixed);
        assert_eq!(outcome(5, 0, 5), Outcome::NotDecidable);
    }

    #[test]
    fn a_tie_and_a_setting_that_was_not_run_count_as_open() {
        let mut one = statement("s", 3, 0, 0);
        one.not_run = 2;
        assert_eq!(graded(&[one]).outcome, Outcome::NotDecidable);
        let mut one = statement("s", 3, 0, 2);
        one.settings.iter_mut().filter(|it| it.ruling == Ruling::Open).for_each(|it| {
            it.ruling = Ruling::Tie;
        });
        assert_eq!(graded(&[one]).outcome, Outcome::NotDecidable);
    }

    /// What was once "holds only under a condition": the finding without what fails.
    #[test]
    fn a_statement_that_holds_alone_is_no_condition() {
        let found = graded(&[statement("first", 6, 0, 0), statement("second", 0, 9, 0)]);
        assert_eq!((found.outcome, found.condition), (Outcome::Mixed, None));
    }

    #[test]
    fn a_condition_that_explains_all_rulings_stands_its_test() {
        let found = graded(&[by_loss(30, |scheme, loss| loss == 0 || scheme == 0)]);
        assert_eq!(found.outcome, Outcome::HoldsConditionally, "{found:?}");
        let condition = found.condition.expect("there is one");
        assert_eq!(condition.words, "only for loss 0 %");
        assert!(condition.p_value < 0.001 && condition.confirmed > 0.9, "{condition:?}");
    }

    /// With few settings, each scheme a setting, one that holds is always a condition.
    #[test]
    fn a_condition_that_chance_reaches_is_none() {
        let mut half = Statement::default();
        for (scheme, ruling) in [("a", Ruling::Holds), ("b", Ruling::Fails)] {
            let factors = vec![("scheme", scheme.to_owned())];
            half.settings.push(Compared { factors, ..compared(ruling) });
        }
        let found = graded(&[half]);
        assert_eq!(found.outcome, Outcome::Mixed);
        assert_eq!(found.condition.expect("it is told").p_value, 1.0);
    }

    #[test]
    fn of_two_conditions_the_broader_counts() {
        // It fails with loss, for one of the schemes only.
        let found = graded(&[by_loss(3, |scheme, loss| scheme != 2 || loss == 0)]);
        let condition = found.condition.expect("there is one");
        assert_eq!(condition.words, "for every scheme but c");
    }

    #[test]
    fn void_settings_decide_nothing() {
        let all_void = |kind| {
            let mut one = statement("s", 9, 1, 0);
            for compared in &mut one.settings {
                compared.void = Some(Void { kind, why: String::new() });
            }
            one
        };
        for (kind, outcome) in [
            (VoidKind::Circular, Outcome::Circular),
            (VoidKind::NotComparable, Outcome::NotComparable),
            (VoidKind::StandIn, Outcome::NotComparable),
        ] {
            assert_eq!(graded(&[all_void(kind)]).outcome, outcome);
            let beside = [all_void(kind), statement("another", 0, 2, 0)];
            assert_eq!(graded(&beside).outcome, Outcome::Refuted);
        }
    }

    /// Holm: the more findings, the smaller a p-value has to be.
    #[test]
    fn many_findings_make_a_condition_harder() {
        let statements = [by_loss(8, |_, loss| loss == 0)];
        let grade = graded(&statements);
        assert_eq!(grade.outcome, Outcome::HoldsConditionally, "{grade:?}");
        let p = grade.condition.as_ref().expect("there is one").p_value;
        let described = crate::verdict::FindingDescription {
            id: "s".to_owned(),
            claim: String::new(),
            ground: groupkey_lab::verdict::VerdictGround::Network,
            margin: String::new(),
            remark: String::new(),
        };
        let thresholds = Thresholds::in_use();
        let mut verdicts = [crate::verdict::tell(described, statements.into(), &thresholds)];
        let enough = (thresholds.chance.value / p).ceil() as usize;
        settle(&mut verdicts, &vec![1.0; enough / 2], &thresholds);
        assert_eq!(verdicts[0].outcome, Outcome::HoldsConditionally);
        settle(&mut verdicts, &vec![1.0; enough], &thresholds);
        assert_eq!(verdicts[0].outcome, Outcome::Mixed, "{}", verdicts[0].sentence);
    }

    fn graded(statements: &[Statement]) -> Grade {
        grade("s", statements, &Thresholds::in_use())
    }

    /// Settings of schemes, each without and with loss.
    fn by_loss(schemes: u8, holds: impl Fn(u8, u32) -> bool) -> Statement {
        let settings = (0..schemes).flat_map(|scheme| {
            [0, 10].map(|loss| {
                let name = char::from(b'a' + scheme).to_string();
                let ruling = if holds(scheme, loss) { Ruling::Holds } else { Ruling::Fails };
                let factors = vec![("scheme", name), ("loss", format!("{loss} %"))];
                Compared { factors, ..compared(ruling) }
            })
        });
        Statement { settings: settings.collect(), ..Statement::default() }
    }

    fn statement(claim: &str, holds: usize, fails: usize, open: usize) -> Statement {
        let of = |ruling, count| std::iter::repeat_n(compared(ruling), count);
        let settings = of(Ruling::Holds, holds)
            .chain(of(Ruling::Fails, fails))
            .chain(of(Ruling::Open, open))
            .collect();
        Statement { claim: claim.to_owned(), settings, ..Statement::default() }
    }

    fn compared(ruling: Ruling) -> Compared {
        Compared { words: String::new(), ruling, effect: None, factors: Vec::new(), void: None }
    }
}
