//! The schemes, operations and groups: the arguments of `groupkey net` that make plans.

use std::sync::Arc;

use clap::{Arg, Args};
use groupkey::Operation;
use groupkey::catalogue::{Class, Scheme};
use groupkey_lab::device::{DeviceProfile, Radio};
use groupkey_lab::plan::{BATCH, MOST_DEPARTURES, Plan, PlanAction, PlanStep};
use groupkey_sim::Duration;
use groupkey_sim::group::Rest;

use crate::commands::net::network::NetworkArguments;
use crate::commands::net::outages::OutageArguments;
use crate::commands::scheme_arguments::{
    FormArguments, HistoryArguments, ParameterArguments, SUITE_OF_PROFILE, defaulting,
};
use crate::failure::Failure;
use crate::number::distinct;
use crate::{number, value_parsers};

/// The schemes, the operations on their groups, and how they run.
#[derive(Args, Debug)]
#[command(
    next_help_heading = HEADING,
    mut_args(grouped),
    mut_arg("scheme", |scheme| scheme.default_value("lkh-group")),
    mut_arg("suite", |suite| defaulting(suite, SUITE_OF_PROFILE)),
    mut_arg("protection", |protection| defaulting(protection, PROTECTION_OF_SCHEME)),
)]
pub(crate) struct GroupArguments {
    #[command(flatten)]
    history: HistoryArguments,

    /// Members with which the group is created (2 to 100000, or the scheme's own limit) [default:
    /// 50; 2,10,20,30 without a controller]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = number::whole(2..=Plan::MOST_MEMBERS),
    )]
    members: Vec<u32>,

    /// Members that leave after the creation, each replaced by another one: what follows is measured
    /// in a group with a past [default: 0]. It matters to cs, sd and lsd.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        allow_negative_numbers = true,
        value_parser = number::whole(0..=MOST_DEPARTURES),
    )]
    departed: u32,

    /// Device of the members: a built-in one, or a file.
    #[arg(long, value_name = "NAME|FILE", default_value = "host", value_parser = value_parsers::device())]
    device: DeviceProfile,

    /// Radio of the members' device, in place of its own: what their messages take. It changes no
    /// time: give its rate and delay with --bandwidth and --delay.
    #[arg(long, value_name = "NAME|FILE", value_parser = value_parsers::radio())]
    radio: Option<Radio>,

    /// Device of the controller and the broker.
    #[arg(long, value_name = "NAME|FILE", default_value = "host", value_parser = value_parsers::device())]
    controller_device: DeviceProfile,

    /// Device of the subgroup controllers, in hybrid schemes [default: the controller's].
    #[arg(long, value_name = "NAME|FILE", value_parser = value_parsers::device())]
    subgroup_device: Option<DeviceProfile>,

    /// Members that join in a batch, which takes --operation batch [default: 2].
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::whole(0..=PlanAction::MOST_AT_ONCE),
    )]
    joining: Option<u32>,

    /// Members that leave in a batch, in the middle [default: 2].
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = number::whole(0..=PlanAction::MOST_AT_ONCE),
    )]
    leaving: Option<u32>,

    #[command(flatten)]
    form: FormArguments,

    #[command(flatten)]
    parameters: ParameterArguments,

    /// Bytes of the request that a member sends to join or leave, in schemes with a controller
    /// [default: none; the controller acts].
    #[arg(
        long,
        value_name = "BYTES",
        allow_negative_numbers = true,
        value_parser = number::whole(0..=Plan::MOST_REQUEST_BYTES),
    )]
    request: Option<u32>,

    /// MQTT exchanges that one end of a connection may have under way [default: 65535].
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u16).range(1..),
    )]
    max_in_flight: Option<u16>,

    /// Seconds between operations, after which the network still feels the operation before [default:
    /// hours, so that the group has settled]. Reproduced studies have 60.
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        value_parser = number::whole(0..=86_400),
    )]
    rest: Option<u32>,
}

