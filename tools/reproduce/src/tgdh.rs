//! TGDH on ESP8266s (Prantl et al. 2022, VTC2022-Spring,
//! doi 10.1109/vtc2022-spring54318.2022.9860762; S001): two to five members, 2,048 bits.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use groupkey::catalogue::{Profile, Scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::Guard;
use groupkey::{MemberId, Operation, Suite};
use groupkey_choose::number::grouped;
use groupkey_lab::bench::{BenchPlan, BenchRow};
use groupkey_lab::campaign::{self, CampaignError, CampaignOptions};
use groupkey_lab::device::DeviceProfile;
use groupkey_lab::plan::{Plan, PlanStep};
use groupkey_lab::registry;
use groupkey_lab::report::Beside;
use groupkey_lab::results::NetworkRow;
use groupkey_lab::verdict::{Thresholds, Verdict, VerdictGround};
use groupkey_testkit::rig::{OperationReport, Rig, RigError, Settings};

use super::claims::{ClaimDraft, percent};
use super::evidence::SettingComparison;
use super::nishat::MemberCounts;
use super::provenance::{self, by_construction};
use super::role_rows::{Cell, Cells, RoleOperation, Yardstick};
use super::study::{Study, StudyExtent, StudyResult};
use crate::published::ComputationStudy;

pub(super) const STUDY: Study = Study {
    id: "tgdh",
    title: "What joining and leaving cost in TGDH, for two to five members",
    source: "T. Prantl et al.: An Experience Report on the Suitability of a Distributed Group \
             Encryption Scheme for an IoT Use Case, VTC2022-Spring, \
             doi 10.1109/vtc2022-spring54318.2022.9860762",
    assumptions: &[
        "A join's total is the simulator's: from the newcomer's first message until the last member \
         has the key, each on an ESP8266 of its own, over a network without delay or loss. The second \
         member's join is the creation of a group of two.",
        "The ESP8266's exponentiation is calibrated on the second member's join, taken for three of them \
         one after the other; the other joins are predicted.",
        "S001 does not print its group of numbers: ours is the one of 2,048 bits with short exponents \
         (suite published-2048).",
        "In ours the sponsor broadcasts its path, and another member sends the newcomer the whole tree; \
         in S001 the sponsor broadcasts the tree.",
        "In S001 the leaver first sends a request with its blinded key; ours has no request, and \
         a leave is one message.",
        "Messages carry no MAC, as in S001.",
    ],
    device: |_| DEVICE,
    plans,
    examine,
};

const DEVICE: &str = "esp8266";
const SUITE: Suite = Suite::Published2048;

fn plans(extent: StudyExtent) -> Vec<BenchPlan> {
    let members = extent.of(vec![2, 3, 4, 5, 8, 10, 15, 16, 20, 30], vec![2, 3, 4, 5]);
    vec![BenchPlan {
        profile: Profile::Published,
        suite: SUITE,
        protection: Guard::None,
        repetitions: extent.of(30, 6),
        ..BenchPlan::new(scheme(), members)
    }]
}

fn examine(rows: &[BenchRow], thresholds: &Thresholds) -> StudyResult {
    let study = ComputationStudy::tgdh();
    let (totals, cells) = (&*TOTALS, Cells::new(rows, thresholds));
    let verdicts = vec![
        join_totals(&study, totals, cells),
        sponsor(&study, cells),
        leave(&study, totals, cells),
        tree_size(&study, cells),
        five_members(&study, totals, cells),
        centralized_joins(&study, cells),
        slower_than_centralized(totals, cells),
        memory_beside_nishat(&study, cells),
    ];
    StudyResult { published: published(&study, totals), verdicts }
}

/// A few runs of a small group, without randomness. Their results are not worth a file.
static TOTALS: LazyLock<Vec<NetworkRow>> = LazyLock::new(|| match totals() {
    Ok(totals) => totals,
    Err(error) => panic!("{error}"),
});

