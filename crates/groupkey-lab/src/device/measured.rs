//! A profile of the machine that this runs on.

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::measure::{Effort, Workbench};
use super::{Cost, Costs, Device, PacketTime, PacketTimes};

impl Device {
    /// Measures the primitives of all suites on this machine. `go_on` is told before each figure how many
    /// are done and how many there are, and stops it all by returning `false`; then there is no profile.
    ///
    /// What packets cost is not measured: that takes a broker and a network. It is taken over from the
    /// profile `host`, and said to be assumed.
    pub fn measured(
        name: &str,
        description: &str,
        effort: Effort,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<Self> {
        let total = Suite::ALL.into_iter().map(|suite| own_primitives(suite).count()).sum();
        let mut done = 0;
        let mut suites: [Option<Costs>; Suite::ALL.len()] = [const { None }; Suite::ALL.len()];
        let randomness = || Box::new(ChaCha20Rng::seed_from_u64(1)) as _;
        for suite in Suite::ALL {
            let bench = Workbench { suite, effort, randomness: &randomness };
            let mut costs = Vec::new();
            for primitive in Primitive::ALL {
                let cost = match own_primitives(suite).any(|own| own == primitive) {
                    true => {
                        if !go_on(done, total) {
                            return None;
                        }
                        done += 1;
                        let price = bench.price(primitive);
                        Cost {
                            per_call_ns: tenths(price.per_call_ns),
                            per_unit_ns: tenths(price.per_unit_ns),
                            error_percent: None,
                            energy: None,
                            source: SOURCE.to_owned(),
                        }
                    }
                    // As in the suite that differs in the group alone, which comes before.
                    false => suites[Suite::Published as usize].as_ref()?.of(primitive).clone(),
                };
                costs.push(cost);
            }
            suites[suite as usize] = Some(Costs(costs.try_into().ok()?));
        }
        let host = Self::named("host")?.processing;
        let packet = |time: PacketTime| PacketTime {
            source: format!("assumed: as host, where it is {}", time.source),
            ..time
        };
        Some(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            processing: PacketTimes {
                publish: packet(host.publish),
                acknowledgement: packet(host.acknowledgement),
                payload_handling: packet(host.payload_handling),
            },
            power: None,
            suites,
        })
    }
}

/// The primitives that are a suite's own: all, but in suites that follow `published` those of the group.
fn own_primitives(suite: Suite) -> impl Iterator<Item = Primitive> {
    let whole = matches!(suite, Suite::Standard | Suite::Constrained | Suite::Published);
    Primitive::ALL.into_iter().filter(move |primitive| whole || primitive.is_of_group())
}

/// In steps of a tenth of a nanosecond: more is noise.
fn tenths(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

const SOURCE: &str = match cfg!(debug_assertions) {
    false => "measured: groupkey device measure, the fastest of several batches",
    true => {
        "measured: groupkey device measure, the fastest of several batches, in an unoptimised build"
    }
};
