//! The plans that a workload asks for a scheme.

use groupkey::catalogue::Class;

use super::{ActorAction, Pattern, Workload};
use crate::bench::{Activity, BenchPlan, Function};

impl Workload {
    /// Returns the plans that measure this workload's patterns of a scheme, at all of its sizes.
    /// There is one plan for each number of repetitions, and for each length of messages. There is
    /// none if no pattern concerns the scheme.
    ///
    /// The rest is as in `like`, whose own parameters come before the workload's subgroups. Idling
    /// has no plan, because no party computes.
    pub fn plans(&self, like: &BenchPlan) -> Vec<BenchPlan> {
        let mut parameters = like.parameters.clone();
        let is_chosen = parameters.iter().any(|(name, _)| name == SUBGROUPS);
        if like.scheme.class() == Class::Hybrid && self.subgroups > 0 && !is_chosen {
            parameters.push((SUBGROUPS.to_owned(), self.subgroups));
        }
        let mut plans: Vec<BenchPlan> = Vec::new();
        for pattern in self.patterns_of(like.scheme) {
            let Some(function) = pattern.function() else { continue };
            let Function { activity, .. } = function;
            let bytes = pattern.action.message_bytes();
            let same = plans.iter().position(|plan| {
                let talks = plan.activities.iter().any(|activity| activity.operation().is_none());
                plan.repetitions == pattern.repetitions
                    && bytes == talks.then_some(plan.message_bytes)
            });
            let place = same.unwrap_or(plans.len());
            if same.is_none() {
                plans.push(BenchPlan {
                    workload: self.name.clone(),
                    parameters: parameters.clone(),
                    activities: Vec::new(),
                    functions: Vec::new(),
                    message_bytes: bytes.unwrap_or(like.message_bytes),
                    members: self.members.all().collect(),
                    repetitions: pattern.repetitions,
                    ..like.clone()
                });
            }
            let plan = &mut plans[place];
            if !plan.activities.contains(&activity) {
                plan.activities.push(activity);
            }
            if !plan.functions.contains(&function) {
                plan.functions.push(function);
            }
        }
        plans
    }
}

impl Pattern {
    /// Returns the function that the pattern measures; `None` for idling.
    pub fn function(&self) -> Option<Function> {
        let activity = self.action.activity()?;
        Some(Function { role: self.actor, activity, phase: self.phase })
    }
}

impl ActorAction {
    /// Returns the activity that is measured; `None` for idling.
    pub fn activity(self) -> Option<Activity> {
        match self {
            Self::Decrypt(_) => Some(Activity::Decrypt),
            Self::Encrypt(_) => Some(Activity::Encrypt),
            Self::Idle => None,
            Self::Manage(operation) => Activity::of(operation),
        }
    }

    /// Returns the length of the action's message (bytes), if it has one.
    pub const fn message_bytes(self) -> Option<u32> {
        match self {
            Self::Decrypt(bytes) | Self::Encrypt(bytes) => Some(bytes),
            Self::Idle | Self::Manage(_) => None,
        }
    }
}

/// The parameter of hybrid schemes for the number of subgroups.
const SUBGROUPS: &str = "subgroups";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::bench::{Phase, Role};
    use crate::registry::scheme;

    fn plans(workload: &Workload, id: &str) -> Vec<BenchPlan> {
        workload.plans(&BenchPlan::new(scheme(id).expect("in the catalogue"), Vec::new()))
    }

    #[test]
    fn repetitions_and_lengths_of_messages_have_plans_of_their_own() {
        let text = "name = 'x'\ndescription = 'y'\nrepetitions = 5\nsubgroups = 7\n\
                    [members]\nmin = 2\nmax = 10\nstep = 4\n\
                    [[pattern]]\nactor = ['controller', 'member']\noperation = ['create', 'idle']\n\
                    [[pattern]]\nactor = 'member'\noperation = ['encrypt', 'decrypt']\nbytes = [1, 50]\n\
                    [[pattern]]\nactor = 'controller'\nphase = 'deployment'\noperation = 'add'\n\
                    repetitions = 9\n";
        let workload = Workload::parse(text, Path::new("x.toml")).expect("a workload");
        let told: Vec<_> = plans(&workload, "iolus")
            .into_iter()
            .inspect(|plan| assert_eq!(plan.parameters, [("subgroups".to_owned(), 7)]))
            .map(|plan| (plan.repetitions, plan.message_bytes, plan.functions))
            .collect();
        let function = |role, activity, phase| Function { role, activity, phase };
        let operational = |role, activity| function(role, activity, Phase::Operational);
        let talk = [Activity::Encrypt, Activity::Decrypt]
            .map(|activity| operational(Role::Member, activity))
            .to_vec();
        let create = [Role::Controller, Role::Member]
            .map(|role| operational(role, Activity::Create))
            .to_vec();
        let add = vec![function(Role::Controller, Activity::Add, Phase::Deployment)];
        assert_eq!(told, [(5, 40, create), (5, 1, talk.clone()), (5, 50, talk), (9, 40, add)]);
        assert_eq!(plans(&workload, "bd")[0].parameters, []);
    }

    #[test]
    fn a_scheme_that_no_pattern_concerns_has_no_plan() {
        let mut platoon = Workload::named("platoon").expect("built in");
        assert_eq!(plans(&platoon, "bd").len(), 1);
        platoon.patterns.retain(|pattern| pattern.action.activity() == Some(Activity::Add));
        assert!(plans(&platoon, "cka").is_empty());
    }
}
