//! How the rows of each kind of results are compared.

use super::Comparable;
use crate::audit::Finding;
use crate::bench::trace::ReplayRow;
use crate::bench::{BenchRow, rounds};
use crate::choose::ChoiceRow;
use crate::results::{NetworkRow, RunSample};
use crate::statistics::Moments;

impl Comparable for BenchRow {
    const KEY: &'static [&'static str] = &[
        "scheme",
        "profile",
        "parameters",
        "suite",
        "protection",
        "workload",
        "operation",
        "role",
        "phase",
        "members",
        "subgroups",
        "message_bytes",
        "nonces",
    ];
    const VARYING: &'static [&'static str] = &[
        "repetitions",
        "seed",
        "mean_ns",
        "ci95_ns",
        "sd_ns",
        "p50_ns",
        "p90_ns",
        "p99_ns",
        "counted_ns",
        "measured_over_counted",
    ];
    // Counts are the same in all repetitions. Another seed may change them, chance does not.
    const MODELLED: &'static [&'static str] = &[
        "device",
        "device_ns",
        "device_joule_value",
        "device_joule_error",
        "radio",
        "radio_joule_value",
        "radio_joule_error",
    ];
    const TIME: Option<&'static str> = Some("mean_ns");

    fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    fn time(&self) -> Moments {
        rounds::moments(self.repetitions, self.mean_ns, self.sd_ns, self.ci95_ns)
    }

    fn repetitions(&self) -> Moments {
        let Self { repetitions, mean_ns: mean, sd_ns, .. } = *self;
        Moments { n: repetitions.into(), mean, variance: sd_ns.unwrap_or(0.0).powi(2) }
    }

    fn interval(&self) -> f64 {
        // A single repetition may lie anywhere.
        self.ci95_ns.unwrap_or(f64::INFINITY)
    }
}

impl Comparable for NetworkRow {
    const KEY: &'static [&'static str] = &[
        "scheme",
        "profile",
        "parameters",
        "suite",
        "protection",
        "operation",
        "history",
        "members",
        "loss_percent",
        "loss_direction",
        "burst_ms",
        "delay_ms",
        "jitter_ms",
        "bandwidth_kbit_s",
        "variations",
        "qos",
        "hand_over",
        "max_in_flight",
        "request_bytes",
        "rest_ms",
        "outages_per_hour",
        "outage_s",
        "restarts_per_hour",
        "restart_s",
        "keep_alive_s",
        "session",
        "device",
        "controller_device",
        "subgroup_device",
    ];
    const VARYING: &'static [&'static str] = &[
        "runs",
        "seed",
        "mean_ms",
        "sd_ms",
        "ci95_ms",
        "p50_ms",
        "p90_ms",
        "p99_ms",
        "transmission_ms",
        "computation_ms",
        "member_mean_ms",
    ];
    const DRAWN: &'static [&'static str] = &[
        "messages",
        "payload_bytes",
        "wire_bytes",
        "retransmissions",
        "member_joule",
        "behind",
        "catch_ups",
    ];
    // A simulated party computes as long as its device does, and that is what a row measures.
    const TIME: Option<&'static str> = Some("mean_ms");

    fn is_drawn_as(&self, other: &Self) -> bool {
        (self.setting.seed, self.runs) == (other.setting.seed, other.runs)
    }

    fn drawn(&self, column: &str) -> Vec<f64> {
        let value = |run: &RunSample| match column {
            "messages" => Some(run.messages),
            "payload_bytes" => Some(run.payload_bytes),
            "wire_bytes" => Some(run.wire_bytes),
            "retransmissions" => Some(run.retransmissions),
            "behind" => Some(run.behind),
            "catch_ups" => Some(run.catch_ups),
            _ => None,
        };
        match column {
            "member_joule" => self.samples.iter().filter_map(|run| run.member_joule).collect(),
            _ => self.samples.iter().filter_map(value).map(|value| value as f64).collect(),
        }
    }

    fn repetitions(&self) -> Moments {
        let sd = self.sd_ms.unwrap_or(0.0);
        Moments { n: self.runs.into(), mean: self.mean_ms, variance: sd.powi(2) }
    }

    fn interval(&self) -> f64 {
        // A single run may lie anywhere.
        self.ci95_ms.unwrap_or(f64::INFINITY)
    }
}

impl Comparable for Finding {
    const KEY: &'static [&'static str] = &["scheme", "profile", "claim", "adversary", "condition"];
    // Another seed finds another history.
    const VARYING: &'static [&'static str] = &["history", "derivation"];
    const TIME: Option<&'static str> = None;
}

impl Comparable for ReplayRow {
    const KEY: &'static [&'static str] = &["scheme", "profile", "suite", "protection", "role"];
    const VARYING: &'static [&'static str] = &["seed"];
    const MODELLED: &'static [&'static str] = &[
        "device",
        "device_seconds",
        "busiest_seconds",
        "busiest_joule_value",
        "busiest_joule_error",
    ];
    const TIME: Option<&'static str> = None;

    fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }
}

impl Comparable for ChoiceRow {
    const KEY: &'static [&'static str] = &["scheme", "parameters", "suite", "protection", "qos"];
    const VARYING: &'static [&'static str] = &[];
    const TIME: Option<&'static str> = None;
}
