//! `groupkey` without a command: what it is, a small experiment, and what to try next.

use std::io::Write;
use std::sync::Arc;

use groupkey::Suite;
use groupkey::catalogue::{Profile, Scheme, scheme};
use groupkey::protection::Guard;
use groupkey_lab::campaign::Outcome;
use groupkey_lab::conditions::Conditions;
use groupkey_lab::device::Device;
use groupkey_lab::plan::{Action, Plan, Step};

use crate::campaign;
use crate::failure::Failure;
use crate::table::{Column, Table, figure};

/// Gives the tour.
pub(crate) fn run(out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "\
groupkey helps to choose a group key scheme with evidence. Devices that talk n-to-n share a key
that changes whenever somebody joins or leaves; here the schemes themselves run in a simulated
network (delay, loss, TCP, MQTT), and one sees how long it takes until everybody has the key.

Creating a group of {MEMBERS} ESP32, mean of {RUNS} runs, over MQTT with QoS 2:
"
    )?;

    let schemes: Vec<&Scheme> = SCHEMES.iter().filter_map(|id| scheme(id)).collect();
    let plans: Vec<Plan> = schemes
        .iter()
        .flat_map(|scheme| NETWORKS.map(|(_, loss, delay)| plan(scheme, loss, delay)))
        .collect();
    let mut means = Vec::new();
    let outcome = campaign::run(&plans, None, |row| {
        means.push(row.mean_ms);
        Ok(())
    })?;
    if outcome != Outcome::Finished {
        return Err(Failure::interrupted("the tour was interrupted"));
    }

    let contenders: Vec<Contender<'_>> = schemes
        .iter()
        .zip(means.chunks_exact(NETWORKS.len()))
        .map(|(scheme, means)| Contender { scheme, good: means[0], poor: means[1] })
        .collect();
    write!(out, "{}", table(&contenders))?;
    writeln!(
        out,
        "\nSchemes are in their published form, with the algorithms of 80 bits that the papers used; \
         the\ncomputing times are modelled from what was published of the ESP32."
    )?;
    if let Some(sentence) = sentence(&contenders) {
        writeln!(out, "\n{sentence}")?;
    }
    writeln!(out, "\nWhat to try next:")?;
    for (command, what) in NEXT {
        writeln!(out, "  {command:<58}  {what}")?;
    }
    Ok(())
}

const SCHEMES: [&str; 3] = ["skdc", "lkh-group", "gdh2"];

/// A name, the loss in per cent and the delay in milliseconds.
const NETWORKS: [(&str, f64, f64); 2] =
    [("good network", 0.0, 0.0), ("5 % loss, 50 ms", 5.0, 50.0)];

const MEMBERS: u32 = 20;
const RUNS: u32 = 5;

/// Commands to continue with. The tests run each of them.
const NEXT: [(&str, &str); 4] = [
    ("groupkey schemes", "which schemes there are"),
    ("groupkey net --scheme skdc,lkh-group --operation remove", "a member is evicted"),
    ("groupkey net --probe --loss 0,5,10", "what loss does to a single message"),
    ("groupkey reproduce network-impact --runs 3", "a published study, with a report"),
];

/// A scheme and its mean times in ms.
struct Contender<'a> {
    scheme: &'a Scheme,
    good: f64,
    poor: f64,
}

impl Contender<'_> {
    fn slowdown(&self) -> f64 {
        self.poor / self.good
    }
}

fn plan(scheme: &'static Scheme, loss_percent: f64, delay_ms: f64) -> Plan {
    let device = |name| Arc::new(Device::named(name).expect("it is built in"));
    let mut plan = Plan {
        // The ESP32's times are known for the algorithms that the papers used.
        profile: Profile::Published,
        suite: Suite::Published,
        protection: Guard::Mac,
        steps: vec![Step { action: Action::Create, reported: true }],
        device: device("esp32-micropython"),
        controller_device: device("i5-6500-python"),
        runs: RUNS,
        seed: 1,
        ..Plan::new(scheme, MEMBERS)
    };
    plan.set_conditions(Conditions::of(loss_percent, delay_ms));
    plan
}

fn table(contenders: &[Contender<'_>]) -> Table {
    let [(good, ..), (poor, ..)] = NETWORKS;
    let mut table = Table::new([
        Column::text("scheme"),
        Column::text("class"),
        Column::number(good),
        Column::number(poor),
        Column::number("slower by"),
        Column::text("provenance"),
    ]);
    for contender in contenders {
        let Contender { scheme, good, poor } = contender;
        table.row([
            scheme.id.to_owned(),
            scheme.class().name().to_owned(),
            format!("{} ms", figure(*good)),
            format!("{} ms", figure(*poor)),
            format!("{:.1}x", contender.slowdown()),
            scheme.provenance.name().to_owned(),
        ]);
    }
    table
}

/// Describes the result: which scheme is fastest in the poor network, and which it hurts most.
fn sentence(contenders: &[Contender<'_>]) -> Option<String> {
    let fastest = contenders.iter().min_by(|a, b| a.poor.total_cmp(&b.poor))?;
    let slowest = contenders.iter().max_by(|a, b| a.poor.total_cmp(&b.poor))?;
    let hurt = contenders.iter().max_by(|a, b| a.slowdown().total_cmp(&b.slowdown()))?;
    Some(format!(
        "In the poor network {} is the fastest, {:.0} times as fast as {}; the poor network hurts \
         {} most,\nwhich takes {:.1} times as long there as in the good one.",
        fastest.scheme.id,
        slowest.poor / fastest.poor,
        slowest.scheme.id,
        hurt.scheme.id,
        hurt.slowdown(),
    ))
}
