//! A profile of the machine that runs this code.

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_testkit::workbench::{Workbench, own_primitives};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::costs::{Costs, PrimitiveCost};
use super::measure::Effort;
use super::profile::{DeviceProfile, PacketTime, PacketTimes};

impl DeviceProfile {
    /// Measures the primitives of all suites on this machine. Calls `go_on` before each figure with
    /// the number of figures done, and their final number. If `go_on` returns `false`, the
    /// measurement stops without a profile.
    ///
    /// The cost of packets is not measured, because that takes a broker and a network. It is copied
    /// from the profile `host` and marked as assumed.
    pub fn measured(
        name: &str,
        description: &str,
        effort: Effort,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<Self> {
        let randomness = || Box::new(ChaCha20Rng::seed_from_u64(1)) as _;
        let mut done = 0;
        let suites = all_suites(|suite, primitive| {
            if !go_on(done, figures()) {
                return None;
            }
            done += 1;
            let bench = Workbench { suite, stopwatch: &effort, randomness: &randomness };
            let price = bench.cost(primitive);
            Some(PrimitiveCost {
                per_call_ns: tenths(price.per_call),
                per_unit_ns: tenths(price.per_unit),
                instructions: None,
                error_percent: None,
                energy: None,
                source: SOURCE.to_owned(),
            })
        })?;
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
            clock: None,
            power: None,
            radio: None,
            board: None,
            messages: None,
            suites,
        })
    }
}

pub(super) fn figures() -> usize {
    Suite::ALL.into_iter().map(|suite| own_primitives(suite).count()).sum()
}

/// Returns the costs of all suites, with each suite's own costs from `own`. Returns `None` as soon
/// as `own` does.
pub(super) fn all_suites(
    mut own: impl FnMut(Suite, Primitive) -> Option<PrimitiveCost>,
) -> Option<[Option<Costs>; Suite::ALL.len()]> {
    let mut suites: [Option<Costs>; Suite::ALL.len()] = [const { None }; Suite::ALL.len()];
    for suite in Suite::ALL {
        let mut costs = Vec::new();
        for primitive in Primitive::ALL {
            costs.push(match own_primitives(suite).any(|own| own == primitive) {
                true => own(suite, primitive)?,
                // Same as in the earlier suite that differs only in the group, or in signatures.
                false => {
                    let earlier =
                        if suite == Suite::Pq { Suite::Standard } else { Suite::Published };
                    suites[earlier as usize].as_ref()?.of(primitive).clone()
                }
            });
        }
        suites[suite as usize] = Some(Costs(costs.try_into().ok()?));
    }
    Some(suites)
}

/// Rounds to a tenth of a nanosecond: further digits are noise.
fn tenths(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

const SOURCE: &str = match cfg!(debug_assertions) {
    false => "measured: groupkey device measure, the fastest of several batches",
    true => {
        "measured: groupkey device measure, the fastest of several batches, in an unoptimised build"
    }
};
