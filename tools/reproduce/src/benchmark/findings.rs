//! Decides the findings of S002, sections 5 and 7.

mod centralized;
mod distributed;
mod hybrid;

use groupkey::Operation;
use groupkey_lab::bench::BenchRow;
use groupkey_lab::registry;
use groupkey_lab::report::Beside;
use groupkey_lab::verdict::{Thresholds, VerdictGround};

use super::{CENTRALIZED, DISTRIBUTED, HYBRID};
use crate::claims::ClaimDraft;
use crate::evidence::SettingComparison;
use crate::provenance::{self, not_comparable};
use crate::published::ComputationStudy;
use crate::role_rows::{Cells, RoleOperation, Yardstick, scheme_name};
use crate::study::StudyResult;

pub(super) fn examine(rows: &[BenchRow], thresholds: &Thresholds) -> StudyResult {
    let study = ComputationStudy::benchmark();
    let findings = BenchmarkFindings { cells: Cells::new(rows, thresholds), study: &study };
    let mut verdicts = findings.centralized_members();
    verdicts.extend(findings.centralized_controllers());
    verdicts.extend(findings.hybrid_members());
    verdicts.extend(findings.hybrid_controllers());
    verdicts.extend(findings.distributed());
    StudyResult { published: findings.published(), verdicts }
}

const MEMBER: &str = "esp32-micropython";
const CONTROLLER: &str = "i3-5005u-python";

const OF_MEMBER: [RoleOperation; 3] = [
    RoleOperation::new("create", "member"),
    RoleOperation::new("add", "new-member"),
    RoleOperation::new("remove", "member"),
];

const OF_CONTROLLER: [RoleOperation; 3] = [
    RoleOperation::new("create", "controller"),
    RoleOperation::new("add", "controller"),
    RoleOperation::new("remove", "controller"),
];

const OF_SUBGROUP: [RoleOperation; 3] = [
    RoleOperation::new("create", "subgroup-controller"),
    RoleOperation::new("add", "subgroup-controller"),
    RoleOperation::new("remove", "subgroup-controller"),
];

const KILOBYTE: f64 = 1e3;
const MEGABYTE: f64 = 1e6;
const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;

const ON_MEMBER: VerdictGround = VerdictGround::Device(MEMBER);
const ON_CONTROLLER: VerdictGround = VerdictGround::Device(CONTROLLER);

struct BenchmarkFindings<'r> {
    cells: Cells<'r>,
    study: &'r ComputationStudy,
}

/// A time that S002 prints.
struct PrintedTime<'s> {
    what: &'s str,
    /// Its name among the findings, which ends in its unit.
    finding: &'s str,
    subject: RoleOperation,
    schemes: &'s [&'s str],
    device: &'static str,
}

impl<'r> BenchmarkFindings<'r> {
    /// Returns the times that S002 prints, and our largest value in the largest group measured.
    fn published(&self) -> Vec<Beside> {
        let [create, add, _] = OF_CONTROLLER;
        let [member, subgroup] = [OF_MEMBER[0], OF_SUBGROUP[0]];
        let printed = |what, finding, subject, schemes, device| PrintedTime {
            what,
            finding,
            subject,
            schemes,
            device,
        };
        let printed = [
            printed(
                "slowest centralized member, create",
                "centralized_member_time_below_ms",
                member,
                &CENTRALIZED[..],
                MEMBER,
            ),
            printed(
                "slowest centralized controller, create",
                "centralized_controller_create_up_to_s",
                create,
                &CENTRALIZED,
                CONTROLLER,
            ),
            printed(
                "slowest centralized controller, add",
                "centralized_controller_add_below_s",
                add,
                &CENTRALIZED,
                CONTROLLER,
            ),
            printed(
                "MARKS member, create",
                "hybrid_member_create_marks_about_ms",
                member,
                &["marks"],
                MEMBER,
            ),
            printed(
                "MARKS subgroup controller, create",
                "hybrid_subcontroller_create_over_s",
                subgroup,
                &["marks"],
                MEMBER,
            ),
            printed(
                "MARKS controller, create",
                "hybrid_controller_create_s",
                create,
                &["marks"],
                CONTROLLER,
            ),
            printed(
                "slowest distributed member, create",
                "distributed_member_time_below_s",
                member,
                &DISTRIBUTED,
                MEMBER,
            ),
        ];
        printed.iter().map(|printed| self.beside(printed)).collect()
    }

