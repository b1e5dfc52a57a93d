//! Claims of the kinds that benchmarks make: which scheme is slowest, what grows, what stays below
//! a bound.
//!
//! Each claim has one ground, which decides it ([`VerdictGround`]). Other yardsticks, such as times
//! measured here, stand beside it: if one says something else, the verdict says so, but is the same.

use std::collections::BTreeSet;

use groupkey_choose::number::grouped;
use groupkey_lab::verdict::{Outcome, Verdict, VerdictGround, Void};

use super::evidence::{FindingStatement, SettingComparison, decide};
use super::role_rows::{Cell, Cells, RoleOperation, Yardstick, scheme_name};
use crate::verdict::FindingDescription;

/// A claim that is being put together.
pub(super) struct ClaimDraft<'r> {
    id: String,
    words: String,
    cells: Cells<'r>,
    ground: VerdictGround,
    /// The statements that it tests: paths in `published.toml`.
    tested: Vec<String>,
    /// The ground's comparisons, then those of the yardsticks beside it.
    rulings: Vec<YardstickRuling>,
    margins: BTreeSet<String>,
    remark: String,
}

struct YardstickRuling {
    yardstick: Yardstick,
    parts: Vec<FindingStatement>,
}

impl<'r> ClaimDraft<'r> {
    /// Creates a claim without parts, which this ground decides.
    pub(super) fn new(id: &str, words: String, cells: Cells<'r>, ground: VerdictGround) -> Self {
        Self {
            id: id.to_owned(),
            words,
            cells,
            ground,
            tested: Vec::new(),
            rulings: vec![YardstickRuling { yardstick: Yardstick::of(ground), parts: Vec::new() }],
            margins: BTreeSet::new(),
            remark: String::new(),
        }
    }

    /// Sets yardsticks that are compared with the ground, and decide nothing. They must be set
    /// before the parts.
    pub(super) fn beside(mut self, yardsticks: &[Yardstick]) -> Self {
        let ruling = |&yardstick: &Yardstick| YardstickRuling { yardstick, parts: Vec::new() };
        self.rulings.extend(yardsticks.iter().map(ruling));
        self
    }

    /// Names the statements that are tested, by their paths in `published.toml`: what was set by one
    /// of them is no evidence for it. They must be named before the parts.
    pub(super) fn tests(mut self, paths: &[&str]) -> Self {
        self.tested.extend(paths.iter().map(|&path| path.to_owned()));
        self
    }

    /// Says of all parts so far why they are no evidence.
    pub(super) fn void(mut self, void: &Option<Void>) -> Self {
        let Some(Void { kind, why }) = void else { return self };
        for ruling in &mut self.rulings {
            let parts = std::mem::take(&mut ruling.parts);
            ruling.parts = parts.into_iter().map(|part| part.void(*kind, why)).collect();
        }
        self
    }

    /// Sets what a reader must know beside the figures.
    pub(super) fn remark(mut self, remark: &str) -> Self {
        remark.clone_into(&mut self.remark);
        self
    }

