//! `groupkey validate`: the simulator beside the real thing.

mod arguments;
mod judgement;
mod operations;
mod probe;

use std::io::Write;

pub(crate) use self::arguments::ValidateArguments;
use crate::failure::Failure;

/// Compares every combination and prints how far apart the two are.
pub(crate) fn run(arguments: &ValidateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.probe {
        true => probe::run(arguments, out),
        false => operations::run(arguments, out),
    }
}
