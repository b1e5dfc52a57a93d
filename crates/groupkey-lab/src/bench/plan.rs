//! A plan: one scheme at one or more sizes, so many repetitions of each activity.

use std::sync::Arc;

use groupkey::catalogue::{Class, Configuration, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};

use super::Activity;
use crate::device::Device;
use crate::plan::{Plan, PlanError};

/// What is measured of a scheme. [`BenchPlan::new`] gives one to change.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// The workload that asks for it, for example `smart-city`.
    pub workload: String,
    /// The scheme.
    pub scheme: &'static Scheme,
    /// Its form.
    pub profile: Profile,
    /// Parameters that differ from the profile's.
    pub parameters: Vec<(String, u32)>,
    /// The algorithms.
    pub suite: Suite,
    /// How messages are protected.
    pub protection: Guard,
    /// What is measured; what the scheme does not have is left out.
    pub activities: Vec<Activity>,
    /// Bytes of the messages that are encrypted and decrypted.
    pub message_bytes: u32,
    /// Sizes of the group (members), ascending.
    pub members: Vec<u32>,
    /// Measured repetitions of each activity at each size; one that is not measured comes before them.
    pub repetitions: u32,
    /// Everything that a scheme draws follows from this.
    pub seed: u64,
    /// The device that counted costs are told for as well, with figures for the suite.
    pub device: Option<Arc<Device>>,
}

/// A workload of S002: whom it is for, and how large the groups are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// The classes of schemes that it is for. Others are not compared with them.
    pub classes: &'static [Class],
    /// The smallest group (members).
    pub k_min: u32,
    /// The largest.
    pub k_max: u32,
    /// From one size to the next.
    pub step: u32,
    /// Repetitions for each size.
    pub repetitions: u32,
}

impl BenchPlan {
    /// What S002 measures of a scheme, in the sound profile, at these sizes.
    pub fn new(scheme: &'static Scheme, members: Vec<u32>) -> Self {
        Self {
            workload: "custom".to_owned(),
            scheme,
            profile: Profile::default(),
            parameters: Vec::new(),
            suite: Suite::default(),
            protection: Guard::Mac,
            activities: Activity::GROUP.to_vec(),
            message_bytes: 40,
            members,
            repetitions: 30,
            seed: 1,
            device: None,
        }
    }

    /// Checks everything that can be checked without running. There must be at least one size.
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.repetitions == 0 {
            return Err(PlanError::Runs);
        }
        for &members in &self.members {
            self.setting(members).validate()?;
        }
        Ok(())
    }

    /// The activities that the scheme has, in their usual order.
    pub fn activities(&self) -> impl Iterator<Item = Activity> {
        Activity::ALL
            .into_iter()
            .filter(|activity| self.activities.contains(activity) && activity.is_of(self.scheme))
    }

    /// The sizes that the scheme takes; the others do not fit.
    pub fn fitting(&self) -> impl Iterator<Item = u32> {
        let (least, most) = self.scheme.members;
        self.members.iter().copied().filter(move |members| (least..=most).contains(members))
    }

    /// The scheme as it is run. The plan must be valid.
    pub(crate) fn configuration(&self) -> Result<Configuration, PlanError> {
        self.setting(self.scheme.members.0).configuration()
    }

    /// The plan of a network run that differs from this one by its network only: what it refuses, we
    /// refuse.
    fn setting(&self, members: u32) -> Plan {
        let mut plan = Plan::new(self.scheme, members);
        plan.profile = self.profile;
        plan.parameters.clone_from(&self.parameters);
        plan.steps = Plan::history(self.scheme, &[Operation::Create]);
        plan.suite = self.suite;
        if let Some(device) = &self.device {
            plan.device = Arc::clone(device);
        }
        plan
    }
}

impl Workload {
    /// Traffic lights of a city (S002, section 4.2.1): served schemes, hybrid ones with 55 subgroups.
    pub const SMART_CITY: Self = Self {
        name: "smart-city",
        classes: &[Class::Centralized, Class::Hybrid],
        k_min: 2,
        k_max: 55_000,
        step: 100,
        repetitions: 1_000,
    };

    /// Trucks that drive in a platoon (S002, section 6.2.1): members among themselves.
    pub const PLATOON: Self = Self {
        name: "platoon",
        classes: &[Class::Distributed],
        k_min: 2,
        k_max: 30,
        step: 1,
        repetitions: 1_000,
    };

    /// All of them.
    pub const ALL: [Self; 2] = [Self::SMART_CITY, Self::PLATOON];

    /// Its sizes, ascending.
    pub fn sizes(&self) -> Vec<u32> {
        (self.k_min..=self.k_max).step_by(self.step.max(1) as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    #[test]
    fn workloads_have_the_sizes_of_the_paper() {
        let city = Workload::SMART_CITY.sizes();
        assert_eq!((city.len(), city[0], city[1], city[549]), (550, 2, 102, 54_902));
        assert_eq!(Workload::PLATOON.sizes(), (2..=30).collect::<Vec<_>>());
    }

    #[test]
    fn plans_that_cannot_run_say_why() {
        let skdc = scheme("skdc").expect("in the catalogue");
        let plan = BenchPlan::new(skdc, vec![2, 10]);
        assert_eq!(plan.validate(), Ok(()));
        let refused = |plan: BenchPlan| plan.validate().expect_err("it cannot run").to_string();
        assert!(refused(BenchPlan { members: vec![1], ..plan.clone() }).contains("1"));
        assert!(refused(BenchPlan { repetitions: 0, ..plan.clone() }).contains("run"));
        let parameters = vec![("degree".to_owned(), 2)];
        assert!(refused(BenchPlan { parameters, ..plan }).contains("skdc"));
    }

    #[test]
    fn what_a_scheme_does_not_have_or_take_is_left_out() {
        let cka = scheme("cka").expect("in the catalogue");
        let plan = BenchPlan::new(cka, vec![5, 1_000_000]);
        assert_eq!(plan.activities().collect::<Vec<_>>(), [Activity::Create]);
        assert_eq!(plan.fitting().collect::<Vec<_>>(), [5]);
    }
}