    /// Claims that these schemes are the first of all in the largest group, in this order, largest
    /// first. Each is compared with every scheme that is said to be below it.
    pub(super) fn largest_first(
        mut self,
        subject: RoleOperation,
        first: &[&str],
        all: &[&str],
    ) -> Self {
        let (cells, tested) = (self.cells, self.tested.clone());
        let order = cells.thresholds.order.value;
        self.margins.insert(format!("{} between two schemes", percent(order)));
        let size = cells.largest(all, subject);
        let at = |scheme: &&str| size.and_then(|members| cells.at(scheme, subject, members));
        for ruling in &mut self.rulings {
            let yardstick = ruling.yardstick;
            let members = size.map_or_else(|| "?".to_owned(), |size| grouped(size.into()));
            let mut part =
                FindingStatement::new(format!("{subject}: the order with {members} members"));
            let mut add = |named: &str, below: Option<Cell<'_>>, above: Option<Cell<'_>>| {
                let both = below.zip(above);
                let compared = both.map(|(below, above)| {
                    let void =
                        below.void(yardstick, &tested).or_else(|| above.void(yardstick, &tested));
                    let compared = below.at_most(&above, 1.0 + order, yardstick);
                    compared.strictly(1.0 + order).void(void)
                });
                let compared = compared.map(|it| it.with("scheme", scheme_name(named)));
                part.add(compared.map(|it| it.with("operation", subject.operation_name())));
            };
            let others: Vec<&&str> = all.iter().filter(|scheme| !first.contains(scheme)).collect();
            for (place, named) in first.iter().enumerate() {
                for later in &first[place + 1..] {
                    add(named, at(later), at(named));
                }
                for other in &others {
                    // A scheme without the operation is not compared.
                    if let Some(other) = at(other) {
                        add(named, Some(other), at(named));
                    }
                }
            }
            let mut found: Vec<Cell<'_>> = all.iter().filter_map(at).collect();
            found.sort_by(|a, b| b.value(yardstick).total_cmp(&a.value(yardstick)));
            let shown = found.iter().take(first.len().max(3) + 1);
            let told: Vec<String> = shown.map(|cell| cell.words(yardstick)).collect();
            if !told.is_empty() {
                part.note(format!("Ours, largest first: {}.", told.join("; ")));
            }
            ruling.parts.push(part);
        }
        self
    }

    /// Claims that the needs of these schemes grow from the smallest group to the largest.
    pub(super) fn grows(mut self, subject: RoleOperation, schemes: &[&str]) -> Self {
        let change = 1.0 + self.change();
        self.over_sizes("grows with the group", subject, schemes, |small, large, yardstick| {
            small.at_most(large, 1.0 / change, yardstick)
        })
    }

    /// Claims that the needs of these schemes are the same in the smallest group and in the
    /// largest, give or take a quarter.
    pub(super) fn stays(mut self, subject: RoleOperation, schemes: &[&str]) -> Self {
        let change = 1.0 + self.change();
        self.over_sizes("stays the same", subject, schemes, |small, large, yardstick| {
            large.about(small, change, yardstick)
        })
    }

    pub(super) fn roughly(self, subject: RoleOperation, schemes: &[&str], value: f64) -> Self {
        let about = self.cells.thresholds.about.value;
        self.above(subject, schemes, value / about).below(subject, schemes, value * about)
    }

    /// Adds the margin of what grows and what stays, and returns it.
    fn change(&mut self) -> f64 {
        let change = self.cells.thresholds.change.value;
        self.margins
            .insert(format!("{} between the smallest group and the largest", percent(change)));
        change
    }

    /// Claims that the needs of these schemes are not above a bound, at any size.
    pub(super) fn below(self, subject: RoleOperation, schemes: &[&str], bound: f64) -> Self {
        self.bounded(Bound::Below(bound), subject, schemes)
    }

    /// Claims that the needs of these schemes are above a bound in the largest group.
    pub(super) fn above(self, subject: RoleOperation, schemes: &[&str], bound: f64) -> Self {
        self.bounded(Bound::Above(bound), subject, schemes)
    }

    /// States that the claim is about groups of this many members. Without such a group it is not
    /// decided.
    pub(super) fn reaches(mut self, members: u32) -> Self {
        let largest = self.cells.rows.iter().map(|row| row.members).max().unwrap_or(0);
        if largest < members {
            for ruling in &mut self.rulings {
                ruling.parts.iter_mut().for_each(|part| part.add(None));
            }
        }
        self
    }

    pub(super) fn margin(mut self, words: impl Into<String>) -> Self {
        self.margins.insert(words.into());
        self
    }

