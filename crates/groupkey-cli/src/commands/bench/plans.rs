//! The schemes, sizes and repetitions: the arguments of `groupkey bench` that make plans.

use std::sync::Arc;

use clap::Args;
use groupkey::catalogue::{Class, Scheme};
use groupkey::messages::Nonces;
use groupkey::protection::Guard;
use groupkey_lab::bench::growth::LEAST_SIZES;
use groupkey_lab::bench::workload::{Randomness, Sizes};
use groupkey_lab::bench::{Activity, BenchPlan, Unit, Workload, units};
use groupkey_lab::device::{DeviceProfile, Radio};
use groupkey_lab::registry;

use crate::commands::scheme_arguments::SelectionArguments;
use crate::commands::scheme_arguments::{
    FormArguments, ParameterArguments, SUITE_OF_PROFILE, defaulting,
};
use crate::failure::Failure;
use crate::number::{self, distinct};
use crate::value_parsers;

/// The settings of the measurement.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Measurement",
    mut_arg("scheme", |scheme| scheme.help(SCHEME)),
    mut_arg("suite", |suite| defaulting(suite, SUITE_OF_PROFILE)),
    mut_arg("protection", |protection| defaulting(protection, "mac; none with --growth")),
)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    selection: SelectionArguments,

    /// Take schemes, sizes, roles, operations and repetitions from a workload: a published one, or
    /// a file (.toml, or with a slash). Other arguments narrow it down.
    #[arg(long, value_name = "NAME|FILE", value_parser = value_parsers::workload())]
    workload: Option<Workload>,

    /// Members of the group [default: 10,100,1000; 2,10,20,30 without a controller].
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::whole(2..=MOST_MEMBERS),
        conflicts_with_all = ["k_min", "k_max", "step"],
    )]
    members: Vec<u32>,

    /// Smallest group of a range of sizes [default: the workload's; without one, smart-city's, or
    /// platoon's for schemes without a controller].
    #[arg(long, value_name = "N", value_parser = number::whole(2..=MOST_MEMBERS))]
    k_min: Option<u32>,

    /// Largest group of a range of sizes [default: likewise, which is 55,000 or 30
    /// without a workload].
    #[arg(long, value_name = "N", value_parser = number::whole(2..=MOST_MEMBERS))]
    k_max: Option<u32>,

    /// Step from one size to the next [default: likewise, which is 100 or 1 without a workload].
    #[arg(
        long,
        value_name = "N",
        value_parser = number::whole(1..=u32::MAX),
        allow_negative_numbers = true,
    )]
    step: Option<u32>,

    /// Operations to measure [default: create,add,remove, or the workload's].
    #[arg(
        long,
        value_name = "OPERATION",
        value_delimiter = ',',
        value_parser = value_parsers::activity(),
    )]
    operation: Vec<Activity>,

    /// Measured repetitions of each operation at each size [default: 30, or the workload's].
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=u32::MAX),
    )]
    repetitions: Option<u32>,

    /// Bytes of a message, for encrypt and decrypt [default: 40, or the workload's].
    #[arg(
        long,
        value_name = "B",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(..=MOST_BYTES),
    )]
    bytes: Option<u32>,

    /// How messages get their nonces, for encrypt and decrypt.
    #[arg(long, value_name = "NONCES", default_value = "counter", value_parser = value_parsers::nonces())]
    nonces: Nonces,

    /// Also report the counted cost on this device, built in or from a file (modelled, not
    /// measured).
    #[arg(long, value_name = "NAME|FILE", value_parser = value_parsers::device())]
    device: Option<DeviceProfile>,

    /// Radio of that device, in place of its own: energy of messages, and of waking up for them
    /// (modelled).
    #[arg(
        long,
        value_name = "NAME|FILE",
        requires = "device",
        value_parser = value_parsers::radio(),
    )]
    radio: Option<Radio>,

    #[command(flatten)]
    form: FormArguments,

    #[command(flatten)]
    parameters: ParameterArguments,

    /// Seed of everything that schemes draw.
    #[arg(long, value_name = "SEED", default_value = "1", allow_negative_numbers = true)]
    seed: u64,

    /// After the rows, print how each role's counted cost of an operation grows with the group.
    /// The form that the catalogue states for unprotected messages stands beside it. Takes four
    /// sizes or more.
    #[arg(long)]
    pub(super) growth: bool,
}

/// Schemes that were asked for and have no plan.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// Those that have none of the activities that are asked for.
    idle: Vec<&'static str>,
    /// Notes that name those that cannot run in the suite.
    unsuited: Vec<String>,
}

/// Most members of a measured group: no scheme's key server holds more in memory.
const MOST_MEMBERS: u32 = 1 << 24;

/// Most bytes of a signed message to the group.
const MOST_BYTES: i64 = 65_459;

