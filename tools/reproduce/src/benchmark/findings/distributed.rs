//! Distributed schemes: section 7 of S002.

use groupkey_lab::verdict::{Verdict, VerdictGround};

use super::{
    BenchmarkFindings, DISTRIBUTED, KILOBYTE, MEMBER, OF_MEMBER, ON_MEMBER, SECOND, names, without,
};
use crate::claims::ClaimDraft;
use crate::role_rows::RoleOperation;

impl BenchmarkFindings<'_> {
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
            .remark(
                "Counted is key material, which is secret: what members keep of public values, such as \
                 the partial keys of G-DH, is left out.",
            );
        [below, grows, constant, only, storage].map(ClaimDraft::verdict).into()
    }
}
