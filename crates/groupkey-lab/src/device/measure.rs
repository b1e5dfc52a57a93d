//! A stopwatch: the processor time of the machine that runs this code.
//!
//! Each figure is from the fastest of several batches, so that what other work does to
//! caches counts less. Some work varies in duration, such as finding a prime. Its figure is from all batches
//! together.

use std::time::Duration;

use groupkey_testkit::workbench::{MeasuredCost, Stopwatch};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// How much work goes into one measurement. A primitive's cost takes two measurements for a line
/// through few and many units, and two more for the framing to subtract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Batches, of which the fastest counts.
    pub batches: u32,
    /// Approximate duration of a batch.
    pub batch: Duration,
}

/// What a primitive costs: a part for each call, and a part for each unit of the call's amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasuredPrice {
    /// Time of a call (ns).
    pub per_call_ns: f64,
    /// Time of a unit (ns); the primitive defines the unit.
    pub per_unit_ns: f64,
    /// What was measured.
    pub source: PriceSource,
}

/// What a price was measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum PriceSource {
    /// The own calls of the library that computes it.
    #[default]
    Library,
    /// The interface that schemes use: no library has the primitive.
    Interface,
}

impl Effort {
    /// For a profile that other people use: about a second for a primitive.
    pub const THOROUGH: Self = Self { batches: 25, batch: Duration::from_millis(10) };

    /// For figures that one run needs: about 30 ms for a primitive.
    pub const QUICK: Self = Self { batches: 9, batch: Duration::from_millis(1) };

    /// Returns the time of one call of `work` in each batch (ns).
    fn batches(self, work: &mut dyn FnMut()) -> impl Iterator<Item = f64> {
        let clock = Clock::of_thread();
        let mut seconds = move |calls: u32| {
            let started = clock.now();
            (0..calls).for_each(|_| work());
            (clock.now() - started).as_secs_f64() / f64::from(calls)
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

impl MeasuredPrice {
    /// Returns the price that a stopwatch of nanoseconds measured.
    pub const fn new(
        MeasuredCost { per_call, per_unit }: MeasuredCost,
        source: PriceSource,
    ) -> Self {
        Self { per_call_ns: per_call, per_unit_ns: per_unit, source }
    }
}