fn scheme() -> &'static Scheme {
    registry::schemes().find(|scheme| scheme.id == "tgdh").expect("the catalogue has it")
}

/// Returns total times of operations on the ESP8266, by the number of members before the operation.
fn totals() -> Result<Vec<NetworkRow>, CampaignError> {
    totals_on(&DeviceProfile::named(DEVICE).expect("it is built in"), Profile::Published, SUITE)
}

pub(super) fn totals_on(
    device: &DeviceProfile,
    profile: Profile,
    suite: Suite,
) -> Result<Vec<NetworkRow>, CampaignError> {
    let device = Arc::new(device.clone());
    let plans: Vec<Plan> = (2..=4)
        .map(|members| Plan {
            profile,
            suite,
            protection: Guard::None,
            device: Arc::clone(&device),
            steps: PlanStep::history(scheme(), &Operation::MEASURED),
            runs: 1,
            ..Plan::new(scheme(), members)
        })
        .collect();
    let options =
        CampaignOptions { threads: 1, stop: &AtomicBool::new(false), on_progress: &|_| () };
    let mut rows = Vec::new();
    campaign::run(&plans, &options, &mut |row| {
        rows.push(row.clone());
        Ok(())
    })?;
    Ok(rows)
}

fn total_s(totals: &[NetworkRow], operation: &str, members: u32) -> Option<f64> {
    let row = totals
        .iter()
        .find(|row| row.setting.operation == operation && row.setting.members == members)?;
    Some(row.mean_ms / 1e3)
}

/// Returns the computation one after the other in the join after which the group has this many
/// members (s).
pub(super) fn join_computation_s(totals: &[NetworkRow], members: u32) -> Option<f64> {
    let (operation, before) = if members == 2 { ("create", 2) } else { ("add", members - 1) };
    let mut rows = totals.iter();
    let row =
        rows.find(|row| row.setting.operation == operation && row.setting.members == before)?;
    Some(row.computation_ms / 1e3)
}

/// Returns the time of the join after which the group has this many members (s).
fn join_s(totals: &[NetworkRow], members: u32) -> Option<f64> {
    match members {
        2 => total_s(totals, "create", 2),
        _ => total_s(totals, "add", members - 1),
    }
}

fn published(study: &ComputationStudy, totals: &[NetworkRow]) -> Vec<Beside> {
    (2..=5)
        .map(|members| Beside {
            what: format!("join of member {members}, in all"),
            published: study.number(&format!("join_total_s.m{members}")),
            error: None,
            measured: None,
            modelled: join_s(totals, members),
            unit: "s",
            note: match members {
                2 => format!("{DEVICE}'s price of a power is a third of the published value"),
                _ => format!("predicted, on {DEVICE}"),
            },
        })
        .collect()
}

/// Returns the time from the sponsor's first computation on, as S001 counts a join: without the key
/// that the newcomer makes before (s).
fn from_sponsor_s(totals: &[NetworkRow], members: u32) -> f64 {
    join_s(totals, members).unwrap_or(f64::NAN) - power_s()
}

fn join_totals(study: &ComputationStudy, totals: &[NetworkRow], cells: Cells<'_>) -> Verdict {
    let words = "The second to the fifth member join in 3.96, 8.14, 11.81 and 12.71 s.".to_owned();
    let tolerance = cells.thresholds.printed.value;
    let claim = ClaimDraft::new("join_total", words, cells, VerdictGround::Device(DEVICE))
        .margin(percent(tolerance));
    (2..=5)
        .fold(claim, |claim, members| {
            let path = format!("join_total_s.m{members}");
            let printed = study.number(&path);
            let ours = from_sponsor_s(totals, members);
            let powers = ours / power_s();
            let words = format!(
                "member {members}: {ours:.2} s, {powers:.0} powers one after the other, against {printed} s"
            );
            let tested = [format!("tgdh.{path}")];
            claim.compare("ours is about the published time", |_| {
                SettingComparison::exact(apart(ours, printed) / tolerance, words.clone())
                    .with("join", format!("of member {members}"))
                    .void(provenance::of_prices(DEVICE, ["exponentiate"], &tested))
            })
        })
        .remark(
            "S001's total begins with the sponsor, so the key that the newcomer makes before is left out. The \
             published steps of 4.18 and 3.67 s from one member to the next, and then 0.90 s, are not \
             multiples of one exponentiation: S001 says neither where its newcomers are put nor what each \
             member computes.",
        )
        .verdict()
}

