//! `groupkey mqtt-probe`: checks whether a broker keeps the rules.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use groupkey_lab::campaign::Progress;
use groupkey_mqtt::Version;
use groupkey_mqtt::config::{read_public, read_secret};
use groupkey_mqtt::tls::Tls;
use groupkey_testbed::probe::{self, CHECKS, CheckResult, Login, ProbeFinding, ProbeTarget};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::address::HostAndPort;
use crate::failure::Failure;
use crate::paragraph::Paragraph;
use crate::progress::ProgressBar;
use crate::table::{Column, Table};

/// Arguments of `groupkey mqtt-probe`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey mqtt-probe --broker localhost:1883
  groupkey mqtt-probe --broker broker.example:1883 --user probe --password-file secret.txt
  groupkey mqtt-probe --broker broker.example:8883 --ca ca.pem --certificate me.pem --key me.key
  groupkey mqtt-probe --broker localhost:1883 --json
  groupkey mqtt-probe --list

The user needs the right to publish and subscribe below groupkey-probe/. A whole run takes about
20 seconds. A broker that fails qos2-* may deliver a rekey twice or never; one that fails lower-qos
answers with another QoS than the sender chose; one that fails queued, session-* or message-expiry
makes members miss rekeys or get stale ones, which they then have to ask for.

Exit codes: 0 all passed or were skipped, 1 some failed or there is no broker, 2 bad usage.")]
pub(crate) struct MqttProbeArguments {
    /// The broker's host and port.
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "list")]
    broker: Option<HostAndPort>,

    /// User name to connect with.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// File with the password; a trailing line break is ignored.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,

    /// Use TLS, and trust only brokers with a certificate of this authority (PEM).
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Certificate to present to brokers that ask for one (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["ca", "key"])]
    certificate: Option<PathBuf>,

    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["ca", "certificate"])]
    key: Option<PathBuf>,

    /// Longest wait for any one answer, in seconds (0.1 to 300).
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "5",
        allow_negative_numbers = true,
        value_parser = timeout,
    )]
    timeout: Duration,

    /// Print one JSON object for each check (JSON Lines).
    #[arg(long)]
    json: bool,

    /// Only list the checks and what each does.
    #[arg(long, conflicts_with_all = ["broker", "user", "ca"])]
    list: bool,
}

/// A finding in its printed form.
#[derive(Debug, Serialize)]
struct FindingRow<'a> {
    check: &'a str,
    mqtt: String,
    clauses: &'a str,
    about: &'a str,
    verdict: CheckResult,
    seen: &'a str,
}

/// Runs the checks and prints the findings.
pub(crate) fn run(arguments: &MqttProbeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(broker) = &arguments.broker else {
        return list(arguments.json, out);
    };
    let (login, tls) = (login(arguments)?, tls(arguments)?);
    let target = ProbeTarget::resolve(&broker.to_string(), arguments.timeout)
        .map_err(|error| failure(broker, &error))?;
    let target = ProbeTarget { login, tls, ..target };

    let bar = ProgressBar::counting("checks");
    let runs_total =
        CHECKS.iter().filter(|check| check.clauses_v3.is_some()).count() + CHECKS.len();
    let mut runs_done = 0;
    let mut printed = Ok(());
    let findings = probe::run(&target, |finding| {
        runs_done += 1;
        bar.update(Progress { runs_done, runs_total, plans_done: 0, plans_total: 0 });
        if arguments.json && printed.is_ok() {
            let line = serde_json::to_string(&row(finding)).expect("a row is plain data");
            printed = writeln!(out, "{line}");
        }
    })
    .map_err(|error| failure(broker, &error))?;
    printed?;
    drop(bar);

    let count = |verdict| findings.iter().filter(|f| f.verdict == verdict).count();
    let failed = count(CheckResult::Fail);
    if !arguments.json {
        write!(out, "{}", table(&findings))?;
        let passed = count(CheckResult::Pass);
        writeln!(out, "\n{broker}: {passed} passed, {failed} failed.")?;
        // Most skips have one and the same reason, which a row for each would only hide.
        let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in findings.iter().filter(|f| f.verdict == CheckResult::Skipped) {
            *skipped.entry(&finding.seen).or_default() += 1;
        }
        for (reason, checks) in skipped {
            writeln!(out, "{checks} skipped: {reason}.")?;
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::running(format!("{failed} of {} checks failed", findings.len()))
            .with_help("groupkey mqtt-probe --list says what each check does")),
    }
}

