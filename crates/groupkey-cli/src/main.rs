//! The command `groupkey`, with the catalogue's schemes, and those of the libraries that it was built with.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "mls")]
    let foreign = &groupkey_mls::SCHEMES[..];
    #[cfg(not(feature = "mls"))]
    let foreign = &[];
    groupkey_cli::run(foreign)
}
