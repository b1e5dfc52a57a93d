//! The findings of S002, sections 5 and 7, put to the test.

mod centralized;
mod distributed;
mod hybrid;

use groupkey::Operation;

use super::{CENTRALIZED, DISTRIBUTED, HYBRID};
use crate::bench::BenchRow;
use crate::published::ComputationStudy;
use crate::registry;
use crate::reproduce::cells::{Cells, Subject, Yardstick, scheme_name};
use crate::reproduce::claims::Claim;
use crate::reproduce::study::{Beside, Examination};

/// Decides the findings by the rows.
pub(super) fn examine(rows: &[BenchRow]) -> Examination {
    let study = ComputationStudy::benchmark();
    let court = Court { cells: Cells(rows), study: &study };
    let mut verdicts = court.centralized_members();
    verdicts.extend(court.centralized_controllers());
    verdicts.extend(court.hybrid_members());
    verdicts.extend(court.hybrid_controllers());
    verdicts.extend(court.distributed());
    Examination { published: court.published(), verdicts }
}

const MEMBER: &str = "esp32-micropython";
const CONTROLLER: &str = "i3-5005u-python";

/// What a member does in each operation; the one that is added is the newcomer.
const OF_MEMBER: [Subject; 3] = [
    Subject::new("create", "member"),
    Subject::new("add", "new-member"),
    Subject::new("remove", "member"),
];

const OF_CONTROLLER: [Subject; 3] = [
    Subject::new("create", "controller"),
    Subject::new("add", "controller"),
    Subject::new("remove", "controller"),
];

const OF_SUBGROUP: [Subject; 3] = [
    Subject::new("create", "subgroup-controller"),
    Subject::new("add", "subgroup-controller"),
    Subject::new("remove", "subgroup-controller"),
];

const KILOBYTE: f64 = 1e3;
const MEGABYTE: f64 = 1e6;
const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;

const ON_MEMBER: [Yardstick; 2] = [Yardstick::Measured, Yardstick::Modelled(MEMBER)];
const ON_CONTROLLER: [Yardstick; 2] = [Yardstick::Measured, Yardstick::Modelled(CONTROLLER)];

struct Court<'r> {
    cells: Cells<'r>,
    study: &'r ComputationStudy,
}

impl<'r> Court<'r> {
    /// The numbers that S002 prints without a scheme beside them, and the largest of ours.
    fn published(&self) -> Vec<Beside> {
        let most = |subject: Subject, schemes: &[&str], yardstick| {
            let largest = schemes.iter().filter_map(|scheme| {
                let size = *self.cells.sizes(scheme, subject).last()?;
                Some(self.cells.at(scheme, subject, size)?.value(yardstick))
            });
            largest.reduce(f64::max)
        };
        let time =
            |what: &str, published, subject, schemes: &[&str], device, unit, scale: f64| Beside {
                what: what.to_owned(),
                published,
                error: None,
                measured: most(subject, schemes, Yardstick::Measured).map(|ns| ns / scale),
                modelled: most(subject, schemes, Yardstick::Modelled(device)).map(|ns| ns / scale),
                unit,
                note: format!("in the largest group measured; modelled on {device}"),
            };
        let [create, add, _] = OF_CONTROLLER;
        let bound = self.study.number("findings.centralized_member_time_below_ms");
        vec![
            time(
                "slowest centralized member, create",
                bound,
                OF_MEMBER[0],
                &CENTRALIZED,
                MEMBER,
                "ms",
                MILLISECOND,
            ),
            time(
                "slowest centralized controller, create",
                100.0,
                create,
                &CENTRALIZED,
                CONTROLLER,
                "s",
                SECOND,
            ),
            time(
                "slowest centralized controller, add",
                20.0,
                add,
                &CENTRALIZED,
                CONTROLLER,
                "s",
                SECOND,
            ),
            time(
                "MARKS member, create",
                100.0,
                OF_MEMBER[0],
                &["marks"],
                MEMBER,
                "ms",
                MILLISECOND,
            ),
            time(
                "MARKS subgroup controller, create",
                400.0,
                OF_SUBGROUP[0],
                &["marks"],
                MEMBER,
                "s",
                SECOND,
            ),
            time("MARKS controller, create", 17.5, create, &["marks"], CONTROLLER, "s", SECOND),
            time(
                "slowest distributed member, create",
                0.3,
                OF_MEMBER[0],
                &DISTRIBUTED,
                MEMBER,
                "s",
                SECOND,
            ),
        ]
    }

    fn creation_only(&self, id: &str, class: &str, all: &[&str]) -> Claim<'r> {
        let told = self.ids(id);
        let operations = [Operation::Add, Operation::Remove];
        let cannot = |id: &&&str| {
            let scheme = registry::schemes().find(|scheme| scheme.id == **id);
            scheme.is_some_and(|s| operations.iter().all(|o| !s.operations.contains(o)))
        };
        let ours: Vec<&str> = all.iter().filter(cannot).copied().collect();
        let words = format!("ours: {}", names(&ours));
        let same = ours.len() == told.len() && told.iter().all(|id| ours.contains(id));
        self.claim(
            id,
            format!("{class}: {} can create a group, but not add or remove members.", names(&told)),
            &[Yardstick::Seen],
        )
        .certain("the same schemes have neither operation", same, words)
        .remark(
            "Ours of BD adds and removes members by running again with what they already \
             sent.",
        )
    }

    fn claim(&self, id: &str, words: String, yardsticks: &[Yardstick]) -> Claim<'r> {
        Claim::new(id, words, self.cells, yardsticks)
    }

    /// Ids of the schemes that a finding names.
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

/// Those that have the subject's operation.
fn having<'s>(ids: &[&'s str], subject: Subject) -> Vec<&'s str> {
    let has = |id: &&&str| {
        let scheme = registry::schemes().find(|scheme| scheme.id == **id);
        scheme.is_some_and(|s| s.operations.iter().any(|o| o.name() == subject.operation))
    };
    ids.iter().filter(has).copied().collect()
}