impl GroupArguments {
    /// Returns a plan for each combination. A plan's operations are measured in the same runs.
    pub(crate) fn plans(
        &self,
        network: &NetworkArguments,
        outages: OutageArguments,
        runs: RunArguments,
    ) -> Result<Vec<Plan>, Failure> {
        outages.refuse_without_outages()?;
        let batch = self.batch()?;
        let schemes = value_parsers::each_once(&self.history.scheme);
        let is_hybrid = |scheme: &&Scheme| scheme.class() == Class::Hybrid;
        if self.subgroup_device.is_some() && !schemes.iter().any(is_hybrid) {
            return Err(Failure::input("--subgroup-device takes a scheme with subgroups")
                .with_help("hybrid schemes have some: groupkey schemes --class hybrid"));
        }
        let networks = network.combinations()?;
        let groups: usize = schemes.iter().map(|scheme| self.members_of(scheme).len()).sum();
        let combinations = groups as u64 * networks.len() as u64;
        refuse_a_slip(combinations, runs.runs())?;

        let mut device = self.device.clone();
        if let Some(radio) = &self.radio {
            device.radio = Some(radio.clone());
        }
        let (device, controller_device) =
            (Arc::new(device), Arc::new(self.controller_device.clone()));
        let subgroup_device = self.subgroup_device.clone().map(Arc::new);
        let subgroup_device = subgroup_device.unwrap_or_else(|| Arc::clone(&controller_device));
        let parameters = self.parameters.each_once()?;
        let mut plans = Vec::new();
        for scheme in schemes {
            for members in self.members_of(scheme) {
                for &(conditions, qos) in &networks {
                    let mut plan = Plan::new(scheme, members);
                    plan.steps = PlanStep::history(scheme, &self.history.operation);
                    let batches = plan.steps.iter_mut().filter(|s| s.action == PlanAction::BATCH);
                    batches.for_each(|step| step.action = batch);
                    plan.set_departed(self.departed);
                    plan.profile = self.form.profile;
                    plan.parameters.clone_from(&parameters);
                    plan.suite = self.form.suite();
                    plan.protection =
                        self.form.protection_or(|| scheme.default_protection(self.form.profile));
                    plan.set_conditions(conditions);
                    outages.apply(&mut plan);
                    plan.rest = self.rest();
                    plan.request_bytes = self.request;
                    plan.qos = qos;
                    plan.max_in_flight = self.max_in_flight.unwrap_or(plan.max_in_flight);
                    plan.device = Arc::clone(&device);
                    plan.controller_device = Arc::clone(&controller_device);
                    plan.subgroup_device = Arc::clone(&subgroup_device);
                    plan.runs = runs.runs();
                    plan.seed = runs.seed();
                    plans.push(plan);
                }
            }
        }
        // If some schemes have requests, the others run without. If no scheme has any, the option
        // is a mistake.
        if plans.iter().any(Plan::heeds_request) {
            let others = plans.iter_mut().filter(|plan| !plan.heeds_request());
            others.for_each(|plan| plan.request_bytes = None);
        }
        for plan in &plans {
            let refused = |error| Failure::input(format!("{}: {error}", plan.scheme.id));
            plan.validate().map_err(refused)?;
        }
        Ok(plans)
    }

    fn batch(&self) -> Result<PlanAction, Failure> {
        let is_given = self.joining.is_some() || self.leaving.is_some();
        if is_given && !self.history.operation.contains(&Operation::Batch) {
            return Err(Failure::input("--joining and --leaving say who is in a batch")
                .with_help("add --operation batch"));
        }
        let [joining, leaving] = [self.joining, self.leaving].map(|given| given.unwrap_or(BATCH));
        Ok(PlanAction::Batch { joining, leaving })
    }

    fn rest(&self) -> Rest {
        let idle = |seconds: u32| Rest::Idle(Duration::from_secs(seconds.into()));
        self.rest.map_or(Rest::Settled, idle)
    }

    /// Returns the numbers of members that were asked for, or the usual ones for a scheme.
    fn members_of(&self, scheme: &Scheme) -> Vec<u32> {
        match (&self.members[..], scheme.has_controller()) {
            ([], true) => vec![50],
            ([], false) => vec![2, 10, 20, 30],
            (chosen, _) => distinct(chosen).into_iter().copied().collect(),
        }
    }
}

pub(super) fn refuse_a_slip(combinations: u64, runs: u32) -> Result<(), Failure> {
    match combinations.checked_mul(runs.into()) {
        Some(all) if all <= Plan::MOST_RUNS.into() => Ok(()),
        _ => {
            let noun = if combinations == 1 { "combination" } else { "combinations" };
            let problem =
                format!("{combinations} {noun} of {runs} runs are too much for one command");
            Err(Failure::input(problem).with_help(format!(
                "stay within {} runs: shorter lists, or fewer --runs",
                Plan::MOST_RUNS
            )))
        }
    }
}

/// Puts the arguments under this heading into the group that other arguments exclude. clap's derive
/// leaves the group empty if arguments are flattened into it.
fn grouped(argument: Arg) -> Arg {
    match argument.get_help_heading() {
        Some(HEADING) => argument.group("GroupArguments"),
        _ => argument,
    }
}

const HEADING: &str = "Group";

const PROTECTION_OF_SCHEME: &str = "mac; signature in the sound form of distributed schemes";

/// How often each combination runs, and the seed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Runs")]
pub(crate) struct RunArguments {
    /// Runs of each combination [default: 30, or the scenario's].
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=u32::MAX),
    )]
    pub(super) runs: Option<u32>,

    /// Seed of the randomness [default: 1, or the scenario's].
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
}

impl RunArguments {
    /// Returns the runs of each combination, without a scenario.
    pub(super) fn runs(self) -> u32 {
        self.runs.unwrap_or(30)
    }

    /// Returns the seed, without a scenario.
    pub(super) fn seed(self) -> u64 {
        self.seed.unwrap_or(1)
    }
}
