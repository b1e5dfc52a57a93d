//! The power that a device draws, and a model of the energy that counted primitives take.

use groupkey::crypto::meter::Meter;
use serde::Deserialize;

use super::costs::{CallEnergy, Costs};
use crate::statistics::Deviation;

/// The power that a device draws.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePower {
    /// Power while the device only waits for messages.
    pub idle: PowerFigure,
    /// Power while the device computes.
    pub active: PowerFigure,
}

/// A power with its error, and where it comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerFigure {
    /// The power (W).
    pub watt: f64,
    /// Half width of its interval (W).
    pub error_watt: f64,
    /// Where it comes from.
    pub source: String,
}

/// The modelled energy of a computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// All energy that the device draws while it computes (J).
    pub gross: Deviation,
    /// The energy that it draws beyond idling, if the profile has an idle power (J).
    pub net: Option<Deviation>,
}

impl PowerFigure {
    /// Returns the power and its error (W).
    pub const fn deviation(&self) -> Deviation {
        Deviation { value: self.watt, error: self.error_watt }
    }
}

/// Returns the energy of counted primitives. Errors of times, powers and calls are independent of
/// each other.
pub(super) fn energy(costs: &Costs, power: Option<&DevicePower>, meter: &Meter) -> Option<Energy> {
    // A primitive with its own energy does not use the active power, but the idle power counts for
    // its time.
    let (mut own, mut own_variance, mut own_seconds) = (0.0, 0.0_f64, 0.0);
    let (mut seconds, mut time_variance) = (0.0, 0.0_f64);
    for (cost, calls, amount) in costs.uses(meter) {
        let time = cost.time_ns(calls, amount) * 1e-9;
        match cost.energy {
            Some(CallEnergy { per_call_joule, per_unit_joule, error_percent }) => {
                let joule = calls * per_call_joule + amount * per_unit_joule;
                own += joule;
                own_variance += (joule * error_percent / 100.0).powi(2);
                own_seconds += time;
            }
            None => {
                seconds += time;
                time_variance += (time * cost.error_percent.unwrap_or(0.0) / 100.0).powi(2);
            }
        }
    }
    let Some(DevicePower { idle, active }) = power else {
        let gross = Deviation { value: own, error: own_variance.sqrt() };
        return (seconds == 0.0).then_some(Energy { gross, net: None });
    };
    let variance = |watt: f64, watt_variance: f64| {
        own_variance + time_variance * watt.powi(2) + seconds.powi(2) * watt_variance
    };
    let gross = Deviation {
        value: own + seconds * active.watt,
        error: variance(active.watt, active.error_watt.powi(2)).sqrt(),
    };
    let above = active.watt - idle.watt;
    let idle_variance = ((seconds + own_seconds) * idle.error_watt).powi(2);
    let net = Deviation {
        value: gross.value - (seconds + own_seconds) * idle.watt,
        error: (variance(above, active.error_watt.powi(2)) + idle_variance).sqrt(),
    };
    Some(Energy { gross, net: Some(net) })
}

#[cfg(test)]
mod tests {
    use groupkey::Suite;
    use groupkey::crypto::meter::{Primitive, Probe};

    use super::super::DeviceProfile;
    use super::*;

    /// S004 section V.C: an update takes 0.669 s at 0.21803 W.
    #[test]
    fn time_and_power_make_energy() {
        let device = DeviceProfile::named("esp32-pbc").expect("built in");
        let mut meter = Meter::new();
        meter.record(Primitive::ExponentiateG1, 1);
        let seconds = device.costs(Suite::Published).expect("of the papers").time(&meter).value;
        let energy = device.energy(Suite::Published, &meter).expect("it has a power");
        assert!((energy.gross.value - seconds * 0.21803).abs() < 1e-12);
        let net = energy.net.expect("it has an idle power");
        assert!((net.value - seconds * (0.21803 - 0.20504)).abs() < 1e-12);
        assert!(energy.gross.error > 0.0 && net.error > 0.0);
        assert_eq!(
            device.energy(Suite::Published, &Meter::new()).map(|energy| energy.gross.value),
            Some(0.0)
        );
    }

    #[test]
    fn without_a_power_only_what_has_its_own_energy_has_one() {
        let mut device = DeviceProfile::named("esp32-pbc").expect("built in");
        let costs = device.suites[Suite::Published as usize].as_mut().expect("of the papers");
        costs.0[Primitive::Wrap as usize].energy =
            Some(CallEnergy { per_call_joule: 2e-6, per_unit_joule: 1e-6, error_percent: 10.0 });
        device.power = None;
        let mut meter = Meter::new();
        meter.record(Primitive::Wrap, 3);
        let energy = device.energy(Suite::Published, &meter).expect("a wrap has one");
        assert!((energy.gross.value - 5e-6).abs() < 1e-15 && energy.net.is_none());
        assert!((energy.gross.error - 5e-7).abs() < 1e-15);
        meter.record(Primitive::Unwrap, 1);
        assert_eq!(device.energy(Suite::Published, &meter), None);
    }
}