/// More repetitions than this in one command count as a typing error.
const MOST_REPETITIONS: u64 = 100_000_000;

const SCHEME: &str = "Schemes, by their ids [default: lkh-group, or all of the workload's classes]";

impl PlanArguments {
    fn device(&self) -> Option<DeviceProfile> {
        let mut device = self.device.clone()?;
        if let Some(radio) = &self.radio {
            device.radio = Some(radio.clone());
        }
        Some(device)
    }

    pub(crate) fn plans(&self) -> Result<(Vec<BenchPlan>, LeftOut), Failure> {
        let workload = self.narrowed()?;
        let parameters = self.parameters.each_once()?;
        let (schemes, unsuited) = self.selection.suited(self.schemes()?, self.form.suite())?;
        let mut plans = Vec::new();
        for scheme in schemes {
            let like = BenchPlan {
                profile: self.form.profile,
                parameters: parameters.clone(),
                suite: self.form.suite(),
                protection: self.form.protection_or(|| match self.growth {
                    true => Guard::None,
                    false => Guard::Mac,
                }),
                nonces: self.nonces,
                seed: self.seed,
                device: self.device().map(Arc::new),
                ..BenchPlan::new(scheme, Vec::new())
            };
            self.check(&like)?;
            let mut of_scheme = match &workload {
                Some(workload) => workload.plans(&like),
                None => vec![self.custom(like)],
            };
            let sizes = self.sizes(scheme)?;
            if self.growth && sizes.len() < LEAST_SIZES {
                let problem =
                    format!("--growth takes {LEAST_SIZES} sizes or more to tell forms apart");
                return Err(Failure::input(problem)
                    .with_help("as in --members 7,15,31,63,127,255, or without --members"));
            }
            of_scheme.iter_mut().for_each(|plan| plan.members.clone_from(&sizes));
            of_scheme.first().map_or(Ok(()), |plan| self.check(plan))?;
            plans.extend(of_scheme);
        }
        // Only a plan with an activity is worth a table.
        let (plans, others): (Vec<BenchPlan>, Vec<BenchPlan>) =
            plans.into_iter().partition(|plan| plan.activities().next().is_some());
        let mut idle: Vec<_> = others.iter().map(|plan| plan.scheme.id).collect();
        idle.retain(|id| plans.iter().all(|plan| plan.scheme.id != *id));
        idle.dedup();
        let has_messages = |plan: &BenchPlan| plan.activities().any(|it| it.operation().is_none());
        if self.bytes.is_some() && !plans.iter().any(has_messages) {
            return Err(Failure::input(
                "--bytes is about messages between members, and there are none",
            )
            .with_help("add --operation encrypt,decrypt, or leave it out"));
        }
        if plans.is_empty() {
            let asked: Vec<_> = self.operation.iter().map(|activity| activity.name()).collect();
            return Err(match asked.is_empty() {
                true => Failure::input("none of the schemes has an operation of the workload"),
                false => Failure::input(format!("none of the schemes has {}", asked.join(", "))),
            }
            .with_help("`groupkey schemes` lists the operations of each"));
        }
        let units = units(&plans);
        if units.is_empty() {
            let problem = "none of the schemes takes a group of any of these sizes";
            return Err(Failure::input(problem).with_help("`groupkey schemes ID` has the limits"));
        }
        let repetitions: u64 = units
            .iter()
            .map(|Unit { plan, .. }| plan.activities().count() as u64 * u64::from(plan.repetitions))
            .sum();
        if repetitions > MOST_REPETITIONS {
            let problem = format!("{repetitions} repetitions in all are too much for one command");
            return Err(Failure::input(problem)
                .with_help(format!("stay within {MOST_REPETITIONS} repetitions in all")));
        }
        Ok((plans, LeftOut { idle, unsuited }))
    }

