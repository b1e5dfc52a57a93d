//! The benchmark: what each role of a scheme computes, keeps and sends, by operation and group
//! size.
//!
//! [`Function`] is the specification: which role computes what in which phase. A [`BenchPlan`] says
//! what is measured of a scheme. [`measure`] measures it at one size, [`run`] at all sizes. A
//! [`BenchRow`] has the results. `docs/benchmark.md` explains the benchmark to its users.

mod activity;
mod campaign;
mod clock;
pub mod energy;
mod error;
mod file;
mod function;
mod group;
pub mod growth;
mod library;
mod measurement;
mod parties;
mod plan;
mod prices;
mod reach;
pub(crate) mod recording;
pub mod requirements;
mod role_party;
pub mod rounds;
mod row;
mod samples;
mod script;
mod state;
mod static_variables;
pub mod trace;
mod warning;
pub mod workload;

pub use self::activity::Activity;
pub use self::campaign::{BenchOptions, BenchOutcome, Unit, pilot, remaining, run, units};
pub use self::clock::ClockProperties;
pub use self::error::BenchError;
pub use self::file::BenchHeader;
pub use self::function::Function;
pub use self::function::Phase;
pub use self::measurement::{Instruments, Measurement, measure};
pub use self::plan::BenchPlan;
pub use self::prices::HostPrices;
pub use self::reach::Reach;
pub use self::row::{BenchRow, CountedPrimitive, MessageTraffic};
pub use self::static_variables::StaticVariables;
pub use self::warning::Warning;
pub use self::workload::Workload;
pub use crate::device::measure::{MeasuredPrice, PriceSource};
pub use crate::results::{read_jsonl, write_csv, write_jsonl, write_line};
pub use crate::statistics::Deviation;
pub use groupkey::catalogue::growth::Role;

/// A row for tests.
#[cfg(test)]
pub(crate) mod example {
    use super::{BenchRow, CountedPrimitive, MessageTraffic};

    pub(crate) fn row(scheme: &str, members: u32) -> BenchRow {
        let messages = u64::from(members);
        let unicast =
            MessageTraffic { messages, payload_bytes: 26 * messages, wire_bytes: 51 * messages };
        BenchRow {
            scheme: scheme.to_owned(),
            profile: "sound".to_owned(),
            parameters: String::new(),
            suite: "standard".to_owned(),
            security_bits: 128,
            class: "centralized".to_owned(),
            provenance: "specified".to_owned(),
            protection: "mac".to_owned(),
            workload: "smart-city".to_owned(),
            operation: "create".to_owned(),
            role: "controller".to_owned(),
            phase: "operational".to_owned(),
            members,
            subgroups: 0,
            repetitions: 50,
            seed: 7,
            clock: "processor".to_owned(),
            mean_ns: 1_000.0,
            ci95_ns: Some(2.842),
            sd_ns: Some(10.0),
            p50_ns: 999.0,
            p90_ns: 1_013.0,
            p99_ns: 1_020.5,
            counted_ns: 800.0,
            measured_over_counted: Some(1.25),
            primitives: [(
                "wrap".to_owned(),
                CountedPrimitive { calls: messages as f64, amount: messages as f64 },
            )]
            .into(),
            permanent_bytes: 16 * messages,
            temporary_bytes: 16,
            messages,
            message_bytes: None,
            nonces: None,
            payload_bytes: unicast.payload_bytes,
            wire_bytes: unicast.wire_bytes,
            unicast,
            multicast: MessageTraffic::default(),
            broadcast: MessageTraffic::default(),
            device: None,
            device_ns: None,
            device_joule: None,
            radio: None,
            radio_joule: None,
            samples_ns: vec![990, 1_010],
            warnings: Vec::new(),
        }
    }
}
