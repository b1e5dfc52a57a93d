//! `groupkey check`: whether a service, a member or a bridge can run, before it runs.

mod findings;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use groupkey_mqtt::config::{
    AnyConfig, BridgeConfig, MemberConfig, Participation, ServeConfig, hold,
};
use groupkey_mqtt::driver::{Connection, Quality, now};
use groupkey_mqtt::store::StoreError;
use groupkey_mqtt::tls::utc;
use groupkey_mqtt::topic_trial::{
    TopicUse, TopicVerdict, topics_of_a_member, topics_of_a_peer, topics_of_a_service,
    try_connection, try_topic,
};
use groupkey_mqtt::topics::Topics;
use tokio::runtime::Runtime as Tokio;

use self::findings::{BrokerUse, CheckReport, CheckVerdict};
use crate::failure::Failure;

/// Arguments of `groupkey check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey check --config serve.toml
  groupkey check --config member.toml --json
  groupkey check --config member.toml --offline
  groupkey check --config bridge.toml

Each line begins with ok, look (it works, but read on) or FAILS, and ends with the remedy.
While the service, member or bridge itself runs, the broker is not tried. A broker that takes the
user's name for the client identifier drops the session of that user: it catches up.

A bridge's file is checked with the members' files that it names. Then the lines say of which group
they are (in JSON: \"of\"). At the local broker nothing is published, only subscribed to.

Exit codes: 0 nothing fails, 1 something does, 2 bad usage.")]
pub(crate) struct CheckArguments {
    /// The file of a service, of a member or of a bridge.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// Look at files only, and not at the broker.
    #[arg(long)]
    offline: bool,

    /// Print one JSON object for each line (JSON Lines).
    #[arg(long)]
    json: bool,
}

/// Checks one thing after the other, and prints a line for each.
pub(crate) fn run(arguments: &CheckArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut report = CheckReport::new(arguments.json, out);
    let file = arguments.config.display();
    match AnyConfig::look(&arguments.config) {
        Err(error) => report.tell("file", CheckVerdict::Fails, &error.to_string())?,
        Ok(AnyConfig::Serve(config)) => {
            report.tell("file", CheckVerdict::Ok, &format!("{file}: a service's"))?;
            let runs = look_at_service(&config, &mut report)?;
            let device = config.policy.keys.keys().chain(config.policy.identities.keys()).next();
            let topics = topics(&config.policy.prefix)?;
            let needed = topics_of_a_service(&topics, device.map_or("device", String::as_str));
            let (connection, broker) = (config.connection, BrokerUse::OfService);
            let role = Role { of: None, connection, needed, broker, runs };
            look_at_the_rest(vec![role], arguments.offline, &mut report)?;
        }
        Ok(AnyConfig::Member(config)) => {
            report.tell("file", CheckVerdict::Ok, &format!("{file}: a member's"))?;
            let runs = look_at_member(&config, &mut report)?;
            let role = role_of_member(*config, None, runs)?;
            look_at_the_rest(vec![role], arguments.offline, &mut report)?;
        }
        Ok(AnyConfig::Bridge(config)) => {
            let groups = match config.groups.len() {
                1 => "1 group".to_owned(),
                count => format!("{count} groups"),
            };
            report.tell("file", CheckVerdict::Ok, &format!("{file}: a bridge's, with {groups}"))?;
            let roles = look_at_bridge(*config, &mut report)?;
            look_at_the_rest(roles, arguments.offline, &mut report)?;
        }
    }
    report.finish()
}

/// What somebody wants of a broker.
struct Role {
    /// Whose lines these are, where there are several.
    of: Option<String>,
    connection: Connection,
    needed: Vec<(String, TopicUse)>,
    broker: BrokerUse,
    runs: bool,
}

fn role_of_member(config: MemberConfig, of: Option<String>, runs: bool) -> Result<Role, Failure> {
    let (needed, broker) = match &config.part {
        Participation::Member(settings) => {
            let topics = topics(&settings.prefix)?;
            (topics_of_a_member(&topics, &settings.name), BrokerUse::OfService)
        }
        Participation::Peer(settings) => {
            (topics_of_a_peer(&topics(&settings.prefix)?, settings.me), BrokerUse::OfPeer)
        }
    };
    Ok(Role { of, connection: config.connection, needed, broker, runs })
}

/// Looks at the rules of a bridge, and at the files of its members. Returns what it wants of its brokers.
fn look_at_bridge(
    config: BridgeConfig,
    report: &mut CheckReport<'_>,
) -> Result<Vec<Role>, Failure> {
    let remarks = config.remarks();
    for remark in &remarks {
        report.tell("rules", CheckVerdict::Look, remark)?;
    }
    if remarks.is_empty() {
        let text = "what passes is named, and each topic is for one group";
        report.tell("rules", CheckVerdict::Ok, text)?;
    }
    if let Some(http) = &config.http {
        let text = format!("http://{}: /health, and /metrics with the token", http.listen);
        report.tell("http", CheckVerdict::Ok, &text)?;
    }
    let mut roles = Vec::new();
    for group in config.groups {
        report.of = Some(group.prefix.clone());
        let runs = look_at_member(&group.member, report)?;
        roles.push(role_of_member(group.member, Some(group.prefix.clone()), runs)?);
        let filters = group.station.rules.outward.iter();
        roles.push(Role {
            of: Some(format!("{}, local", group.prefix)),
            // It subscribes at QoS 1, whatever is said.
            connection: Connection { qos: Quality::AtLeastOnce, ..group.station.local },
            needed: filters.map(|it| (it.as_str().to_owned(), TopicUse::Subscribe)).collect(),
            broker: BrokerUse::Local,
            runs,
        });
    }
    report.of = None;
    Ok(roles)
}

fn look_at_service(config: &ServeConfig, report: &mut CheckReport<'_>) -> Result<bool, Failure> {
    if config.policy.is_identity_new {
        report.tell("identity", CheckVerdict::Ok, "the first start draws it")?;
    }
    let (store, found) = (config.store.path.display(), config.store.look());
    let runs = found == Err(StoreError::InUse);
    let (verdict, text) = match found {
        Ok(true) => (CheckVerdict::Ok, format!("{store}: whole")),
        Ok(false) => (CheckVerdict::Ok, format!("{store}: the first start creates it")),
        Err(StoreError::InUse) => (CheckVerdict::Ok, format!("{store}: a service has it open")),
        Err(error) => (CheckVerdict::Fails, format!("{store}: {error}")),
    };
    let folder = config.store.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (verdict, text) = match folder {
        Some(folder) if !folder.is_dir() => {
            let folder = folder.display();
            (
                CheckVerdict::Fails,
                format!("{store}: there is no folder {folder}: create it, or mount it"),
            )
        }
        _ => (verdict, text),
    };
    report.tell("store", verdict, &text)?;
    Ok(runs)
}

fn look_at_member(config: &MemberConfig, report: &mut CheckReport<'_>) -> Result<bool, Failure> {
    let file = config.identity_file.display();
    if !config.identity_file.exists() {
        report.tell("identity", CheckVerdict::Ok, &format!("{file}: the first start draws it"))?;
        return Ok(false);
    }
    let runs = hold(&config.identity_file).is_err();
    let suffix = if runs { ": a member runs with it" } else { "" };
    report.tell("identity", CheckVerdict::Ok, &format!("{file}{suffix}"))?;
    Ok(runs)
}

fn look_at_the_rest(
    roles: Vec<Role>,
    offline: bool,
    report: &mut CheckReport<'_>,
) -> Result<(), Failure> {
    let seconds = now() / 1_000_000_000;
    let mut certificates = 0;
    for role in &roles {
        report.of.clone_from(&role.of);
        let Some(tls) = &role.connection.tls else { continue };
        for view in tls.authorities() {
            certificates += 1;
            report.certificate("tls.ca", &view, seconds)?;
        }
        if let Some(view) = tls.own_certificate(seconds) {
            certificates += 1;
            report.certificate("tls.certificate", &view, seconds)?;
        }
    }
    report.of = None;
    let clock = utc(seconds);
    let (verdict, text) = match certificates {
        _ if seconds < RELEASED => {
            (CheckVerdict::Fails, format!("{clock} is before groupkey was made: set the clock"))
        }
        0 => (CheckVerdict::Ok, format!("{clock}; nothing here can confirm it")),
        _ => (CheckVerdict::Ok, format!("{clock}; only the certificates' dates can confirm it")),
    };
    report.tell("clock", verdict, &text)?;
    if offline {
        return Ok(());
    }
    let tokio = Tokio::new().map_err(|error| Failure::running(error.to_string()))?;
    for role in roles {
        report.of.clone_from(&role.of);
        if role.runs {
            let text = "not tried: it runs; stop the service, member or bridge to try the broker";
            report.tell("connection", CheckVerdict::Look, text)?;
            continue;
        }
        tokio.block_on(look_at_broker(role, report))?;
    }
    report.of = None;
    Ok(())
}

async fn look_at_broker(role: Role, report: &mut CheckReport<'_>) -> Result<(), Failure> {
    let Role { connection, needed, broker, .. } = role;
    let client = format!("{}:check", connection.client);
    let mut connection = Connection { client, will: None, keeps_session: false, ..connection };
    let status = match try_connection(&connection, PATIENCE).await {
        Ok(status) => status,
        Err(why) => {
            let address = format!("{}:{}", connection.host, connection.port);
            return report.tell("connection", CheckVerdict::Fails, &format!("{address}: {why}"));
        }
    };
    let over = if connection.tls.is_some() { "TLS" } else { "no TLS" };
    let text = format!("{}: MQTT {} over {over}", status.address, connection.version);
    report.tell("connection", CheckVerdict::Ok, &text)?;
    report.properties(&status, broker)?;
    connection.qos = status.qos;
    for (topic, by) in needed {
        let check = match by {
            TopicUse::Subscribe => "subscribe",
            TopicUse::Publish => "publish",
            TopicUse::Both => "both ways",
        };
        let (verdict, text) = match try_topic(&connection, &topic, by, PATIENCE).await {
            TopicVerdict::Allowed => (CheckVerdict::Ok, topic),
            TopicVerdict::Refused(why) => (CheckVerdict::Fails, format!("{topic}: {why}")),
            TopicVerdict::Untold => {
                let why =
                    "acknowledged, but at this QoS or in MQTT 3.1.1 no broker says what it refuses";
                (CheckVerdict::Look, format!("{topic}: {why}"))
            }
        };
        report.tell(check, verdict, &text)?;
    }
    Ok(())
}

fn topics(prefix: &str) -> Result<Topics, Failure> {
    Topics::new(prefix).map_err(|error| Failure::input(error.to_string()))
}

/// The longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A clock before this time is wrong: 2026-01-01, s since 1970.
const RELEASED: u64 = 1_767_225_600;
