//! Prices: what each primitive costs by itself, on this machine, in this run. They are measured outside
//! of our interface, by the libraries' own calls, where a library has the primitive.

use std::collections::BTreeMap;

use groupkey::Suite;
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey_testkit::workbench::Workbench;
use rand_core::CryptoRng;

use super::StaticVariables;
use super::library::LibraryBench;
use crate::device::measure::{Effort, MeasuredPrice, PriceSource};

/// The prices of primitives on this machine. Each is measured when the primitive first occurs.
#[derive(Clone, Debug)]
pub struct HostPrices {
    effort: Effort,
    known: BTreeMap<(&'static str, Primitive), MeasuredPrice>,
}

impl HostPrices {
    /// Returns an empty list of prices.
    pub const fn new(effort: Effort) -> Self {
        Self { effort, known: BTreeMap::new() }
    }

    /// Returns prices that were measured before, by suite and by the meter's name of the primitive.
    /// A continued benchmark then counts as before. Unknown names are left out.
    pub fn resume(
        effort: Effort,
        by_name: &BTreeMap<String, BTreeMap<String, MeasuredPrice>>,
    ) -> Self {
        let suites = Suite::ALL
            .into_iter()
            .filter_map(|suite| by_name.get(suite.name()).map(|prices| (suite.name(), prices)));
        let known = suites.flat_map(|(suite, prices)| {
            let known = Primitive::ALL.into_iter();
            known.filter_map(move |primitive| {
                prices.get(primitive.name()).map(|&price| ((suite, primitive), price))
            })
        });
        Self { effort, known: known.collect() }
    }

    /// Measures the prices of primitives that a meter counted and that have no price yet.
    pub fn learn(&mut self, suite: Suite, meter: &Meter) {
        // Random values are drawn as schemes draw them in the benchmark.
        let variables = StaticVariables::recurring(1, DRAWN);
        let randomness = || Box::new(variables.clone()) as Box<dyn CryptoRng>;
        let Self { effort, known } = self;
        let stopwatch = &*effort;
        let mut library = LibraryBench { suite, stopwatch, rng: &mut *randomness() };
        let interface = Workbench { suite, stopwatch, randomness: &randomness };
        for primitive in Primitive::ALL {
            if meter.tally(primitive).calls > 0 {
                known.entry((suite.name(), primitive)).or_insert_with(|| {
                    match library.cost(primitive) {
                        Some(cost) => MeasuredPrice::new(cost, PriceSource::Library),
                        None => {
                            MeasuredPrice::new(interface.cost(primitive), PriceSource::Interface)
                        }
                    }
                });
            }
        }
    }

    /// Returns the cost of the counted primitives together (ns). Primitives without a price cost
    /// nothing.
    pub fn cost(&self, suite: Suite, meter: &Meter) -> f64 {
        let cost = |primitive| {
            let tally = meter.tally(primitive);
            self.known.get(&(suite.name(), primitive)).map_or(0.0, |line| {
                tally.calls as f64 * line.per_call_ns + tally.amount as f64 * line.per_unit_ns
            })
        };
        Primitive::ALL.into_iter().map(cost).sum()
    }

    /// Returns all known prices: by suite, then by the meter's name of the primitive.
    pub fn by_name(&self) -> BTreeMap<String, BTreeMap<String, MeasuredPrice>> {
        let mut by_name: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (&(suite, primitive), &line) in &self.known {
            by_name.entry(suite.to_owned()).or_default().insert(primitive.name().to_owned(), line);
        }
        by_name
    }
}

/// Bytes that are drawn before the variables begin again.
const DRAWN: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use groupkey::crypto::meter::Probe;

    use super::*;

    const HASTE: Effort = Effort { batches: 2, batch: Duration::from_micros(50) };

    #[test]
    fn what_occurs_has_a_price_and_the_rest_has_none() {
        let mut meter = Meter::new();
        meter.record(Primitive::Wrap, 1);
        meter.record(Primitive::Wrap, 2);
        let mut prices = HostPrices::new(HASTE);
        assert_eq!(prices.cost(Suite::Standard, &meter), 0.0);
        prices.learn(Suite::Standard, &meter);
        let by_name = prices.by_name();
        assert_eq!(by_name["standard"].keys().collect::<Vec<_>>(), ["wrap"]);
        let MeasuredPrice { per_call_ns, per_unit_ns, source } = by_name["standard"]["wrap"];
        assert_eq!(source, PriceSource::Library);
        let cost = prices.cost(Suite::Standard, &meter);
        assert!((cost - (2.0 * per_call_ns + 3.0 * per_unit_ns)).abs() < 1e-6);
        assert_eq!(prices.cost(Suite::Constrained, &meter), 0.0);
        let resumed = HostPrices::resume(HASTE, &by_name);
        assert_eq!(resumed.cost(Suite::Standard, &meter), cost);
    }

    /// Every primitive can be priced in these suites: nothing panics, and no price is negative.
    #[test]
    fn every_primitive_has_a_price() {
        let mut all = Meter::new();
        Primitive::ALL.into_iter().for_each(|primitive| all.record(primitive, 1));
        let mut prices = HostPrices::new(Effort { batches: 1, batch: Duration::from_nanos(1) });
        for suite in [Suite::Standard, Suite::Published] {
            prices.learn(suite, &all);
        }
        for lines in prices.by_name().values() {
            assert_eq!(lines.len(), Primitive::ALL.len());
            let valid = |ns: f64| ns.is_finite() && ns >= 0.0;
            assert!(lines.values().all(|line| valid(line.per_call_ns) && valid(line.per_unit_ns)));
        }
    }

    /// Remainders and shares of a secret take inverses in a suite without a pairing, too.
    #[test]
    fn an_inverse_has_a_price_without_a_pairing() {
        let mut meter = Meter::new();
        meter.record(Primitive::InvertScalar, 1);
        let mut prices = HostPrices::new(HASTE);
        prices.learn(Suite::Pq, &meter);
        assert!(prices.cost(Suite::Pq, &meter) > 0.0);
    }
}
