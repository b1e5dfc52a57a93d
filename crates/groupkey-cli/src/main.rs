//! The command `groupkey`, with the catalogue's schemes.

use std::process::ExitCode;

fn main() -> ExitCode {
    groupkey_cli::run(&[])
}
