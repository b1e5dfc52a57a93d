//! `groupkey bridge`: programs that speak MQTT in clear, and groups.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use groupkey_mqtt::bridge::{
    BridgeCounters, StationEnd, StationEvent, StationProbe, StationQuestions, serve,
};
use groupkey_mqtt::config::{BRIDGE_TEMPLATE, BridgeConfig, BridgeGroup, Participation, hold};
use groupkey_mqtt::driver::now;
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::http::{HttpLimits, serve_bridge};
use groupkey_mqtt::member::MembershipFile;
use groupkey_mqtt::peer::DecisionFile;
use groupkey_mqtt::{Member, Peer};
use serde_json::{Value, json};
use tokio::runtime::Runtime as Tokio;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::commands::http_listener;
use crate::commands::member::advice;
use crate::failure::Failure;
use crate::{interruption, log_lines};

/// Arguments of `groupkey bridge`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nobody has reviewed the cryptography. Do not use it to protect anything that matters.

The file names the broker of the programs, which holds everything in clear, and for each group the
file of a member. Nothing passes that no rule names. docs/bridge.md is a first hour with it.

Lines on standard output begin with the group's prefix. --json has an object for each:
  {\"event\":\"counters\",\"group\":\"plant/1\",\"sent\":7,\"confirmed\":7,...,\"time\":1796030400000}
Its events are http, local, group, member, trouble and counters. The counters come every 10 s.
waiting is how many messages the other side has not confirmed. With [http] in the file they are
metrics for Prometheus, too, at /metrics; /health says whether all is connected and has its key.

Examples:
  groupkey bridge --print-config > bridge.toml
  groupkey member --print-config > member.toml
  groupkey member --public site-a.key       what other bridges write into [group.bridges]
  groupkey check --config bridge.toml       whether the file is right and both brokers are ready
  groupkey bridge --config bridge.toml

Exit codes: 0 interrupted, 1 failed while running, 2 a file is wrong, 3 evicted from each group.")]
pub(crate) struct BridgeArguments {
    /// Configuration file.
    #[arg(long, value_name = "FILE", required_unless_present = "print_config")]
    config: Option<PathBuf>,

    /// Print a commented file with the defaults.
    #[arg(long)]
    print_config: bool,

    /// Print what happens inside, on standard error: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<tracing::Level>,

    /// Print one JSON object for each event (JSON Lines).
    #[arg(long)]
    json: bool,
}

/// Bridges until it is interrupted, or evicted from each group.
pub(crate) fn run(arguments: &BridgeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(path) = arguments.config.as_ref().filter(|_| !arguments.print_config) else {
        write!(out, "{BRIDGE_TEMPLATE}")?;
        return Ok(());
    };
    log_lines::begin(arguments.log);
    let config = BridgeConfig::read(path).map_err(|error| {
        Failure::input(error.to_string()).with_help("groupkey bridge --print-config shows a file")
    })?;
    // Two members with one identity would take turns at the broker.
    let held = config.groups.iter().map(|group| hold(&group.member.identity_file));
    let held: Result<Vec<File>, _> = held.collect();
    let _held = held.map_err(|error| Failure::input(error.to_string()))?;
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    let done = tokio.block_on(bridge(config, arguments.json, out));
    done.map_err(Failure::of_one_that_should_run_on)
}

/// What a station tells, with its group's prefix.
type Line = (String, StationEvent);

async fn bridge(config: BridgeConfig, as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    // A port that is taken is told before anybody joins.
    let http = match config.http {
        Some(config) => Some(http_listener::listen(config).await?),
        None => None,
    };
    let (lines, mut told) = mpsc::channel(256);
    let mut stations = JoinSet::new();
    let mut probes = Vec::new();
    for group in config.groups {
        let (probe, questions) = StationProbe::new();
        probes.push((group.prefix.clone(), probe));
        begin(group, lines.clone(), questions, &mut stations)?;
    }
    drop(lines);
    if let Some((listener, address, access)) = http {
        match as_json {
            true => writeln!(out, "{}", listens(&address))?,
            false => writeln!(out, "http://{address}")?,
        }
        out.flush()?;
        let limits = HttpLimits::default();
        tokio::spawn(serve_bridge(listener, probes, access, limits));
    }
    let mut interrupted = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            Some((group, event)) = told.recv() => tell(&group, event, as_json, out)?,
            Some(ended) = stations.join_next() => {
                // What it said last may wait.
                while let Ok((group, event)) = told.try_recv() {
                    tell(&group, event, as_json, out)?;
                }
                let (group, end) = ended.map_err(|error| Failure::running(error.to_string()))?;
                match end {
                    StationEnd::Evicted if !stations.is_empty() => {
                        eprintln!("{group}: evicted from the group; the others go on");
                    }
                    StationEnd::Evicted => {
                        return Err(Failure::evicted(format!("{group}: evicted from the group"))
                            .with_help("the operator can let it join again: readmit NAME, or an \
                                        operator's ticket without a controller"));
                    }
                    StationEnd::Failed(fatal) => {
                        return Err(Failure::running(format!("{group}: {fatal}")));
                    }
                    StationEnd::Unheard => return Ok(()),
                }
            }
            _ = interrupted.tick() => {
                if interruption::requested().load(Ordering::Relaxed) {
                    eprintln!("the bridge has stopped");
                    return Ok(());
                }
            }
        }
    }
}

