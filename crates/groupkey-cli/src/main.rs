//! The command `groupkey`: see the schemes, compare them in a network, reproduce a study.
//!
//! Exit codes: 0 done, 1 something failed while running, 2 bad usage or input, 130 interrupted.

mod arguments;
mod campaign;
mod choice;
mod commands;
mod failure;
mod interruption;
mod lines;
mod number;
mod paragraph;
mod progress;
mod provenance;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Cli;
use crate::failure::Failure;

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => commands::run(&cli, &mut io::stdout().lock()),
        Err(error) => Err(Failure::from(error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If nobody reads standard error either, the exit code is all that is left to say.
            let _ = write!(io::stderr(), "{failure}");
            failure.exit_code()
        }
    }
}
