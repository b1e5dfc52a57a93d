//! Checks whether a plan can be run. If not, the error has the cause and the remedy.

use super::{Plan, PlanAction, PlanError, turnover};
use crate::device::DeviceProfile;

impl Plan {
    /// Checks everything that can be checked without running.
    pub fn validate(&self) -> Result<(), PlanError> {
        let (least, most) = self.scheme.members;
        if !(least.max(2)..=most).contains(&self.members) {
            let range = (least.max(2), most);
            return Err(PlanError::Members { members: self.members, range });
        }
        self.configuration()?;
        if let Some(unsuited) = self.scheme.unsuited_to(self.suite) {
            return Err(PlanError::Unsuited(unsuited));
        }
        self.validate_steps()?;
        if self.request_bytes.is_some() && !self.heeds_request() {
            let without_controller = (!self.scheme.has_controller()).then_some(self.scheme.id);
            return Err(PlanError::NoRequest { without_controller });
        }
        self.link.validate().map_err(PlanError::Conditions)?;
        if let Some(restarts) = self.restarts {
            restarts.validate().map_err(PlanError::Conditions)?;
        }
        for exception in self.exceptions.iter().chain(&self.subgroup_exceptions) {
            exception.link.validate().map_err(PlanError::Conditions)?;
        }
        self.quality_of_service()?;
        if self.max_in_flight == 0 {
            return Err(PlanError::InFlight);
        }
        if self.runs == 0 {
            return Err(PlanError::Runs);
        }
        let devices = [&self.device, &self.controller_device, &self.subgroup_device];
        let exceptions = self.exceptions.iter().chain(&self.subgroup_exceptions);
        let devices = devices.into_iter().chain(exceptions.map(|exception| &exception.device));
        devices.into_iter().try_for_each(|device| self.validate_device(device))
    }

    /// Applies the steps to a list of members, so that an impossible scenario fails before it runs.
    fn validate_steps(&self) -> Result<(), PlanError> {
        let mut roster =
            PlannedMembers { members: Vec::new(), next: 0, most: self.scheme.members.1 };
        for (index, step) in self.steps.iter().enumerate() {
            let operation = step.action.operation();
            if !self.scheme.operations.contains(&operation) {
                let (scheme, operations) = (self.scheme.id, self.scheme.operations);
                return Err(PlanError::Unsupported { scheme, operation, operations });
            }
            roster
                .take(step.action, self)
                .map_err(|problem| PlanError::Steps { index, problem })?;
        }
        if self.reported().next().is_none() {
            let problem = "nothing is measured; ask for create, add or remove".to_owned();
            return Err(PlanError::Steps { index: 0, problem });
        }
        Ok(())
    }

    fn validate_device(&self, device: &DeviceProfile) -> Result<(), PlanError> {
        match device.costs(self.suite) {
            Some(_) => Ok(()),
            None => Err(self.without_figures(device)),
        }
    }
}

/// The members of a group; none before the group is created.
struct PlannedMembers {
    members: Vec<u32>,
    next: u32,
    most: u32,
}

