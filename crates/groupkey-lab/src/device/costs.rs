//! What primitives cost on a device: times, or instructions and a clock that converts them to
//! times.

use groupkey::crypto::meter::{Meter, Primitive};
use groupkey_testkit::workbench::Handling;
use serde::Deserialize;

use crate::statistics::Deviation;

/// What each primitive of one suite costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs(pub(super) [PrimitiveCost; Primitive::ALL.len()]);

/// What handling a message costs besides the primitives.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlingCosts(pub(super) [PrimitiveCost; Handling::ALL.len()]);

/// The messages that a party handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandledMessages([(u64, u64); Handling::ALL.len()]);

/// What one primitive costs: a part for each call, and a part for each unit of the call's amount.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimitiveCost {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); [`Primitive`] defines the unit.
    pub per_unit_ns: f64,
    /// The counted instructions, if any. The device's clock converts them to the times.
    pub instructions: Option<Instructions>,
    /// Error of both times (%), if the source has one.
    pub error_percent: Option<f64>,
    /// The energy of a call, if it is known separately. Otherwise the energy follows from the time
    /// and the device's power.
    pub energy: Option<CallEnergy>,
    /// Where the figures come from.
    pub source: String,
}

/// Instructions of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instructions {
    /// Instructions of a call.
    pub per_call: f64,
    /// Instructions of a unit.
    pub per_unit: f64,
}

/// The energy that a primitive takes from the battery, idle power included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallEnergy {
    /// Energy of a call (J).
    pub per_call_joule: f64,
    /// Energy of a unit (J).
    #[serde(default)]
    pub per_unit_joule: f64,
    /// Error of both energies (%).
    pub error_percent: f64,
}

/// Converts counted instructions to times. This is a model: counting does not tell how many cycles
/// an instruction takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionClock {
    /// Cycles a second.
    pub hertz: u64,
    /// Instructions that a cycle completes, on average.
    pub instructions_per_cycle: f64,
    /// Where the two come from.
    pub source: String,
}

impl Costs {
    /// Returns the time that a step with these counted primitives takes (ns).
    pub fn computation(&self, meter: &Meter) -> u64 {
        self.uses(meter)
            .map(|(cost, calls, amount)| cost.time_ns(calls, amount))
            .sum::<f64>()
            .round() as u64
    }

    /// Returns the time of such a step in seconds, with the error that the sources give. The errors
    /// of different primitives are independent. The error of one primitive is the same at each
    /// call.
    pub fn time(&self, meter: &Meter) -> Deviation {
        let (mut value, mut variance) = (0.0, 0.0_f64);
        for (cost, calls, amount) in self.uses(meter) {
            let seconds = cost.time_ns(calls, amount) * 1e-9;
            value += seconds;
            variance += (seconds * cost.error_percent.unwrap_or(0.0) / 100.0).powi(2);
        }
        Deviation { value, error: variance.sqrt() }
    }

    /// Returns the instructions of a step with these counted primitives. `None` if the price of one
    /// is not in instructions.
    pub fn instructions(&self, meter: &Meter) -> Option<f64> {
        let used = self.uses(meter).filter(|&(_, calls, _)| calls > 0.0);
        used.map(|(cost, calls, amount)| cost.instructions(calls, amount)).sum()
    }

    /// Returns the cost of one primitive.
    pub const fn of(&self, primitive: Primitive) -> &PrimitiveCost {
        &self.0[primitive as usize]
    }

    /// Converts counted instructions to times anew.
    pub(super) fn at_clock(&mut self, clock: &InstructionClock) {
        self.0.iter_mut().for_each(|cost| cost.at_clock(clock));
    }

    pub(super) fn uses(&self, meter: &Meter) -> impl Iterator<Item = (&PrimitiveCost, f64, f64)> {
        Primitive::ALL.into_iter().zip(&self.0).map(|(primitive, cost)| {
            let tally = meter.tally(primitive);
            (cost, tally.calls as f64, tally.amount as f64)
        })
    }
}

impl HandlingCosts {
    /// Returns the cost of one kind of handling.
    pub const fn of(&self, handling: Handling) -> &PrimitiveCost {
        &self.0[handling as usize]
    }

    /// Converts counted instructions to times anew.
    pub(super) fn at_clock(&mut self, clock: &InstructionClock) {
        self.0.iter_mut().for_each(|cost| cost.at_clock(clock));
    }

    /// Returns the time of these messages (ns).
    pub fn time_ns(&self, handled: &HandledMessages) -> f64 {
        self.uses(handled).map(|(cost, calls, amount)| cost.time_ns(calls, amount)).sum()
    }

    /// Returns the instructions of these messages; `None` if one cost is not in instructions.
    pub fn instructions(&self, handled: &HandledMessages) -> Option<f64> {
        self.uses(handled).map(|(cost, calls, amount)| cost.instructions(calls, amount)).sum()
    }

    fn uses(&self, handled: &HandledMessages) -> impl Iterator<Item = (&PrimitiveCost, f64, f64)> {
        let uses = self.0.iter().zip(handled.0);
        uses.map(|(cost, (messages, bytes))| (cost, messages as f64, bytes as f64))
    }
}

impl HandledMessages {
    /// Adds messages of so many bytes together.
    pub const fn add(&mut self, handling: Handling, messages: u64, bytes: u64) {
        let (all, all_bytes) = &mut self.0[handling as usize];
        *all += messages;
        *all_bytes += bytes;
    }
}

impl HandledMessages {
    /// Returns how many messages were handled so, and their bytes.
    pub const fn of(&self, handling: Handling) -> (u64, u64) {
        self.0[handling as usize]
    }
}

impl PrimitiveCost {
    /// Converts counted instructions to times anew.
    fn at_clock(&mut self, clock: &InstructionClock) {
        if let Some(Instructions { per_call, per_unit }) = self.instructions {
            self.per_call_ns = clock.time_ns(per_call);
            self.per_unit_ns = clock.time_ns(per_unit);
        }
    }

    /// Returns the instructions of this many calls on this many units in all, if they were counted.
    fn instructions(&self, calls: f64, amount: f64) -> Option<f64> {
        let Instructions { per_call, per_unit } = self.instructions?;
        Some(calls * per_call + amount * per_unit)
    }

    /// Returns the time of this many calls on this many units in all (ns).
    pub(super) fn time_ns(&self, calls: f64, amount: f64) -> f64 {
        calls * self.per_call_ns + amount * self.per_unit_ns
    }
}

impl InstructionClock {
    /// Returns the time of this many instructions (ns).
    pub fn time_ns(&self, instructions: f64) -> f64 {
        instructions * 1e9 / (self.hertz as f64 * self.instructions_per_cycle)
    }
}