fn list(json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    for check in CHECKS {
        let clauses = check.clauses(Version::V3).unwrap_or("no such rule");
        if json {
            let line = serde_json::json!({
                "check": check.name,
                "about": check.about,
                "clauses_3_1_1": check.clauses_v3,
                "clauses_5": check.clauses_v5,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        writeln!(out, "{}", check.name)?;
        writeln!(out, "{}", Paragraph { indent: 2, text: check.about })?;
        writeln!(out, "  MQTT 3.1.1: {clauses}\n  MQTT 5:     {}", check.clauses_v5)?;
    }
    Ok(())
}

fn login(arguments: &MqttProbeArguments) -> Result<Option<Login>, Failure> {
    let Some(name) = arguments.user.clone() else { return Ok(None) };
    let mut password = Zeroizing::new(Vec::new());
    if let Some(path) = &arguments.password_file {
        password =
            read_secret(path).map_err(|error| Failure::input(format!("cannot read {error}")))?;
        while password.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            password.pop();
        }
    }
    Ok(Some(Login { name, password }))
}

fn tls(arguments: &MqttProbeArguments) -> Result<Option<Tls>, Failure> {
    let Some(ca) = &arguments.ca else { return Ok(None) };
    let own = match (&arguments.certificate, &arguments.key) {
        (Some(certificate), Some(key)) => {
            let key =
                read_secret(key).map_err(|error| Failure::input(format!("cannot read {error}")))?;
            Some((read(certificate)?, key))
        }
        _ => None,
    };
    let own = own.as_ref().map(|(certificate, key)| (&certificate[..], &key[..]));
    let tls = Tls::new(&read(ca)?, own).map_err(|error| Failure::input(error.to_string()))?;
    Ok(Some(tls))
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    read_public(path).map_err(|error| Failure::input(format!("cannot read {error}")))
}

fn failure(broker: &HostAndPort, error: &probe::Error) -> Failure {
    let help = match error {
        probe::Error::NoConnection(_) => "is the broker running, and is this its host and port?",
        probe::Error::NoTls(_) => {
            "is this the port with TLS, and did the authority in --ca sign the broker's certificate, for \
             this host?"
        }
        probe::Error::NoBroker(_) => {
            "a TLS port needs --ca, and perhaps --certificate and --key; the probe speaks no WebSockets"
        }
        probe::Error::Refused(_) => "give a user with --user and --password-file",
    };
    Failure::running(format!("{broker}: {error}")).with_help(help)
}

fn table(findings: &[ProbeFinding]) -> Table {
    let mut table = Table::new([
        Column::text("check"),
        Column::text("MQTT"),
        Column::text("result"),
        Column::text("seen"),
        Column::text("clauses"),
    ]);
    for finding in findings.iter().filter(|finding| finding.verdict != CheckResult::Skipped) {
        let row = row(finding);
        let cells = [row.check, &row.mqtt, &row.verdict.to_string(), row.seen, row.clauses];
        table.row(cells.map(str::to_owned));
    }
    table
}

fn row(finding: &ProbeFinding) -> FindingRow<'_> {
    let ProbeFinding { check, version, verdict, seen } = finding;
    FindingRow {
        check: check.name,
        mqtt: version.to_string(),
        clauses: check.clauses(*version).unwrap_or_default(),
        about: check.about,
        verdict: *verdict,
        seen,
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.trim().parse().map_err(|_| "expected a number".to_owned())?;
    match seconds {
        0.1..=300.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected 0.1 to 300 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_time_that_can_be_waited() {
        assert_eq!(timeout("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "NaN", "inf", "301", "five", ""] {
            assert!(timeout(text).is_err(), "{text:?}");
        }
    }
}
