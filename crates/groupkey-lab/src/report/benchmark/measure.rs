//! The quantities of a row that figures show, and the format of their numbers.

use groupkey_choose::number::{TIMES, scaled};

use crate::bench::BenchRow;
use crate::report::text::{bytes, energy};

/// A quantity of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Measure {
    /// Time measured on the machine that ran the benchmark.
    Time,
    /// Time of the counted primitives at a device's prices.
    DeviceTime,
    /// Energy of the counted primitives on that device.
    DeviceEnergy,
    PermanentBytes,
    TemporaryBytes,
    Messages,
    WireBytes,
}

/// Measures that share one figure, a panel each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Computation,
    ModelledComputation,
    ModelledEnergy,
    Storage,
    Traffic,
}

impl Subject {
    pub(super) const ALL: [Self; 5] = [
        Self::Computation,
        Self::ModelledComputation,
        Self::ModelledEnergy,
        Self::Storage,
        Self::Traffic,
    ];

    pub(super) const fn measures(self) -> &'static [Measure] {
        match self {
            Self::Computation => &[Measure::Time],
            Self::ModelledComputation => &[Measure::DeviceTime],
            Self::ModelledEnergy => &[Measure::DeviceEnergy],
            Self::Storage => &[Measure::PermanentBytes, Measure::TemporaryBytes],
            Self::Traffic => &[Measure::Messages, Measure::WireBytes],
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Computation => "computation, measured",
            Self::ModelledComputation => "computation, modelled",
            Self::ModelledEnergy => "energy, modelled",
            Self::Storage => "storage",
            Self::Traffic => "messages and bytes sent",
        }
    }

    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Computation => "time-measured",
            Self::ModelledComputation => "time-modelled",
            Self::ModelledEnergy => "energy-modelled",
            Self::Storage => "storage",
            Self::Traffic => "traffic",
        }
    }

    pub(super) fn is_of_the_machine(self) -> bool {
        self == Self::Computation
    }

    pub(super) const fn is_of_a_device(self) -> bool {
        matches!(self, Self::ModelledComputation | Self::ModelledEnergy)
    }

    /// Returns what a reader must know about the figure.
    pub(super) const fn caption(self) -> &'static str {
        match self {
            Self::Computation => {
                "Mean of the repetitions on the machine that ran the benchmark; the band is the mean's 95 % \
                 confidence interval."
            }
            Self::ModelledComputation => {
                "Modelled, not measured: counted primitives at the device's prices. There is no band, for \
                 counts do not vary."
            }
            Self::ModelledEnergy => {
                "Modelled, not measured: the energy of the counted primitives on the device; the band is \
                 the error that follows from its profile."
            }
            Self::Storage => {
                "Key material: held between operations (permanent), and in addition while one is under \
                 way, at most (temporary)."
            }
            Self::Traffic => {
                "Messages that the role sends, and their bytes with header and protection. What a network \
                 adds is not in here."
            }
        }
    }
}

impl Measure {
    pub(in crate::report) const fn name(self) -> &'static str {
        match self {
            Self::Time => "time, measured",
            Self::DeviceTime => "time, modelled",
            Self::DeviceEnergy => "energy, modelled",
            Self::PermanentBytes => "permanent",
            Self::TemporaryBytes => "temporary",
            Self::Messages => "messages",
            Self::WireBytes => "bytes sent",
        }
    }

    /// Returns the value and the half width of its interval, which is 0 if there is none.
    pub(in crate::report) fn of(self, row: &BenchRow) -> Option<(f64, f64)> {
        match self {
            Self::Time => Some((row.mean_ns, row.ci95_ns.unwrap_or(0.0))),
            Self::DeviceTime => row.device_ns.map(|ns| (ns, 0.0)),
            Self::DeviceEnergy => row.device_joule.map(|energy| (energy.value, energy.error)),
            Self::PermanentBytes => Some((row.permanent_bytes as f64, 0.0)),
            Self::TemporaryBytes => Some((row.temporary_bytes as f64, 0.0)),
            Self::Messages => Some((row.messages as f64, 0.0)),
            Self::WireBytes => Some((row.wire_bytes as f64, 0.0)),
        }
    }

    /// Formats a value with its unit: `12.3 µs`.
    pub(in crate::report) fn words(self, value: f64) -> String {
        (self.format())(value)
    }

    pub(super) fn format(self) -> fn(f64) -> String {
        match self {
            Self::Time | Self::DeviceTime => |ns| scaled(ns, TIMES),
            Self::DeviceEnergy => energy,
            Self::PermanentBytes | Self::TemporaryBytes | Self::WireBytes => bytes,
            Self::Messages => |count| scaled(count, &[(1.0, "")]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_unit_that_suits_them() {
        assert_eq!(Measure::WireBytes.words(51.0), "51.0 B");
        assert_eq!(Measure::DeviceEnergy.words(0.1316), "132 mJ");
        assert_eq!(Measure::Messages.words(100.0), "100");
    }
}
