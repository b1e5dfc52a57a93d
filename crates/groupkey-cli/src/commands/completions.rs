//! `groupkey completions`: completes commands, options and their values in a shell.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::arguments::Cli;
use crate::failure::Failure;

/// Arguments of `groupkey completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  groupkey completions bash > ~/.local/share/bash-completion/completions/groupkey
  groupkey completions zsh > _groupkey
  groupkey completions fish > ~/.config/fish/completions/groupkey.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the shell's script.
pub(crate) fn run(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), "groupkey", &mut script);
    Ok(out.write_all(&script)?)
}
