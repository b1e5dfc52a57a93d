//! What `choose` simulates and what the command says that it prints are the same figures.

use std::slice;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use groupkey_choose::decision::{Assessment, Ground, Quantity};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::requirements::{
    Devices, EXAMPLES, Members, NetworkConditions, RequirementsDraft, Security,
};
use groupkey_choose::{Candidate, Grounds, Requirements, recommend_on};
use groupkey_lab::campaign::{self, CampaignOptions};
use groupkey_lab::choose::{MeasureError, MeasureOptions, RUNS, SEED, commands, measure};
use groupkey_lab::plan::Plan;
use groupkey_lab::results::NetworkRow;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::arguments::{Cli, CliCommand};
use crate::commands::net;

static GOING_ON: AtomicBool = AtomicBool::new(false);

/// Slow links, of which TCP's estimates know nothing after hours of keep-alives.
#[test]
fn the_printed_command_agrees_with_400_members_on_slow_links() {
    let mut draft = RequirementsDraft::default();
    for setting in [
        "members.now=400",
        "network.loss=2",
        "network.delay=60",
        "network.qos=1",
        "network.bandwidth=300",
    ] {
        draft.set(setting.parse().expect("a field")).expect("it fits");
    }
    recommended_agrees(&draft.finish().expect("it fits"));
}

#[test]
fn the_printed_command_agrees_with_the_plant() {
    let (_, plant) = EXAMPLES.into_iter().find(|(name, _)| *name == "plant").expect("built in");
    let draft = RequirementsDraft::parse(plant, "plant".as_ref(), &()).expect("it can be read");
    recommended_agrees(&draft.finish().expect("it fits"));
}

fn recommended_agrees(requirements: &Requirements) {
    let best = recommend_on(requirements, &Grounds::shipped()).expect("no mistakes");
    let candidate = best.expect("something fits").candidate;
    assert_eq!(agreement(requirements, &candidate, 30), Some(Agreement::Exact));
}

