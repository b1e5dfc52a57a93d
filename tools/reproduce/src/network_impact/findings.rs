//! The study's findings, each split into its parts and decided by the rows.

use std::collections::BTreeSet;

use groupkey_lab::report::TimeQuantity;
use groupkey_lab::results::NetworkRow;
use groupkey_lab::verdict::{Thresholds, Verdict, VerdictGround};

use super::rows::{
    IndexedRow, LossAndDelay, RowQuantity, Rows, about, below, below_times, not_above, wider,
};
use super::{GDH, LKH, SCHEMES};
use crate::claims::percent;
use crate::evidence::{FindingStatement, RunValues, SettingComparison, decide, undecided};
use crate::expectations::p_values_beside;
use crate::grade::settle;
use crate::provenance::{self, by_construction};
use crate::published;
use crate::verdict::FindingDescription;

/// Decides each finding. Every setting was run this many times before any was run more often.
pub fn verdicts(rows: &[NetworkRow], runs: u32) -> Vec<Verdict> {
    verdicts_by(rows, runs, &Thresholds::in_use())
}

/// Does the same by other thresholds.
pub fn verdicts_by(rows: &[NetworkRow], runs: u32, thresholds: &Thresholds) -> Vec<Verdict> {
    let study = published::network_impact();
    let rows = Rows { rows, thresholds };
    let judged = FINDINGS.iter().map(|finding| {
        let (mut parts, remark) = (finding.judge)(rows);
        let tested = format!("network.findings.{}", finding.id);
        if let Some(void) = provenance::of_settings(&[tested]) {
            parts.iter_mut().for_each(|part| part.void_between_operations(&void));
        }
        let told = FindingDescription {
            id: finding.id.to_owned(),
            claim: study.findings[finding.id].clone(),
            ground: VerdictGround::Network,
            margin: finding.margin.words(thresholds),
            remark,
        };
        decide(told, &parts, runs as usize, thresholds)
    });
    let mut verdicts: Vec<Verdict> = judged.collect();
    settle(&mut verdicts, &p_values_beside("network-impact"), thresholds);
    verdicts
}

/// Returns the places of the rows that need more runs before the findings that ask for runs are
/// settled. Those are the first eight: findings that are added later change no rows.
pub(super) fn open(rows: &[NetworkRow], runs: u32) -> BTreeSet<usize> {
    let thresholds = Thresholds::in_use();
    let rows = Rows { rows, thresholds: &thresholds };
    let judged = FINDINGS.iter().take(8).map(|finding| (finding.judge)(rows).0);
    judged.flat_map(|parts| undecided(&parts, runs as usize, &thresholds)).collect()
}

struct NetworkFinding {
    id: &'static str,
    judge: SettingJudge,
    margin: NetworkMargin,
}