    /// Adds an observation without a size, of a setting that this factor tells from the others.
    /// Observations of the same claim make one part.
    pub(super) fn seen(
        self,
        claim: &str,
        factor: (&'static str, &str),
        holds: bool,
        words: String,
    ) -> Self {
        self.compare(claim, |_| {
            SettingComparison::seen(holds, words.clone()).with(factor.0, factor.1)
        })
    }

    /// Adds a comparison of the caller's. Comparisons of the same claim make one part.
    pub(super) fn compare(
        mut self,
        claim: &str,
        comparison: impl Fn(Yardstick) -> SettingComparison,
    ) -> Self {
        for ruling in &mut self.rulings {
            ruling.add(claim, comparison(ruling.yardstick));
        }
        self
    }

    /// Returns the ground's verdict. If a yardstick beside it says something else, it is named.
    pub(super) fn verdict(self) -> Verdict {
        let Self { id, words, cells, ground, rulings, margins, remark, .. } = self;
        let margin = match margins.is_empty() {
            true => "none: it is an exact observation".to_owned(),
            false => margins.into_iter().collect::<Vec<_>>().join("; "),
        };
        let decided = |parts: &[FindingStatement]| {
            let (id, claim, margin) = (id.clone(), words.clone(), margin.clone());
            decide(
                FindingDescription { id, claim, ground, margin, remark: remark.clone() },
                parts,
                1,
                cells.thresholds,
            )
        };
        let mut verdicts = rulings.iter().map(|ruling| (ruling.yardstick, decided(&ruling.parts)));
        let (_, mut verdict) = verdicts.next().expect("there is a ground");
        let dissents: Vec<String> = verdicts
            .filter(|(_, beside)| {
                let told = [verdict.outcome, beside.outcome];
                let says_nothing =
                    [Outcome::NotDecidable, Outcome::NotComparable, Outcome::Circular];
                !told.iter().any(|it| says_nothing.contains(it))
                    && beside.outcome.holds() != verdict.outcome.holds()
            })
            .map(|(yardstick, beside)| dissent(yardstick, &beside))
            .collect();
        verdict.dissent = (!dissents.is_empty()).then(|| dissents.join(" "));
        verdict
    }

    fn over_sizes(
        mut self,
        claim: &'static str,
        subject: RoleOperation,
        schemes: &[&str],
        compare: impl Fn(&Cell<'_>, &Cell<'_>, Yardstick) -> SettingComparison,
    ) -> Self {
        let (cells, tested) = (self.cells, self.tested.clone());
        for ruling in &mut self.rulings {
            let mut part = FindingStatement::new(format!("{subject} {claim}"));
            for scheme in schemes {
                let sizes = cells.sizes(scheme, subject);
                let ends = sizes.first().zip(sizes.last()).filter(|(small, large)| small < large);
                let ends = ends.and_then(|(&small, &large)| {
                    cells.at(scheme, subject, small).zip(cells.at(scheme, subject, large))
                });
                part.add(ends.map(|(small, large)| {
                    let void = large.void(ruling.yardstick, &tested);
                    let compared = compare(&small, &large, ruling.yardstick);
                    compared.void(void).with("scheme", scheme_name(scheme))
                }));
            }
            ruling.parts.push(part);
        }
        self
    }

    fn bounded(mut self, bound: Bound, subject: RoleOperation, schemes: &[&str]) -> Self {
        let (cells, tested) = (self.cells, self.tested.clone());
        let margin = cells.thresholds.bound.value;
        self.margins.insert(format!("{} beyond a bound", percent(margin)));
        for ruling in &mut self.rulings {
            let yardstick = ruling.yardstick;
            let mut part = FindingStatement::new(format!("{subject} {}", bound.words(yardstick)));
            for scheme in schemes {
                if !cells.has(scheme) {
                    part.add(None);
                    continue;
                }
                let sizes = cells.sizes(scheme, subject);
                let mut cells = sizes.iter().filter_map(|&size| cells.at(scheme, subject, size));
                let cell = match bound {
                    Bound::Above(_) => cells.next_back(),
                    // The largest group does not always have the largest value: trees are lower
                    // when they are full.
                    Bound::Below(_) => {
                        cells.max_by(|a, b| a.value(yardstick).total_cmp(&b.value(yardstick)))
                    }
                };
                // A scheme may have no party in this role, or may not have the operation.
                let Some(cell) = cell else { continue };
                let value = cell.value(yardstick);
                let members = grouped(cell.members().into());
                let words = format!("{} with {members} members", cell.words(yardstick));
                let compared =
                    SettingComparison::exact(bound.effect(value) / (1.0 + margin), words)
                        .void(cell.void(yardstick, &tested));
                let operation = subject.operation_name();
                let scheme = scheme_name(scheme);
                part.add(Some(compared.with("scheme", scheme).with("operation", operation)));
            }
            // It may be that none of the schemes has a party in this role.
            if part.total() > 0 {
                ruling.parts.push(part);
            }
        }
        self
    }
}

/// Formats a share for a margin: `10 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", (1e4 * share).round() / 1e2)
}

