//! `groupkey ctl`: an operator's commands to a running service.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use groupkey_mqtt::driver;
use groupkey_mqtt::group_form::FormRequest;
use groupkey_mqtt::http::{
    AuditRecordView, AuditView, DeviceView, DevicesView, EvictionView, EvictionsRequest,
    EvictionsView, ExportRequest, ExportView, GroupView, NamedForm, OperationResultView,
    SchemeChangeRequest, SchemeView,
};
use groupkey_mqtt::tls::utc;
use groupkey_mqtt::topics::is_name;
use serde::Serialize;
use serde_json::json;

use crate::client::ServiceClient;
use crate::failure::Failure;
use crate::table::{Column, Table};

/// Arguments of `groupkey ctl`.
#[derive(Args, Debug)]
#[command(after_help = "\
The service answers if its file has [http]. An answer means that the operation is durable: if the
service is killed after that, it still publishes it.

Examples:
  groupkey ctl status
  groupkey ctl members
  groupkey ctl audit --since 100
  groupkey ctl evict truck-7 truck-8
  groupkey ctl change lkh-group degree=8
  groupkey ctl --service http://127.0.0.1:9000 --token-file /etc/groupkey/http.token rekey")]
pub(crate) struct CtlArguments {
    /// Address of the service: listen in its [http]
    #[arg(long, value_name = "ADDRESS", default_value = "http://127.0.0.1:8475", global = true)]
    service: String,

    /// File with the service's token: token_file in its [http]
    #[arg(long, value_name = "FILE", default_value = "http.token", global = true)]
    token_file: PathBuf,

    /// Print the answer as JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    verb: Verb,
}

/// What the service is to do.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the group: scheme, epoch, members, and what waits.
    Status,
    /// List the devices that are or were members.
    Members,
    /// Show the trail: who did what, and what came of it. Its chain of hashes is checked.
    Audit {
        /// Number of the first record
        #[arg(long, default_value_t = 0)]
        since: u64,
    },
    /// Evict members together, and bar them until they are readmitted.
    Evict {
        /// Names of the devices
        #[arg(value_name = "NAME", value_parser = name, required = true)]
        names: Vec<String>,
    },
    /// Let an evicted device, or other hardware under its name, join again.
    Readmit {
        /// Name of the device
        #[arg(value_parser = name)]
        name: String,
    },
    /// Make a new key for the same members.
    Rekey {
        /// The key may have leaked: members refuse messages under it at once
        #[arg(long)]
        hard: bool,
    },
    /// Show the scheme, its parameters, and the change that is under way.
    Scheme,
    /// Change the scheme, parameters, suite or protection of the living group.
    Change {
        /// Name of the scheme: see groupkey schemes
        scheme: String,
        /// Parameters of the scheme, such as degree=8; also suite=, protection= and senders=NAME
        #[arg(value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
    /// Give up the change that is under way.
    Cancel,
    /// Print a key for another protocol: with export = true in the service's [http].
    Export {
        /// Purpose of the key, such as srtp
        label: String,
        /// Length in bytes: 1 to 8160
        length: usize,
        /// What tells uses of one label apart, in hexadecimal digits
        #[arg(long, value_name = "HEX", default_value = "")]
        context: String,
    },
}

/// Asks the service, and prints its answer.
pub(crate) fn run(arguments: &CtlArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let client = ServiceClient::new(&arguments.service, &arguments.token_file)?;
    let mut printer = Printer { json: arguments.json, out };
    let nothing = json!({});
    let post = |path: &str| client.post::<OperationResultView>(path, &nothing);
    match &arguments.verb {
        Verb::Status => printer.print(&client.get::<GroupView>("")?, status),
        Verb::Members => printer.print(&members(&client)?, |members| table(members)),
        Verb::Audit { since } => printer.print(&audit(&client, *since)?, |records| trail(records)),
        Verb::Evict { names } => match &**names {
            [name] => printer.print(&post(&format!("/members/{name}/evict"))?, outcome),
            names => evict(&client, names, &mut printer),
        },
        Verb::Readmit { name } => printer
            .print(&post(&format!("/members/{name}/readmit"))?, |_| "it may join again".to_owned()),
        Verb::Rekey { hard } => {
            let request = json!({ "hard": hard });
            printer.print(&client.post::<OperationResultView>("/rekey", &request)?, outcome)
        }
        Verb::Scheme => printer.print(&client.get::<SchemeView>("/scheme")?, scheme),
        Verb::Change { scheme: name, settings } => {
            let words = std::iter::once(name).chain(settings).map(String::as_str);
            let request = form_request(words).map_err(|problem| {
                Failure::input(problem).with_help("groupkey schemes lists each scheme's parameters")
            })?;
            let request = SchemeChangeRequest::from(request);
            printer.print(&client.post::<SchemeView>("/scheme", &request)?, scheme)
        }
        Verb::Cancel => {
            let answer: SchemeView = client.post("/scheme/cancel", &nothing)?;
            printer.print(&answer, |_| "the scheme stays as it is".to_owned())
        }
        Verb::Export { label, length, context } => {
            let (label, context) = (label.clone(), context.clone());
            let request = ExportRequest { label, context, length: *length, epoch: None };
            let answer = client.post::<ExportView>("/export", &request)?;
            printer.print(&answer, |answer| answer.key.clone())
        }
    }
}

