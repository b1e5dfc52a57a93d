//! What each primitive costs, and what a party does with messages, in what the machine counts.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::hint::black_box;

use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_testkit::workbench::{Handling, MeasuredCost, Stopwatch, Workbench, own_primitives};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{CryptoRng, SeedableRng};

/// Measures one figure after the other, and returns a line for each: suite, primitive, cost of a call,
/// cost of a unit. In place of the suite, the first lines have `messages`. `count` is a number that grows
/// with time, and wraps: no figure takes as much as that. Other primitives than `wanted` are left out.
pub fn lines(
    count: fn() -> u32,
    wanted: fn(Suite, Primitive) -> bool,
) -> impl Iterator<Item = String> {
    let stopwatch = Counter(count);
    let messages = Handling::ALL.into_iter().map(move |handling| {
        // Of the suites' ciphers, the cost of this one is the closest to a line.
        let bench = bench(Suite::Constrained, &stopwatch);
        line("messages", handling.name(), bench.handling(handling))
    });
    let primitives = Suite::ALL.into_iter().flat_map(move |suite| {
        own_primitives(suite).filter(move |&primitive| wanted(suite, primitive)).map(
            move |primitive| {
                line(suite.name(), primitive.name(), bench(suite, &stopwatch).cost(primitive))
            },
        )
    });
    messages.chain(primitives)
}

fn bench(suite: Suite, stopwatch: &Counter) -> Workbench<'_> {
    Workbench { suite, stopwatch, randomness: &randomness }
}

fn randomness() -> Box<dyn CryptoRng> {
    Box::new(ChaCha20Rng::seed_from_u64(1))
}

fn line(table: &str, name: &str, MeasuredCost { per_call, per_unit }: MeasuredCost) -> String {
    format!("{table} {name} {per_call:.2} {per_unit:.2}")
}

/// Counts during the work, without what it takes to call it.
#[derive(Clone, Copy)]
struct Counter(fn() -> u32);

/// What is counted for a figure, unless that takes more than [`MOST`] calls. The coarsest counter
/// advances in steps of 160.
const ENOUGH: f64 = 1e6;

/// The maximum number of calls: more than randomness is made for at once.
const MOST: u32 = 1_024;

/// The number of calls for a mean.
const SAMPLE: u32 = 32;

impl Stopwatch for Counter {
    fn one(&self, work: &mut dyn FnMut()) -> f64 {
        // The first call may build tables that later calls use.
        work();
        let once = self.each(work, 1);
        match (ENOUGH / once.max(1.0)) as u32 {
            0 | 1 => once,
            calls => self.each(work, calls.min(MOST)),
        }
    }

    fn mean(&self, work: &mut dyn FnMut()) -> f64 {
        self.each(work, SAMPLE)
    }
}

impl Counter {
    fn each(&self, work: &mut dyn FnMut(), calls: u32) -> f64 {
        let counted = f64::from(self.run(work, calls));
        (counted - f64::from(self.run(black_box(&mut || ()), calls))) / f64::from(calls)
    }

    #[inline(never)]
    fn run(&self, work: &mut dyn FnMut(), calls: u32) -> u32 {
        let before = (self.0)();
        (0..calls).for_each(|_| work());
        (self.0)().wrapping_sub(before)
    }
}
