//! Nishat on an ESP32 (Prantl et al. 2020, MASCOTS, doi 10.1109/mascots50786.2020.9285948; S004):
//! sizes, times and energy of a member.

mod gamma_example;
mod member_counts;

use std::sync::LazyLock;

use groupkey::Suite;
use groupkey::catalogue::Profile;
use groupkey::crypto::meter::Meter;
use groupkey::protection::Guard;
use groupkey_choose::number;

use self::gamma_example::GammaExample;
pub(super) use self::member_counts::MemberCounts;
use super::claims::{ClaimDraft, percent};
use super::evidence::SettingComparison;
use super::provenance::{self, not_comparable};
use super::role_rows::{Cells, RoleOperation, Yardstick};
use groupkey_lab::report::Beside;

use super::study::{Study, StudyExtent, StudyResult};
use crate::published::ComputationStudy;
use groupkey_lab::bench::energy::{CR123A_JOULE, battery_actions, efficiency, throughput};
use groupkey_lab::bench::{Activity, BenchPlan, BenchRow, Deviation};
use groupkey_lab::device::DeviceProfile;
use groupkey_lab::registry;
use groupkey_lab::verdict::{Thresholds, Verdict, VerdictGround, Void};

pub(super) const STUDY: Study = Study {
    id: "nishat",
    title: "What a member of Nishat keeps, computes and draws",
    source: "T. Prantl et al.: Evaluating the Performance of a State-of-the-Art Group-oriented \
             Encryption Scheme for Dynamic Groups in an IoT Scenario, MASCOTS 2020, \
             doi 10.1109/mascots50786.2020.9285948",
    assumptions: &[
        "Sizes are those of real messages between real parties, in the suite and profile published.",
        "S004's decryption parameters are six elements and a prime: ours are s1 to s6 and r. z1 and z2, \
         which S004 names as well, would make eight elements, 8,350 bits.",
        "Times are counted primitives, priced by esp32-pbc. Its powers are calibrated on the group update \
         and its pairings on decryption, both with S004's equations: what is tested is how often ours \
         need them.",
        "An update is what a member does at a join, without the decryption of the element that carries \
         the group key, which is ours.",
        "Energy is modelled: time at the power that S004 measured in updates.",
        "Messages carry no MAC, as in S004.",
    ],
    device: |role| match role {
        "controller" => "i3-5005u-python",
        _ => "esp32-pbc",
    },
    plans,
    examine,
};

const DEVICE: &str = "esp32-pbc";

fn plans(extent: StudyExtent) -> Vec<BenchPlan> {
    let scheme = registry::schemes().find(|scheme| scheme.id == "nishat");
    let members = extent.of((50..=550).step_by(50).collect(), vec![50, 550]);
    vec![BenchPlan {
        profile: Profile::Published,
        suite: Suite::Published,
        protection: Guard::None,
        activities: vec![Activity::Create, Activity::Add],
        repetitions: extent.of(20, 4),
        ..BenchPlan::new(scheme.expect("the catalogue has it"), members)
    }]
}

fn examine(rows: &[BenchRow], thresholds: &Thresholds) -> StudyResult {
    let study = ComputationStudy::nishat();
    let (facts, cells) = (&*FACTS, Cells::new(rows, thresholds));
    let mut published = sizes(&study, facts, rows);
    published.extend(times(&study, facts));
    published.extend(energy(&study, facts));
    let mut verdicts: Vec<Verdict> = published.iter().map(|value| decided(value, cells)).collect();
    verdicts.push(constant_update(cells));
    verdicts.push(times_below(&study, cells));
    verdicts.push(decryption_over_encryption(&study, cells));
    let example = GammaExample::printed(&study);
    published.extend(example.beside(&study));
    verdicts.push(example.verdict(&study, cells));
    StudyResult { published, verdicts }
}

/// This is one small group, whose results are not worth a file.
static FACTS: LazyLock<MemberCounts> = LazyLock::new(|| match MemberCounts::find() {
    Ok(facts) => facts,
    Err(error) => panic!("{error}"),
});

fn sizes(study: &ComputationStudy, facts: &MemberCounts, rows: &[BenchRow]) -> Vec<Beside> {
    let size = |what: &str, key: &str, error, ours: Option<f64>, note: &str| Beside {
        what: what.to_owned(),
        published: study.number(&format!("bits.{key}")),
        error,
        measured: ours,
        modelled: None,
        unit: "bits",
        note: note.to_owned(),
    };
    vec![
        size("public key PK", "encryption_parameters", None, Some(facts.public_key_bits), ""),
        size("ciphertext", "ciphertext", None, Some(facts.ciphertext_bits), ""),
        size(
            "gamma, for each member",
            "gamma_per_member",
            None,
            gamma_bits_per_member(rows).map(f64::ceil),
            "rounded up, as in S004; from the broadcasts of the smallest and the largest group",
        ),
        size(
            "decryption parameters",
            "decryption_parameters",
            Some(2.0),
            Some(facts.secret_key_bits),
            "six elements and a prime",
        ),
    ]
}