fn dissent(yardstick: Yardstick, beside: &Verdict) -> String {
    let outcome = beside.outcome.name();
    match yardstick {
        Yardstick::Measured => format!(
            "By times measured here it {}, but caches and clocks of this machine are in them, so that they do not \
             decide.",
            predicate(beside.outcome)
        ),
        Yardstick::Modelled(device) => {
            format!(
                "By the prices of {device} it {}, which is about that device alone.",
                predicate(beside.outcome)
            )
        }
        _ => format!("By another ground the outcome is: {outcome}."),
    }
}

fn predicate(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::HoldsEverywhere => "holds everywhere",
        Outcome::HoldsWithExceptions => "holds with exceptions",
        Outcome::HoldsConditionally => "holds only under a condition",
        Outcome::Mixed => "holds in a part",
        Outcome::Refuted => "is refuted",
        Outcome::NotDecidable => "is open",
        Outcome::NotComparable => "cannot be compared",
        Outcome::Circular => "is circular",
    }
}

/// A bound, in a yardstick's unit.
#[derive(Clone, Copy)]
enum Bound {
    Above(f64),
    Below(f64),
}

impl Bound {
    /// Returns how far a value misses the bound, as a ratio: at most 1 if it does not.
    fn effect(self, value: f64) -> f64 {
        match self {
            Self::Above(bound) => bound / value,
            Self::Below(bound) => value / bound,
        }
    }

    fn words(self, yardstick: Yardstick) -> String {
        match self {
            Self::Above(bound) => format!("above {} in the largest group", yardstick.words(bound)),
            Self::Below(bound) => format!("below {} at any size", yardstick.words(bound)),
        }
    }
}

