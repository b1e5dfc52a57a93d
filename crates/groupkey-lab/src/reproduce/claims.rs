//! Claims of the kinds that benchmarks make: which scheme is slowest, what grows, what stays below
//! a bound.
//!
//! A claim about times is tested with two yardsticks: times measured here, and times modelled for
//! the paper's device. It is decided if both agree. If they do not agree, it depends on the device.

use super::cells::{Cell, Cells, Subject, Yardstick, grouped};
use super::evidence::{Comparison, Part, decide};
use crate::verdict::{Outcome, Verdict};

/// A claim that is being put together.
pub(super) struct Claim<'r> {
    id: String,
    words: String,
    cells: Cells<'r>,
    rulings: Vec<Ruling>,
    remark: String,
}

/// The result of one yardstick.
struct Ruling {
    yardstick: Yardstick,
    parts: Vec<Part>,
    /// The order that it finds, in words.
    order: Vec<String>,
}

/// The remark if one yardstick confirms a claim and the other refutes it.
const DEPENDS: &str = "The two do not agree: it depends on the device.";

/// The remark if one yardstick decides a claim and the other does not.
const LEFT_OPEN: &str =
    "Times measured here leave it open: more repetitions, or a quiet machine, may tell.";

/// Largest factor by which one value may be above another and still count as the same.
pub(super) const SAME: f64 = 1.10;

/// Largest factor from the smallest to the largest group at which a figure counts as constant. An
/// evenly growing figure grows by thousands.
const CONSTANT: f64 = 1.25;

impl<'r> Claim<'r> {
    /// Creates a claim without parts, to be tested with these yardsticks.
    pub(super) fn new(id: &str, words: String, cells: Cells<'r>, yardsticks: &[Yardstick]) -> Self {
        let ruling =
            |&yardstick: &Yardstick| Ruling { yardstick, parts: Vec::new(), order: Vec::new() };
        Self {
            id: id.to_owned(),
            words,
            cells,
            rulings: yardsticks.iter().map(ruling).collect(),
            remark: String::new(),
        }
    }

    /// Sets what a reader must know beside the figures.
    pub(super) fn remark(mut self, remark: &str) -> Self {
        remark.clone_into(&mut self.remark);
        self
    }

    /// Claims that these schemes are the first of all in the largest group, in this order, largest
    /// first.
    pub(super) fn largest_first(mut self, subject: Subject, first: &[&str], all: &[&str]) -> Self {
        let cells = self.cells;
        let size = cells.largest(all, subject);
        let at = |scheme: &&str| size.and_then(|members| cells.at(scheme, subject, members));
        for ruling in &mut self.rulings {
            let yardstick = ruling.yardstick;
            let members = size.map_or_else(|| "?".to_owned(), |size| grouped(size.into()));
            let mut part = Part::new(format!("{subject}, the order with {members} members"));
            for pair in first.windows(2) {
                let above = at(&pair[0]).zip(at(&pair[1]));
                part.add(above.map(|(above, below)| below.at_most(&above, SAME, yardstick)));
            }
            let last = first.last().and_then(at);
            for other in all.iter().filter(|scheme| !first.contains(scheme)) {
                // A scheme without the operation is not compared.
                if let Some(other) = at(other) {
                    let last = last.as_ref();
                    part.add(last.map(|last| other.at_most(last, SAME, yardstick)));
                }
            }
            ruling.parts.push(part);
            let mut found: Vec<Cell<'_>> = all.iter().filter_map(at).collect();
            found.sort_by(|a, b| b.value(yardstick).total_cmp(&a.value(yardstick)));
            if let Some(most) = found.first() {
                let shown = found.iter().take(first.len().max(3) + 1);
                let told: Vec<String> = shown.map(|cell| cell.words(yardstick)).collect();
                ruling.order.push(format!(
                    "Ours in {subject} with {} members, largest first: {}.",
                    grouped(most.members().into()),
                    told.join("; ")
                ));
            }
        }
        self
    }

    /// Claims that the needs of these schemes grow from the smallest group to the largest.
    pub(super) fn grows(self, subject: Subject, schemes: &[&str]) -> Self {
        self.over_sizes(
            "grows with the group by more than a quarter",
            subject,
            schemes,
            |small, large, yardstick| small.at_most(large, 1.0 / CONSTANT, yardstick),
        )
    }

    /// Claims that the needs of these schemes are the same in the smallest group and in the
    /// largest, give or take a quarter.
    pub(super) fn stays(self, subject: Subject, schemes: &[&str]) -> Self {
        self.over_sizes(
            "stays the same, give or take a quarter",
            subject,
            schemes,
            |small, large, yardstick| large.about(small, CONSTANT, yardstick),
        )
    }

