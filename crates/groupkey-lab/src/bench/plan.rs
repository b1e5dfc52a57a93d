//! A plan: one scheme at one or more sizes, with a number of repetitions of each activity.

use std::sync::Arc;

use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::messages::Nonces;
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};
use sha2::{Digest, Sha256};

use super::{Activity, BenchRow, Function};
use crate::device::DeviceProfile;
use crate::plan::{Plan, PlanError, PlanStep};

/// What is measured of a scheme. [`BenchPlan::new`] gives a plan to change.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// The workload that asks for the plan, for example `smart-city`.
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
    /// The activities to measure. Those that the scheme does not have are left out.
    pub activities: Vec<Activity>,
    /// The functions of these activities to report; all of them if none is named.
    pub functions: Vec<Function>,
    /// Bytes of the messages that are encrypted and decrypted.
    pub message_bytes: u32,
    /// How these messages get their nonces.
    pub nonces: Nonces,
    /// Sizes of the group (members), ascending.
    pub members: Vec<u32>,
    /// Measured repetitions of each activity at each size. A repetition that is not measured comes
    /// before each round of them.
    pub repetitions: u32,
    /// Seed of everything that a scheme draws.
    pub seed: u64,
    /// The device for which counted costs are also reported, if it has figures for the suite.
    pub device: Option<Arc<DeviceProfile>>,
}

impl BenchPlan {
    /// Returns a plan of what S002 measures of a scheme, in the sound profile, at these sizes.
    pub fn new(scheme: &'static Scheme, members: Vec<u32>) -> Self {
        Self {
            workload: "custom".to_owned(),
            scheme,
            profile: Profile::default(),
            parameters: Vec::new(),
            suite: Suite::Standard,
            protection: Guard::Mac,
            activities: Activity::GROUP.to_vec(),
            functions: Vec::new(),
            message_bytes: 40,
            nonces: Nonces::default(),
            members,
            repetitions: 30,
            seed: 1,
            device: None,
        }
    }

    /// Returns a stable text of everything that the plan's rows depend on.
    pub fn key(&self) -> String {
        let Self { workload, scheme, parameters, functions, members, device, .. } = self;
        let activities: Vec<_> = self.activities().map(Activity::name).collect();
        let functions = functions.iter().map(|&Function { role, activity, phase }| {
            format!("{} {} {}", role.name(), activity.name(), phase.name())
        });
        format!(
            "{workload:?}, {}, {} profile, {} suite, {} protection, parameters {parameters:?}, {}, \
             functions {:?}, messages of {} bytes with {} nonces, members {members:?}, {} repetitions, seed {}, \
             device {:?}",
            scheme.id,
            self.profile.name(),
            self.suite.name(),
            self.protection.name(),
            activities.join(" "),
            functions.collect::<Vec<_>>(),
            self.message_bytes,
            self.nonces.name(),
            self.repetitions,
            self.seed,
            device.as_ref().map(|device| device.to_toml()),
        )
    }

    /// Returns a digest of the [keys](Self::key) of all plans, for [`BenchHeader::plans`].
    ///
    /// [`BenchHeader::plans`]: super::BenchHeader::plans
    pub fn digest(plans: &[Self]) -> String {
        let mut digest = Sha256::new();
        for plan in plans {
            digest.update(plan.key());
            digest.update("\n");
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
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

    /// Returns the plan's activities that the scheme has, in their usual order.
    pub fn activities(&self) -> impl Iterator<Item = Activity> {
        Activity::ALL
            .into_iter()
            .filter(|activity| self.activities.contains(activity) && activity.is_of(self.scheme))
    }

    pub(crate) fn asks_for(&self, row: &BenchRow) -> bool {
        let is_of = |&Function { role, activity, phase }: &Function| {
            (role.name(), activity.name(), phase.name())
                == (&*row.role, &*row.operation, &*row.phase)
        };
        self.functions.is_empty() || self.functions.iter().any(is_of)
    }

    /// Returns the sizes that the scheme takes. The others do not fit.
    pub fn fitting(&self) -> impl Iterator<Item = u32> {
        let (least, most) = self.scheme.members;
        self.members.iter().copied().filter(move |members| (least..=most).contains(members))
    }

    /// Returns the scheme as it is run. The plan must be valid.
    pub(crate) fn configuration(&self) -> Result<Configuration, PlanError> {
        self.setting(self.scheme.members.0).configuration()
    }

    /// Returns the plan of a network run that differs from this plan only by its network. A
    /// benchmark refuses what the network run refuses.
    fn setting(&self, members: u32) -> Plan {
        let mut plan = Plan::new(self.scheme, members);
        plan.profile = self.profile;
        plan.parameters.clone_from(&self.parameters);
        plan.steps = PlanStep::history(self.scheme, &[Operation::Create]);
        plan.suite = self.suite;
        if let Some(device) = &self.device {
            plan.device = Arc::clone(device);
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

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
    fn whatever_changes_the_rows_changes_the_digest() {
        type Change = fn(&mut BenchPlan);
        let changes: [Change; 13] = [
            |_| (),
            |plan| plan.workload.push('x'),
            |plan| plan.scheme = scheme("skdc").expect("in the catalogue"),
            |plan| plan.profile = Profile::Published,
            |plan| plan.parameters = vec![("degree".to_owned(), 2)],
            |plan| plan.suite = Suite::Published,
            |plan| plan.protection = Guard::None,
            |plan| plan.activities.truncate(2),
            |plan| plan.message_bytes += 1,
            |plan| plan.nonces = Nonces::Synthetic,
            |plan| plan.repetitions += 1,
            |plan| plan.seed += 1,
            |plan| plan.device = DeviceProfile::named("host").map(Arc::new),
        ];
        let lkh = scheme("lkh-group").expect("in the catalogue");
        let plan = BenchPlan::new(lkh, vec![2, 10]);
        let digests = changes.map(|change| {
            let mut plan = plan.clone();
            change(&mut plan);
            BenchPlan::digest(&[plan])
        });
        assert!(digests.iter().all(|digest| digest.len() == 64));
        let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(distinct.len(), changes.len());
        assert_ne!(BenchPlan::digest(&[plan.clone(), plan]), digests[0]);
    }

    #[test]
    fn what_a_scheme_does_not_have_or_take_is_left_out() {
        let cka = scheme("cka").expect("in the catalogue");
        let plan = BenchPlan::new(cka, vec![5, 1_000_000]);
        assert_eq!(plan.activities().collect::<Vec<_>>(), [Activity::Create]);
        assert_eq!(plan.fitting().collect::<Vec<_>>(), [5]);
    }
}
