//! The quantities of a network row that figures show.

use crate::report::content::TimeQuantity;
use crate::report::text::{bytes, energy, time};
use crate::results::{NetworkRow, RunSample};
use crate::statistics::Summary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum NetworkQuantity {
    /// Time until the last party has the key.
    Total,
    /// The part of that time spent on the network.
    Transmission,
    /// Bytes of the schemes' messages.
    Payload,
    Wire,
    Energy,
}

/// Statistics of a row in one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Spread {
    pub(in crate::report) mean: f64,
    pub(in crate::report) sd: f64,
    /// Half width of the mean's 95 % confidence interval.
    pub(in crate::report) ci95: f64,
    pub(in crate::report) p50: f64,
    pub(in crate::report) p99: f64,
}

impl NetworkQuantity {
    pub(in crate::report) const fn name(self) -> &'static str {
        match self {
            Self::Total => "total time",
            Self::Transmission => "transmission time",
            Self::Payload => "bytes of messages",
            Self::Wire => "bytes on the wire",
            Self::Energy => "energy of a member",
        }
    }

    pub(in crate::report) fn format(self) -> fn(f64) -> String {
        match self {
            Self::Total | Self::Transmission => time,
            Self::Payload | Self::Wire => bytes,
            Self::Energy => energy,
        }
    }

    pub(in crate::report) const fn published(self) -> Option<TimeQuantity> {
        match self {
            Self::Total => Some(TimeQuantity::Total),
            Self::Transmission => Some(TimeQuantity::Transmission),
            Self::Payload | Self::Wire | Self::Energy => None,
        }
    }
}

impl Spread {
    pub(in crate::report) fn of(row: &NetworkRow, quantity: NetworkQuantity) -> Option<Self> {
        let of_runs = |mean: f64, of: fn(&RunSample) -> f64| {
            let samples: Vec<f64> = row.samples.iter().map(of).collect();
            match samples.is_empty() {
                true => Self::exactly(mean),
                false => {
                    let Summary { sd, ci95, p50, p99, .. } = Summary::of(&samples);
                    let (sd, ci95) = (sd.unwrap_or(0.0), ci95.unwrap_or(0.0));
                    Self { mean, sd, ci95, p50, p99 }
                }
            }
        };
        Some(match quantity {
            NetworkQuantity::Total => Self {
                mean: row.mean_ms,
                sd: row.sd_ms.unwrap_or(0.0),
                ci95: row.ci95_ms.unwrap_or(0.0),
                p50: row.p50_ms,
                p99: row.p99_ms,
            },
            NetworkQuantity::Transmission => {
                of_runs(row.transmission_ms, |run| run.transmission_ms)
            }
            NetworkQuantity::Payload => of_runs(row.payload_bytes, |run| run.payload_bytes as f64),
            NetworkQuantity::Wire => of_runs(row.wire_bytes, |run| run.wire_bytes as f64),
            NetworkQuantity::Energy => {
                of_runs(row.member_joule?, |run| run.member_joule.unwrap_or_default())
            }
        })
    }

    /// Creates a value without any spread.
    pub(in crate::report) const fn exactly(value: f64) -> Self {
        Self { mean: value, sd: 0.0, ci95: 0.0, p50: value, p99: value }
    }
}
