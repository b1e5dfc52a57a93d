//! `groupkey validate`: the simulator beside a real network.

mod arguments;
mod operations;
mod probe;

use std::io::Write;

use crate::failure::Failure;

pub(crate) use self::arguments::ValidateArguments;

/// Compares every combination and prints how far the simulator is from the measurement.
pub(crate) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.probe {
        true => probe::run(arguments, out),
        false => operations::run(arguments, out),
    }
}

/// Prints the largest difference, and fails if it is more than the user allows. A row without a
/// measurement has no difference, and fails too.
pub(super) fn judge(
    differences: &[Option<f64>],
    arguments: &ValidateArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let furthest = differences.iter().flatten().map(|d| d.abs()).max_by(f64::total_cmp);
    if let (Some(furthest), false) = (furthest, arguments.json) {
        writeln!(out, "\nFurthest apart: {furthest:.1} %.")?;
    }
    let Some(within) = arguments.within else { return Ok(()) };
    let is_too_far = |difference: &&Option<f64>| difference.is_none_or(|d| d.abs() > within);
    match differences.iter().filter(is_too_far).count() {
        0 => Ok(()),
        rows => Err(Failure::running(format!("{rows} rows differ by more than {within} %"))),
    }
}

/// Returns by how many per cent the simulated mean is longer than the measured mean.
pub(super) fn difference_percent(simulated: f64, live: f64) -> f64 {
    (simulated / live - 1.0) * 100.0
}

/// Formats a difference for a cell.
pub(super) fn signed(difference: Option<f64>) -> String {
    difference.map_or_else(|| "-".to_owned(), |difference| format!("{difference:+.1}"))
}
