//! The benchmark of centralized schemes (Prantl et al. 2021, ICPE '21, doi 10.1145/3427921.3450252;
//! S003): SKDC, Nishat, and Boneh+ with a fat and with a thin client, in deployment and in
//! operation.

use std::sync::LazyLock;

use groupkey::Suite;
use groupkey::catalogue::Profile;
use groupkey::protection::Guard;
use groupkey_lab::bench::requirements::{RequirementComparison, compare, requirements};
use groupkey_lab::bench::{Activity, BenchPlan, BenchRow};
use groupkey_lab::registry;
use groupkey_lab::verdict::{Thresholds, Verdict, VerdictGround};

use super::claims::ClaimDraft;
use super::evidence::SettingComparison;
use super::provenance::not_comparable;
use super::role_rows::{Cells, RoleOperation, Yardstick};
use super::study::{Study, StudyExtent, StudyResult};
use crate::published::ComputationStudy;

pub(super) const STUDY: Study = Study {
    id: "centralized",
    title: "What creating a group costs in SKDC, Nishat and Boneh+, in deployment and in operation",
    source: "T. Prantl et al.: Towards a Group Encryption Scheme Benchmark: A View on Centralized \
             Schemes with Focus on IoT, ICPE '21, doi 10.1145/3427921.3450252",
    assumptions: &[
        "S003 prints rankings and what grows; its figures have no values that can be read off.",
        "The group's sizes are ours: S003 does not print its own.",
        "The controller is modelled on i3-5005u-python and a member on esp32-pbc, whose prices of powers \
         and pairings are calibrated on S004.",
        "A finding about times is decided by the model of its device, in the largest group. Times \
         measured here stand beside it: if they say something else, the finding says so.",
        "Messages carry no MAC, as in S003. Its symmetric cipher is AES-256 in CBC mode, ours AES-128.",
        "Energy is modelled: time on esp32-pbc at the power that S004 measured. At one power a ranking by \
         energy is one by time.",
        "Boneh+ has room for 128 members at once in the quick run, for 1,024 in the full one; a fat \
         client keeps elements for all of them.",
    ],
    device: |role| match role {
        "controller" => "i3-5005u-python",
        _ => "esp32-pbc",
    },
    plans,
    examine,
};

const SKDC: &str = "skdc";
const NISHAT: &str = "nishat";
const FAT: &str = "boneh-fat";
const THIN: &str = "boneh-thin";
const ALL: [&str; 4] = [SKDC, NISHAT, FAT, THIN];

const MEMBER: &str = "esp32-pbc";
const CONTROLLER: &str = "i3-5005u-python";

fn plans(extent: StudyExtent) -> Vec<BenchPlan> {
    ALL.into_iter()
        .map(|id| {
            let scheme = registry::schemes().find(|scheme| scheme.id == id);
            let scheme = scheme.expect("the catalogue has the study's schemes");
            let parameters = match id {
                FAT | THIN => vec![("capacity".to_owned(), extent.of(1_024, 128))],
                _ => Vec::new(),
            };
            BenchPlan {
                profile: Profile::Published,
                suite: Suite::Published,
                protection: Guard::None,
                parameters,
                activities: vec![Activity::Create],
                repetitions: extent.of(30, 5),
                ..BenchPlan::new(
                    scheme,
                    extent.of(vec![10, 50, 100, 200, 500, 1_000], vec![5, 25, 100]),
                )
            }
        })
        .collect()
}

fn examine(rows: &[BenchRow], thresholds: &Thresholds) -> StudyResult {
    let study = ComputationStudy::centralized();
    let cells = Cells::new(rows, thresholds);
    let mut verdicts = rankings(&study, cells);
    verdicts.extend(storage(cells));
    verdicts.extend(tables(thresholds));
    StudyResult { published: Vec::new(), verdicts }
}

const fn creation(role: &'static str, phase: &'static str) -> RoleOperation {
    RoleOperation { operation: "create", role, phase: Some(phase) }
}

