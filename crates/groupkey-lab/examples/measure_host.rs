//! Measures what the library's primitives cost on this machine and prints a device profile's tables.
//!
//! `cargo run --release -p groupkey-lab --example measure_host`

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_lab::device::measure::{Effort, Price, Workbench};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

fn main() {
    for suite in Suite::ALL {
        let randomness = || Box::new(ChaCha20Rng::seed_from_u64(1)) as _;
        let bench = Workbench { suite, effort: Effort::THOROUGH, randomness: &randomness };
        // The other primitives of a suite that follows `published` are those of `published`.
        let whole = matches!(suite, Suite::Standard | Suite::Constrained | Suite::Published);
        let own = |primitive: &Primitive| whole || primitive.is_of_group();
        for primitive in Primitive::ALL.into_iter().filter(own) {
            let Price { per_call_ns, per_unit_ns } = bench.price(primitive);
            println!("\n[{}.{}]", suite.name(), primitive.name());
            println!("per_call_ns = {per_call_ns:.0}\nper_unit_ns = {per_unit_ns:.2}");
        }
    }
}