    fn beside(&self, printed: &PrintedTime<'_>) -> Beside {
        let PrintedTime { what, finding, subject, schemes, device } = *printed;
        let (unit, scale) =
            if finding.ends_with("_ms") { ("ms", MILLISECOND) } else { ("s", SECOND) };
        let largest = |yardstick| self.largest(subject, schemes, yardstick).map(|ns| ns / scale);
        Beside {
            what: what.to_owned(),
            published: self.number(finding),
            error: None,
            measured: largest(Yardstick::Measured),
            modelled: largest(Yardstick::Modelled(device)),
            unit,
            note: format!("in the largest group measured; modelled on {device}"),
        }
    }

    fn largest(
        &self,
        subject: RoleOperation,
        schemes: &[&str],
        yardstick: Yardstick,
    ) -> Option<f64> {
        let values = schemes.iter().filter_map(|scheme| {
            let size = *self.cells.sizes(scheme, subject).last()?;
            Some(self.cells.at(scheme, subject, size)?.value(yardstick))
        });
        values.reduce(f64::max)
    }

    /// Returns a number that S002 prints.
    fn number(&self, finding: &str) -> f64 {
        self.study.number(&format!("findings.{finding}"))
    }

    fn creation_only(&self, id: &str, class: &str, all: &[&str]) -> ClaimDraft<'r> {
        let told = self.ids(id);
        let operations = [Operation::Add, Operation::Remove];
        let cannot = |id: &&&str| {
            let scheme = registry::schemes().find(|scheme| scheme.id == **id);
            scheme.is_some_and(|s| operations.iter().all(|o| !s.operations.contains(o)))
        };
        let words = format!(
            "{class}: {} can create a group, but not add or remove members; all others can.",
            names(&told)
        );
        let claim = self.claim(id, words, VerdictGround::Runs);
        all.iter().fold(claim, |claim, scheme| {
            let (ours, published) = (cannot(&scheme), told.contains(scheme));
            let word = |cannot| if cannot { "creation alone" } else { "every operation" };
            let name = scheme_name(scheme);
            let words = format!("{name}: published {}, ours {}", word(published), word(ours));
            let path = format!("bench.findings.{id}");
            let by_rerunning = (*scheme == "bd")
                .then(|| not_comparable("ours of BD adds and removes members by running again"));
            let void = provenance::of_scheme(scheme, &[path]).or_else(|| by_rerunning.flatten());
            claim.compare("has the operations", |_| {
                SettingComparison::seen(ours == published, words.clone())
                    .with("scheme", &name)
                    .void(void.clone())
            })
        })
    }

    fn claim(&self, id: &str, words: String, ground: VerdictGround) -> ClaimDraft<'r> {
        let path = format!("bench.findings.{id}");
        ClaimDraft::new(id, words, self.cells, ground).tests(&[&path])
    }

    fn timed(&self, id: &str, words: String, ground: VerdictGround) -> ClaimDraft<'r> {
        self.claim(id, words, ground).beside(&[Yardstick::Measured])
    }

    fn ids(&self, finding: &str) -> Vec<&'static str> {
        let names = self.study.names(&format!("findings.{finding}"));
        names.into_iter().map(id_of).collect()
    }
}

fn id_of(name: &str) -> &'static str {
    let all = CENTRALIZED.into_iter().chain(HYBRID).chain(DISTRIBUTED);
    let plain = |text: &str| text.to_lowercase().replace('+', "-plus");
    let known = match name {
        "G-DH" => "gdh2".to_owned(),
        "LKH" => "lkh-group".to_owned(),
        _ => plain(name),
    };
    all.into_iter()
        .find(|id| *id == known || id.strip_suffix("-r") == Some(&known))
        .unwrap_or_else(|| panic!("the study has no {name}"))
}

fn names(ids: &[&str]) -> String {
    ids.iter().map(|id| scheme_name(id)).collect::<Vec<_>>().join(", ")
}

fn without<'s>(all: &[&'s str], these: &[&str]) -> Vec<&'s str> {
    all.iter().filter(|id| !these.contains(id)).copied().collect()
}

fn having<'s>(ids: &[&'s str], subject: RoleOperation) -> Vec<&'s str> {
    let has = |id: &&&str| {
        let scheme = registry::schemes().find(|scheme| scheme.id == **id);
        scheme.is_some_and(|s| s.operations.iter().any(|o| o.name() == subject.operation))
    };
    ids.iter().filter(has).copied().collect()
}
