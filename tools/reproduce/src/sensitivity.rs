//! What the outcomes would be if a threshold were half or twice as large.

use std::fmt::Write;

use groupkey_lab::bench::BenchRow;
use groupkey_lab::results::NetworkRow;
use groupkey_lab::verdict::{Thresholds, Verdict};
use serde::{Deserialize, Serialize};

use crate::grade::settle_together;
use crate::network_impact;
use crate::study::Study;

/// A threshold, and the findings that come out otherwise at half and at twice of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Its name.
    pub threshold: String,
    /// Its value.
    pub value: f64,
    /// What moves at half of it.
    pub half: Vec<MovedFinding>,
    /// What moves at twice of it.
    pub twice: Vec<MovedFinding>,
}

/// A finding that comes out otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFinding {
    /// The study.
    pub study: String,
    /// The finding.
    pub finding: String,
    /// Its outcome by the thresholds in use.
    pub from: String,
    /// Its outcome by the changed one.
    pub to: String,
}

/// The rows of all studies.
#[derive(Clone, Debug)]
pub struct GradedRows<'r> {
    /// The rows of each study of computations.
    pub computations: Vec<(&'static Study, &'r [BenchRow])>,
    /// The rows of the network study.
    pub network: &'r [NetworkRow],
    /// How often each of its settings was run before any was run more often.
    pub runs: u32,
}

/// Grades all findings again at half and at twice of each threshold.
pub fn sensitivity(rows: &GradedRows<'_>) -> Vec<Sensitivity> {
    let thresholds = Thresholds::in_use();
    let usual = rows.outcomes(&thresholds);
    let moved = |name: &str, by: f64| {
        let scaled = thresholds.scaled(name, by).expect("it is one of them");
        let found = rows.outcomes(&scaled);
        let both = usual.iter().zip(found).filter(|(before, after)| before.2 != after.2);
        both.map(|((study, finding, from), (_, _, to))| MovedFinding {
            study: (*study).to_owned(),
            finding: finding.clone(),
            from: (*from).to_owned(),
            to: to.to_owned(),
        })
        .collect()
    };
    thresholds
        .all()
        .map(|(name, threshold)| Sensitivity {
            threshold: name.to_owned(),
            value: threshold.value,
            half: moved(name, 0.5),
            twice: moved(name, 2.0),
        })
        .into()
}

impl GradedRows<'_> {
    fn outcomes(&self, thresholds: &Thresholds) -> Vec<(&'static str, String, &'static str)> {
        let computations = self.computations.iter();
        let mut all: Vec<(&'static str, Vec<Verdict>)> = computations
            .map(|(study, rows)| (study.id, study.examine_by(rows, thresholds).verdicts))
            .collect();
        let network = network_impact::verdicts_by(self.network, self.runs, thresholds);
        all.push(("network-impact", network));
        let mut verdicts: Vec<&mut Vec<Verdict>> = all.iter_mut().map(|(_, of)| of).collect();
        settle_together(&mut verdicts, thresholds);
        let told = all.into_iter().flat_map(|(study, verdicts)| {
            verdicts.into_iter().map(move |it| (study, it.id, it.outcome.name()))
        });
        told.collect()
    }
}

/// Returns the recorded sensitivity of `groupkey reproduce all --quick`.
pub fn recorded_sensitivity() -> Vec<Sensitivity> {
    serde_json::from_str(include_str!("../data/sensitivity.json")).expect("a test reads it")
}

/// Formats the table as a section of a page.
pub(crate) fn sensitivity_section(rows: &[Sensitivity]) -> String {
    let mut page = "\n## Thresholds\n\nEach threshold and margin, with its reason and the day of its value \
                    (`crates/groupkey-lab/src/verdict/thresholds.toml`), and what comes out otherwise at half and at \
                    twice of it. Reasons of values before 2026-11-27 were written down on that day. Of a factor, the part above 1 is halved and doubled.\n\n| threshold | value | what \
                    it limits | since | reason | moved at half | moved at twice |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let thresholds = Thresholds::in_use();
    for row in rows {
        let all = thresholds.all();
        let Some((name, threshold)) = all.into_iter().find(|(name, _)| *name == row.threshold)
        else {
            continue;
        };
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} | {} | {} | {} | {} |",
            row.value,
            threshold.meaning,
            threshold.since,
            threshold.reason,
            row.half.len(),
            row.twice.len()
        );
    }
    page += "\n| threshold | at | finding | outcome | would be |\n|---|---|---|---|---|\n";
    for row in rows {
        for (at, moved) in [("half", &row.half), ("twice", &row.twice)] {
            for MovedFinding { study, finding, from, to } in moved {
                let _ = writeln!(
                    page,
                    "| `{}` | {at} | `{study}/{finding}` | {from} | {to} |",
                    row.threshold
                );
            }
        }
    }
    page
}
