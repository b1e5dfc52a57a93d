//! The command `groupkey`, with a scheme more.

use std::process::ExitCode;

fn main() -> ExitCode {
    groupkey_cli::run(&[&own_scheme::SCHEME])
}
