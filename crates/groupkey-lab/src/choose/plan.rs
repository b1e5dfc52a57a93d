//! The plan by which a candidate's changes are simulated, and the command that runs this plan.

use std::path::Path;
use std::sync::Arc;

use groupkey::Operation;
use groupkey::catalogue::Class;
use groupkey::protection::Guard;
use groupkey_choose::decision::{Assessment, Figure, Ground};
use groupkey_choose::requirements::{Devices, NetworkConditions};
use groupkey_choose::{Candidate, Grounds, Moment, Requirements, Variant};
use groupkey_sim::group::Rest;

use super::variants::suite_named;
use crate::conditions::{Conditions, LossDirection, OutageRate, Timeline};
use crate::device::{DeviceProfile, Radio};
use crate::plan::{Plan, PlanStep};
use crate::registry::scheme;

/// How often `groupkey choose` simulates each change of what it recommends, at most.
pub const RUNS: u32 = 400;
/// The seed with which it does.
pub const SEED: u64 = 1;

/// Returns the plan that simulates these operations of a candidate's group at a moment of its life,
/// when it has settled. `None` if there is no such candidate or device.
pub fn plan(
    requirements: &Requirements,
    candidate: &Candidate,
    moment: Moment,
    operations: &[Operation],
) -> Option<Plan> {
    let variant = &candidate.variant;
    let scheme = scheme(&variant.scheme)?;
    let of = &requirements.devices;
    let mut member = profile(of, &of.member)?;
    if let Some(radio) = &of.radio {
        member.radio = Some(self::radio(of, radio)?);
    }
    let mut plan = Plan {
        parameters: variant.parameters.clone().into_iter().collect(),
        suite: suite_named(&variant.suite)?,
        protection: Guard::named(&variant.guard)?,
        steps: PlanStep::history(scheme, operations),
        rest: Rest::Settled,
        qos: candidate.qos,
        device: Arc::new(member),
        controller_device: Arc::new(profile(of, &of.controller)?),
        subgroup_device: Arc::new(profile(of, &of.gateway)?),
        runs: RUNS,
        seed: SEED,
        ..Plan::new(scheme, moment.members)
    };
    plan.set_departed(moment.departed);
    let network = &requirements.network;
    plan.set_conditions(Conditions {
        loss_percent: network.loss,
        loss_direction: LossDirection::Both,
        burst_ms: network.burst.filter(|_| network.loss > 0.0),
        delay_ms: network.delay,
        jitter_ms: network.jitter,
        bandwidth_kbit_s: network.bandwidth,
        outages: outages(network),
    });
    Some(plan)
}

/// Returns the commands that make a candidate's figures again, each with what it shows. Figures that
/// were simulated in this many runs come out as they are.
pub fn commands(
    best: &Assessment,
    requirements: &Requirements,
    runs: u32,
) -> Vec<(&'static str, String)> {
    let Candidate { variant: Variant { scheme, parameters, suite, guard }, .. } = &best.candidate;
    let members = requirements.members.now.min(Plan::MOST_MEMBERS);
    let mut form =
        format!("--scheme {scheme} --members {members} --suite {suite} --protection {guard}");
    for (name, value) in parameters {
        form += &format!(" --set {name}={value}");
    }
    let operations = changes(requirements, &best.candidate, members);
    let names: Vec<&str> = operations.iter().map(|operation| operation.name()).collect();
    form += &format!(" --operation {}", names.join(","));
    let mut told = Vec::new();
    let departed = present(requirements, &best.candidate).departed;
    let moment = Moment { members, departed };
    // A benchmark's group has no past.
    if departed == 0 {
        let bench = format!("groupkey bench {form} {}", member(requirements));
        told.push(("what is counted and modelled", bench));
    } else {
        form += &format!(" --departed {departed}");
    }
    if let Some(plan) = plan(requirements, &best.candidate, moment, &operations) {
        let mut net = format!("groupkey net {form} {}", arguments(&plan, requirements));
        let is_simulated = |figure: &Figure| figure.ground == Ground::Simulated;
        if best.figures.iter().any(is_simulated) {
            net += &format!(" --runs {runs} --seed {}", plan.seed);
        }
        told.push(("time to completion, simulated", net));
    }
    told.push(("what it withstands", format!("groupkey audit --scheme {scheme} --profile sound")));
    told
}

