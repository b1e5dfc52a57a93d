//! Which settings of the study are run more often, until its findings are decided.

use std::collections::BTreeMap;

use groupkey_lab::plan::Plan;
use groupkey_lab::results::NetworkRow;
use groupkey_lab::statistics::sequential::looks;

use super::findings::open;

/// Returns the plans to run more often, each with its new number of runs; none if more runs decide
/// nothing, or if all plans together have had twice as many runs again.
///
/// `plans` are those of the study, each with `runs`, and `rows` are the rows of them so far. The
/// answer depends on these alone, so that a campaign in pieces runs as often as one without a
/// break.
pub fn more_runs(plans: &[Plan], rows: &[NetworkRow], runs: u32) -> Vec<Plan> {
    let is_of = |plan: &Plan, row: &NetworkRow| {
        (plan.scheme.id, plan.members) == (row.setting.scheme.as_str(), row.setting.members)
            && plan.link.initial.loss_percent == row.setting.loss_percent
            && plan.link.initial.delay_ms == row.setting.delay_ms
    };
    let done = plans.iter().map(|plan| {
        let row = rows.iter().find(|row| is_of(plan, row));
        row.map_or(0, |row| row.runs.saturating_sub(runs))
    });
    let mut left = (BUDGET * plans.len() as u32 * runs).saturating_sub(done.sum());

    let most = looks(runs as usize).last().unwrap_or(0) as u32;
    let mut wanted: BTreeMap<usize, u32> = BTreeMap::new();
    for place in open(rows, runs) {
        let row = &rows[place];
        // Without loss all runs are equal.
        if row.setting.loss_percent > 0.0
            && row.runs < most
            && let Some(plan) = plans.iter().position(|plan| is_of(plan, row))
        {
            wanted.insert(plan, row.runs);
        }
    }
    let mut more = Vec::new();
    for (place, done) in wanted {
        let total = (2 * done).min(most);
        if let Some(rest) = left.checked_sub(total - done) {
            left = rest;
            more.push(Plan { runs: total, ..plans[place].clone() });
        }
    }
    more
}

/// How many times the runs of the study may be added to it.
const BUDGET: u32 = 2;
