//! Distributed schemes: section 7 of S002.

use groupkey_lab::verdict::{Verdict, VerdictGround};

use super::{
    BenchmarkFindings, CENTRALIZED, DISTRIBUTED, KILOBYTE, MEMBER, OF_MEMBER, ON_MEMBER, SECOND,
    names, without,
};
use crate::claims::{ClaimDraft, percent};
use crate::provenance::not_comparable;
use crate::role_rows::{RoleOperation, scheme_name};

impl<'r> BenchmarkFindings<'r> {
    pub(super) fn distributed(&self) -> Vec<Verdict> {
        let bound = self.number("distributed_member_time_below_s");
        let below = self.claim(
            "distributed_member_time_below_s",
            format!(
                "Distributed: no member takes more than {bound} s, whatever the operation, up \
                 to 30 members."
            ),
            ON_MEMBER,
        );
        let below = ["create", "add", "remove"]
            .into_iter()
            .flat_map(|operation| {
                ["member", "new-member", "sponsor"].map(|role| RoleOperation::new(operation, role))
            })
            .fold(below, |claim, subject| claim.below(subject, &DISTRIBUTED, bound * SECOND))
            .reaches(30)
            .remark(
                "The profile prices an exponentiation by what S000, of the same authors and the same \
                 device, prints for G-DH; S002's bound needs a group far smaller than its 1,024 bits.",
            );
        let growing = self.ids("distributed_member_time_grows");
        let grows = self
            .timed(
                "distributed_member_time_grows",
                format!(
                    "Distributed: a member's time to create a group grows with it in {}.",
                    names(&growing)
                ),
                VerdictGround::Counts(MEMBER),
            )
            .grows(OF_MEMBER[0], &growing);
        let steady = self.ids("distributed_member_time_constant");
        let constant = self
            .timed(
                "distributed_member_time_constant",
                format!(
                    "Distributed: a member's time hardly depends on the group in {}.",
                    names(&steady)
                ),
                VerdictGround::Counts(MEMBER),
            )
            .stays(OF_MEMBER[0], &steady);
        let only = self.creation_only("distributed_creation_only", "Distributed", &DISTRIBUTED);
        let flat = ["bd", "cka"];
        let storage = self
            .claim(
                "distributed_member_storage",
                format!("Distributed: a member keeps: {}.", self.study.text("findings.distributed_member_storage")),
                VerdictGround::PermanentBytes,
            )
            .stays(OF_MEMBER[0], &flat)
            .below(OF_MEMBER[0], &flat, 0.1 * KILOBYTE)
            .grows(OF_MEMBER[0], &without(&DISTRIBUTED, &flat))
            .above(OF_MEMBER[0], &without(&DISTRIBUTED, &flat), 0.8 * KILOBYTE)
            .void(&not_comparable(
                "S002 counts all that members keep, and ours key material alone: public values, such as \
                 the partial keys of G-DH, are left out",
            ));
        [
            below,
            grows,
            constant,
            self.creation_is_longest(),
            only,
            self.centralized_is_quicker(),
            storage,
        ]
        .map(ClaimDraft::verdict)
        .into()
    }

    /// A member's creation takes at least as long as what it does in a join and in a leave.
    fn creation_is_longest(&self) -> ClaimDraft<'r> {
        let claim = self.claim(
            "distributed_creation_longest",
            "Distributed: a member takes longest to create a group, in every scheme.".to_owned(),
            ON_MEMBER,
        );
        let order = self.cells.thresholds.order.value;
        let claim = claim.margin(format!("{} between two operations", percent(order)));
        let changes = ["add", "remove"].into_iter().flat_map(|operation| {
            ["member", "new-member", "sponsor"].map(|role| RoleOperation::new(operation, role))
        });
        let claim = changes.fold(claim, |claim, subject| {
            DISTRIBUTED.iter().fold(claim, |claim, scheme| {
                let largest = |subject| self.cells.sizes(scheme, subject).pop();
                let cell = |subject| self.cells.at(scheme, subject, largest(subject)?);
                let Some((change, creation)) = cell(subject).zip(cell(OF_MEMBER[0])) else {
                    return claim;
                };
                claim.compare(&format!("{subject} below creation"), |yardstick| {
                    change
                        .at_most(&creation, 1.0 + order, yardstick)
                        .with("scheme", scheme_name(scheme))
                        .with("operation", subject.operation_name())
                })
            })
        });
        claim.reaches(30)
    }

    /// The members of centralized schemes are below a bound, and a distributed one is not.
    fn centralized_is_quicker(&self) -> ClaimDraft<'r> {
        let bound = self.number("distributed_slower_than_centralized_s");
        let claim = self.claim(
            "distributed_slower_than_centralized_s",
            format!(
                "A member of a centralized scheme takes less than {bound} s with up to 55,000 members; with \
                 30, distributed ones take more at times."
            ),
            ON_MEMBER,
        );
        OF_MEMBER
            .into_iter()
            .fold(claim, |claim, subject| claim.below(subject, &CENTRALIZED, bound * SECOND))
            .above(OF_MEMBER[0], &["gdh2"], bound * SECOND)
            .reaches(50_000)
    }
}