/// Prints an answer as JSON or in words.
struct Printer<'a> {
    json: bool,
    out: &'a mut dyn Write,
}

impl Printer<'_> {
    fn print<T: Serialize>(
        &mut self,
        answer: &T,
        words: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        let text = match self.json {
            true => serde_json::to_string(answer).expect("it is a tree"),
            false => words(answer),
        };
        Ok(writeln!(self.out, "{}", text.trim_end())?)
    }
}

/// Evicts several members. Fails if one of them is not evicted.
fn evict(
    client: &ServiceClient,
    names: &[String],
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let request = EvictionsRequest { names: names.to_vec(), epoch: None };
    let answer = client.post::<EvictionsView>("/evictions", &request)?;
    let refusals: Vec<_> = (answer.evictions.iter())
        .filter_map(|EvictionView { name, refusal, .. }| {
            Some(format!("{name}: {}", refusal.as_ref()?))
        })
        .collect();
    printer.print(&answer, |answer| outcome(&answer.group))?;
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(Failure::running(format!("not evicted: {}", refusals.join("; ")))),
    }
}

/// Asks for all members, one portion after the other.
fn members(client: &ServiceClient) -> Result<Vec<DeviceView>, Failure> {
    let mut members = Vec::new();
    let mut from = Some(0);
    while let Some(first) = from {
        let portion: DevicesView = client.get(&format!("/members?from={first}&limit=1000"))?;
        members.extend(portion.members);
        // A service that goes back would never end.
        from = portion.next.filter(|&next| next > first);
    }
    Ok(members)
}

/// Asks for the trail, one portion after the other, and checks that nothing is missing or changed.
fn audit(client: &ServiceClient, since: u64) -> Result<Vec<AuditRecordView>, Failure> {
    let mut records: Vec<AuditRecordView> = Vec::new();
    let mut from = Some(since);
    while let Some(first) = from {
        let portion: AuditView = client.get(&format!("/audit?since={first}&limit=1000"))?;
        for record in portion.records {
            let follows = records.last().is_none_or(|last| {
                last.hash == record.previous && last.number + 1 == record.number
            });
            if !follows || record.computed_hash().as_ref() != Some(&record.hash) {
                let number = record.number;
                let what =
                    format!("record {number} of the trail is changed, or one before it is missing");
                return Err(Failure::running(what));
            }
            records.push(record);
        }
        // A service that goes back would never end.
        from = portion.next.filter(|&next| next > first);
        if from.is_none() && records.last().is_some_and(|last| last.hash != portion.head) {
            return Err(Failure::running("the last records of the trail are missing"));
        }
    }
    Ok(records)
}

fn trail(records: &[AuditRecordView]) -> String {
    let mut table = Table::new([
        Column::number("number"),
        Column::text("at"),
        Column::text("actor"),
        Column::text("operation"),
        Column::text("of"),
        Column::number("epoch"),
        Column::text("result"),
    ]);
    for record in records {
        table.row([
            record.number.to_string(),
            utc(record.at_unix_ms / 1_000),
            record.actor.clone(),
            record.operation.clone(),
            record.subject.clone().unwrap_or_default(),
            record.epoch.to_string(),
            record.refusal.clone().unwrap_or_else(|| "done".to_owned()),
        ]);
    }
    format!("{table}\n{} records, and their chain is whole", records.len())
}