    /// Claims that the needs of these schemes are not above a bound, at any size.
    pub(super) fn below(self, subject: Subject, schemes: &[&str], bound: f64) -> Self {
        self.bounded(Bound::Below(bound), subject, schemes)
    }

    /// Claims that the needs of these schemes are above a bound in the largest group.
    pub(super) fn above(self, subject: Subject, schemes: &[&str], bound: f64) -> Self {
        self.bounded(Bound::Above(bound), subject, schemes)
    }

    /// States that the claim is about groups of this many members. Without such a group it is not
    /// confirmed.
    pub(super) fn reaches(mut self, members: u32) -> Self {
        let largest = self.cells.0.iter().map(|row| row.members).max().unwrap_or(0);
        if largest < members {
            for ruling in &mut self.rulings {
                let mut part = Part::new(format!("groups of {} members", grouped(members.into())));
                part.add(None);
                ruling.parts.push(part);
            }
        }
        self
    }

    /// Adds an observation, which needs no comparison of cells. Observations of the same claim make
    /// one part.
    pub(super) fn certain(self, claim: &str, holds: bool, words: String) -> Self {
        self.compare(claim, |_| Comparison::certain(holds, words.clone()))
    }

    /// Adds a comparison of the caller's. Comparisons of the same claim make one part.
    pub(super) fn compare(
        mut self,
        claim: &str,
        comparison: impl Fn(Yardstick) -> Comparison,
    ) -> Self {
        for ruling in &mut self.rulings {
            ruling.add(claim, comparison(ruling.yardstick));
        }
        self
    }

    /// Returns the verdict of all yardsticks, if they agree.
    pub(super) fn verdict(self) -> Verdict {
        let Self { id, words, rulings, remark, .. } = self;
        let mut outcomes = Vec::new();
        let mut evidence = Vec::new();
        let several = rulings.len() > 1;
        for Ruling { yardstick, parts, order } in rulings {
            let mut decided = decide(&id, &words, &parts, "");
            if parts.is_empty() {
                // There was nothing to compare.
                decided.outcome = Outcome::NotDecidable;
            }
            let label = match yardstick {
                Yardstick::Measured => "Measured here".to_owned(),
                Yardstick::Modelled(device) => format!("Modelled on {device}"),
                Yardstick::Permanent | Yardstick::Temporary => "Key material".to_owned(),
                Yardstick::Seen => "Seen in runs".to_owned(),
            };
            let told = if several {
                format!("{label}: {}. ", decided.outcome.name())
            } else {
                format!("{label}. ")
            };
            evidence.push(format!("{told}{}", decided.evidence));
            evidence.extend(order);
            outcomes.push(decided.outcome);
        }
        let first = outcomes.first().copied().unwrap_or(Outcome::NotDecidable);
        let outcome = match outcomes.iter().all(|outcome| *outcome == first) {
            true => first,
            false => {
                let open = outcomes.contains(&Outcome::NotDecidable);
                evidence.push(if open { LEFT_OPEN } else { DEPENDS }.to_owned());
                Outcome::NotDecidable
            }
        };
        if !remark.is_empty() {
            evidence.push(remark);
        }
        Verdict { id, claim: words, outcome, evidence: evidence.join(" ") }
    }

    fn over_sizes(
        mut self,
        claim: &'static str,
        subject: Subject,
        schemes: &[&str],
        compare: impl Fn(&Cell<'_>, &Cell<'_>, Yardstick) -> Comparison,
    ) -> Self {
        let cells = self.cells;
        for ruling in &mut self.rulings {
            let mut part = Part::new(format!("{subject} {claim}"));
            for scheme in schemes {
                let sizes = cells.sizes(scheme, subject);
                let ends = sizes.first().zip(sizes.last()).filter(|(small, large)| small < large);
                let ends = ends.and_then(|(&small, &large)| {
                    cells.at(scheme, subject, small).zip(cells.at(scheme, subject, large))
                });
                part.add(ends.map(|(small, large)| compare(&small, &large, ruling.yardstick)));
            }
            ruling.parts.push(part);
        }
        self
    }

    fn bounded(mut self, bound: Bound, subject: Subject, schemes: &[&str]) -> Self {
        let cells = self.cells;
        for ruling in &mut self.rulings {
            let yardstick = ruling.yardstick;
            let mut part = Part::new(format!("{subject} {}", bound.words(yardstick)));
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
                let words = format!("{} with {} members", cell.words(yardstick), cell.members());
                part.add((!value.is_nan()).then(|| Comparison::certain(bound.holds(value), words)));
            }
            // It may be that none of the schemes has a party in this role.
            if part.total() > 0 {
                ruling.parts.push(part);
            }
        }
        self
    }
}

