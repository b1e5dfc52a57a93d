//! The findings of S002, sections 5 and 7, put to the test.

use groupkey::Operation;

use super::{CENTRALIZED, DISTRIBUTED, HYBRID};
use crate::bench::BenchRow;
use crate::published::ComputationStudy;
use crate::registry;
use crate::report::Verdict;
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

/// What a member does in each operation; who is added is the newcomer.
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
    fn centralized_members(&self) -> Vec<Verdict> {
        let bound = self.study.number("findings.centralized_member_time_below_ms");
        let below = self.claim(
            "centralized_member_time_below_ms",
            format!(
                "Centralized: no member takes more than {bound} ms, whatever the operation \
                 and size."
            ),
            &[Yardstick::Modelled(MEMBER)],
        );
        let below = OF_MEMBER
            .into_iter()
            .fold(below, |claim, subject| claim.below(subject, &CENTRALIZED, bound * MILLISECOND))
            .remark("The price of an unwrap was assumed with this bound in mind.");

        let slowest = self.ids("centralized_member_slowest");
        let ranking = self.claim(
            "centralized_member_slowest",
            format!(
                "Centralized: the slowest members are those of {}, slowest first.",
                names(&slowest)
            ),
            &ON_MEMBER,
        );
        let ranking = OF_MEMBER
            .into_iter()
            .fold(ranking, |claim, subject| claim.largest_first(subject, &slowest, &CENTRALIZED))
            .remark(
                "XFKS is a stand-in: its protocol could not be identified, so that its place \
                 says little.",
            );

        let growing = self.ids("centralized_member_time_grows");
        let grows = self
            .claim(
                "centralized_member_time_grows",
                format!(
                    "Centralized: a member's time grows with the group in {}.",
                    names(&growing)
                ),
                &ON_MEMBER,
            )
            .grows(OF_MEMBER[0], &growing);
        let steady = self.ids("centralized_member_time_constant");
        let constant = self.claim(
            "centralized_member_time_constant",
            format!(
                "Centralized: a member's time does not depend on the group in {}.",
                names(&steady)
            ),
            &ON_MEMBER,
        );
        let constant =
            OF_MEMBER.into_iter().fold(constant, |claim, subject| claim.stays(subject, &steady));

        let large = self.ids("centralized_member_storage_over_100_kilobytes");
        let storage = self
            .claim(
                "centralized_member_storage_over_100_kilobytes",
                format!(
                    "Centralized: a member of {} keeps over 100 KB, whatever the size of the group; all \
                     others less than 0.5 KB.",
                    names(&large)
                ),
                &[Yardstick::Permanent],
            )
            .above(OF_MEMBER[0], &large, 100.0 * KILOBYTE)
            .stays(OF_MEMBER[0], &large)
            .below(OF_MEMBER[0], &without(&CENTRALIZED, &large), 0.5 * KILOBYTE);
        let growing = self.ids("centralized_member_storage_grows");
        let storage_grows = self
            .claim(
                "centralized_member_storage_grows",
                format!(
                    "Centralized: what a member keeps grows with the group in {}.",
                    names(&growing)
                ),
                &[Yardstick::Permanent],
            )
            .grows(OF_MEMBER[0], &growing);
        [below, ranking, grows, constant, storage, storage_grows].map(Claim::verdict).into()
    }

    fn centralized_controllers(&self) -> Vec<Verdict> {
        let [create, add, remove] = [
            ("centralized_controller_create_slowest", OF_CONTROLLER[0], "to create a group"),
            ("centralized_controller_add_slowest", OF_CONTROLLER[1], "to add a member"),
            ("centralized_controller_remove_slowest", OF_CONTROLLER[2], "to remove a member"),
        ]
        .map(|(id, subject, to_do)| {
            let slowest = self.ids(id);
            let words = format!(
                "Centralized: {to_do}, the slowest controllers are those of {}.",
                names(&slowest)
            );
            let claim = self.claim(id, words, &ON_CONTROLLER);
            claim.largest_first(subject, &slowest, &CENTRALIZED)
        });
        let largest = self.ids("centralized_controller_storage_largest");
        let storage = self
            .claim(
                "centralized_controller_storage_largest",
                format!(
                    "Centralized: the controllers of {} keep most, and it grows, up to 25 MB; all others \
                     keep less than 0.1 MB.",
                    names(&largest)
                ),
                &[Yardstick::Permanent],
            )
            .largest_first(OF_CONTROLLER[0], &largest, &CENTRALIZED)
            .grows(OF_CONTROLLER[0], &largest)
            .below(OF_CONTROLLER[0], &largest, 25.0 * MEGABYTE)
            .below(OF_CONTROLLER[0], &without(&CENTRALIZED, &largest), 0.1 * MEGABYTE)
            .remark(
                "A controller that can remove a member without it has to keep, or to derive, something \
                 for each; ours keep the key of each member, and trees the keys of their nodes.",
            );
        [create, add, remove, storage].map(Claim::verdict).into()
    }

    fn hybrid_members(&self) -> Vec<Verdict> {
        let others = without(&HYBRID, &["marks"]);
        let time = self.claim(
            "hybrid_member_time",
            format!(
                "Hybrid: a member's time is {}.",
                self.study.text("findings.hybrid_member_time")
            ),
            &[Yardstick::Modelled(MEMBER)],
        );
        let time = OF_MEMBER
            .into_iter()
            .fold(time, |claim, subject| {
                claim.below(subject, &others, MILLISECOND).stays(subject, &having(&others, subject))
            })
            .above(OF_MEMBER[0], &["marks"], 50.0 * MILLISECOND)
            .below(OF_MEMBER[0], &["marks"], 200.0 * MILLISECOND)
            .remark(
                "About 100 ms is taken as 50 to 200. The profile has an unwrap at 1 ms, an upper bound, \
                 so that a member which unwraps at all is above S002's 1 ms.",
            );
        let storage = self
            .claim(
                "hybrid_member_storage",
                format!(
                    "Hybrid: a member keeps: {}.",
                    self.study.text("findings.hybrid_member_storage")
                ),
                &[Yardstick::Permanent],
            )
            .largest_first(OF_MEMBER[0], &["lnt"], &HYBRID)
            .below(OF_MEMBER[0], &without(&HYBRID, &["lnt"]), 16.0)
            .stays(OF_MEMBER[0], &HYBRID)
            .remark(
                "A member that is to get a new key by itself keeps a key of its own beside \
                 the group's.",
            );
        [time, storage].map(Claim::verdict).into()
    }

    fn hybrid_controllers(&self) -> Vec<Verdict> {
        let slowest = self.ids("hybrid_subcontroller_create_slowest");
        let create = self
            .claim(
                "hybrid_subcontroller_create_slowest",
                format!(
                    "Hybrid: to create a group, the subgroup controllers of {} are slowest, \
                     and take the longer the larger the group.",
                    names(&slowest)
                ),
                &ON_MEMBER,
            )
            .largest_first(OF_SUBGROUP[0], &slowest, &HYBRID)
            .grows(OF_SUBGROUP[0], &slowest);
        let changes = self.ids("hybrid_subcontroller_add_remove_slowest");
        let change = self.claim(
            "hybrid_subcontroller_add_remove_slowest",
            format!(
                "Hybrid: to add and to remove a member, the subgroup controllers of {} are \
                 slowest, in this order.",
                names(&changes)
            ),
            &ON_MEMBER,
        );
        let change = OF_SUBGROUP[1..]
            .iter()
            .fold(change, |claim, &subject| claim.largest_first(subject, &changes, &HYBRID))
            .remark("S002 has LNT, DEP and IGKMP overlap within their errors.");
        let small = ["riseg", "alohali-r", "igkmp", "kronos", "lnt"];
        let subgroup_storage = self
            .claim(
                "hybrid_subcontroller_storage",
                format!(
                    "Hybrid: a subgroup controller keeps: {}.",
                    self.study.text("findings.hybrid_subcontroller_storage")
                ),
                &[Yardstick::Permanent],
            )
            .largest_first(OF_SUBGROUP[0], &["marks", "dep"], &HYBRID)
            .stays(OF_SUBGROUP[0], &["marks"])
            .grows(OF_SUBGROUP[0], &["dep"])
            .below(OF_SUBGROUP[0], &small, KILOBYTE)
            .stays(OF_SUBGROUP[0], &small)
            .remark("Ours keep a key for each member of their subgroup.");

        let first = self.ids("hybrid_controller_create_slowest");
        let controller_create = self
            .claim(
                "hybrid_controller_create_slowest",
                format!(
                    "Hybrid: to create a group, the controller of {} is slowest, with 17.5 s; \
                     all others take far less than 0.5 s.",
                    names(&first)
                ),
                &ON_CONTROLLER,
            )
            .largest_first(OF_CONTROLLER[0], &first, &HYBRID);
        let order = self.ids("hybrid_controller_add_remove_slowest");
        let controller_change = self.claim(
            "hybrid_controller_add_remove_slowest",
            format!(
                "Hybrid: to add and to remove a member, the controllers of {} are slowest, in \
                 this order, below 75 ms and independent of the group.",
                names(&order)
            ),
            &ON_CONTROLLER,
        );
        let controller_change =
            OF_CONTROLLER[1..].iter().fold(controller_change, |claim, &subject| {
                claim
                    .largest_first(subject, &order, &HYBRID)
                    .below(subject, &HYBRID, 75.0 * MILLISECOND)
                    .stays(subject, &order)
            });
        let controller_storage = self
            .claim(
                "hybrid_controller_storage",
                format!(
                    "Hybrid: a controller keeps: {}.",
                    self.study.text("findings.hybrid_controller_storage")
                ),
                &[Yardstick::Permanent],
            )
            .grows(OF_CONTROLLER[0], &["riseg"])
            .above(OF_CONTROLLER[0], &["riseg"], 100.0 * KILOBYTE)
            .below(OF_CONTROLLER[0], &without(&HYBRID, &["riseg"]), 20.0 * KILOBYTE)
            .stays(OF_CONTROLLER[0], &without(&HYBRID, &["riseg"]));
        let only = self.creation_only("hybrid_creation_only", "Hybrid", &HYBRID);
        let claims = [
            create,
            change,
            subgroup_storage,
            controller_create,
            controller_change,
            controller_storage,
            only,
        ];
        claims.map(Claim::verdict).into()
    }

    fn distributed(&self) -> Vec<Verdict> {
        let bound = self.study.number("findings.distributed_member_time_below_s");
        let below = self.claim(
            "distributed_member_time_below_s",
            format!(
                "Distributed: no member takes more than {bound} s, whatever the operation, up \
                 to 30 members."
            ),
            &[Yardstick::Modelled(MEMBER)],
        );
        let below = ["create", "add", "remove"]
            .into_iter()
            .flat_map(|operation| {
                ["member", "new-member", "sponsor"].map(|role| Subject::new(operation, role))
            })
            .fold(below, |claim, subject| claim.below(subject, &DISTRIBUTED, bound * SECOND))
            .remark(
                "The profile prices an exponentiation by what S000, of the same authors and the same \
                 device, prints for G-DH; S002's bound needs a group far smaller than its 1,024 bits.",
            );
        let growing = self.ids("distributed_member_time_grows");
        let grows = self
            .claim(
                "distributed_member_time_grows",
                format!(
                    "Distributed: a member's time to create a group grows with it in {}.",
                    names(&growing)
                ),
                &ON_MEMBER,
            )
            .grows(OF_MEMBER[0], &growing);
        let steady = self.ids("distributed_member_time_constant");
        let constant = self
            .claim(
                "distributed_member_time_constant",
                format!(
                    "Distributed: a member's time hardly depends on the group in {}.",
                    names(&steady)
                ),
                &ON_MEMBER,
            )
            .stays(OF_MEMBER[0], &steady);
        let only = self.creation_only("distributed_creation_only", "Distributed", &DISTRIBUTED);
        let flat = ["bd", "cka"];
        let storage = self
            .claim(
                "distributed_member_storage",
                format!("Distributed: a member keeps: {}.", self.study.text("findings.distributed_member_storage")),
                &[Yardstick::Permanent],
            )
            .stays(OF_MEMBER[0], &flat)
            .below(OF_MEMBER[0], &flat, 0.1 * KILOBYTE)
            .grows(OF_MEMBER[0], &without(&DISTRIBUTED, &flat))
            .above(OF_MEMBER[0], &without(&DISTRIBUTED, &flat), 0.8 * KILOBYTE)
            .remark(
                "Counted is key material, which is secret: what members keep of public values, such as \
                 the partial keys of G-DH, is left out.",
            );
        [below, grows, constant, only, storage].map(Claim::verdict).into()
    }

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