fn table(members: &[DeviceView]) -> String {
    let mut table = Table::new([
        Column::text("device"),
        Column::number("number"),
        Column::text("state"),
        Column::number("epoch"),
        Column::number("last seen"),
    ]);
    let now = driver::now() / 1_000_000;
    for device in members {
        let state = match (device.current, device.barred) {
            (true, _) if device.behind => "behind",
            (true, _) => "member",
            (false, true) => "evicted",
            (false, false) => "out",
        };
        let epoch = device.epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
        let seen = device.seen_unix_ms.map_or_else(
            || "-".to_owned(),
            |at| format!("{} s ago", now.saturating_sub(at) / 1_000),
        );
        let name = device.name.clone();
        table.row([name, device.number.to_string(), state.to_owned(), epoch, seen]);
    }
    let current = members.iter().filter(|entry| entry.current).count();
    format!("{table}\n{current} members")
}

fn status(group: &GroupView) -> String {
    let epoch = match (group.epoch, group.active_epoch) {
        (Some(epoch), Some(active)) if active < epoch => {
            format!("{epoch}; members send under {active} until it is activated")
        }
        (Some(epoch), _) => epoch.to_string(),
        (None, _) => "not founded yet".to_owned(),
    };
    let GroupView { members, waiting, publish_backlog, log_entries, log_limit, .. } = group;
    format!(
        "group:    {} under {}\nscheme:   {}\nepoch:    {epoch}\nmembers:  {members}; {waiting} wait\n\
         service:  {}\nbacklog:  {publish_backlog} messages\nlog:      {log_entries} of {log_limit} entries",
        group.group,
        group.prefix,
        form(&group.form),
        group.service_key
    )
}

fn outcome(outcome: &OperationResultView) -> String {
    let epoch = outcome.epoch.map_or_else(|| "no group yet".to_owned(), |it| format!("epoch {it}"));
    format!("{epoch}: {} members", outcome.members)
}

pub(super) fn scheme(scheme: &SchemeView) -> String {
    let present = format!("scheme {}", form(&scheme.present));
    match &scheme.change {
        None => present,
        Some(change) => format!(
            "{present}; changes to {}: {} of {} members have asked for their places",
            form(&change.to),
            change.asked,
            change.members
        ),
    }
}

fn form(form: &NamedForm) -> String {
    let NamedForm { scheme, parameters, profile, suite, protection, .. } = form;
    let parameters: String =
        parameters.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{scheme}{parameters} ({profile}, {suite}, {protection})")
}

/// Reads a scheme's name, and then NAME=VALUE for its parameters, `suite`, `protection` or `senders`.
pub(super) fn form_request<'a>(
    mut words: impl Iterator<Item = &'a str>,
) -> Result<FormRequest, String> {
    let scheme = words.next().ok_or("name the scheme: see groupkey schemes")?;
    let mut request = FormRequest { scheme: Some(scheme.to_owned()), ..FormRequest::default() };
    for word in words {
        let (name, value) =
            word.split_once('=').ok_or_else(|| format!("{word}: write it as NAME=VALUE"))?;
        match name {
            "suite" => request.suite = Some(value.to_owned()),
            "protection" => request.protection = Some(value.to_owned()),
            "senders" => request.senders = Some(value.to_owned()),
            _ => {
                let number = value.parse().map_err(|_| format!("{word}: the value is a number"))?;
                request.parameters.insert(name.to_owned(), number);
            }
        }
    }
    Ok(request)
}

fn name(text: &str) -> Result<String, String> {
    match is_name(text) {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 64 letters, digits, '.', '_' and '-'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_who_has_which_epoch() {
        let device = |name: &str, epoch, seen_unix_ms, behind| DeviceView {
            name: name.to_owned(),
            number: 7,
            current: true,
            barred: false,
            epoch,
            seen_unix_ms,
            behind,
        };
        let hour_ago = driver::now() / 1_000_000 - 3_600_500;
        let shown = table(&[
            device("truck-1", Some(4), Some(hour_ago), false),
            device("truck-2", Some(3), Some(hour_ago), true),
            device("truck-3", None, None, false),
        ]);
        let lines: Vec<Vec<_>> =
            shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(
            lines.contains(&["truck-1", "7", "member", "4", "3600", "s", "ago"].into()),
            "{shown}"
        );
        assert!(
            lines.contains(&["truck-2", "7", "behind", "3", "3600", "s", "ago"].into()),
            "{shown}"
        );
        assert!(lines.contains(&["truck-3", "7", "member", "-", "-"].into()), "{shown}");
        assert!(shown.ends_with("3 members"), "{shown}");
    }
}
