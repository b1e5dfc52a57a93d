//! Measures what the library's primitives cost on this machine and prints a device profile's tables.
//!
//! `cargo run --release -p groupkey-lab --example measure_host`

use groupkey::Suite;
use groupkey_lab::device::measure::Effort;
use groupkey_testkit::workbench::{MeasuredCost, Workbench, own_primitives};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

fn main() {
    for suite in Suite::ALL {
        let randomness = || Box::new(ChaCha20Rng::seed_from_u64(1)) as _;
        let bench = Workbench { suite, stopwatch: &Effort::THOROUGH, randomness: &randomness };
        // The other primitives of a suite that follows `published` are those of `published`.
        for primitive in own_primitives(suite) {
            let MeasuredCost { per_call, per_unit } = bench.cost(primitive);
            println!("\n[{}.{}]", suite.name(), primitive.name());
            println!("per_call_ns = {per_call:.0}\nper_unit_ns = {per_unit:.2}");
        }
    }
}
