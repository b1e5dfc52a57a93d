//! The setting that the rows of a plan record. It distinguishes the plan from others.

use groupkey::catalogue::Class;

use super::{Exception, Plan};
use crate::conditions::Timeline;
use crate::results::{RowSetting, told_parameters};

impl Plan {
    /// Returns what the row of a step of this plan measures; `step` counts from 0.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn setting(&self, step: usize) -> RowSetting {
        let link = &self.link.initial;
        let history = self.steps[..=step].iter().map(|step| step.action.to_string());
        RowSetting {
            scheme: self.scheme.id.to_owned(),
            profile: self.profile.name().to_owned(),
            parameters: told_parameters(&self.parameters),
            suite: self.suite.name().to_owned(),
            protection: self.protection.name().to_owned(),
            provenance: self.scheme.provenance.name().to_owned(),
            operation: self.steps[step].action.operation().name().to_owned(),
            history: history.collect::<Vec<_>>().join(", "),
            members: self.members,
            loss_percent: link.loss_percent,
            loss_direction: link.loss_direction.name().to_owned(),
            burst_ms: link.burst_ms,
            delay_ms: link.delay_ms,
            jitter_ms: link.jitter_ms,
            bandwidth_kbit_s: link.bandwidth_kbit_s,
            variations: self.variations(),
            qos: self.qos,
            hand_over: self.hand_over.name().to_owned(),
            max_in_flight: self.max_in_flight,
            request_bytes: self.request_bytes,
            rest_ms: self.rest_ms(),
            outages_per_hour: link.outages.map(|outages| outages.per_hour),
            outage_s: link.outages.map(|outages| outages.length_s),
            restarts_per_hour: self.restarts.map(|restarts| restarts.per_hour),
            restart_s: self.restarts.map(|restarts| restarts.length_s),
            keep_alive_s: self.connections_end().then_some(self.keep_alive_s),
            session: self.told_session().to_owned(),
            device: self.device.name.clone(),
            controller_device: self.controller_device.name.clone(),
            subgroup_device: self.told_subgroup_device().to_owned(),
            seed: self.seed,
        }
    }

    /// Names what becomes of sessions, if connections end.
    fn told_session(&self) -> &str {
        if self.connections_end() { self.session.name() } else { "" }
    }

    fn told_subgroup_device(&self) -> &str {
        match self.scheme.class() {
            Class::Hybrid => &self.subgroup_device.name,
            Class::Centralized | Class::Distributed => "",
        }
    }

    /// Describes how the link changes, and which members and subgroups differ from the others.
    fn variations(&self) -> String {
        let Timeline { changes, .. } = &self.link;
        let changes = changes.iter().map(|(at_ms, then)| format!("from {at_ms} ms: {then}"));
        let members = self.exceptions.iter().map(|exception| exception.text("members"));
        let subgroups = self.subgroup_exceptions.iter();
        let subgroups = subgroups.map(|exception| exception.text("subgroups"));
        changes.chain(members).chain(subgroups).collect::<Vec<_>>().join("; ")
    }
}

impl Exception {
    fn text(&self, whose: &str) -> String {
        let Self { numbers, link, device } = self;
        let (first, last) = (numbers.start, numbers.end.saturating_sub(1));
        format!("{whose} {first} to {last}: {link}, on {}", device.name)
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use groupkey_sim::group::Rest;

    use super::*;
    use crate::conditions::{Conditions, OutageRate};
    use crate::plan::{PlanAction, PlanStep};

    #[test]
    fn what_differs_in_a_plan_differs_in_its_rows() {
        type Change = fn(&mut Plan);
        let changes: [Change; 18] = [
            |plan| plan.members = 6,
            |plan| plan.parameters = vec![("subgroups".to_owned(), 2)],
            |plan| plan.link.initial.loss_percent = 1.0,
            |plan| plan.link.initial.burst_ms = Some(20.0),
            |plan| plan.link.initial.jitter_ms = 1.0,
            |plan| plan.link.initial.bandwidth_kbit_s = Some(9.0),
            |plan| plan.link.initial.loss_direction = crate::conditions::LossDirection::Up,
            |plan| plan.link.changes = vec![(5.0, Conditions::of(1.0, 2.0))],
            |plan| plan.hand_over = groupkey_sim::HandOver::Publish,
            |plan| plan.max_in_flight = 1,
            |plan| plan.request_bytes = Some(20),
            |plan| plan.rest = Rest::Settled,
            |plan| plan.link.initial.outages = OUTAGES,
            |plan| plan.restarts = OUTAGES,
            |plan| {
                (plan.restarts, plan.session) = (OUTAGES, groupkey_sim::SessionState::Clean);
            },
            |plan| (plan.restarts, plan.keep_alive_s) = (OUTAGES, 15),
            |plan| plan.exceptions = vec![exception(plan)],
            |plan| plan.subgroup_exceptions = vec![exception(plan)],
        ];
        let mut plans = vec![plan()];
        for change in changes {
            let mut plan = plan();
            change(&mut plan);
            plans.push(plan);
        }
        let mut settings: Vec<_> =
            plans.iter().map(|plan| format!("{:?}", plan.setting(0))).collect();
        settings.sort_unstable();
        settings.dedup();
        assert_eq!(settings.len(), plans.len());
    }

    #[test]
    fn rows_of_the_same_operation_differ_by_what_went_before() {
        let mut plan = plan();
        plan.steps =
            [PlanAction::Create, PlanAction::Add, PlanAction::Remove(Some(2)), PlanAction::Add]
                .map(|action| PlanStep { action, reported: true })
                .into();
        assert_eq!(plan.setting(1).history, "create, add");
        assert_eq!(plan.setting(3).history, "create, add, remove 2, add");
        assert_eq!(plan.setting(3).operation, "add");
    }

    const OUTAGES: Option<OutageRate> = Some(OutageRate { per_hour: 2.0, length_s: 30.0 });

    fn plan() -> Plan {
        Plan::new(scheme("iolus").expect("in the catalogue"), 5)
    }

    fn exception(plan: &Plan) -> Exception {
        Exception { numbers: 1..3, link: plan.link.clone(), device: plan.device.clone() }
    }
}
