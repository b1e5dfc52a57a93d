//! How the rows of each kind of results are compared.

use super::Comparable;
use crate::bench::{BenchRow, rounds};
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
    const DRAWN: &'static [&'static str] = &[];
    const MODELLED: &'static [&'static str] = &[
        "device",
        "device_ns",
        "device_joule_value",
        "device_joule_error",
        "radio",
        "radio_joule_value",
        "radio_joule_error",
    ];
    const TIME: &'static str = "mean_ns";

    fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    fn is_drawn_as(&self, _: &Self) -> bool {
        true
    }

    fn drawn(&self, _: &str) -> Vec<f64> {
        Vec::new()
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
    const DRAWN: &'static [&'static str] =
        &["messages", "payload_bytes", "wire_bytes", "retransmissions"];
    // A simulated party computes as long as its device does, and that is what a row measures.
    const MODELLED: &'static [&'static str] = &[];
    const TIME: &'static str = "mean_ms";

    fn device(&self) -> Option<&str> {
        None
    }

    fn is_drawn_as(&self, other: &Self) -> bool {
        (self.setting.seed, self.runs) == (other.setting.seed, other.runs)
    }

    fn drawn(&self, column: &str) -> Vec<f64> {
        let value = |run: &RunSample| match column {
            "messages" => Some(run.messages),
            "payload_bytes" => Some(run.payload_bytes),
            "wire_bytes" => Some(run.wire_bytes),
            "retransmissions" => Some(run.retransmissions),
            _ => None,
        };
        self.samples.iter().filter_map(value).map(|value| value as f64).collect()
    }

    fn time(&self) -> Moments {
        self.repetitions()
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
