//! Devices of groups with a service die over and over, and go on with what they kept.
//!
//! ```text
//! cargo run --release -p groupkey-soak --example kills -- FAULTS [SEED]
//! cargo run --release -p groupkey-soak --example kills -- SCHEME SEED HISTORY [STEP,STEP,..]
//! ```
//!
//! The second form runs one history again, or some of its steps.

use std::env;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread;

use groupkey::catalogue;
use groupkey_soak::{Campaign, LiveScheme, SoakHistory, run, soak};

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|number| number.parse().ok());
    let is_clean = match arguments.first().map(|scheme| catalogue::scheme(scheme)) {
        Some(Some(_)) => {
            let (Some(seed), Some(history)) = (number(1), number(2)) else { return usage() };
            again(&arguments[0], seed, history, arguments.get(3).map(String::as_str))
        }
        _ => match number(0) {
            Some(faults) => campaign(faults, number(1).unwrap_or(1)),
            None => return usage(),
        },
    };
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("kills FAULTS [SEED], or kills SCHEME SEED HISTORY [STEP,STEP,..]");
    ExitCode::from(2)
}

fn campaign(faults: u64, seed: u64) -> bool {
    let subjects = SCHEMES.map(subject);
    let report = soak(&Campaign {
        subjects: &subjects,
        faults,
        seed,
        draw: SoakHistory::of_kills,
        threads: thread::available_parallelism().map_or(1, usize::from),
        stop: &AtomicBool::new(false),
        on_progress: &|_, _| {},
    });
    let Some(report) = report else { return false };
    println!(
        "{} histories, {} faults, {} kills, {} pairs of key and nonce",
        report.histories, report.faults, report.kills, report.nonces
    );
    for failed in &report.failures {
        let (scheme, number) = (failed.history.subject.scheme(), failed.history.number);
        let steps: Vec<_> = failed.only.iter().map(ToString::to_string).collect();
        println!("{} times {}", failed.count, failed.violation);
        println!("  kills {scheme} {seed} {number} {}", steps.join(","));
        failed.acts().for_each(|(step, act)| println!("  {step}: {act}"));
    }
    report.failures.is_empty()
}

fn again(scheme: &str, seed: u64, number: u64, steps: Option<&str>) -> bool {
    let mut history = SoakHistory::of_kills(subject(scheme), seed, number);
    if let Some(steps) = steps {
        let steps: Vec<_> = steps.split(',').filter_map(|step| step.parse().ok()).collect();
        history = history.only(&steps);
    }
    let outcome = run(&history);
    println!("{outcome:?}");
    outcome.violation.is_none()
}

fn subject(scheme: &str) -> LiveScheme {
    let known = catalogue::scheme(scheme).map(|scheme| LiveScheme::new(scheme, 5));
    known.and_then(Result::ok).expect("the scheme runs live")
}

/// A flat scheme, two with trees, and one with subgroups.
const SCHEMES: [&str; 4] = ["skdc", "lkh-group", "oft", "igkmp"];
