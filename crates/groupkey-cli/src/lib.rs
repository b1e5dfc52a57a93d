//! The command `groupkey`: see the schemes, compare them in a network, reproduce a study.
//!
//! Exit codes: 0 done, 1 something failed while running, 2 bad usage or input, 3 evicted from the
//! group, 130 interrupted.

#[cfg(feature = "live")]
mod address;
mod arguments;
#[cfg(feature = "live")]
mod base64;
mod campaign;
#[cfg(feature = "live")]
mod client;
mod commands;
mod failure;
mod host;
mod interruption;
pub mod laboratory;
#[cfg(feature = "live")]
mod log_lines;
mod number;
mod output;
mod paragraph;
mod progress;
mod provenance;
mod results_folder;
#[cfg(feature = "live")]
mod standard_input;
mod table;
mod value_parsers;
mod whole_file;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use groupkey::catalogue::Scheme;
use groupkey_lab::registry;

use crate::arguments::Cli;
use crate::failure::Failure;
pub use crate::host::{Host, HostNotice};
use crate::output::StandardOutput;

/// Runs the command on the program's arguments. The command knows `schemes` besides the catalogue's
/// schemes. So a third-party program can put a scheme of its own on the same bench as all others.
pub fn run(schemes: &[&'static Scheme]) -> ExitCode {
    run_on(env::args_os(), schemes).into()
}

/// Runs the command on these arguments, the first of which is the program's name. Returns the exit code: for
/// programs in which the command is one part of several.
pub fn run_on(arguments: impl IntoIterator<Item = OsString>, schemes: &[&'static Scheme]) -> u8 {
    #[cfg(feature = "live")]
    groupkey_mqtt::config::register_schemes(schemes);
    let outcome = registry::register(schemes)
        .map_err(|error| Failure::input(error.to_string()))
        .and_then(|()| Cli::try_parse_from(arguments).map_err(Failure::from))
        .and_then(|cli| commands::run(&cli, &mut StandardOutput::lock()));
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            // If standard error is closed too, only the exit code is left to report the failure.
            let _ = write!(io::stderr(), "{failure}");
            failure.exit_code()
        }
    }
}
