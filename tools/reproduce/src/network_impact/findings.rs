//! The study's eight findings, each split into its parts and decided by the rows.

use std::collections::BTreeSet;

use groupkey_lab::results::NetworkRow;
use groupkey_lab::verdict::{Verdict, VerdictGround};

use super::rows::{IndexedRow, LossAndDelay, RowQuantity, Rows, about, below, wider};
use super::{GDH, LKH, SCHEMES};
use crate::evidence::{FindingStatement, RunValues, SettingComparison, decide, undecided};
use crate::published;
use crate::verdict::FindingDescription;

/// Decides each finding. Every setting was run this many times before any was run more often.
pub fn verdicts(rows: &[NetworkRow], runs: u32) -> Vec<Verdict> {
    let study = published::network_impact();
    let rows = Rows(rows);
    let judged = FINDINGS.iter().map(|finding| {
        let (parts, remark) = (finding.judge)(rows);
        let told = FindingDescription {
            id: finding.id.to_owned(),
            claim: study.findings[finding.id].clone(),
            ground: VerdictGround::Network,
            margin: finding.margin.to_owned(),
            remark,
        };
        decide(told, &parts, runs as usize)
    });
    judged.collect()
}

/// Returns the places of the rows that need more runs before every finding is settled.
pub(super) fn open(rows: &[NetworkRow], runs: u32) -> BTreeSet<usize> {
    let judged = FINDINGS.iter().map(|finding| (finding.judge)(Rows(rows)).0);
    judged.flat_map(|parts| undecided(&parts, runs as usize)).collect()
}

/// A finding of the study.
struct NetworkFinding {
    id: &'static str,
    judge: SettingJudge,
    /// The smallest effect that counts against it.
    margin: &'static str,
}

const FINDINGS: [NetworkFinding; 8] = [
    NetworkFinding::new("f1", delay_costs_more_than_loss, "10 % of the time"),
    NetworkFinding::new("f2", creation_ranks, "10 % of the time"),
    NetworkFinding::new("f3", lkh_joins_are_alike, "a quarter of the time"),
    NetworkFinding::new("f4", lkh_leaves_rank, "10 % of the time"),
    NetworkFinding::new("f5", gdh_creation_is_slowest, "10 % of the time"),
    NetworkFinding::new(
        "f6",
        gdh_leave_is_half_a_join,
        "a quarter of the time; 10 % of computation",
    ),
    NetworkFinding::new("f7", loss_widens_and_delay_shifts, "10 % of the spread or the time"),
    NetworkFinding::new("f8", skdc_operations_are_alike, "a quarter of the time"),
];

impl NetworkFinding {
    const fn new(id: &'static str, judge: SettingJudge, margin: &'static str) -> Self {
        Self { id, judge, margin }
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

/// Ratio by which means may differ and still count as the same, as in the other studies.
const ABOUT: f64 = 0.25;

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
            parts[2].add(below(user, key, RowQuantity::Total));
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
            strategies.add(about(group, user, 1.0, ABOUT, RowQuantity::Total));
            strategies.add(about(key, user, 1.0, ABOUT, RowQuantity::Total));
            strategies.add(about(group, key, 1.0, ABOUT, RowQuantity::Total));
        }
        for scheme in LKH {
            let (many, few) = (add(scheme, 200, network), add(scheme, 50, network));
            sizes.add(about(many, few, 1.0, ABOUT, RowQuantity::Total));
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
            parts[1].add(below(user, key, RowQuantity::Total));
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
            half.add(about(leave, join, 0.5, ABOUT, RowQuantity::Total));
        }
        for operation in ["add", "remove"] {
            let [few, many] = [5, 20].map(|members| rows.at(GDH, operation, members, network));
            transmission.add(about(many, few, 1.0, ABOUT, RowQuantity::Transmission));
            computation.add(below(few, many, RowQuantity::Computation));
        }
    }
    let remark = "Under loss, transmission lasts until the last of the members has received the \
                  broadcast, and the last of more members is later.";
    (vec![half, transmission, computation], remark.to_owned())
}

fn loss_widens_and_delay_shifts(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut widens = FindingStatement::new("spread without loss below that with 10 %");
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
                widens.add(wider(none, much));
                let spread = |row: Option<IndexedRow<'_>>| row.and_then(|row| row.0.sd_ms);
                if let (Some(some), Some(much)) = (spread(some), spread(much)) {
                    ratios.push((some / much).ln());
                }
            }
            let (still, late) = (at(GOOD), at((0.0, 100.0)));
            shifts.add(below(still, late, RowQuantity::Total));
            stays.add(still.zip(late).map(|(still, late)| {
                let tenth: Vec<f64> =
                    late.0.totals_ms().iter().map(|t| 0.1 * (t - still.0.mean_ms)).collect();
                let words = format!("{late}: standard deviation {}", late.spread_words());
                let spread = late.sample(RowQuantity::Spread);
                SettingComparison::at_most(spread, RunValues::new(tenth), 1.0, words)
                    .with("scheme", scheme)
                    .with("operation", operation)
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
    (vec![widens, steadily, shifts, stays], remark.to_owned())
}

fn skdc_operations_are_alike(rows: Rows<'_>) -> (Vec<FindingStatement>, String) {
    let mut parts = [
        FindingStatement::new("join within 25 % of creation"),
        FindingStatement::new("leave within 25 % of creation"),
    ];
    for network in NETWORKS {
        for members in SIZES {
            let [create, add, remove] = OPERATIONS.map(|o| rows.at("skdc", o, members, network));
            parts[0].add(about(add, create, 1.0, ABOUT, RowQuantity::Total));
            parts[1].add(about(remove, create, 1.0, ABOUT, RowQuantity::Total));
        }
    }
    let remark = "All three send one message to every member. Were the member's request to join or \
                  leave counted, six one-way delays would come on top, which a creation does not \
                  have, and the finding would fail with a delay of 100 ms.";
    (parts.into(), remark.to_owned())
}

/// Returns all schemes of the study with each of their sizes.
fn groups() -> impl Iterator<Item = (&'static str, u32)> {
    SCHEMES.into_iter().flat_map(|scheme| {
        let sizes = if scheme == GDH { GDH_SIZES } else { SIZES };
        sizes.map(|members| (scheme, members))
    })
}
