//! `groupkey validate`: the simulator beside a real network.

mod arguments;
mod judgement;
mod operations;
mod probe;

use std::io::Write;

pub(crate) use self::arguments::ValidateArguments;
use crate::failure::Failure;

/// Compares every combination and prints how far the simulator is from the measurement.
pub(crate) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.probe {
        true => probe::run(arguments, out),
        false => operations::run(arguments, out),
    }
}