impl PlannedMembers {
    fn take(&mut self, action: PlanAction, plan: &Plan) -> Result<(), String> {
        match (action, self.members.len()) {
            (PlanAction::Create, 0) => {
                self.members = (0..plan.members).collect();
                self.next = plan.members;
            }
            (PlanAction::Create, _) => return Err("the group exists already".to_owned()),
            (_, 0) => return Err("the group must be created first".to_owned()),
            (PlanAction::Add, count) if count >= self.most as usize => {
                return Err(format!("the scheme takes {count} members at most"));
            }
            (PlanAction::Add, _) => {
                self.members.push(self.next);
                self.next += 1;
            }
            (PlanAction::Batch { joining: 0, leaving: 0 }, _) => {
                return Err("in a batch somebody joins or leaves".to_owned());
            }
            (PlanAction::Batch { joining, leaving }, _)
                if joining.max(leaving) > PlanAction::MOST_AT_ONCE =>
            {
                let most = PlanAction::MOST_AT_ONCE;
                return Err(format!("at most {most} members join or leave in a batch"));
            }
            (PlanAction::Batch { leaving, .. }, count) if count <= 2 * leaving as usize => {
                let least = 2 * leaving;
                return Err(format!("a batch takes a group of more than {least} members"));
            }
            (PlanAction::Batch { joining, leaving }, count) => {
                if count + joining as usize > self.most as usize + leaving as usize {
                    return Err(format!("the scheme takes {} members at most", self.most));
                }
                self.members.drain(count / 2..count / 2 + leaving as usize);
                self.members.extend(self.next..self.next + joining);
                self.next += joining;
            }
            (PlanAction::Turnover(_), count) if count >= self.most as usize => {
                return Err(format!("the scheme takes {count} members at most"));
            }
            (PlanAction::Turnover(departures), count) => {
                let rounds = turnover::rounds(plan.scheme, count as u32, departures);
                for (round, leaving) in (0..).zip(rounds) {
                    let mut leaving = turnover::drawn(&self.members, leaving, round);
                    leaving.sort_unstable();
                    self.members.retain(|member| leaving.binary_search(member).is_err());
                    let joining = leaving.len() as u32;
                    self.members.extend(self.next..self.next + joining);
                    self.next += joining;
                }
            }
            (PlanAction::Rekey | PlanAction::Send, _) => {}
            (PlanAction::Remove(_), 2) => return Err("two members must remain".to_owned()),
            (PlanAction::Remove(None), count) => drop(self.members.remove(count / 2)),
            (PlanAction::Remove(Some(member)), _) => match self.members.binary_search(&member) {
                Ok(place) => drop(self.members.remove(place)),
                Err(_) => {
                    return Err(format!("member {member} is not in the group (the first is 0)"));
                }
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use std::sync::Arc;

    use super::*;
    use crate::conditions::Conditions;
    use crate::plan::PlanStep;

    #[test]
    fn what_cannot_be_run_is_told_with_what_to_do() {
        type Change = fn(&mut Plan);
        let changes: [(Change, &str); 11] = [
            (|plan| plan.members = 1, "a group of 1 members cannot be; give 2 to"),
            (|plan| plan.members = u32::MAX, "give 2 to"),
            (|plan| plan.set_conditions(Conditions::of(100.1, 0.0)), "give a number from 0 to 100"),
            (|plan| plan.set_conditions(Conditions::of(0.0, f64::NAN)), "give 0 or more"),
            (|plan| plan.qos = 3, "give 0, 1 or 2"),
            (|plan| plan.runs = 0, "give at least 1 run"),
            (|plan| plan.max_in_flight = 0, "give at least 1"),
            (|plan| plan.parameters = vec![("degree".to_owned(), 1)], "parameter degree: "),
            (|plan| plan.parameters = vec![("depth".to_owned(), 1)], "lkh-group: degree"),
            (|plan| plan.steps.clear(), "ask for create, add or remove"),
            (|plan| plan.device = device("esp32-micropython"), "choose the suite published"),
        ];
        for (change, told) in changes {
            let mut plan = Plan::new(scheme("lkh-group").expect("in the catalogue"), 10);
            assert_eq!(plan.validate(), Ok(()));
            change(&mut plan);
            let error = plan.validate().expect_err("it cannot be run").to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn steps_must_be_possible_one_after_the_other() {
        for (actions, told) in [
            (vec!["add"], "step 1: the group must be created first"),
            (vec!["create", "create"], "step 2: the group exists already"),
            (vec!["create", "remove 9"], "step 2: member 9 is not in the group"),
            (vec!["create", "remove 1", "add", "remove 1"], "step 4: member 1 is not"),
            (vec!["create", "turnover 90", "remove 0"], "step 3: member 0 is not in the group"),
            (vec!["create", "remove", "remove"], "step 3: two members must remain"),
            (vec!["create", "batch"], "step 2: a batch takes a group of more than 4 members"),
            (vec!["create", "batch 65 1"], "step 2: at most 64 members"),
            (vec!["create", "batch 0 0"], "step 2: in a batch somebody joins"),
        ] {
            let mut plan = Plan::new(scheme("lkh-group").expect("in the catalogue"), 3);
            let step = |text: &&str| PlanStep { action: text.parse().expect(text), reported: true };
            plan.steps = actions.iter().map(step).collect();
            let error = plan.validate().expect_err("it cannot happen").to_string();
            assert!(error.starts_with(told), "{error}");
        }
    }

    fn device(name: &str) -> Arc<DeviceProfile> {
        Arc::new(DeviceProfile::named(name).expect("built in"))
    }
}
