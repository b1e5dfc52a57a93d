//! Why the command stops early: one message, the remedy, and an exit code.

use std::{fmt, io};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::laboratory::{CommandFailure, FailureKind};
use crate::output;

/// Why the command stops early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The member was evicted. Starting it again changes nothing.
    #[cfg_attr(not(feature = "live"), expect(dead_code, reason = "only a member is evicted"))]
    Evicted(Explanation),
    /// The arguments or an input file are wrong.
    Input(Explanation),
    /// The user pressed Ctrl-C. Complete results are kept.
    Interrupted(Explanation),
    /// The reader of standard output closed it (`groupkey schemes | head -1`). This is no failure.
    OutputClosed,
    /// Something failed while running.
    Running(Explanation),
    /// A message of the argument parser, in its own words, including `--help` and `--version`.
    Usage(clap::Error),
}

/// The cause of a failure, and the remedy.
#[derive(Debug)]
pub(crate) struct Explanation {
    message: String,
    help: Option<String>,
}

impl Failure {
    #[cfg(feature = "live")]
    pub(crate) fn evicted(message: impl Into<String>) -> Self {
        Self::Evicted(Explanation { message: message.into(), help: None })
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(Explanation { message: message.into(), help: None })
    }

    /// Refuses the first of these options that was given: they mean nothing without `needed`.
    pub(crate) fn refuse_any(options: &[(&str, bool)], needed: &str) -> Result<(), Self> {
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Self::input(format!("{option} needs {needed}"))
                .with_help(format!("add {needed}, or leave it out"))),
            None => Ok(()),
        }
    }

    /// Reports that something failed while running.
    pub(crate) fn running(message: impl Into<String>) -> Self {
        Self::Running(Explanation { message: message.into(), help: None })
    }

    /// Reports that the user pressed Ctrl-C.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::Interrupted(Explanation { message: message.into(), help: None })
    }

    /// Adds the remedy.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        match &mut self {
            Self::Evicted(explanation)
            | Self::Input(explanation)
            | Self::Interrupted(explanation)
            | Self::Running(explanation) => explanation.help = Some(help.into()),
            Self::OutputClosed | Self::Usage(_) => {}
        }
        self
    }

    /// Makes a closed standard output a failure, for a command that runs until it is told to end.
    /// The process that started the command should know, and may start it again.
    #[cfg(feature = "live")]
    pub(crate) fn of_one_that_should_run_on(self) -> Self {
        match self {
            Self::OutputClosed => Self::running("standard output was closed by its reader"),
            other => other,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Running(_) => 1,
            Self::Input(_) => 2,
            Self::Evicted(_) => 3,
            Self::Interrupted(_) => 130,
            Self::Usage(error) => error.exit_code() as u8,
        }
    }

    /// Returns what it tells a program. Help that was asked for is no failure.
    pub(crate) fn told(self) -> Option<CommandFailure> {
        let (kind, Explanation { message, help }) = match self {
            Self::OutputClosed => return None,
            Self::Evicted(why) | Self::Running(why) => (FailureKind::Running, why),
            Self::Input(why) => (FailureKind::Input, why),
            Self::Interrupted(why) => (FailureKind::Interrupted, why),
            Self::Usage(_) => (FailureKind::Input, self.usage()),
        };
        Some(CommandFailure { kind, message, help })
    }

    /// Returns the parser's message and its advice, without the usage of the command line.
    fn usage(&self) -> Explanation {
        let told = self.to_string();
        let told = told.strip_prefix("error: ").unwrap_or(&told);
        let told = told.split("\n\nUsage: ").next().unwrap_or(told);
        let told = told.split("\n\nFor more information").next().unwrap_or(told);
        let (message, help) = match told.split_once("\nhelp: ") {
            Some((message, help)) => (message, Some(help.trim_end().to_owned())),
            None => (told, None),
        };
        Explanation { message: message.trim_end().to_owned(), help }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicted(explanation) | Self::Input(explanation) | Self::Running(explanation) => {
                write!(f, "error: {explanation}")
            }
            Self::Interrupted(explanation) => write!(f, "interrupted: {explanation}"),
            Self::OutputClosed => Ok(()),
            // The parser calls its advice a tip; the rest of the command says help.
            Self::Usage(error) => {
                f.write_str(&error.render().to_string().replace("\n  tip: ", "\nhelp: "))
            }
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        match &self.help {
            Some(help) => writeln!(f, "help: {help}"),
            None => Ok(()),
        }
    }
}

/// An `io::Error` that reaches this conversion comes from writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::running(format!("cannot write to {error}")),
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        match error.kind() {
            // These belong on standard output, with colours where there is a terminal.
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
                Ok(()) => Self::OutputClosed,
                Err(error) => output::named(error).into(),
            },
            ErrorKind::InvalidSubcommand => match left_out(&error) {
                Some(name) => Self::input(format!("this program was built without `{name}`"))
                    .with_help(format!(
                        "build the whole command: cargo run --release --features full -- {name} ..."
                    )),
                None => Self::Usage(error),
            },
            _ => Self::Usage(error),
        }
    }
}

/// Returns the command that the user named, if it is one that only the feature `live` brings.
fn left_out(error: &clap::Error) -> Option<&str> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let is_left_out = cfg!(not(feature = "live")) && LIVE_COMMANDS.contains(&name.as_str());
    is_left_out.then_some(name.as_str())
}

/// The commands that only the feature `live` brings.
pub(crate) const LIVE_COMMANDS: [&str; 9] =
    ["bridge", "check", "ctl", "demo", "member", "serve", "soak", "ticket", "token"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_comes_first_and_the_advice_on_its_own_line() {
        let failure = Failure::input("no such file").with_help("create it");
        assert_eq!(failure.to_string(), "error: no such file\nhelp: create it\n");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(failure.to_string(), "");
        assert_eq!(failure.exit_code(), 0);
    }

    #[test]
    fn a_closed_pipe_is_a_failure_where_there_is_more_to_come() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        let failure = failure.of_one_that_should_run_on();
        assert!(failure.to_string().contains("closed by its reader"), "{failure}");
        assert_eq!(failure.exit_code(), 1);
        let input = Failure::input("no such file").of_one_that_should_run_on();
        assert_eq!(input.exit_code(), 2);
    }
}
