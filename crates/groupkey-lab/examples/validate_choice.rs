//! Compares fast answers with simulations: `validate_choice SEED EVEN TYPICAL MEMBERS`. Writes each
//! trial as a line of JSON.

use std::sync::atomic::AtomicBool;

use groupkey_lab::choose::{Generator, ValidateOptions, regret, validate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || -> Result<u32, Box<dyn std::error::Error>> {
        Ok(arguments.next().ok_or("SEED EVEN TYPICAL MEMBERS")?.parse()?)
    };
    let (seed, even, typical, members) = (number()?, number()?, number()?, number()?);
    let stop = AtomicBool::new(false);
    let on_progress = |done: usize, total: usize| eprintln!("{done} of {total}");
    let options = ValidateOptions {
        seed: u64::from(seed),
        even: even as usize,
        typical: typical as usize,
        members,
        runs: 400,
        threads: 1,
        stop: &stop,
        on_progress: &on_progress,
    };
    let trials = validate(&options)?;
    for trial in &trials {
        println!("{}", serde_json::to_string(trial)?);
    }
    for generator in [Generator::Even, Generator::Typical] {
        let of = trials.iter().filter(|trial| trial.generator == generator);
        eprintln!("{generator:?}: {}", regret(of));
    }
    Ok(())
}