/// The smallest effect that counts against a finding.
#[derive(Clone, Copy)]
enum NetworkMargin {
    /// Of what is above something else.
    Order(&'static str),
    /// Of what is equal.
    Change(&'static str),
    Both,
    Bound,
}

const FINDINGS: [NetworkFinding; 25] = [
    NetworkFinding::new("f1", delay_costs_more_than_loss, NetworkMargin::Order("the time")),
    NetworkFinding::new("f2", creation_ranks, NetworkMargin::Order("the time")),
    NetworkFinding::new("f3", lkh_joins_are_alike, NetworkMargin::Change("the time")),
    NetworkFinding::new("f4", lkh_leaves_rank, NetworkMargin::Order("the time")),
    NetworkFinding::new("f5", gdh_creation_is_slowest, NetworkMargin::Order("the time")),
    NetworkFinding::new("f6", gdh_leave_is_half_a_join, NetworkMargin::Both),
    NetworkFinding::new(
        "f7",
        loss_widens_and_delay_shifts,
        NetworkMargin::Order("the spread or the time"),
    ),
    NetworkFinding::new("f8", skdc_operations_are_alike, NetworkMargin::Change("the time")),
    NetworkFinding::new("network_over_size", network_over_size, NetworkMargin::Order("the factor")),
    NetworkFinding::new("loss_raises", loss_raises, NetworkMargin::Order("the time")),
    NetworkFinding::new("creation_four_times", creation_four_times, NetworkMargin::Bound),
    NetworkFinding::new("join_lkh_not_doubled", join_is_not_doubled, NetworkMargin::Bound),
    NetworkFinding::new(
        "join_lkh_not_doubled_mean",
        mean_join_is_not_doubled,
        NetworkMargin::Bound,
    ),
    NetworkFinding::new("join_lkh_shorter", join_is_shorter, NetworkMargin::Order("the time")),
    NetworkFinding::new("join_server_effort", join_effort, NetworkMargin::Order("computing")),
    NetworkFinding::new("join_gdh_slowest", gdh_join_is_slowest, NetworkMargin::Order("the time")),
    NetworkFinding::new("leave_server_effort", leave_effort, NetworkMargin::Order("computing")),
    NetworkFinding::new("leave_skdc_superior", skdc_leaves_fast, NetworkMargin::Both),
    NetworkFinding::new(
        "leave_gdh_slowest",
        gdh_leave_is_slowest,
        NetworkMargin::Order("the time"),
    ),
    NetworkFinding::new("gdh_operations", gdh_operations_rank, NetworkMargin::Order("the time")),
    NetworkFinding::new("gdh_share", gdh_computing_leads, NetworkMargin::Order("the time")),
    NetworkFinding::new("printed_skdc_last", skdc_as_last, NetworkMargin::Change("the value")),
    NetworkFinding::new("printed_skdc_mean", skdc_as_mean, NetworkMargin::Change("the value")),
    NetworkFinding::new("printed_gdh_last", gdh_as_last, NetworkMargin::Change("the value")),
    NetworkFinding::new("printed_gdh_mean", gdh_as_mean, NetworkMargin::Change("the value")),
];

impl NetworkFinding {
    const fn new(id: &'static str, judge: SettingJudge, margin: NetworkMargin) -> Self {
        Self { id, judge, margin }
    }
}

impl NetworkMargin {
    fn words(self, thresholds: &Thresholds) -> String {
        let [order, change, bound] = [&thresholds.order, &thresholds.change, &thresholds.bound]
            .map(|threshold| percent(threshold.value));
        match self {
            Self::Order(of) => format!("{order} of {of}"),
            Self::Change(of) => format!("{change} of {of}"),
            Self::Both => format!("{change} where equal, {order} where one is above the other"),
            Self::Bound => format!("{bound} beyond a bound"),
        }
    }
}

type SettingJudge = fn(Rows<'_>) -> (Vec<FindingStatement>, String);

const CENTRALIZED: [&str; 4] = ["skdc", LKH[0], LKH[1], LKH[2]];
const SIZES: [u32; 3] = [50, 100, 200];
const GDH_SIZES: [u32; 3] = [5, 10, 20];
const OPERATIONS: [&str; 3] = ["create", "add", "remove"];

const NETWORKS: [LossAndDelay; 6] =
    [(0.0, 0.0), (5.0, 0.0), (10.0, 0.0), (0.0, 100.0), (5.0, 100.0), (10.0, 100.0)];
const GOOD: LossAndDelay = (0.0, 0.0);
const POOR: LossAndDelay = (10.0, 100.0);

fn delay_costs_more_than_loss(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let against = |loss: f64, claim| {
        let mut part = FindingStatement::new(claim);
        for (scheme, members) in groups() {
            for operation in OPERATIONS {
                let lossy = rows.at(scheme, operation, members, (loss, 0.0));
                let late = rows.at(scheme, operation, members, (0.0, 100.0));
                part.add(below(lossy, late, RowQuantity::Total));
            }
        }
        part
    };
    let half = against(5.0, "");
    let mut remark = format!(
        "Against a loss of 5 %, the sample means are as claimed in {} of {} settings.",
        half.claimed_by_means(),
        half.total(),
    );
    let gdh = |network| rows.at(GDH, "create", 20, network).map(|row| row.0.transmission_ms);
    if let (Some(lossless), Some(lossy)) = (gdh(GOOD), gdh((10.0, 0.0))) {
        let study = published::network_impact();
        let printed = |key: &str| study.mean_ms(key).unwrap_or(f64::NAN);
        remark += &format!(
            " A loss of 10 % adds {:.0} ms to the transmission of G-DH creation with 20 members; in \
             S000, {:.0} ms.",
            lossy - lossless,
            printed("gdh_create_transmission_n20_loss10_delay0")
                - printed("gdh_create_transmission_n20_loss0_delay0"),
        );
    }
    (vec![against(10.0, "10 % loss below 100 ms delay")], remark)
}

fn creation_ranks(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let create = |scheme, members, network| rows.at(scheme, "create", members, network);
    let mut parts = [
        FindingStatement::new("group-oriented below SKDC"),
        FindingStatement::new("SKDC below user-oriented"),
        FindingStatement::new("user-oriented not above key-oriented"),
    ];
    for members in SIZES {
        for network in [GOOD, POOR] {
            let [group, user, key] = LKH.map(|scheme| create(scheme, members, network));
            let skdc = create("skdc", members, network);
            parts[0].add(below(group, skdc, RowQuantity::Total));
            parts[1].add(below(skdc, user, RowQuantity::Total));
            parts[2].add(not_above(user, key, RowQuantity::Total));
        }
    }
    (parts.into(), String::new())
}

fn lkh_joins_are_alike(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let add = |scheme, members, network| rows.at(scheme, "add", members, network);
    let mut strategies = FindingStatement::new("strategies within a quarter of each other");
    let mut sizes = FindingStatement::new("50 and 200 members within a quarter of each other");
    for network in NETWORKS {
        for members in SIZES {
            let [group, user, key] = LKH.map(|scheme| add(scheme, members, network));
            strategies.add(about(group, user, 1.0, RowQuantity::Total));
            strategies.add(about(key, user, 1.0, RowQuantity::Total));
            strategies.add(about(group, key, 1.0, RowQuantity::Total));
        }
        for scheme in LKH {
            let (many, few) = (add(scheme, 200, network), add(scheme, 50, network));
            sizes.add(about(many, few, 1.0, RowQuantity::Total));
        }
    }
    let messages = LKH.iter().filter_map(|scheme| add(scheme, 200, GOOD)).map(|row| row.0.messages);
    let remark = match messages.reduce(f64::max) {
        Some(messages) => format!(
            "Every join publishes {messages} messages, whatever the size. What \
             grows with the size is the broker's work for a broadcast, and under loss the last of \
             more members."
        ),
        None => String::new(),
    };
    (vec![strategies, sizes], remark)
}

fn lkh_leaves_rank(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let remove = |scheme, members, network| rows.at(scheme, "remove", members, network);
    let mut parts = [
        FindingStatement::new("group-oriented below both others"),
        FindingStatement::new("user-oriented not above key-oriented"),
        FindingStatement::new("join below leave in the poor network"),
    ];
    for members in SIZES {
        for network in [GOOD, POOR] {
            let [group, user, key] = LKH.map(|scheme| remove(scheme, members, network));
            parts[0].add(below(group, user, RowQuantity::Total));
            parts[0].add(below(group, key, RowQuantity::Total));
            parts[1].add(not_above(user, key, RowQuantity::Total));
        }
        for scheme in LKH {
            let join = rows.at(scheme, "add", members, POOR);
            parts[2].add(below(join, remove(scheme, members, POOR), RowQuantity::Total));
        }
    }
    let remark = "A group-oriented leave is one broadcast; a join is a unicast and \
                  a broadcast, which travel side by side.";
    (parts.into(), remark.to_owned())
}

fn gdh_creation_is_slowest(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("centralized below G-DH");
    for network in NETWORKS {
        for members in GDH_SIZES {
            let gdh = rows.at(GDH, "create", members, network);
            for scheme in CENTRALIZED {
                for size in SIZES {
                    let centralized = rows.at(scheme, "create", size, network);
                    part.add(below(centralized, gdh, RowQuantity::Total));
                }
            }
        }
    }
    (vec![part], String::new())
}

fn gdh_leave_is_half_a_join(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut half = FindingStatement::new("leave within 25 % of half a join");
    let mut transmission =
        FindingStatement::new("transmission with 5 and 20 members within a quarter of each other");
    let mut computation = FindingStatement::new("computation with 5 members below that with 20");
    for network in NETWORKS {
        for members in GDH_SIZES {
            let [join, leave] = ["add", "remove"].map(|o| rows.at(GDH, o, members, network));
            half.add(about(leave, join, 0.5, RowQuantity::Total));
        }
        for operation in ["add", "remove"] {
            let [few, many] = [5, 20].map(|members| rows.at(GDH, operation, members, network));
            transmission.add(about(many, few, 1.0, RowQuantity::Transmission));
            computation.add(below(few, many, RowQuantity::Computation));
        }
    }
    let remark = "Under loss, transmission lasts until the last of the members has received the \
                  broadcast, and the last of more members is later.";
    (vec![half, transmission, computation], remark.to_owned())
}

fn loss_widens_and_delay_shifts(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut widens = FindingStatement::new("spread without loss below that with 10 %");
    let mut each = FindingStatement::of_runs_done("spread with 5 % below that with 10 %");
    let mut steadily =
        FindingStatement::new("spread with 5 % below that with 10 %, all settings together");
    let mut shifts = FindingStatement::new("mean without delay below that with 100 ms");
    let mut stays = FindingStatement::new("spread by delay alone below a tenth of the shift");
    let mut ratios = Vec::new();
    for (scheme, members) in groups() {
        for operation in OPERATIONS {
            let at = |network| rows.at(scheme, operation, members, network);
            for delay in [0.0, 100.0] {
                let [none, some, much] = [0.0, 5.0, 10.0].map(|loss| at((loss, delay)));
                let void = by_construction(NO_RANDOMNESS);
                widens.add(wider(none, much).map(|it| it.void(void)));
                each.add(wider(some, much));
                let spread = |row: Option<IndexedRow<'_>>| row.and_then(|row| row.0.sd_ms);
                if let (Some(some), Some(much)) = (spread(some), spread(much)) {
                    ratios.push((some / much).ln());
                }
            }
            let (still, late) = (at(GOOD), at((0.0, 100.0)));
            let void = || by_construction(NO_RANDOMNESS);
            shifts.add(not_above(still, late, RowQuantity::Total).map(|it| it.void(void())));
            stays.add(still.zip(late).map(|(still, late)| {
                let tenth: Vec<f64> =
                    late.0.totals_ms().iter().map(|t| 0.1 * (t - still.0.mean_ms)).collect();
                let words = format!("{late}: standard deviation {}", late.spread_words());
                let spread = late.sample(RowQuantity::Spread);
                SettingComparison::at_most(spread, RunValues::new(tenth), 1.0, words)
                    .with("scheme", scheme)
                    .with("operation", operation)
                    .void(void())
            }));
        }
    }
    ratios.retain(|ratio| ratio.is_finite());
    steadily.add((!ratios.is_empty()).then(|| {
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let shares: Vec<f64> = ratios.iter().map(|ratio| ratio.exp()).collect();
        let one = vec![1.0; shares.len()];
        let words = format!(
            "with 5 % it is {:.2} times that with 10 % (geometric mean of {} settings)",
            mean.exp(),
            ratios.len(),
        );
        SettingComparison::at_most_as_they_are(
            RunValues::new(shares),
            RunValues::new(one),
            1.0,
            words,
        )
    }));
    let remark = "Without loss the simulated network has no randomness: that delay alone does not \
                  widen follows from the model. Together with loss, delay does widen.";
    (vec![widens, each, steadily, shifts, stays], remark.to_owned())
}

/// Why three of f7's statements cannot fail here.
const NO_RANDOMNESS: &str =
    "without loss the simulated network has no randomness, and a delay is added";

fn skdc_operations_are_alike(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut parts = [
        FindingStatement::new("join within 25 % of creation"),
        FindingStatement::new("leave within 25 % of creation"),
    ];
    for network in NETWORKS {
        for members in SIZES {
            let [create, add, remove] = OPERATIONS.map(|o| rows.at("skdc", o, members, network));
            parts[0].add(about(add, create, 1.0, RowQuantity::Total));
            parts[1].add(about(remove, create, 1.0, RowQuantity::Total));
        }
    }
    let remark = "All three send one message to every member. Were the member's request to join or \
                  leave counted, six one-way delays would come on top, which a creation does not \
                  have, and the finding would fail with a delay of 100 ms.";
    (parts.into(), remark.to_owned())
}

/// Compares, for each scheme and operation, the factor between networks with that between sizes.
fn network_over_size(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("the factor over sizes below that over networks");
    for scheme in SCHEMES {
        let sizes = if scheme == GDH { GDH_SIZES } else { SIZES };
        for operation in OPERATIONS {
            let mean = |members, network| {
                rows.at(scheme, operation, members, network).map(|row| row.0.mean_ms)
            };
            let over_networks = sizes.map(|size| factor(NETWORKS.map(|it| mean(size, it))));
            let over_sizes = NETWORKS.map(|network| factor(sizes.map(|size| mean(size, network))));
            let row = rows.at(scheme, operation, sizes[0], GOOD);
            let both = geometric_mean(&over_networks).zip(geometric_mean(&over_sizes)).zip(row);
            part.add(both.map(|((networks, sizes), row)| {
                let order = 1.0 + rows.thresholds.order.value;
                let (scheme, operation) = (row.scheme(), row.operation());
                let words = format!(
                    "{scheme} {operation}: a factor of {sizes:.1} over sizes, of {networks:.1} over networks"
                );
                SettingComparison::exact(sizes / networks / order, words)
                    .strictly(order)
                    .with("scheme", scheme)
                    .with("operation", operation)
            }));
        }
    }
    let remark = "A factor is the largest mean over the smallest, as a geometric mean over the sizes or \
                  the networks.";
    (vec![part], remark.to_owned())
}

/// Returns the largest value over the smallest; `None` if one is missing.
fn factor<const N: usize>(values: [Option<f64>; N]) -> Option<f64> {
    let all: Option<Vec<f64>> = values.into_iter().collect();
    let all = all?;
    let largest = all.iter().copied().reduce(f64::max)?;
    Some(largest / all.into_iter().reduce(f64::min)?)
}

fn geometric_mean(values: &[Option<f64>]) -> Option<f64> {
    let all: Option<Vec<f64>> = values.iter().copied().collect();
    let all = all?;
    Some((all.iter().map(|value| value.ln()).sum::<f64>() / all.len() as f64).exp())
}

fn loss_raises(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("mean without loss below that with 10 %");
    for (scheme, members) in groups() {
        for operation in OPERATIONS {
            for delay in [0.0, 100.0] {
                let at = |loss| rows.at(scheme, operation, members, (loss, delay));
                part.add(below(at(0.0), at(10.0), RowQuantity::Total));
            }
        }
    }
    (vec![part], String::new())
}

/// S000 says that this is so in some cases: the case with the largest factor decides.
fn creation_four_times(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("the largest factor is above four");
    let cases = LKH.into_iter().flat_map(|scheme| SIZES.map(|members| (scheme, members)));
    let factors = cases.filter_map(|(scheme, members)| {
        let at = |network| rows.at(scheme, "create", members, network);
        let (lossless, lossy) = at((0.0, 100.0)).zip(at(POOR))?;
        Some((lossy.0.mean_ms / lossless.0.mean_ms, lossy))
    });
    let largest = factors.max_by(|(a, _), (b, _)| a.total_cmp(b));
    part.add(largest.map(|(factor, row)| {
        let margin = 1.0 + rows.thresholds.bound.value;
        let words = format!("{row}: {factor:.1} times the time without loss");
        SettingComparison::exact(4.0 / factor / margin, words)
    }));
    (vec![part], String::new())
}

fn join_is_not_doubled(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    not_doubled(rows, RowQuantity::Total)
}

fn mean_join_is_not_doubled(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    not_doubled(rows, RowQuantity::MemberMean)
}

fn not_doubled(rows: Rows<'_>, quantity: RowQuantity) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("with loss below twice the time without");
    for scheme in LKH {
        for members in SIZES {
            let at = |loss| rows.at(scheme, "add", members, (loss, 100.0));
            for loss in [5.0, 10.0] {
                part.add(below_times(at(loss), at(0.0), 2.0, quantity));
            }
        }
    }
    let remark = "S000 reads this off its figure 6b, and does not say whether a time is that of the last member \
                  or a mean over members.";
    (vec![part], remark.to_owned())
}

fn join_is_shorter(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("join below creation");
    for scheme in LKH {
        for members in SIZES {
            let [create, add] = ["create", "add"].map(|o| rows.at(scheme, o, members, POOR));
            part.add(below(add, create, RowQuantity::Total));
        }
    }
    (vec![part], String::new())
}

fn join_effort(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("computing in LKH below SKDC");
    for members in SIZES {
        let skdc = rows.at("skdc", "add", members, GOOD);
        for scheme in LKH {
            let lkh = rows.at(scheme, "add", members, GOOD);
            part.add(below(lkh, skdc, RowQuantity::Computation));
        }
    }
    (vec![part], EFFORT.to_owned())
}

fn leave_effort(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("computing in SKDC below LKH");
    for members in SIZES {
        let skdc = rows.at("skdc", "remove", members, GOOD);
        for scheme in LKH {
            let lkh = rows.at(scheme, "remove", members, GOOD);
            part.add(below(skdc, lkh, RowQuantity::Computation));
        }
    }
    (vec![part], EFFORT.to_owned())
}

const EFFORT: &str =
    "Computing is that on the way to the last member: nearly all of it is the server's.";

fn skdc_leaves_fast(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut close = FindingStatement::new("equal in the good network");
    let mut faster = FindingStatement::new("SKDC below group-oriented LKH in every worse network");
    for members in SIZES {
        for network in NETWORKS {
            let [skdc, group] =
                ["skdc", LKH[0]].map(|scheme| rows.at(scheme, "remove", members, network));
            match network == GOOD {
                true => close.add(about(skdc, group, 1.0, RowQuantity::Total)),
                false => faster.add(below(skdc, group, RowQuantity::Total)),
            }
        }
    }
    (vec![close, faster], String::new())
}

fn gdh_join_is_slowest(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    gdh_is_slowest(rows, "add")
}

fn gdh_leave_is_slowest(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    gdh_is_slowest(rows, "remove")
}

fn gdh_is_slowest(rows: Rows<'_>, operation: &str) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("centralized below G-DH");
    for network in NETWORKS {
        for members in GDH_SIZES {
            let gdh = rows.at(GDH, operation, members, network);
            for scheme in CENTRALIZED {
                for size in SIZES {
                    let centralized = rows.at(scheme, operation, size, network);
                    part.add(below(centralized, gdh, RowQuantity::Total));
                }
            }
        }
    }
    (vec![part], String::new())
}

fn gdh_operations_rank(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut parts =
        [FindingStatement::new("join below creation"), FindingStatement::new("leave below join")];
    for network in NETWORKS {
        for members in GDH_SIZES {
            let [create, add, remove] = OPERATIONS.map(|o| rows.at(GDH, o, members, network));
            parts[0].add(below(add, create, RowQuantity::Total));
            parts[1].add(below(remove, add, RowQuantity::Total));
        }
    }
    (parts.into(), String::new())
}

fn gdh_computing_leads(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut computing =
        FindingStatement::new("without delay, transmission below half of the total");
    let mut sending = FindingStatement::new("with 100 ms, transmission above half of the total");
    for (loss, delay) in NETWORKS {
        for members in GDH_SIZES {
            let row = rows.at(GDH, "create", members, (loss, delay));
            let compared = row.map(|row| {
                let order = 1.0 + rows.thresholds.order.value;
                let (sent, computed) = (row.0.transmission_ms, row.0.computation_ms);
                let ratio = if delay == 0.0 { sent / computed } else { computed / sent };
                let words = format!("{row}: {sent:.0} ms sending, {computed:.0} ms computing");
                SettingComparison::exact(ratio / order, words)
                    .strictly(order)
                    .with("size", format!("{members} members"))
                    .with("loss", format!("{loss} %"))
            });
            match delay == 0.0 {
                true => computing.add(compared),
                false => sending.add(compared),
            }
        }
    }
    (vec![computing, sending], String::new())
}

/// What a printed time may be: S000 does not say which.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Until the last member has the key.
    LastMember,
    /// The mean, over members, until each has it.
    MeanOverMembers,
}

fn skdc_as_last(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    printed_values(rows, "skdc", Reading::LastMember)
}

fn skdc_as_mean(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    printed_values(rows, "skdc", Reading::MeanOverMembers)
}

fn gdh_as_last(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    printed_values(rows, "gdh", Reading::LastMember)
}

fn gdh_as_mean(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    printed_values(rows, "gdh", Reading::MeanOverMembers)
}

fn printed_values(
    rows: Rows<'_>,
    scheme: &str,
    reading: Reading,
) -> (Vec<FindingStatement>, String) {
    let mut part = FindingStatement::new("ours is about the printed value");
    let values = published::network_impact().values();
    let mut ratios = Vec::new();
    for value in values.into_iter().filter(|value| value.scheme == scheme) {
        let id = if scheme == "gdh" { GDH } else { scheme };
        let network = (value.loss_percent, value.delay_ms);
        let row = rows.at(id, &value.operation, value.members, network);
        part.add(row.map(|row| {
            let ours = read(row.0, value.quantity, reading);
            let ratio = ours / value.value;
            let words =
                format!("{}: {ours:.1} against {}, {ratio:.2} times", value.key, value.value);
            let is_set = provenance::sets_a_price(&format!("network.mean_ms.{}", value.key));
            let void = is_set.then(|| by_construction("a price was solved from this value"));
            if !is_set {
                ratios.push(format!("{ratio:.2}"));
            }
            let apart = (ratio - 1.0).abs() / rows.thresholds.change.value;
            SettingComparison::exact(apart, words).void(void.flatten())
        }));
    }
    (vec![part], format!("Ours over the printed values that set no price: {}.", ratios.join(", ")))
}

fn read(row: &NetworkRow, quantity: TimeQuantity, reading: Reading) -> f64 {
    let total = match reading {
        Reading::LastMember => row.mean_ms,
        Reading::MeanOverMembers => row.member_mean_ms,
    };
    let transmission = total - row.computation_ms;
    match quantity {
        TimeQuantity::Total => total,
        TimeQuantity::Transmission => transmission,
        TimeQuantity::TransmissionShare => 100.0 * transmission / total,
    }
}

/// Returns all schemes of the study with each of their sizes.
fn groups() -> impl Iterator<Item = (&'static str, u32)> {
    SCHEMES.into_iter().flat_map(|scheme| {
        let sizes = if scheme == GDH { GDH_SIZES } else { SIZES };
        sizes.map(|members| (scheme, members))
    })
}