/// Any candidate in any network, with bursts and outages, too.
#[test]
fn printed_commands_agree_with_what_is_measured() {
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 20, failure_persistence: None, ..Config::default() },
        TestRunner::deterministic().new_rng(),
    );
    let found = std::cell::RefCell::new([0; 2]);
    let drawn = (requirements(), any::<prop::sample::Index>(), 0_u8..3, any::<bool>());
    runner
        .run(&drawn, |(requirements, variant, qos, signs)| {
            let mut known = Evidence::shipped().known().iter().collect::<Vec<_>>();
            known.sort_by_key(|known| &known.variant);
            let mut variant = variant.get(&known).variant.clone();
            variant.guard = if signs { "signature" } else { "mac" }.to_owned();
            let qos = requirements.network.qos.unwrap_or(qos);
            match agreement(&requirements, &Candidate { variant, qos }, 12) {
                Some(Agreement::Exact) => found.borrow_mut()[0] += 1,
                Some(Agreement::Within) => found.borrow_mut()[1] += 1,
                None => {}
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    let [exact, within] = found.into_inner();
    assert!(exact >= 5 && exact >= within, "{exact} exact, {within} within their intervals");
}

#[derive(Debug, PartialEq)]
enum Agreement {
    /// The same to the nanosecond.
    Exact,
    /// Members that hear several senders may take other steps in another order.
    Within,
}

/// Simulates a candidate as `choose` does and as the printed command does, both this often.
/// `None` if it cannot be.
///
/// # Panics
/// If they disagree.
fn agreement(requirements: &Requirements, candidate: &Candidate, runs: u32) -> Option<Agreement> {
    // What was not counted at this size is never recommended.
    let changes = Grounds::shipped().changes(requirements, candidate, requirements.members.now)?;
    let options =
        MeasureOptions { seed: SEED, runs, threads: 1, stop: &GOING_ON, on_progress: &|_, _| () };
    let measured = match measure(requirements, slice::from_ref(candidate), &options) {
        Ok(mut measured) => measured.remove(0).assessment,
        Err(MeasureError::Candidate(_)) => return None,
        Err(error) => panic!("{error} ({requirements:?})"),
    };
    let told = measured.figure(Quantity::Completion).expect("it was simulated");
    assert_eq!(told.ground, Ground::Simulated);
    let (command, rows) = printed(&measured, requirements, runs);

    let all: f64 = changes.iter().map(|(_, rate)| rate).sum();
    let share = |rate: f64| if all > 0.0 { rate / all } else { 1.0 / changes.len() as f64 };
    assert_eq!(rows.len(), changes.len(), "{command}");
    let (mut mean, mut variance) = (0.0, 0.0);
    for (operation, rate) in &changes {
        let row = rows.iter().find(|row| row.setting.operation == *operation);
        let row = row.unwrap_or_else(|| panic!("{operation} is not in {command}"));
        mean += share(*rate) * row.mean_ms;
        variance += (share(*rate) * row.ci95_ms.expect("several runs")).powi(2);
    }
    let of_99 = measured.figure(Quantity::CompletionOf99).expect("it was simulated");
    let of_99_of_rows = rows.iter().map(|row| row.p99_ms).fold(0.0, f64::max);
    if (told.value - mean).abs() <= 1e-5 && (of_99.value - of_99_of_rows).abs() <= 1e-5 {
        return Some(Agreement::Exact);
    }
    let half = (told.interval.1 - told.value).hypot(variance.sqrt());
    assert!((told.value - mean).abs() <= half, "{} and {mean} ms: {command}", told.value);
    Some(Agreement::Within)
}

fn printed(
    measured: &Assessment,
    requirements: &Requirements,
    runs: u32,
) -> (String, Vec<NetworkRow>) {
    let commands = commands(measured, requirements, RUNS);
    let command = commands.into_iter().find(|(_, command)| command.starts_with("groupkey net "));
    let (_, command) = command.expect("one of them is of the network");
    let read = Cli::try_parse_from(command.split_whitespace());
    let read = read.unwrap_or_else(|error| panic!("{command}: {error}"));
    let Some(CliCommand::Net(arguments)) = read.command else { panic!("{command}") };
    let work = net::work(&arguments).unwrap_or_else(|error| panic!("{command}: {error:?}"));
    let [plan] = &work.plans[..] else { panic!("{command}: {} plans", work.plans.len()) };
    assert_eq!((plan.runs, plan.seed), (RUNS, SEED), "{command}");
    let plan = Plan { runs, ..plan.clone() };
    let options = CampaignOptions { threads: 1, stop: &GOING_ON, on_progress: &|_| () };
    let mut rows = Vec::new();
    campaign::run(slice::from_ref(&plan), &options, &mut |row| {
        rows.push(row.clone());
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{command}: {error}"));
    (command, rows)
}

fn requirements() -> impl Strategy<Value = Requirements> {
    let members = (5_u32..16, prop::option::of(0.1..20.0), prop_oneof![Just(1.0), Just(6.0)]);
    let members = members.prop_map(|(now, rekeys, burst)| {
        let (joins, leaves) = (2.0, 1.0);
        let rekeys = rekeys.unwrap_or_default();
        Members { now, joins, leaves, burst, rekeys, ..Members::default() }
    });
    let network = (
        prop_oneof![Just(0.0), 0.1..8.0],
        prop::option::weighted(0.3, 20.0..2_000.0),
        0.0..200.0,
        prop_oneof![Just(0.0), 0.0..0.5],
        prop::option::of(20.0..2_000.0),
        prop::option::weighted(0.3, (1.0..20.0, 5.0..100.0)),
        prop::option::of(0_u8..3),
    );
    let network = network.prop_map(|(loss, burst, delay, jitter, bandwidth, outages, qos)| {
        NetworkConditions {
            loss,
            burst: burst.filter(|_| loss > 0.0),
            delay,
            jitter: jitter * delay,
            bandwidth,
            outages: outages.map(|(an_hour, _)| an_hour),
            outage_length: outages.map(|(_, length)| length),
            // At QoS 0 no change is complete beside outages.
            qos: if outages.is_some() { Some(qos.unwrap_or(1).max(1)) } else { qos },
            ..NetworkConditions::default()
        }
    });
    let devices = prop::sample::select(vec![
        ("cortex-m4", None),
        ("rv32imac", Some("lte-m")),
        ("host", None),
        ("nrf52840", None),
        ("esp8266-board", Some("nb-iot")),
    ]);
    (members, network, devices).prop_map(|(members, network, (member, radio))| Requirements {
        members,
        network,
        devices: Devices {
            member: member.to_owned(),
            radio: radio.map(str::to_owned),
            ..Devices::default()
        },
        // Whatever the audit says of a candidate.
        security: Security { passive: Vec::new(), active: Vec::new(), ..Security::default() },
        ..Requirements::default()
    })
}
