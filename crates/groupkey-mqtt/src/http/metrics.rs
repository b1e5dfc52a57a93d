//! Metrics in Prometheus' text format, version 0.0.4. Names and units follow its conventions.

use std::fmt::{Display, Write};

use super::answer_bodies::epoch;
use crate::Service;
use crate::driver::Status;
use crate::service::Confirmations;
use crate::service::history::Total;

/// The media type of the metrics.
pub(super) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the current metrics of a service, to which clients sent so many wrong tokens.
pub(super) fn of(service: &Service, broker: &Status, wrong_tokens: u64) -> String {
    let mut text = Text::default();
    let counters = service.counters();
    text.counter("messages_taken_total", "Messages that were taken.", counters.taken);
    let reasons = counters.by_reason();
    text.family("messages_refused_total", "counter", "Messages that were refused, by reason.");
    for (reason, count) in reasons {
        text.sample(&format!("messages_refused_total{{reason=\"{reason}\"}}"), count);
    }

    let totals: Vec<_> = service.history().totals().collect();
    let sums: [(&str, &str, Sum); 3] = [
        ("operations_total", "Changes of the key.", |total| total.operations),
        ("operation_messages_total", "The schemes' messages.", |total| total.messages),
        ("operation_payload_bytes_total", "Their payload.", |total| total.payload_bytes),
    ];
    for (name, help, sum) in sums {
        text.family(name, "counter", help);
        for (kind, total) in &totals {
            text.sample(&format!("{name}{{operation=\"{}\"}}", kind.name()), sum(total));
        }
    }
    let seconds = "operation_durable_seconds";
    text.family(seconds, "summary", "Time until an operation was computed and durable.");
    for (kind, total) in &totals {
        let label = format!("{{operation=\"{}\"}}", kind.name());
        text.sample(&format!("{seconds}_sum{label}"), total.durable_after as f64 / 1e9);
        text.sample(&format!("{seconds}_count{label}"), total.operations);
    }

    text.counter(
        "catch_ups_total",
        "Members that had missed a change of the key, and asked for it.",
        service.history().catch_ups(),
    );

    let (entries, backlog) = service.stored();
    text.gauge(
        "epoch",
        "The current epoch; 0 before there is a group.",
        epoch(service).unwrap_or(0),
    );
    text.gauge("active_epoch", "The epoch that members send under.", service.active_epoch().0);
    text.gauge("members", "Members of the group.", service.member_count());
    let Confirmations { confirmed, behind, unconfirmed, oldest } = service.confirmations();
    text.family("members_by_epoch", "gauge", "Members that have confirmed the epoch, or not.");
    for (state, count) in
        [("confirmed", confirmed), ("behind", behind), ("unconfirmed", unconfirmed)]
    {
        text.sample(&format!("members_by_epoch{{state=\"{state}\"}}"), count);
    }
    text.gauge(
        "oldest_request_timestamp_seconds",
        "When the member last asked that has not asked for longest; 0 if one never did.",
        oldest.unwrap_or(0) as f64 / 1e9,
    );
    text.gauge("devices_waiting", "Devices that wait to be admitted.", service.waiting());
    text.gauge("publish_backlog", "Publishes that the broker has not acknowledged.", backlog);
    text.gauge("log_entries", "Entries of the store's log.", entries);
    text.gauge("log_limit_entries", "Entries that it may have.", service.policy().limits.log);
    text.gauge("broker_connected", "Whether the broker is connected.", u8::from(broker.connected));
    text.counter("broker_connections_total", "Connections that were made.", broker.connections);
    text.counter("wrong_tokens_total", "HTTP requests with a wrong token.", wrong_tokens);
    text.finish()
}

/// One sum over the operations of a kind.
type Sum = fn(&Total) -> u64;

/// A text of metrics that grows family by family.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn finish(self) -> String {
        self.0
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(name, value);
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, value);
    }

    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP groupkey_{name} {help}\n# TYPE groupkey_{name} {kind}");
    }

    pub(super) fn sample(&mut self, name: &str, value: impl Display) {
        let _ = writeln!(self.0, "groupkey_{name} {value}");
    }
}
