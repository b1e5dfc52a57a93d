//! One file for each command.

pub(crate) mod compare;
pub(crate) mod net;
pub(crate) mod reproduce;
pub(crate) mod schemes;
mod tour;

use std::io::Write;

use crate::arguments::{Cli, Command};
use crate::failure::Failure;

/// Does what the command line says.
pub(crate) fn run(cli: &Cli, out: &mut dyn Write) -> Result<(), Failure> {
    match &cli.command {
        None => tour::run(out),
        Some(Command::Compare(arguments)) => compare::run(arguments, out),
        Some(Command::Net(arguments)) => net::run(arguments, out),
        Some(Command::Reproduce(arguments)) => reproduce::run(arguments, out),
        Some(Command::Schemes(arguments)) => schemes::run(arguments, out),
    }
}