fn rankings(study: &ComputationStudy, cells: Cells<'_>) -> Vec<Verdict> {
    let fastest_first = |key: &str| study.names(&format!("findings.{key}")).join(" < ");
    let timed = |id: &str, words, device| {
        ClaimDraft::new(id, words, cells, VerdictGround::Device(device))
            .beside(&[Yardstick::Measured])
    };

    let deployment = creation("controller", "deployment");
    let key = "controller_create_deployment";
    let words = format!(
        "Controller, creation in deployment: {}, all growing with the number of members.",
        fastest_first(key)
    );
    let deployed = timed(key, words, CONTROLLER)
        .largest_first(deployment, &[NISHAT, FAT, SKDC], &[NISHAT, FAT, SKDC])
        .largest_first(deployment, &[NISHAT, THIN, SKDC], &[NISHAT, THIN, SKDC])
        .grows(deployment, &ALL)
        .remark("S003 says linear; that it grows is looked at.");

    let operational = creation("controller", "operational");
    let key = "controller_create_operational";
    let words = format!("Controller, creation in operation: {}.", fastest_first(key));
    let operated = timed(key, words, CONTROLLER)
        .largest_first(operational, &[SKDC, THIN, FAT, NISHAT], &ALL)
        .remark(
            "In this phase ours of Boneh+ computes about two powers for each member, as the counts show, \
             where SKDC wraps one key with AES, which is cheaper on both machines. S003 does not print \
             what its Boneh+ computes here.",
        );

    let member = creation("member", "operational");
    let key = "member_create_operational";
    let words = format!(
        "Member, creation in operation: {}, and only the last grows with the group.",
        fastest_first(key)
    );
    let ranked = timed(key, words, MEMBER)
        .largest_first(member, &[FAT, THIN, NISHAT, SKDC], &ALL)
        .grows(member, &[FAT])
        .stays(member, &[SKDC, NISHAT, THIN]);

    let key = "member_energy_per_create";
    let words = format!("Member, energy of a creation: {}, best first.", fastest_first(key));
    let ranked = ranked.remark(
        "Ours of Nishat opens, beside the update, the element that carries the group key: without these two \
         pairings three powers are left, and with esp32-pbc's prices they take 0.67 s, less than Boneh+'s \
         pairings, as published.",
    );
    let energy = ClaimDraft::new(key, words, cells, VerdictGround::Device(MEMBER))
        .largest_first(member, &[FAT, THIN, NISHAT, SKDC], &ALL)
        .remark("At one power for all computations, energy is in proportion to time, so that this is the ranking of \
             times on esp32-pbc.");
    [deployed, operated, ranked, energy].map(ClaimDraft::verdict).into()
}

fn storage(cells: Cells<'_>) -> Vec<Verdict> {
    let creation = creation("controller", "operational");
    let temporary = ClaimDraft::new(
        "controller_temporary_storage_grows",
        "Controller, creation: what it holds for a while grows with the group in Nishat only."
            .to_owned(),
        cells,
        VerdictGround::TemporaryBytes,
    )
    .grows(creation, &[NISHAT])
    .stays(creation, &[SKDC, FAT, THIN])
    .remark(
        "Counted is key material. Gamma, which grows, is public: what grows in ours is the \
         product of the primes that it hides k with.",
    );
    let permanent = ClaimDraft::new(
        "controller_permanent_storage_ascending",
        "Controller: what it keeps grows with the group, least in Nishat, then Boneh+ fat client, Boneh+ \
         thin client, and most in SKDC."
            .to_owned(),
        cells,
        VerdictGround::PermanentBytes,
    )
    .largest_first(creation, &[SKDC, THIN, FAT, NISHAT], &ALL)
    .grows(creation, &ALL)
    .void(&not_comparable(
        "S003 counts all stored parameters, and ours key material alone: SKDC a key of 16 B for each member, \
         Nishat a prime of 20 B for each, Boneh+ what its group needs",
    ));
    [temporary, permanent].map(ClaimDraft::verdict).into()
}

/// The entries of S003's tables beside ours, by the name of the scheme.
static ENTRIES: LazyLock<Vec<(&str, Vec<RequirementComparison>)>> = LazyLock::new(|| {
    let schemes = ALL.into_iter().filter_map(|id| registry::schemes().find(|it| it.id == id));
    let told = schemes.filter_map(|scheme| {
        let found = requirements(scheme, Profile::Published).ok()?;
        Some((scheme.name, compare(&found)))
    });
    told.collect()
});

/// Decides S003's Tables 1 and 2 from small groups that run every operation.
fn tables(thresholds: &Thresholds) -> Vec<Verdict> {
    let fat = registry::schemes().find(|scheme| scheme.id == FAT).map_or(FAT, |it| it.name);
    [
        ("requirements_create_deployment", 1, "creation, deployment"),
        ("requirements_create_operational", 1, "creation, operational"),
        ("features_size", 2, "group size"),
        ("features_backward_secrecy", 2, "backward secrecy"),
        ("features_forward_secrecy", 2, "forward secrecy"),
    ]
    .into_iter()
    .map(|(id, number, what)| {
        let claim = format!("S003's Table {number}: {what}, of each scheme.");
        let claim = ClaimDraft::new(id, claim, Cells::new(&[], thresholds), VerdictGround::Runs);
        ENTRIES
            .iter()
            .flat_map(|(name, entries)| entries.iter().map(move |entry| (name, entry)))
            .filter(|(_, entry)| entry.what.starts_with(what))
            .fold(claim, |claim, (name, entry)| {
                let words = format!("{name}: published {}, ours {}", entry.published, entry.ours);
                let kept = (id == "features_size" && *name == fat).then(|| {
                    not_comparable("our fat client keeps no public key, so its memory does not limit the group")
                });
                claim.compare("as our run did it", |_| {
                    SettingComparison::seen(entry.agrees(), words.clone())
                        .with("scheme", *name)
                        .void(kept.clone().flatten())
                })
            })
            .remark(match id {
                "features_backward_secrecy" | "features_forward_secrecy" => {
                    "This is whether a join and a leave change the key at once. Against attacks Nishat \
                     as published has neither: groupkey's audit breaks both."
                }
                _ => "",
            })
            .verdict()
    })
    .collect()
}