fn begin(
    group: BridgeGroup,
    lines: mpsc::Sender<Line>,
    questions: StationQuestions,
    stations: &mut JoinSet<(String, StationEnd)>,
) -> Result<(), Failure> {
    let BridgeGroup { prefix, member, station } = group;
    let (events, mut told) = mpsc::channel(64);
    let named = prefix.clone();
    tokio::spawn(async move {
        while let Some(event) = told.recv().await {
            if lines.send((named.clone(), event)).await.is_err() {
                return;
            }
        }
    });
    let wrong = |error: String| Failure::input(format!("{prefix}: {error}"));
    let (connection, file) = (member.connection, member.identity_file);
    match member.part {
        Participation::Member(settings) => {
            let mut party = Member::new(settings).map_err(|error| wrong(error.to_string()))?;
            if member.resumes {
                party = party.remembering(Box::new(MembershipFile::beside(&file)));
            }
            stations.spawn(async move {
                (prefix, serve(party, connection, station, events, questions).await)
            });
        }
        Participation::Peer(settings) => {
            let memory = Box::new(DecisionFile::beside(&file));
            let party = Peer::open(settings, memory).map_err(|error| wrong(error.to_string()))?;
            stations.spawn(async move {
                (prefix, serve(party, connection, station, events, questions).await)
            });
        }
    }
    Ok(())
}

fn tell(
    group: &str,
    event: StationEvent,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match as_json {
        true => writeln!(out, "{}", object(group, &event))?,
        false => writeln!(out, "{group}: {}", words(&event))?,
    }
    Ok(out.flush()?)
}

fn words(event: &StationEvent) -> String {
    match event {
        StationEvent::Counted(counters, waiting) => {
            let named = |(name, count): (&str, u64)| format!("{name} {count}");
            let counted = counters.named().into_iter().filter(|(_, count)| *count > 0);
            let counted: Vec<_> = counted.map(named).collect();
            format!("waiting {waiting} {}", counted.join(" "))
        }
        StationEvent::Group(line) => format!("group: {line}"),
        StationEvent::Local(line) => format!("local: {line}"),
        StationEvent::Member(event) => member(event),
        StationEvent::Trouble(line) => format!("trouble: {line}"),
    }
}

fn object(group: &str, event: &StationEvent) -> Value {
    let mut object = match event {
        StationEvent::Counted(counters, waiting) => counted(counters, *waiting),
        StationEvent::Group(line) => json!({ "event": "group", "line": line }),
        StationEvent::Local(line) => json!({ "event": "local", "line": line }),
        StationEvent::Member(event) => json!({ "event": "member", "line": member(event) }),
        StationEvent::Trouble(line) => json!({ "event": "trouble", "line": line }),
    };
    object["group"] = group.into();
    object["time"] = (now() / MILLISECOND).into();
    object
}

fn listens(address: &SocketAddr) -> Value {
    let (url, time) = (format!("http://{address}"), now() / MILLISECOND);
    json!({ "event": "http", "url": url, "time": time })
}

fn counted(counters: &BridgeCounters, waiting: usize) -> Value {
    let mut object = json!({ "event": "counters", "waiting": waiting });
    for (name, count) in counters.named() {
        object[name] = count.into();
    }
    object
}

fn member(event: &MemberEvent) -> String {
    match event {
        MemberEvent::Activated(epoch) => format!("sending under epoch {}", epoch.0),
        MemberEvent::Behind(epoch) => {
            format!("behind: the group is in epoch {}; asking for its key", epoch.0)
        }
        MemberEvent::Changed { scheme, .. } => format!("the group's scheme is {scheme} now"),
        MemberEvent::Evicted => "evicted".to_owned(),
        // A station tells none.
        MemberEvent::Heard(_) => "heard a message".to_owned(),
        MemberEvent::Joined { member, .. } => format!("member {}", member.0),
        MemberEvent::JoinsAgain => "the group has gone on without us: joining again".to_owned(),
        MemberEvent::NotIn(hint) => format!("not in the group yet: {}", advice(*hint).1),
        MemberEvent::Proven => "the service has said that the key is the latest".to_owned(),
        MemberEvent::Rekeyed(epoch) => format!("epoch {}", epoch.0),
        MemberEvent::Resumed { member, .. } => format!("member {}, as before", member.0),
        MemberEvent::Unkept(error) => format!("the membership is not kept: {error}"),
        MemberEvent::Unproven => {
            "nothing sent from now on: the service does not say that the key is the latest"
                .to_owned()
        }
    }
}

/// A millisecond, in ns.
const MILLISECOND: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_group() {
        let counters = BridgeCounters { sent: 7, looped: 1, ..BridgeCounters::default() };
        let event = StationEvent::Counted(counters, 3);
        let mut out = Vec::new();
        tell("plant/1", event.clone(), false, &mut out).expect("there is memory");
        assert_eq!(out, b"plant/1: waiting 3 sent 7 looped 1\n");
        let object = object("plant/1", &event);
        assert_eq!((&object["group"], &object["event"]), (&json!("plant/1"), &json!("counters")));
        assert_eq!((&object["sent"], &object["denied"]), (&json!(7), &json!(0)));
    }
}
