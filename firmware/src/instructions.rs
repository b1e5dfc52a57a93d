//! Counts the instructions of each primitive in an emulator, and prints a line for each: suite,
//! primitive, instructions of a call, instructions of a unit. It begins with what a party does with
//! messages; in place of the suite there is `messages`.

#![no_std]
#![no_main]

extern crate alloc;

mod counter;
mod heap;

use alloc::boxed::Box;
use core::hint::black_box;

use groupkey::Suite;
use groupkey::workbench::{Cost, Handling, Stopwatch, Workbench, own_primitives};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use semihosting::{println, process};

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    heap::start();
    counter::start();
    let randomness = || Box::new(ChaCha20Rng::seed_from_u64(1)) as _;
    // Of the suites' ciphers, the cost of this one is the closest to a line.
    let suite = Suite::Constrained;
    let bench = Workbench { suite, stopwatch: &Instructions, randomness: &randomness };
    for handling in Handling::ALL {
        let Cost { per_call, per_unit } = bench.handling(handling);
        println!("messages {} {per_call:.2} {per_unit:.2}", handling.name());
    }
    for suite in Suite::ALL {
        let bench = Workbench { suite, stopwatch: &Instructions, randomness: &randomness };
        for primitive in own_primitives(suite) {
            let Cost { per_call, per_unit } = bench.cost(primitive);
            println!("{} {} {per_call:.2} {per_unit:.2}", suite.name(), primitive.name());
        }
    }
    process::exit(0)
}

/// Counts the instructions of the work, without the instructions of calling it.
struct Instructions;

/// The number of instructions that are counted for a figure, unless that takes more than [`MOST`]
/// calls. The coarsest counter advances in steps of forty.
const ENOUGH: f64 = 1e6;

/// The maximum number of calls: more than randomness is made for at once.
const MOST: u64 = 1_024;

/// The number of calls for a mean.
const SAMPLE: u64 = 32;

impl Stopwatch for Instructions {
    fn one(&self, work: &mut dyn FnMut()) -> f64 {
        // The first call may build tables that later calls use.
        work();
        let once = each(work, 1);
        match (ENOUGH / once.max(1.0)) as u64 {
            0 | 1 => once,
            calls => each(work, calls.min(MOST)),
        }
    }

    fn mean(&self, work: &mut dyn FnMut()) -> f64 {
        each(work, SAMPLE)
    }
}

fn each(work: &mut dyn FnMut(), calls: u64) -> f64 {
    let counted = run(work, calls) as f64;
    (counted - run(black_box(&mut || ()), calls) as f64) / calls as f64
}

/// Returns the number of instructions of this many calls.
#[inline(never)]
fn run(work: &mut dyn FnMut(), calls: u64) -> u64 {
    let before = counter::instructions();
    (0..calls).for_each(|_| work());
    counter::instructions() - before
}