pub(super) fn present(requirements: &Requirements, candidate: &Candidate) -> Moment {
    let members = &requirements.members;
    match scheme(&candidate.variant.scheme) {
        Some(scheme) => Moment::of_costs(scheme, members),
        None => Moment::fresh(members.now),
    }
}

/// Returns the moment at which limits must hold for a candidate.
pub(super) fn end(requirements: &Requirements, candidate: &Candidate) -> Moment {
    let members = &requirements.members;
    match scheme(&candidate.variant.scheme) {
        Some(scheme) => Moment::of_limits(scheme, members),
        None => Moment::fresh(members.at_most()),
    }
}

/// Returns the operations by which a candidate follows the changes of a group, in the order of a
/// [history](PlanStep::history).
pub(super) fn changes(
    requirements: &Requirements,
    candidate: &Candidate,
    members: u32,
) -> Vec<Operation> {
    let grounds = Grounds::shipped();
    let changes = grounds.changes(requirements, candidate, members).unwrap_or_default();
    let needed = |operation: &Operation| changes.iter().any(|(name, _)| name == operation.name());
    let known = [Operation::Add, Operation::Remove, Operation::Rekey, Operation::Batch];
    known.into_iter().filter(needed).collect()
}

/// Returns the arguments of `groupkey net` that make such a plan, behind those that tell the group
/// and the operations.
pub(super) fn arguments(plan: &Plan, requirements: &Requirements) -> String {
    let Timeline { initial: link, .. } = &plan.link;
    let of = &requirements.devices;
    let mut told = format!("{} --controller-device {}", member(requirements), of.controller);
    if plan.scheme.class() == Class::Hybrid {
        told += &format!(" --subgroup-device {}", of.gateway);
    }
    told += &format!(" --loss {}", link.loss_percent);
    if let Some(ms) = link.burst_ms {
        told += &format!(" --burst {ms}");
    }
    told += &format!(" --delay {} --jitter {}", link.delay_ms, link.jitter_ms);
    if let Some(rate) = link.bandwidth_kbit_s {
        told += &format!(" --bandwidth {rate}");
    }
    if let Some(OutageRate { per_hour, length_s }) = link.outages {
        told += &format!(" --outages {per_hour} --outage-length {length_s}");
    }
    format!("{told} --qos {}", plan.qos)
}

/// Returns how often links fail.
fn outages(network: &NetworkConditions) -> Option<OutageRate> {
    let (per_hour, length_s) = network.outages.zip(network.outage_length)?;
    Some(OutageRate { per_hour, length_s })
}

fn member(requirements: &Requirements) -> String {
    let Devices { member, radio, .. } = &requirements.devices;
    let radio = radio.as_ref().map_or_else(String::new, |radio| format!(" --radio {radio}"));
    format!("--device {member}{radio}")
}

/// Returns a device by its name: that of a file that was read, or of a built-in one.
fn profile(devices: &Devices, name: &str) -> Option<DeviceProfile> {
    match devices.text(name) {
        Some(text) => DeviceProfile::of_file(text, Path::new(name)).ok(),
        None => DeviceProfile::named(name),
    }
}

fn radio(devices: &Devices, name: &str) -> Option<Radio> {
    match devices.text(name) {
        Some(text) => Radio::from_toml(text).ok(),
        None => Radio::named(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_candidate_and_its_network() {
        let variant = Variant {
            scheme: "lkh-group".to_owned(),
            parameters: [("degree".to_owned(), 8)].into(),
            suite: "standard".to_owned(),
            guard: "mac".to_owned(),
        };
        let candidate = Candidate { variant, qos: 1 };
        let best = Assessment { candidate, cost: 1.5, error: 0.0, figures: Vec::new() };
        let commands = commands(&best, &Requirements::default(), RUNS);
        let [bench, net, audit] = &commands[..] else { panic!("{commands:?}") };
        let form = "--scheme lkh-group --members 100 --suite standard --protection mac \
                    --set degree=8 --operation add,remove";
        assert_eq!(bench.1, format!("groupkey bench {form} --device cortex-m4"));
        assert!(net.1.starts_with(&format!("groupkey net {form} ")), "{net:?}");
        assert!(net.1.ends_with("--loss 0 --delay 20 --jitter 0 --qos 1"), "{net:?}");
        assert_eq!(audit.1, "groupkey audit --scheme lkh-group --profile sound");
    }
}
