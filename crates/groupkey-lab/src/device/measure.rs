//! A stopwatch for the machine that this runs on: its clock.
//!
//! Each figure is from the fastest of several batches, so that what else the machine does counts less;
//! but of what takes now longer, now shorter, such as finding a prime, it is from all of them together.

use std::time::{Duration, Instant};

use groupkey::workbench::{Cost, Stopwatch};
use serde::{Deserialize, Serialize};

/// How much work goes into a figure: a line takes two of these, and framing to subtract another two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Batches, of which the fastest counts.
    pub batches: u32,
    /// How long a batch takes, about.
    pub batch: Duration,
}

/// What a primitive costs: so much a call, and so much a unit of the call's amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Price {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); what a unit is, the primitive tells.
    pub per_unit_ns: f64,
}

impl Effort {
    /// For a profile that others use: about a second for a primitive.
    pub const THOROUGH: Self = Self { batches: 25, batch: Duration::from_millis(10) };

    /// For figures that one run needs: some 30 ms for a primitive.
    pub const QUICK: Self = Self { batches: 9, batch: Duration::from_millis(1) };

    /// Time of one call of `work` in each batch (ns).
    fn batches(self, work: &mut dyn FnMut()) -> impl Iterator<Item = f64> {
        let mut seconds = move |calls: u32| {
            let started = Instant::now();
            (0..calls).for_each(|_| work());
            started.elapsed().as_secs_f64() / f64::from(calls)
        };
        let wanted = self.batch.as_secs_f64();
        let calls = (wanted / seconds(3).max(1e-7)).clamp(1.0, 100_000.0) as u32;
        (0..self.batches).map(move |_| seconds(calls) * 1e9)
    }
}

impl Stopwatch for Effort {
    fn one(&self, work: &mut dyn FnMut()) -> f64 {
        self.batches(work).fold(f64::INFINITY, f64::min)
    }

    fn mean(&self, work: &mut dyn FnMut()) -> f64 {
        self.batches(work).sum::<f64>() / f64::from(self.batches)
    }
}

impl From<Cost> for Price {
    fn from(Cost { per_call, per_unit }: Cost) -> Self {
        Self { per_call_ns: per_call, per_unit_ns: per_unit }
    }
}
