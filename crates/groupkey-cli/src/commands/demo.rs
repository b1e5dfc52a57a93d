//! `groupkey demo`: a live group in one process, over TCP.

mod churn;
mod group;
mod network;

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Instant;

use clap::Args;
use groupkey::Epoch;
use groupkey::catalogue::Scheme;
use groupkey_choose::number::figure;
use groupkey_mqtt::GroupForm;
use tokio::runtime::Runtime as Tokio;

use self::group::{ChangeTimes, DemoGroup};
use self::network::{DemoBroker, DemoNetworkArguments};
use crate::failure::Failure;
use crate::paragraph::{ListLine, Paragraph};
use crate::{number, value_parsers};

/// Arguments of `groupkey demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is simulated: parties of the library, MQTT over TCP on this machine, signatures, real keys.
Read times as orders of magnitude only: everybody shares one processor here.

Examples:
  groupkey demo
  groupkey demo --scheme skdc --members 20
  groupkey demo --operations 20                 members come and go, and each change is timed
  groupkey demo --members 50 --change skdc      another scheme, while members talk
  groupkey demo --members 1000 --operations 20 --broker localhost:1883 --qos 2 --json")]
pub(crate) struct DemoArguments {
    /// The scheme, which must have a controller.
    #[arg(long, default_value = "lkh-group", value_parser = value_parsers::scheme_with_controller())]
    scheme: &'static Scheme,

    /// Founding members.
    #[arg(
        long,
        default_value_t = 8,
        value_parser = number::whole(3..=5_000),
        allow_negative_numbers = true,
    )]
    members: u32,

    /// Add and remove members in turn this many times, and time each change. Without it, the demo
    /// tells a scripted story.
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = number::whole(1..=100_000),
        allow_negative_numbers = true,
        group = "measured",
    )]
    operations: Option<u32>,

    /// Change to this scheme while members talk, and count what they hear.
    #[arg(long, value_name = "SCHEME", value_parser = value_parsers::scheme_with_controller(), group = "measured")]
    change: Option<&'static Scheme>,

    /// With --operations or --change: print a JSON object for each, and one for all (JSON Lines).
    #[arg(long, requires = "measured")]
    json: bool,

    #[command(flatten)]
    network: DemoNetworkArguments,

    /// Seed of the devices' keys. The operating system draws the group's keys.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
}

/// Shows a group's life.
pub(crate) fn run(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let DemoArguments { scheme, members, operations, change, json, ref network, seed } = *arguments;
    let form = form_of(scheme)?;
    let next = change.map(form_of).transpose()?;
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let network = DemoBroker::new(network)?;
    let devices = members + operations.map_or(1, |operations| operations.div_ceil(2));
    if !json {
        let text = format!(
            "A broker listens on {}. {} ({}), {devices} devices with keys of their own.",
            network.address(),
            scheme.name,
            scheme.provenance.name(),
        );
        writeln!(out, "{}\n", Paragraph { indent: 0, text: &text })?;
    }
    let _guard = tokio.enter();
    let present = form.clone();
    let mut group = DemoGroup::new(form, members, devices, seed, network)?;
    tokio.block_on(async {
        group.ready().await?;
        if let Some(next) = next {
            return group::change(&mut group, members, (&present, next), json, out).await;
        }
        match operations {
            Some(operations) => {
                churn::churn(&mut group, members, operations, seed, json, out).await
            }
            None => story(&mut group, members, out).await,
        }
    })
}

fn form_of(scheme: &'static Scheme) -> Result<GroupForm, Failure> {
    if !scheme.has_controller() {
        return Err(Failure::input(format!("{} has no controller", scheme.id))
            .with_help("run groupkey member on each side, or choose lkh-group, skdc, igkmp, ..."));
    }
    let mut form = GroupForm::of(scheme);
    if scheme.parameters.iter().any(|parameter| parameter.name == "subgroups") {
        // As many as a small group can fill.
        let _ = form.configuration.set("subgroups", 3);
    }
    form.check(Default::default()).map_err(|error| Failure::input(error.to_string()))?;
    Ok(form)
}

async fn story(group: &mut DemoGroup, members: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let mut there: BTreeSet<u32> = (0..members).collect();
    let begin = Instant::now();
    there.iter().for_each(|&number| group.arrive(number));
    let change = group.agree(&there, Epoch(0), begin).await?;
    line(out, change, &format!("device-0 to device-{} joined", members - 1))?;

    group.say(1, "slippery road at kilometre 7").await?;
    let heard = group.heard(0).await?;
    said(out, &format!("device-1 to all, encrypted: {heard:?} - device-0 reads it"))?;

    let begin = Instant::now();
    group.arrive(members);
    there.insert(members);
    let change = group.agree(&there, change.epoch, begin).await?;
    line(out, change, &format!("device-{members} joined: a new key, so it reads nothing old"))?;

    let begin = Instant::now();
    group.evict(1).await?;
    there.remove(&1);
    let change = group.agree(&there, change.epoch, begin).await?;
    line(out, change, "device-1 was evicted: a new key that it does not have")?;

    group.say(members, "turn left at the next crossing").await?;
    let heard = group.heard(0).await?;
    said(out, &format!("device-{members} to all, encrypted: {heard:?} - device-0 reads it"))?;
    group.assert_secret(&there).await?;
    said(out, "device-1 does not have the group's key")?;
    let counters = group.service_counters().await?;
    let (taken, refused) = (counters.taken, counters.refusals());
    let text = format!(
        "The service took {taken} messages and refused {refused}. Next: groupkey serve --print-config"
    );
    writeln!(out, "\n{}", Paragraph { indent: 0, text: &text })?;
    Ok(())
}

fn line(out: &mut dyn Write, change: ChangeTimes, what: &str) -> Result<(), Failure> {
    let ms = figure(change.everywhere.as_secs_f64() * 1e3);
    let text = format!("epoch {}:  {what} ({ms} ms until all have it)", change.epoch);
    writeln!(out, "{}", ListLine { indent: 0, text: &text })?;
    Ok(())
}

fn said(out: &mut dyn Write, text: &str) -> Result<(), Failure> {
    writeln!(out, "{}", Paragraph { indent: 10, text })?;
    Ok(())
}