/// Returns by how much the broadcast grows with each member (bits).
fn gamma_bits_per_member(rows: &[BenchRow]) -> Option<f64> {
    let created = |row: &&BenchRow| {
        row.operation == "create" && row.role == "controller" && row.phase == "operational"
    };
    let small = rows.iter().filter(created).min_by_key(|row| row.members)?;
    let large = rows.iter().filter(created).max_by_key(|row| row.members)?;
    let members = f64::from(large.members - small.members);
    let bytes = large.broadcast.payload_bytes as f64 - small.broadcast.payload_bytes as f64;
    (members > 0.0).then_some(8.0 * bytes / members)
}

fn times(study: &ComputationStudy, facts: &MemberCounts) -> Vec<Beside> {
    let time = |what: &str, key: &str, meter: &Meter, note: &str| Beside {
        what: what.to_owned(),
        published: study.number(&format!("seconds.{key}.mean")),
        error: Some(study.number(&format!("seconds.{key}.error"))),
        measured: None,
        modelled: Some(seconds(meter).value),
        unit: "s",
        note: note.to_owned(),
    };
    vec![
        time(
            "encryption",
            "encrypt",
            &facts.encryption,
            "S004 must have kept the pairing e(g, PK1), for with it two powers and a power in GT are \
             more than it measured; ours computes it for each message",
        ),
        time(
            "decryption",
            "decrypt",
            &facts.decryption,
            "ours has two Miller loops and one final exponentiation, where S004 computes three pairings",
        ),
        time("group update", "group_update", &facts.update, "three powers in G1, as in S004"),
    ]
}

fn energy(study: &ComputationStudy, facts: &MemberCounts) -> Vec<Beside> {
    let power = device().power.map(|power| power.active.deviation());
    let updates = throughput(1.0, 1, seconds(&facts.update))
        .zip(power)
        .and_then(|(throughput, power)| efficiency(throughput, power));
    let battery = updates.map(|updates| battery_actions(CR123A_JOULE, updates));
    let entry = |what: &str, key: &str, ours: Option<Deviation>, unit, note: &str| Beside {
        what: what.to_owned(),
        published: study.number(&format!("energy.{key}")),
        error: None,
        measured: None,
        modelled: ours.map(|deviation| deviation.value),
        unit,
        note: note.to_owned(),
    };
    let note = "S004's own time and power give 6.86 ± 0.40 updates a joule; for 7.6 an update would have \
                to take 0.603 s";
    vec![
        entry("updates a joule", "updates_per_joule", updates, "updates/J", note),
        entry("updates of a CR123A battery", "battery_updates", battery, "updates", note),
    ]
}

/// Decides whether our value equals the published value, within its error, or is not above it if it
/// is an upper bound.
fn decided(value: &Beside, cells: Cells<'_>) -> Verdict {
    let Beside { what, published, error, measured, modelled, unit, note } = value;
    let id = what.replace(", ", "_").replace(' ', "_").to_lowercase();
    let (tested, void) = origin(&id);
    let is_bound = BOUNDS.contains(&id.as_str());
    let error = error.unwrap_or(0.0);
    let bound = cells.thresholds.bound.value;
    let printed = match error {
        _ if is_bound => format!("at most {} {unit}", number::published(*published)),
        0.0 => format!("{} {unit}", number::published(*published)),
        error => format!("{} ± {} {unit}", number::published(*published), number::published(error)),
    };
    let ground = match modelled {
        Some(_) => VerdictGround::Device(DEVICE),
        None => VerdictGround::Runs,
    };
    let claim = ClaimDraft::new(&id, format!("{what}: {printed}."), cells, ground);
    let claim = match error {
        _ if is_bound => claim.margin(format!("{} beyond the bound", percent(bound))),
        0.0 => claim,
        _ => claim.margin("the published error"),
    };
    let ours = measured.or(*modelled);
    let claimed = if is_bound { "ours is not above" } else { "ours is within the error" };
    let claim = claim.compare(claimed, |_| {
        let own = ours.map_or_else(|| "none".to_owned(), number::published);
        let words = format!("ours {own} {unit}, published {printed}");
        let compared = match ours {
            Some(ours) if is_bound => {
                SettingComparison::exact(ours / published / (1.0 + bound), words)
            }
            Some(ours) if error > 0.0 => {
                SettingComparison::exact((ours - published).abs() / error, words)
            }
            Some(ours) => SettingComparison::seen(ours == *published, words),
            None => SettingComparison::open(words),
        };
        compared.void(void.clone().or_else(|| {
            let prices = ["exponentiate-g1", "miller-loop", "active"];
            provenance::of_prices(DEVICE, prices, &tested)
        }))
    });
    let remark = if note.is_empty() { String::new() } else { format!("Note: {note}.") };
    claim.remark(&remark).verdict()
}