impl YardstickRuling {
    fn add(&mut self, claim: &str, comparison: SettingComparison) {
        match self.parts.iter_mut().find(|part| part.claim() == claim) {
            Some(part) => part.add(Some(comparison)),
            None => {
                let mut part = FindingStatement::new(claim);
                part.add(Some(comparison));
                self.parts.push(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::role_rows::example::row;
    use super::*;
    use groupkey_lab::bench::BenchRow;
    use groupkey_lab::verdict::Thresholds;
    use std::sync::LazyLock;

    const CREATE: RoleOperation = RoleOperation::new("create", "controller");
    const HOST: VerdictGround = VerdictGround::Device("host");

    fn claim(rows: &[BenchRow], ground: VerdictGround) -> ClaimDraft<'_> {
        static THRESHOLDS: LazyLock<Thresholds> = LazyLock::new(Thresholds::in_use);
        ClaimDraft::new("id", "Words.".to_owned(), Cells::new(rows, &THRESHOLDS), ground)
    }

    /// Three schemes, slowest first, in two sizes; the last does not grow.
    fn world() -> Vec<BenchRow> {
        vec![
            row("skdc", 10, 10_000, 10.0, 100),
            row("skdc", 1_000, 1_000_000, 1_000.0, 10_000),
            row("oft", 10, 5_000, 5.0, 50),
            row("oft", 1_000, 500_000, 500.0, 5_000),
            row("lkh-group", 10, 1_000, 1.0, 16),
            row("lkh-group", 1_000, 1_100, 1.0, 16),
        ]
    }

    fn ranked(rows: &[BenchRow], first: &[&str]) -> Verdict {
        let claim = claim(rows, HOST).beside(&[Yardstick::Measured]);
        claim.largest_first(CREATE, first, &["skdc", "oft", "lkh-group"]).verdict()
    }

    #[test]
    fn a_ranking_holds_or_fails_and_says_why() {
        let rows = world();
        let right = ranked(&rows, &["skdc", "oft"]);
        assert_eq!(right.outcome, Outcome::HoldsEverywhere, "{}", right.sentence);
        assert_eq!(right.dissent, None);
        let note = &right.statements[0].note;
        assert!(note.contains("SKDC") && note.contains("(1,000 wrap)"), "{note}");
        // The second scheme is not the first, and a third is before the second.
        assert_eq!(ranked(&rows, &["lkh-group", "oft"]).outcome, Outcome::Refuted);
        assert!(!ranked(&rows, &["oft", "skdc"]).outcome.holds());
    }

    #[test]
    fn times_measured_here_are_named_if_they_differ_and_decide_nothing() {
        let mut rows = world();
        // As many wraps as before, but they take no time here.
        rows[1] = row("skdc", 1_000, 1_000, 1_000.0, 10_000);
        let verdict = ranked(&rows, &["skdc", "oft"]);
        assert_eq!(verdict.outcome, Outcome::HoldsEverywhere);
        let dissent = verdict.dissent.expect("they differ");
        assert!(dissent.starts_with("By times measured here"), "{dissent}");
    }

    #[test]
    fn a_scheme_that_was_not_run_leaves_a_ranking_open() {
        let mut rows = world();
        rows.retain(|row| row.scheme != "oft");
        assert_eq!(ranked(&rows, &["skdc", "oft"]).outcome, Outcome::NotDecidable);
        assert_eq!(ranked(&[], &["skdc", "oft"]).outcome, Outcome::NotDecidable);
    }

    #[test]
    fn what_grows_does_not_stay() {
        let rows = world();
        for (scheme, grows) in [("skdc", true), ("lkh-group", false)] {
            for ground in [VerdictGround::Counts("host"), HOST, VerdictGround::PermanentBytes] {
                let decided = [
                    claim(&rows, ground).grows(CREATE, &[scheme]),
                    claim(&rows, ground).stays(CREATE, &[scheme]),
                ]
                .map(|claim| claim.verdict().outcome == Outcome::HoldsEverywhere);
                assert_eq!(decided, [grows, !grows], "{scheme}, {ground:?}");
            }
        }
        let alone = [row("skdc", 10, 1_000, 1.0, 1)];
        let open = claim(&alone, VerdictGround::Counts("host")).grows(CREATE, &["skdc"]).verdict();
        assert_eq!(open.outcome, Outcome::NotDecidable, "one size tells nothing");
    }

    #[test]
    fn without_rows_nothing_is_decided() {
        let open = claim(&[], HOST).below(CREATE, &["skdc"], 1.0).verdict();
        assert_eq!(open.outcome, Outcome::NotDecidable);
    }

    #[test]
    fn bounds_are_of_the_largest_group_and_have_a_margin() {
        let rows = world();
        let storage = || claim(&rows, VerdictGround::PermanentBytes);
        let bounded = |bound| storage().below(CREATE, &["skdc"], bound).verdict();
        assert_eq!(bounded(10_000.0).outcome, Outcome::HoldsEverywhere);
        assert_eq!(bounded(9_500.0).outcome, Outcome::HoldsEverywhere, "5 % are no refutation");
        let refuted = bounded(9_000.0);
        assert_eq!(refuted.outcome, Outcome::Refuted);
        assert!(
            refuted.sentence.contains("SKDC 10.0 KB with 1,000 members"),
            "{}",
            refuted.sentence
        );
        assert!(refuted.margin.contains("10 %"), "{}", refuted.margin);
        let above = storage().above(CREATE, &["skdc"], 9_999.0);
        assert_eq!(above.verdict().outcome, Outcome::HoldsEverywhere);
    }

    #[test]
    fn a_device_without_the_suite_decides_nothing() {
        let mut rows = world();
        rows.iter_mut().for_each(|row| "constrained".clone_into(&mut row.suite));
        let modelled = VerdictGround::Device("esp8266");
        let verdict = claim(&rows, modelled).below(CREATE, &["skdc"], 1e12).verdict();
        assert_eq!(verdict.outcome, Outcome::NotDecidable, "{}", verdict.sentence);
    }
}
