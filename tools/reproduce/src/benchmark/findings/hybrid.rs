//! Hybrid schemes: section 5.2 of S002.

use groupkey_lab::verdict::{Verdict, VerdictGround};

use super::{
    BenchmarkFindings, HYBRID, KILOBYTE, MILLISECOND, OF_CONTROLLER, OF_MEMBER, OF_SUBGROUP,
    ON_CONTROLLER, ON_MEMBER, SECOND, having, names, without,
};
use crate::claims::ClaimDraft;
use crate::provenance::not_comparable;
use crate::role_rows::RoleOperation;

impl<'r> BenchmarkFindings<'r> {
    /// Claims that the first of these schemes is largest, and the others, in any order, are before
    /// all that are not named.
    fn first_then(
        &self,
        claim: ClaimDraft<'r>,
        subject: RoleOperation,
        named: &[&str],
    ) -> ClaimDraft<'r> {
        let (first, others) = named.split_first().expect("S002 names some");
        others.iter().fold(claim, |claim, other| {
            let rivals: Vec<&str> = others.iter().copied().filter(|it| it != other).collect();
            claim.largest_first(subject, &[first, other], &without(&HYBRID, &rivals))
        })
    }

    pub(super) fn hybrid_members(&self) -> Vec<Verdict> {
        let others = without(&HYBRID, &["marks"]);
        let about = self.number("hybrid_member_create_marks_about_ms");
        let time = self.claim(
            "hybrid_member_time",
            format!(
                "Hybrid: a member's time is {}.",
                self.study.text("findings.hybrid_member_time")
            ),
            ON_MEMBER,
        );
        let time = OF_MEMBER
            .into_iter()
            .fold(time, |claim, subject| {
                claim.below(subject, &others, MILLISECOND).stays(subject, &having(&others, subject))
            })
            .roughly(OF_MEMBER[0], &["marks"], about * MILLISECOND)
            .remark(
                "What is said to be about is taken as half to twice of it. The profile has an unwrap at 1 ms, an upper bound, \
                 so that a member which unwraps at all is above S002's 1 ms.",
            );
        let storage = self
            .claim(
                "hybrid_member_storage",
                format!(
                    "Hybrid: a member keeps: {}.",
                    self.study.text("findings.hybrid_member_storage")
                ),
                VerdictGround::PermanentBytes,
            )
            .largest_first(OF_MEMBER[0], &["lnt"], &HYBRID)
            .above(OF_MEMBER[0], &["lnt"], 25.0)
            .below(OF_MEMBER[0], &["lnt"], 35.0)
            .below(OF_MEMBER[0], &without(&HYBRID, &["lnt"]), 16.0)
            .stays(OF_MEMBER[0], &HYBRID)
            .remark(
                "A member that is to get a new key by itself keeps a key of its own beside \
                 the group's.",
            );
        [time, storage].map(ClaimDraft::verdict).into()
    }

    pub(super) fn hybrid_controllers(&self) -> Vec<Verdict> {
        let slowest = self.ids("hybrid_subcontroller_create_slowest");
        let most = self.number("hybrid_subcontroller_create_over_s");
        let create = self
            .timed(
                "hybrid_subcontroller_create_slowest",
                format!(
                    "Hybrid: to create a group, the subgroup controllers of {} are slowest, \
                     and take the longer the larger the group, up to over {most} s.",
                    names(&slowest)
                ),
                ON_MEMBER,
            )
            .largest_first(OF_SUBGROUP[0], &slowest, &HYBRID)
            .grows(OF_SUBGROUP[0], &slowest)
            .above(OF_SUBGROUP[0], &slowest, most * SECOND);
        let changes = self.ids("hybrid_subcontroller_add_remove_slowest");
        let change = self.timed(
            "hybrid_subcontroller_add_remove_slowest",
            format!(
                "Hybrid: to add and to remove a member, the subgroup controllers of {} are \
                 slowest, the first of them before the others.",
                names(&changes)
            ),
            ON_MEMBER,
        );
        let change = OF_SUBGROUP[1..]
            .iter()
            .fold(change, |claim, &subject| self.first_then(claim, subject, &changes))
            .remark("S002 has LNT, DEP and IGKMP overlap within their errors.");
        let small = ["riseg", "alohali-r", "igkmp", "kronos", "lnt"];
        let subgroup_storage = self
            .claim(
                "hybrid_subcontroller_storage",
                format!(
                    "Hybrid: a subgroup controller keeps: {}.",
                    self.study.text("findings.hybrid_subcontroller_storage")
                ),
                VerdictGround::PermanentBytes,
            )
            .largest_first(OF_SUBGROUP[0], &["marks", "dep"], &HYBRID)
            .stays(OF_SUBGROUP[0], &["marks"])
            .above(OF_SUBGROUP[0], &["marks"], 15.5 * KILOBYTE)
            .below(OF_SUBGROUP[0], &["marks"], 16.5 * KILOBYTE)
            .grows(OF_SUBGROUP[0], &["dep"])
            .below(OF_SUBGROUP[0], &small, KILOBYTE)
            .stays(OF_SUBGROUP[0], &small)
            .remark("Ours keep a key for each member of their subgroup.");

        let first = self.ids("hybrid_controller_create_slowest");
        let others = self.number("hybrid_controller_create_others_below_s");
        let about = self.number("hybrid_controller_create_s");
        let controller_create = self
            .timed(
                "hybrid_controller_create_slowest",
                format!(
                    "Hybrid: to create a group, the controller of {} is slowest, at about {about} s; all \
                     others take less than {others} s.",
                    names(&first)
                ),
                ON_CONTROLLER,
            )
            .largest_first(OF_CONTROLLER[0], &first, &HYBRID)
            .roughly(OF_CONTROLLER[0], &first, about * SECOND)
            .below(OF_CONTROLLER[0], &without(&HYBRID, &first), others * SECOND);
        let order = self.ids("hybrid_controller_add_remove_slowest");
        let most = self.number("hybrid_controller_add_remove_below_ms");
        let controller_change = self.timed(
            "hybrid_controller_add_remove_slowest",
            format!(
                "Hybrid: to add and to remove a member, the controllers of {} are slowest, the first \
                 of them before the others, below {most} ms and independent of the group.",
                names(&order)
            ),
            ON_CONTROLLER,
        );
        let controller_change =
            OF_CONTROLLER[1..].iter().fold(controller_change, |claim, &subject| {
                self.first_then(claim, subject, &order)
                    .below(subject, &HYBRID, most * MILLISECOND)
                    .stays(subject, &order)
            });
        let controller_storage = self
            .claim(
                "hybrid_controller_storage",
                format!(
                    "Hybrid: a controller keeps: {}.",
                    self.study.text("findings.hybrid_controller_storage")
                ),
                VerdictGround::PermanentBytes,
            )
            .grows(OF_CONTROLLER[0], &["riseg"])
            .above(OF_CONTROLLER[0], &["riseg"], 100.0 * KILOBYTE)
            .void(&not_comparable(
                "S002 counts a list of addresses, 2 B for each member, and ours key material alone",
            ))
            .below(OF_CONTROLLER[0], &without(&HYBRID, &["riseg"]), 20.0 * KILOBYTE)
            .stays(OF_CONTROLLER[0], &without(&HYBRID, &["riseg"]));
        let ranks = ["marks", "dep", "riseg"];
        let storage_ranks = self
            .claim(
                "hybrid_subcontroller_storage_largest",
                format!("Hybrid: the subgroup controllers of {} keep most.", names(&ranks)),
                VerdictGround::PermanentBytes,
            )
            .largest_first(OF_SUBGROUP[0], &ranks, &HYBRID);
        let only = self.creation_only("hybrid_creation_only", "Hybrid", &HYBRID);
        let claims = [
            create,
            change,
            subgroup_storage,
            storage_ranks,
            controller_create,
            controller_change,
            controller_storage,
            only,
        ];
        claims.map(ClaimDraft::verdict).into()
    }
}