/// Findings whose printed value is an upper bound.
const BOUNDS: [&str; 2] = ["updates_a_joule", "updates_of_a_cr123a_battery"];

/// Returns the printed values that a finding tests or is computed from, and why ours is not comparable
/// if it is not.
fn origin(id: &str) -> (Vec<String>, Option<Void>) {
    let paths = |paths: &[&str]| paths.iter().map(|path| format!("nishat.{path}")).collect();
    match id {
        "encryption" => (paths(&["seconds.encrypt"]), not_comparable(ENCRYPTION)),
        "decryption" => (paths(&["seconds.decrypt"]), not_comparable(DECRYPTION)),
        "group_update" => (paths(&["seconds.group_update"]), None),
        // S004 computes both from its time and power.
        "updates_a_joule" | "updates_of_a_cr123a_battery" => {
            (paths(&["seconds.group_update", "energy.update_watt"]), None)
        }
        "decryption_parameters" => (Vec::new(), not_comparable(PARAMETERS)),
        _ => (Vec::new(), None),
    }
}

const ENCRYPTION: &str =
    "S004 kept the pairing of an encryption, and ours computes it for each message";
const DECRYPTION: &str =
    "S004 computes three pairings, and ours two Miller loops and one final exponentiation";
const PARAMETERS: &str =
    "S004 counts zeta 1 and zeta 2, and ours are six elements and a prime without them";

fn constant_update(cells: Cells<'_>) -> Verdict {
    let words =
        "The time of an update does not depend on the group, from 50 to 550 members.".to_owned();
    ClaimDraft::new("constant_update", words, cells, VerdictGround::Counts(DEVICE))
        .tests(&["nishat.findings.constant_update"])
        .beside(&[Yardstick::Measured, Yardstick::Modelled(DEVICE)])
        .stays(RoleOperation::new("add", "member"), &["nishat"])
        .reaches(500)
        .verdict()
}

fn times_below(study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
    let bound = study.number("findings.times_below_s");
    let margin = cells.thresholds.bound.value;
    let words = format!("An encryption, a decryption and an update each take less than {bound} s.");
    let claim = ClaimDraft::new("times_below_s", words, cells, VerdictGround::Device(DEVICE))
        .margin(format!("{} beyond the bound", percent(margin)));
    let [encryption, decryption] = [ENCRYPTION, DECRYPTION].map(not_comparable);
    [
        ("encryption", &FACTS.encryption, encryption),
        ("decryption", &FACTS.decryption, decryption),
        ("update", &FACTS.update, None),
    ]
    .into_iter()
    .fold(claim, |claim, (operation, meter, void)| {
        let ours = seconds(meter).value;
        claim.compare("below the bound", |_| {
            SettingComparison::exact(
                ours / bound / (1.0 + margin),
                format!("{operation}: {ours:.3} s"),
            )
            .with("operation", operation)
            .void(void.clone())
        })
    })
    .verdict()
}

fn decryption_over_encryption(study: &ComputationStudy, cells: Cells<'_>) -> Verdict {
    let times = study.number("findings.decryption_over_encryption");
    let words = "A decryption takes more than twice as long as an encryption.".to_owned();
    let margin = cells.thresholds.bound.value;
    let ours = seconds(&FACTS.decryption).value / seconds(&FACTS.encryption).value;
    ClaimDraft::new("decryption_over_encryption", words, cells, VerdictGround::Device(DEVICE))
        .margin(format!("{} beyond the bound", percent(margin)))
        .compare("ours is above twice", |_| {
            let told = format!("ours takes {ours:.2} times as long");
            SettingComparison::exact(times / ours / (1.0 + margin), told)
                .void(not_comparable(format!("{ENCRYPTION}; {DECRYPTION}")))
        })
        .verdict()
}

fn device() -> DeviceProfile {
    DeviceProfile::named(DEVICE).expect("it is built in")
}

fn seconds(meter: &Meter) -> Deviation {
    device().costs(Suite::Published).expect("it has the papers' suite").time(meter)
}