fn sponsor(study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
    let subject = RoleOperation::new("add", "sponsor");
    let claim = ClaimDraft::new(
        "sponsor",
        format!("{}.", study.text("findings.sponsor")),
        cells,
        VerdictGround::Device(DEVICE),
    )
    .beside(&[Yardstick::Measured])
    .margin(format!(
        "{} between equal heights, {} between different ones",
        percent(cells.thresholds.change.value),
        percent(cells.thresholds.order.value)
    ));
    let [close, same] =
        [cells.thresholds.change.value, cells.thresholds.order.value].map(|margin| 1.0 + margin);
    // There are two powers for each level between the sponsor's leaf and the root, so they tell its
    // height.
    let sizes = cells.sizes("tgdh", subject);
    let found = sizes.iter().filter_map(|&members| cells.at("tgdh", subject, members));
    let mut by_height: Vec<(f64, Cell<'_>)> =
        found.map(|cell| (powers(&cell) / 2.0, cell)).collect();
    by_height.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pairs = by_height.iter().enumerate().flat_map(|(place, lower)| {
        let higher = &by_height[place + 1..];
        higher.iter().map(move |higher| (lower, higher))
    });
    pairs
        .fold(claim, |claim, ((low, below), (high, above))| {
            let is_same = low == high;
            let words = if is_same { "equally high, equally long" } else { "higher, longer" };
            claim.compare(words, |yardstick| match is_same {
                true => below.about(above, close, yardstick),
                false => below.at_most(above, 1.0 / same, yardstick),
            })
        })
        .void(&by_construction(
            "heights are half of the counted powers, and the time is powers times their price",
        ))
        .remark("Of groups of 3 to 6 members the heights are 2, 2, 3 and 2.")
        .verdict()
}

fn powers(cell: &Cell<'_>) -> f64 {
    let counted = cell.primitives();
    let of = |name: &str| counted.get(name).map_or(0.0, |count| count.calls);
    of("exponentiate") + of("exponentiate-generator")
}

/// Returns the time of a power on the device (s).
fn power_s() -> f64 {
    let device = DeviceProfile::named(DEVICE).expect("it is built in");
    let costs = device.costs(SUITE).expect("it has the study's group");
    costs.of(Primitive::Exponentiate).per_call_ns / 1e9
}

fn leave(study: &ComputationStudy, totals: &[NetworkRow], cells: Cells<'_>) -> Verdict {
    let words = format!("{}.", study.text("findings.leave"));
    let tolerance = cells.thresholds.printed.value;
    let claim = ClaimDraft::new("leave", words, cells, VerdictGround::Device(DEVICE))
        .margin(percent(tolerance));
    (2..=4)
        .fold(claim, |claim, members| {
            let join = from_sponsor_s(totals, members + 1);
            let leave = total_s(totals, "remove", members).unwrap_or(f64::NAN);
            let words = format!(
                "member {} joins in {join:.2} s, {:.0} powers one after the other, and of as many one leaves \
                 in {leave:.2} s, {:.0} powers",
                members + 1,
                join / power_s(),
                leave / power_s(),
            );
            claim.compare("a leave is about the join before it", |_| {
                SettingComparison::exact(apart(leave, join) / tolerance, words.clone())
                    .with("size", format!("{members} members"))
            })
        })
        .remark("S001 compares totals from the sponsor on, and so does this.")
        .verdict()
}

/// The group of five that is made by one join after the other.
fn five_members(study: &ComputationStudy, totals: &[NetworkRow], cells: Cells<'_>) -> Verdict {
    let bound = study.number("findings.five_members_below_s");
    let words = format!("Five members agree on a key in less than {bound} s.");
    let ours: f64 = (2..=5).map(|members| join_s(totals, members).unwrap_or(f64::NAN)).sum();
    let margin = cells.thresholds.bound.value;
    ClaimDraft::new("five_members_below_s", words, cells, VerdictGround::Device(DEVICE))
        .margin(format!("{} beyond the bound", percent(margin)))
        .compare("four joins, one after the other", |_| {
            let told = format!("ours takes {ours:.2} s");
            SettingComparison::exact(ours / bound / (1.0 + margin), told)
        })
        .verdict()
}

/// A member's joins in the centralized schemes that S001 compares with, on its two devices (s).
fn centralized_join_s() -> Vec<(&'static str, &'static str, f64)> {
    ["esp32-pbc", DEVICE]
        .into_iter()
        .flat_map(|name| {
            let device = DeviceProfile::named(name).expect("it is built in");
            let costs = device.costs(Suite::Published).cloned();
            let seconds = move |meter: &Meter| {
                costs.as_ref().map_or(f64::NAN, |costs| costs.time(meter).value)
            };
            let [skdc, nishat] = [seconds(&SKDC_JOIN), seconds(&NISHAT.update)];
            [("SKDC", name, skdc), ("Nishat", name, nishat)]
        })
        .collect()
}

fn centralized_joins(study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
    let bound = study.number("findings.centralized_join_below_s");
    let words = format!(
        "A member joins in SKDC and in Nishat in less than {bound} s, on the ESP32 and on the ESP8266."
    );
    let margin = cells.thresholds.bound.value;
    let claim =
        ClaimDraft::new("centralized_join_below_s", words, cells, VerdictGround::Device(DEVICE))
            .margin(format!("{} beyond the bound", percent(margin)));
    let whole = {
        let device = DeviceProfile::named(DEVICE).expect("it is built in");
        let costs = device.costs(Suite::Published);
        costs.map_or(f64::NAN, |costs| costs.time(&NISHAT.decryption).value)
    };
    centralized_join_s()
        .into_iter()
        .fold(claim, |claim, (scheme, device, ours)| {
            claim.compare("below the bound", |_| {
                let told = format!("{scheme} on {device}: {ours:.3} s");
                SettingComparison::exact(ours / bound / (1.0 + margin), told)
                    .with("scheme", scheme)
                    .with("device", device)
            })
        })
        .remark(&format!(
            "A join of Nishat is the update that S004 measured, whatever the size of the group. Ours opens \
             the group key with pairings beside it, which takes {whole:.1} s more on {DEVICE}."
        ))
        .verdict()
}

fn slower_than_centralized(totals: &[NetworkRow], cells: Cells<'_>) -> Verdict {
    let words =
        "A join takes longer in TGDH, with two to five members, than in SKDC and in Nishat.";
    let order = 1.0 + cells.thresholds.order.value;
    let claim = ClaimDraft::new(
        "slower_than_centralized",
        words.to_owned(),
        cells,
        VerdictGround::Device(DEVICE),
    )
    .margin(format!("{} of the time", percent(order - 1.0)));
    let joins = centralized_join_s().into_iter().filter(|(_, device, _)| *device == DEVICE);
    joins
        .flat_map(|join| (2..=5).map(move |members| (join, members)))
        .fold(claim, |claim, ((scheme, _, centralized), members)| {
            let ours = from_sponsor_s(totals, members);
            claim.compare("the centralized join below that of TGDH", |_| {
                let told =
                    format!("{scheme} {centralized:.3} s, TGDH with {members} members {ours:.2} s");
                SettingComparison::exact(centralized / ours / order, told)
                    .strictly(order)
                    .with("scheme", scheme)
                    .with("size", format!("{members} members"))
            })
        })
        .verdict()
}

fn memory_beside_nishat(study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
    let words =
        "In the memory of the tree of 3, 4 and 5 members Nishat could manage 64, 90 and 116.";
    let each = study.number("memory.nishat_bytes_a_member");
    let tolerance = cells.thresholds.change.value;
    let claim =
        ClaimDraft::new("memory_beside_nishat", words.to_owned(), cells, VerdictGround::Runs)
            .margin(percent(tolerance));
    (2..=4)
        .fold(claim, |claim, members| {
            let printed = study.number(&format!("memory.nishat_members.m{}", members + 1));
            let bytes = tree_bytes(members).map_or(f64::NAN, |bytes| bytes as f64);
            let ours = bytes / each;
            claim.compare("ours is about the published number", |_| {
                let told = format!(
                    "{} members: {} B, as much as {ours:.0} members of Nishat, against {printed}",
                    members + 1,
                    grouped(bytes)
                );
                SettingComparison::exact(apart(ours, printed) / tolerance, told)
                    .with("size", format!("{} members", members + 1))
            })
        })
        .remark("S001 sends the root's blinded key as well, which nobody needs: 2n - 1 in place of 2n - 2.")
        .verdict()
}

static NISHAT: LazyLock<MemberCounts> = LazyLock::new(|| match MemberCounts::find() {
    Ok(counts) => counts,
    Err(error) => panic!("{error}"),
});

/// What a member of SKDC computes when another one joins.
static SKDC_JOIN: LazyLock<Meter> = LazyLock::new(|| {
    let scheme = registry::schemes().find(|scheme| scheme.id == "skdc");
    let settings = Settings {
        profile: Profile::Published,
        suite: Suite::Published,
        protection: Guard::None,
        ..Settings::default()
    };
    let mut rig = Rig::new(scheme.expect("the catalogue has it"), settings);
    let added = rig.create(4).and_then(|_| rig.add(4));
    match added {
        Ok(report) => report.meter(MemberId(1).into()),
        Err(error) => panic!("{error}"),
    }
});

fn tree_size(study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
    let sizes: Vec<(u32, usize)> =
        (2..=4).filter_map(|members| Some((members + 1, tree_bytes(members).ok()?))).collect();
    let told: Vec<String> = sizes
        .iter()
        .map(|(members, bytes)| format!("{members} members {} B", grouped(*bytes as f64)))
        .collect();
    let steps: Vec<usize> =
        sizes.windows(2).map(|pair| pair[1].1.saturating_sub(pair[0].1)).collect();
    // Length fields differ in length, which makes a few bytes.
    let linear = steps.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= 8) && !steps.is_empty();
    ClaimDraft::new(
        "tree_size",
        format!("{}.", study.text("findings.tree_size")),
        cells,
        VerdictGround::Runs,
    )
    .margin("8 B, by which length fields differ")
    .seen(
        "each member more makes the tree longer by as much",
        ("size", "3 to 5 members"),
        linear,
        told.join(", "),
    )
    .remark("A blinded key has 256 B, and a tree of n members sends 2n - 2 of them.")
    .verdict()
}

/// Returns the bytes of the tree that a joining member gets when it joins this many members. The
/// tree is the longest body.
fn tree_bytes(members: u32) -> Result<usize, RigError> {
    let settings = Settings {
        profile: Profile::Published,
        suite: SUITE,
        protection: Guard::None,
        ..Settings::default()
    };
    let mut rig = Rig::new(scheme(), settings);
    rig.create(members)?;
    let report: OperationReport = rig.add(members)?;
    Ok(report.messages.iter().map(|message| message.body_bytes).max().unwrap_or(0))
}

fn apart(ours: f64, other: f64) -> f64 {
    (ours / other - 1.0).abs()
}
