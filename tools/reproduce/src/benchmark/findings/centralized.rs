//! Centralized schemes: section 5.1 of S002.

use groupkey_lab::verdict::{Verdict, VerdictGround};

use super::{
    BenchmarkFindings, CENTRALIZED, KILOBYTE, MEGABYTE, MEMBER, MILLISECOND, OF_CONTROLLER,
    OF_MEMBER, ON_CONTROLLER, ON_MEMBER, SECOND, names, without,
};
use crate::claims::ClaimDraft;

impl BenchmarkFindings<'_> {
    pub(super) fn centralized_members(&self) -> Vec<Verdict> {
        let bound = self.number("centralized_member_time_below_ms");
        let below = self.claim(
            "centralized_member_time_below_ms",
            format!(
                "Centralized: no member takes more than {bound} ms, whatever the operation \
                 and size."
            ),
            ON_MEMBER,
        );
        let below = OF_MEMBER
            .into_iter()
            .fold(below, |claim, subject| claim.below(subject, &CENTRALIZED, bound * MILLISECOND))
            .reaches(50_000);

        let slowest = self.ids("centralized_member_slowest");
        let ranking = self.timed(
            "centralized_member_slowest",
            format!(
                "Centralized: the slowest members are those of {}, slowest first.",
                names(&slowest)
            ),
            ON_MEMBER,
        );
        let ranking = OF_MEMBER
            .into_iter()
            .fold(ranking, |claim, subject| claim.largest_first(subject, &slowest, &CENTRALIZED));

        let growing = self.ids("centralized_member_time_grows");
        let grows = self
            .timed(
                "centralized_member_time_grows",
                format!(
                    "Centralized: a member's time grows with the group in {}.",
                    names(&growing)
                ),
                VerdictGround::Counts(MEMBER),
            )
            .grows(OF_MEMBER[0], &growing);
        let steady = self.ids("centralized_member_time_constant");
        let constant = self.timed(
            "centralized_member_time_constant",
            format!(
                "Centralized: a member's time does not depend on the group in {}.",
                names(&steady)
            ),
            VerdictGround::Counts(MEMBER),
        );
        let constant =
            OF_MEMBER.into_iter().fold(constant, |claim, subject| claim.stays(subject, &steady));

        let large = self.ids("centralized_member_storage_over_100_kilobytes");
        let others = self.number("centralized_member_storage_others_below_kilobytes");
        let storage = self
            .claim(
                "centralized_member_storage_over_100_kilobytes",
                format!(
                    "Centralized: a member of {} keeps over 100 KB, whatever the size of the group; all \
                     others less than {others} KB.",
                    names(&large)
                ),
                VerdictGround::PermanentBytes,
            )
            .above(OF_MEMBER[0], &large, 100.0 * KILOBYTE)
            .stays(OF_MEMBER[0], &large)
            .below(OF_MEMBER[0], &without(&CENTRALIZED, &large), others * KILOBYTE);
        let growing = self.ids("centralized_member_storage_grows");
        let storage_grows = self
            .claim(
                "centralized_member_storage_grows",
                format!(
                    "Centralized: what a member keeps grows with the group in {}.",
                    names(&growing)
                ),
                VerdictGround::PermanentBytes,
            )
            .grows(OF_MEMBER[0], &growing);
        let share = self.number("centralized_member_storage_below_percent_of_968_kilobytes");
        let memory = self
            .claim(
                "centralized_member_storage_below_percent_of_968_kilobytes",
                format!(
                    "Centralized: what a member keeps takes less than {share} % of an ESP32's 968 KB."
                ),
                VerdictGround::PermanentBytes,
            )
            .tests(&["bench.findings.centralized_member_storage_over_100_kilobytes"])
            .below(OF_MEMBER[0], &CENTRALIZED, share / 100.0 * 968.0 * KILOBYTE);
        let claims = [below, ranking, grows, constant, storage, storage_grows, memory];
        claims.map(ClaimDraft::verdict).into()
    }

    pub(super) fn centralized_controllers(&self) -> Vec<Verdict> {
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
            let claim = self.timed(id, words, ON_CONTROLLER);
            claim.largest_first(subject, &slowest, &CENTRALIZED)
        });
        let largest = self.ids("centralized_controller_storage_largest");
        let most = self.number("centralized_controller_storage_up_to_megabytes");
        let others = self.number("centralized_controller_storage_others_below_megabytes");
        let storage = self
            .claim(
                "centralized_controller_storage_largest",
                format!(
                    "Centralized: the controllers of {} keep most, and it grows, up to {most} MB; all \
                     others keep less than {others} MB.",
                    names(&largest)
                ),
                VerdictGround::PermanentBytes,
            )
            .largest_first(OF_CONTROLLER[0], &largest, &CENTRALIZED)
            .grows(OF_CONTROLLER[0], &largest)
            .below(OF_CONTROLLER[0], &largest, most * MEGABYTE)
            .below(OF_CONTROLLER[0], &without(&CENTRALIZED, &largest), others * MEGABYTE)
            .remark(
                "A controller that can remove a member without it has to keep, or to derive, something \
                 for each; ours keep the key of each member, and trees the keys of their nodes.",
            );
        let [slow, quick] = ["below_s", "others_below_s"]
            .map(|part| self.number(&format!("centralized_controller_changes_{part}")));
        let others = |id| without(&CENTRALIZED, &self.ids(id));
        let changes = self
            .claim(
                "centralized_controller_changes_below_s",
                format!(
                    "Centralized: a controller adds or removes a member in less than {slow} s; with all \
                     schemes but the three slowest, in less than {quick} s."
                ),
                ON_CONTROLLER,
            )
            .below(OF_CONTROLLER[1], &CENTRALIZED, slow * SECOND)
            .below(OF_CONTROLLER[2], &CENTRALIZED, slow * SECOND)
            .below(
                OF_CONTROLLER[1],
                &others("centralized_controller_add_slowest"),
                quick * SECOND,
            )
            .below(
                OF_CONTROLLER[2],
                &others("centralized_controller_remove_slowest"),
                quick * SECOND,
            )
            .reaches(50_000);
        let longest = self.number("centralized_controller_create_up_to_s");
        let creation = self
            .claim(
                "centralized_controller_create_up_to_s",
                format!("Centralized: a controller creates a group in at most {longest} s."),
                ON_CONTROLLER,
            )
            .below(OF_CONTROLLER[0], &CENTRALIZED, longest * SECOND)
            .reaches(50_000);
        [create, creation, add, remove, changes, storage].map(ClaimDraft::verdict).into()
    }
}
