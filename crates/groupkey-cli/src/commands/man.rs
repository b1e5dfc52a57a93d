//! `groupkey man`: a manual page of each command.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::generate_to;

use crate::arguments::Cli;
use crate::failure::Failure;

/// Arguments of `groupkey man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey man --out man1
  man ./man1/groupkey-net.1")]
pub(crate) struct ManArguments {
    /// Write the pages into this folder, in place of older ones
    #[arg(long, value_name = "FOLDER", default_value = "man1")]
    out: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(arguments: &ManArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let folder = &arguments.out;
    let refused = |error| Failure::input(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(refused)?;
    generate_to(Cli::command(), folder).map_err(refused)?;
    writeln!(out, "{}: read it with man {0}/groupkey.1", folder.display())?;
    Ok(())
}
