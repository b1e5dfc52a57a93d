//! What primitives cost on a device: times, or instructions and a clock that makes times of them.

use groupkey::crypto::meter::{Meter, Primitive};
use serde::Deserialize;

use crate::statistics::Deviation;

/// What each primitive of one suite costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs(pub(super) [Cost; Primitive::ALL.len()]);

/// What one primitive costs: so much a call, and so much a unit of the call's amount.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); what a unit is, [`Primitive`] tells.
    pub per_unit_ns: f64,
    /// What the times are made of by the device's clock, where instructions were counted.
    pub instructions: Option<Instructions>,
    /// Error of both times (%), where the source has one.
    pub error_percent: Option<f64>,
    /// The energy of a call, where it is known by itself; else it is the time's at the device's power.
    pub energy: Option<CallEnergy>,
    /// Where the figures come from.
    pub source: String,
}

/// Instructions of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instructions {
    /// Of a call.
    pub per_call: f64,
    /// Of a unit.
    pub per_unit: f64,
}

/// What a primitive takes of the battery, idle power included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallEnergy {
    /// Energy of a call (J).
    pub per_call_joule: f64,
    /// Energy of a unit (J).
    #[serde(default)]
    pub per_unit_joule: f64,
    /// Error of both (%).
    pub error_percent: f64,
}

/// What makes times of counted instructions. That is a model: how many cycles an instruction takes,
/// counting does not tell.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Cycles a second.
    pub hertz: u64,
    /// Instructions that a cycle completes, on average.
    pub instructions_per_cycle: f64,
    /// Where the two come from.
    pub source: String,
}

impl Costs {
    /// The time that a step with these counted primitives takes (ns).
    pub fn computation(&self, meter: &Meter) -> u64 {
        self.uses(meter)
            .map(|(cost, calls, amount)| cost.time_ns(calls, amount))
            .sum::<f64>()
            .round() as u64
    }

    /// The same in seconds, with the error that the sources give: those of different primitives are
    /// independent, that of one primitive is the same at each call.
    pub fn time(&self, meter: &Meter) -> Deviation {
        let (mut value, mut variance) = (0.0, 0.0_f64);
        for (cost, calls, amount) in self.uses(meter) {
            let seconds = cost.time_ns(calls, amount) * 1e-9;
            value += seconds;
            variance += (seconds * cost.error_percent.unwrap_or(0.0) / 100.0).powi(2);
        }
        Deviation { value, error: variance.sqrt() }
    }

    /// The cost of one primitive.
    pub const fn of(&self, primitive: Primitive) -> &Cost {
        &self.0[primitive as usize]
    }

    /// The costs of all primitives, with their calls and amounts.
    pub(super) fn uses(&self, meter: &Meter) -> impl Iterator<Item = (&Cost, f64, f64)> {
        Primitive::ALL.into_iter().zip(&self.0).map(|(primitive, cost)| {
            let tally = meter.tally(primitive);
            (cost, tally.calls as f64, tally.amount as f64)
        })
    }
}

impl Cost {
    /// The time of this many calls on this many units in all (ns).
    pub(super) fn time_ns(&self, calls: f64, amount: f64) -> f64 {
        calls * self.per_call_ns + amount * self.per_unit_ns
    }
}

impl Clock {
    /// Time of this many instructions (ns).
    pub fn time_ns(&self, instructions: f64) -> f64 {
        instructions * 1e9 / (self.hertz as f64 * self.instructions_per_cycle)
    }
}