    pub(crate) fn name(&self) -> String {
        self.workload.as_ref().map_or("custom", |workload| &workload.name).to_owned()
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the plan of a scheme without a workload.
    fn custom(&self, like: BenchPlan) -> BenchPlan {
        BenchPlan {
            activities: match self.operation.is_empty() {
                true => like.activities.clone(),
                false => self.operation.clone(),
            },
            message_bytes: self.bytes.unwrap_or(like.message_bytes),
            repetitions: self.repetitions.unwrap_or(like.repetitions),
            ..like
        }
    }

    fn narrowed(&self) -> Result<Option<Workload>, Failure> {
        let Some(mut workload) = self.workload.clone() else { return Ok(None) };
        if workload.randomness == Randomness::Fresh {
            let problem = format!("the workload {} asks for fresh random values", workload.name);
            return Err(Failure::input(problem).with_help(
                "bench computes on static variables only: randomness = \"static\", and another --seed \
                 for other values",
            ));
        }
        workload.patterns.retain(|pattern| {
            let activity = pattern.action.activity();
            let is_chosen = |activity| self.operation.contains(&activity);
            let bytes = pattern.action.message_bytes();
            (self.operation.is_empty() || activity.is_some_and(is_chosen))
                && (self.bytes.is_none() || bytes.is_none() || bytes == self.bytes)
        });
        if workload.patterns.is_empty() {
            let problem = format!("the workload {} has none of these operations", workload.name);
            return Err(Failure::input(problem)
                .with_help("without --operation and --bytes you get all that it does"));
        }
        if let Some(repetitions) = self.repetitions {
            workload.patterns.iter_mut().for_each(|pattern| pattern.repetitions = repetitions);
        }
        Ok(Some(workload))
    }

    fn schemes(&self) -> Result<Vec<&'static Scheme>, Failure> {
        let of = |classes: &[Class]| -> Vec<&'static Scheme> {
            registry::schemes().filter(|scheme| classes.contains(&scheme.class())).collect()
        };
        let schemes = match (&self.selection.scheme[..], &self.selection.class[..], &self.workload)
        {
            ([], [], Some(workload)) => of(&workload.classes),
            ([], [], None) => registry::schemes().filter(|it| it.id == "lkh-group").collect(),
            ([], classes, _) => of(classes),
            (schemes, ..) => value_parsers::each_once(schemes),
        };
        let Some(workload) = &self.workload else { return Ok(schemes) };
        match schemes.iter().find(|scheme| !workload.classes.contains(&scheme.class())) {
            Some(scheme) => {
                let classes: Vec<_> = workload.classes.iter().map(|class| class.name()).collect();
                Err(Failure::input(format!(
                    "{} is {}, and the workload {} is for {} schemes",
                    scheme.id,
                    scheme.class().name(),
                    workload.name,
                    classes.join(" and ")
                ))
                .with_help(
                    "smart-city is for schemes with a controller, platoon for those without",
                ))
            }
            None => Ok(schemes),
        }
    }

    /// Returns the sizes that were asked for, or the workload's, or the usual ones for a scheme.
    fn sizes(&self, scheme: &Scheme) -> Result<Vec<u32>, Failure> {
        if !self.members.is_empty() {
            let mut members: Vec<u32> = distinct(&self.members).into_iter().copied().collect();
            members.sort_unstable();
            return Ok(members);
        }
        let of_range = (self.k_min, self.k_max, self.step) != (None, None, None);
        if self.workload.is_none() && !of_range {
            return Ok(match (self.growth, scheme.class()) {
                (false, Class::Distributed) => vec![2, 10, 20, 30],
                (false, Class::Centralized | Class::Hybrid) => vec![10, 100, 1_000],
                // Full trees; with a controller, trees that a joining member makes full.
                (true, Class::Distributed) => vec![4, 8, 16, 32, 64],
                (true, Class::Centralized) => vec![7, 15, 31, 63, 127, 255],
                // Ten or more members in each of 55 subgroups.
                (true, Class::Hybrid) => vec![550, 1_100, 1_650, 2_200, 3_300],
            });
        }
        let usual = || match scheme.class() {
            Class::Distributed => Workload::named("platoon"),
            Class::Centralized | Class::Hybrid => Workload::named("smart-city"),
        };
        let range = self.workload.clone().or_else(usual).expect("both are built in").members;
        let min = self.k_min.unwrap_or(range.min);
        let max = self.k_max.unwrap_or(range.max);
        let step = self.step.unwrap_or(range.step);
        if min > max {
            return Err(Failure::input(format!("--k-min {min} is above --k-max {max}")));
        }
        Ok(Sizes { min, max, step }.all().collect())
    }

    /// Refuses a plan that no size could run. Sizes that do not fit are left out instead.
    fn check(&self, plan: &BenchPlan) -> Result<(), Failure> {
        let smallest = plan.scheme.members.0;
        let alone = BenchPlan { members: vec![smallest], ..plan.clone() };
        let refused = |error| Failure::input(format!("{}: {error}", plan.scheme.id));
        alone.validate().map_err(refused)
    }
}

/// Returns what was asked for and is not measured, because the schemes do not take it.
pub(crate) fn left_out(plans: &[BenchPlan], schemes: &LeftOut) -> Vec<String> {
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
    let mut notes: Vec<String> = plans.iter().filter_map(of_plan).collect();
    // All plans of a scheme have the same sizes.
    notes.dedup();
    let LeftOut { idle, unsuited } = schemes;
    if !idle.is_empty() {
        notes.push(format!("left out, without any of these operations: {}", idle.join(", ")));
    }
    notes.extend(unsuited.iter().cloned());
    notes
}
