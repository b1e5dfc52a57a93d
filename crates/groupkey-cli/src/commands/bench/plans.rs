//! Which schemes, sizes and repetitions: the arguments of `groupkey bench` that make plans.

use std::sync::Arc;

use clap::Args;
use groupkey::Suite;
use groupkey::catalogue::{Class, Profile, SCHEMES, Scheme};
use groupkey::protection::Guard;
use groupkey_lab::bench::{Activity, BenchPlan, Workload, units};
use groupkey_lab::device::Device;

use crate::failure::Failure;
use crate::number::distinct;
use crate::{choice, number};

/// What is measured.
#[derive(Args, Debug)]
#[command(next_help_heading = "Measurement")]
pub(crate) struct PlanArguments {
    /// Schemes, by their ids [default: lkh-group, or all of the workload's classes].
    #[arg(
        long,
        value_name = "ID",
        value_delimiter = ',',
        value_parser = choice::scheme(),
        conflicts_with = "class",
    )]
    scheme: Vec<&'static Scheme>,

    /// All schemes of these classes.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = choice::class())]
    class: Vec<Class>,

    /// Schemes, sizes and repetitions of a published workload; other arguments narrow it down.
    #[arg(long, value_name = "NAME", value_parser = choice::workload())]
    workload: Option<Workload>,

    /// Members of the group [default: 10,100,1000; 2,10,20,30 without a controller].
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(2..=MOST_MEMBERS),
        conflicts_with_all = ["k_min", "k_max", "step"],
    )]
    members: Vec<u32>,

    /// Smallest group of a range of sizes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_MEMBERS))]
    k_min: Option<u32>,

    /// Largest group of a range of sizes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_MEMBERS))]
    k_max: Option<u32>,

    /// From one size to the next.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    step: Option<u32>,

    /// What is measured.
    #[arg(
        long,
        value_name = "OPERATION",
        value_delimiter = ',',
        default_value = "create,add,remove",
        value_parser = choice::activity(),
    )]
    operation: Vec<Activity>,

    /// Measured repetitions of each operation at each size [default: 30, or the workload's].
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    repetitions: Option<u32>,

    /// Bytes of a message, for encrypt and decrypt.
    #[arg(
        long,
        value_name = "B",
        default_value = "40",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(..=MOST_BYTES),
    )]
    bytes: u32,

    /// Tell the counted cost on this device as well (modelled, not measured).
    #[arg(long, value_name = "NAME", value_parser = choice::device())]
    device: Option<Device>,

    /// Which form of the schemes.
    #[arg(long, value_name = "FORM", default_value = "sound", value_parser = choice::profile())]
    profile: Profile,

    /// Which algorithms [default: standard; published in the published form].
    #[arg(long, value_name = "NAME", value_parser = choice::suite())]
    suite: Option<Suite>,

    /// How messages are protected.
    #[arg(long, value_name = "KIND", default_value = "mac", value_parser = choice::protection())]
    protection: Guard,

    /// Sets a parameter of the schemes, for example degree=2.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = number::parameter)]
    set: Vec<(String, u32)>,

    /// Everything that schemes draw follows from this.
    #[arg(long, value_name = "SEED", default_value = "1", allow_negative_numbers = true)]
    seed: u64,
}

/// More members than any scheme's key server holds in memory are not measured.
const MOST_MEMBERS: i64 = 1 << 24;

/// What a signed message to the group can have.
const MOST_BYTES: i64 = 65_459;

/// More repetitions than this in one command are taken for a slip of the keyboard.
const MOST_REPETITIONS: u64 = 100_000_000;

impl PlanArguments {
    /// A plan for each scheme, at all sizes.
    pub(crate) fn plans(&self) -> Result<Vec<BenchPlan>, Failure> {
        let mut plans = Vec::new();
        for scheme in self.schemes()? {
            let plan = BenchPlan {
                workload: self.name(),
                profile: self.profile,
                parameters: self.set.clone(),
                suite: self.suite.unwrap_or_else(|| self.usual_suite()),
                protection: self.protection,
                activities: self.operation.clone(),
                message_bytes: self.bytes,
                repetitions: self.repetitions(),
                seed: self.seed,
                device: self.device.clone().map(Arc::new),
                ..BenchPlan::new(scheme, self.sizes(scheme)?)
            };
            self.check(&plan)?;
            plans.push(plan);
        }
        // Only what somebody can do is worth a table.
        plans.retain(|plan| plan.activities().next().is_some());
        if plans.is_empty() {
            let asked: Vec<_> = self.operation.iter().map(|activity| activity.name()).collect();
            return Err(Failure::input(format!("none of the schemes has {}", asked.join(", ")))
                .with_help("`groupkey schemes` lists the operations of each"));
        }
        let units = units(&plans);
        let operations: u64 = units.iter().map(|unit| unit.plan.activities().count() as u64).sum();
        if units.is_empty() {
            let problem = "none of the schemes takes a group of any of these sizes";
            return Err(Failure::input(problem).with_help("`groupkey schemes ID` has the limits"));
        }
        match operations.checked_mul(self.repetitions().into()) {
            Some(repetitions) if repetitions <= MOST_REPETITIONS => Ok(plans),
            _ => Err(Failure::input(format!(
                "{operations} operations of {} repetitions are too much for one command",
                self.repetitions()
            ))
            .with_help(format!("stay within {MOST_REPETITIONS} repetitions in all"))),
        }
    }

