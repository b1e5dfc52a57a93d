//! Counts the instructions of each primitive in an emulator, and prints a line for each: suite,
//! primitive, instructions of a call, instructions of a unit.

#![no_std]
#![no_main]

extern crate alloc;

mod counter;
mod heap;

use alloc::boxed::Box;
use core::hint::black_box;

use groupkey::Suite;
use groupkey::workbench::{Cost, Stopwatch, Workbench, own_primitives};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use semihosting::{println, process};

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    heap::start();
    counter::start();
    let randomness = || Box::new(ChaCha20Rng::seed_from_u64(1)) as _;
    for suite in Suite::ALL {
        let bench = Workbench { suite, stopwatch: &Instructions, randomness: &randomness };
        for primitive in own_primitives(suite) {
            let Cost { per_call, per_unit } = bench.cost(primitive);
            println!("{} {} {per_call:.2} {per_unit:.2}", suite.name(), primitive.name());
        }
    }
    process::exit(0)
}

/// Counts instructions, those of calling the work left out.
struct Instructions;

/// So many instructions are counted for a figure, if that does not take more than [`MOST`] calls: the
/// coarsest counter steps by forty.
const ENOUGH: f64 = 1e6;

/// More than randomness is made for at once.
const MOST: u64 = 1_024;

/// So many calls make a mean.
const SAMPLE: u64 = 32;

impl Stopwatch for Instructions {
    fn one(&self, work: &mut dyn FnMut()) -> f64 {
        // The first call may build tables that the others find.
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

/// Instructions of this many calls.
#[inline(never)]
fn run(work: &mut dyn FnMut(), calls: u64) -> u64 {
    let before = counter::instructions();
    (0..calls).for_each(|_| work());
    counter::instructions() - before
}