/// A bound, in a yardstick's unit.
#[derive(Clone, Copy)]
enum Bound {
    Above(f64),
    Below(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Above(bound) => value > bound,
            Self::Below(bound) => value <= bound,
        }
    }

    fn words(self, yardstick: Yardstick) -> String {
        match self {
            Self::Above(bound) => format!("above {} in the largest group", yardstick.words(bound)),
            Self::Below(bound) => format!("below {} at any size", yardstick.words(bound)),
        }
    }
}

impl Ruling {
    fn add(&mut self, claim: &str, comparison: Comparison) {
        match self.parts.iter_mut().find(|part| part.claim() == claim) {
            Some(part) => part.add(Some(comparison)),
            None => {
                let mut part = Part::new(claim);
                part.add(Some(comparison));
                self.parts.push(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::example::row;
    use super::*;
    use crate::bench::BenchRow;

    const CREATE: Subject = Subject::new("create", "controller");
    const BOTH: [Yardstick; 2] = [Yardstick::Measured, Yardstick::Modelled("host")];

    fn claim<'r>(rows: &'r [BenchRow], yardsticks: &[Yardstick]) -> Claim<'r> {
        Claim::new("id", "Words.".to_owned(), Cells(rows), yardsticks)
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
        claim(rows, &BOTH).largest_first(CREATE, first, &["skdc", "oft", "lkh-group"]).verdict()
    }

    #[test]
    fn a_ranking_holds_or_fails_and_says_why() {
        let rows = world();
        let right = ranked(&rows, &["skdc", "oft"]);
        assert_eq!(right.outcome, Outcome::Confirmed, "{}", right.evidence);
        assert!(right.evidence.contains("SKDC 1.00 ms (1,000 wrap)"), "{}", right.evidence);
        for wrong in [&["oft", "skdc"][..], &["skdc", "lkh-group"], &["lkh-group"]] {
            assert_eq!(ranked(&rows, wrong).outcome, Outcome::Refuted, "{wrong:?}");
        }
    }

    #[test]
    fn where_measurement_and_model_differ_it_depends_on_the_device() {
        let mut rows = world();
        // As many wraps as before, but they take no time here.
        rows[1] = row("skdc", 1_000, 1_000, 1_000.0, 10_000);
        let verdict = ranked(&rows, &["skdc", "oft"]);
        assert_eq!(verdict.outcome, Outcome::NotDecidable);
        assert!(verdict.evidence.ends_with(DEPENDS), "{}", verdict.evidence);
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
            for yardsticks in [&BOTH[..], &[Yardstick::Permanent]] {
                let decided = [
                    claim(&rows, yardsticks).grows(CREATE, &[scheme]),
                    claim(&rows, yardsticks).stays(CREATE, &[scheme]),
                ]
                .map(|claim| claim.verdict().outcome == Outcome::Confirmed);
                assert_eq!(decided, [grows, !grows], "{scheme}, {yardsticks:?}");
            }
        }
        let alone = [row("skdc", 10, 1_000, 1.0, 1)];
        let open = claim(&alone, &BOTH).grows(CREATE, &["skdc"]).verdict();
        assert_eq!(open.outcome, Outcome::NotDecidable, "one size tells nothing");
    }

    #[test]
    fn without_rows_nothing_is_decided() {
        let open = claim(&[], &BOTH).below(CREATE, &["skdc"], 1.0).verdict();
        assert_eq!(open.outcome, Outcome::NotDecidable);
    }

    #[test]
    fn bounds_are_of_the_largest_group() {
        let rows = world();
        let bounded = |bound| {
            let storage = claim(&rows, &[Yardstick::Permanent]);
            storage.below(CREATE, &["skdc", "oft"], bound).verdict()
        };
        assert_eq!(bounded(10_000.0).outcome, Outcome::Confirmed);
        let refuted = bounded(9_999.0);
        assert_eq!(refuted.outcome, Outcome::Refuted);
        assert!(
            refuted.evidence.contains("SKDC 10.0 KB with 1000 members"),
            "{}",
            refuted.evidence
        );
        let above = claim(&rows, &[Yardstick::Permanent]).above(CREATE, &["skdc"], 9_999.0);
        assert_eq!(above.verdict().outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_device_without_the_suite_decides_nothing() {
        let mut rows = world();
        rows.iter_mut().for_each(|row| "constrained".clone_into(&mut row.suite));
        let modelled = [Yardstick::Modelled("esp8266")];
        let verdict = claim(&rows, &modelled).below(CREATE, &["skdc"], 1e12).verdict();
        assert_eq!(verdict.outcome, Outcome::NotDecidable, "{}", verdict.evidence);
    }
}