    /// The workload's name.
    pub(crate) fn name(&self) -> String {
        self.workload.map_or("custom", |workload| workload.name).to_owned()
    }

    /// What everything drawn follows from.
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    fn schemes(&self) -> Result<Vec<&'static Scheme>, Failure> {
        let classes = self.workload.map_or(&[][..], |workload| workload.classes);
        let mut schemes: Vec<&'static Scheme> = Vec::new();
        if !self.scheme.is_empty() {
            for scheme in &self.scheme {
                if schemes.iter().all(|known| known.id != scheme.id) {
                    schemes.push(scheme);
                }
            }
        } else if !self.class.is_empty() {
            schemes.extend(SCHEMES.iter().filter(|scheme| self.class.contains(&scheme.class)));
        } else if self.workload.is_some() {
            schemes.extend(SCHEMES.iter().filter(|scheme| classes.contains(&scheme.class)));
        } else {
            schemes.extend(SCHEMES.iter().filter(|scheme| scheme.id == "lkh-group"));
        }
        let stranger = schemes.iter().find(|scheme| !classes.contains(&scheme.class));
        match (self.workload, stranger) {
            (Some(workload), Some(scheme)) => Err(Failure::input(format!(
                "{} is {}, and the workload {} is not for that",
                scheme.id,
                scheme.class.name(),
                workload.name
            ))
            .with_help("smart-city is for schemes with a controller, platoon for those without")),
            _ => Ok(schemes),
        }
    }

    /// As asked for, or the workload's, or what is usual for a scheme.
    fn sizes(&self, scheme: &Scheme) -> Result<Vec<u32>, Failure> {
        if !self.members.is_empty() {
            let mut members: Vec<u32> = distinct(&self.members).into_iter().copied().collect();
            members.sort_unstable();
            return Ok(members);
        }
        let usual = match scheme.class {
            Class::Distributed => Workload::PLATOON,
            Class::Centralized | Class::Hybrid => Workload::SMART_CITY,
        };
        if (self.workload, self.k_min, self.k_max, self.step) == (None, None, None, None) {
            return Ok(match scheme.class {
                Class::Distributed => vec![2, 10, 20, 30],
                Class::Centralized | Class::Hybrid => vec![10, 100, 1_000],
            });
        }
        let range = self.workload.unwrap_or(usual);
        let range = Workload {
            k_min: self.k_min.unwrap_or(range.k_min),
            k_max: self.k_max.unwrap_or(range.k_max),
            step: self.step.unwrap_or(range.step),
            ..range
        };
        if range.k_min > range.k_max {
            let Workload { k_min, k_max, .. } = range;
            return Err(Failure::input(format!("--k-min {k_min} is above --k-max {k_max}")));
        }
        Ok(range.sizes())
    }

    fn repetitions(&self) -> u32 {
        let usual = self.workload.map_or(30, |workload| workload.repetitions);
        self.repetitions.unwrap_or(usual)
    }

    const fn usual_suite(&self) -> Suite {
        match self.profile {
            Profile::Published => Suite::Published,
            Profile::Sound => Suite::Standard,
        }
    }

    /// Refuses what no size could run; sizes that do not fit are left out instead.
    fn check(&self, plan: &BenchPlan) -> Result<(), Failure> {
        let smallest = plan.scheme.members.0;
        let alone = BenchPlan { members: vec![smallest], ..plan.clone() };
        let refused = |error| Failure::input(format!("{}: {error}", plan.scheme.id));
        alone.validate().map_err(refused)
    }
}

/// What was asked for and is not measured, because the scheme does not take it.
pub(crate) fn left_out(plans: &[BenchPlan]) -> Vec<String> {
    let of_plan = |plan: &BenchPlan| {
        let missing = plan.members.len() - plan.fitting().count();
        let (least, most) = plan.scheme.members;
        (missing > 0).then(|| {
            format!(
                "{} takes {least} to {most} members: {missing} of {} sizes are left out",
                plan.scheme.id,
                plan.members.len()
            )
        })
    };
    plans.iter().filter_map(of_plan).collect()
}
