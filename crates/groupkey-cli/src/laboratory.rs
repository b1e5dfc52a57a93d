//! The laboratory's commands for programs that call this crate. The arguments are those of the
//! command, and so are defaults, checks and words of refusals; the rows are what it prints with
//! `--json`.

use std::ffi::OsString;

use clap::Parser;
use groupkey_choose::Decision;
use groupkey_choose::answer::{Answer, AnswerDepth};
use groupkey_lab::choose::{ChoiceRow, commands as commands_of};

use crate::arguments::{Cli, CliCommand};
use crate::commands::{self, choose};
use crate::failure::Failure;
use crate::host::Host;

/// The version, and the commit that it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("GROUPKEY_COMMIT"), ")");

/// What a command printed, and whether it failed.
#[derive(Debug)]
pub struct CommandOutput {
    /// What it printed, also if it failed later: an audit prints its findings, then fails if one
    /// is a claim that does not hold.
    pub printed: Vec<u8>,
    /// Why it failed, if it did.
    pub failure: Option<CommandFailure>,
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    /// Whose fault it is.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
    /// The remedy, if there is one.
    pub help: Option<String>,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments or a file are wrong.
    Input,
    /// The host wanted the command to stop.
    Interrupted,
    /// Something failed while running.
    Running,
}

/// A decision, in three forms.
#[derive(Debug)]
pub struct ChoiceOutput {
    /// The whole decision as JSON, as `groupkey choose --json` prints it.
    pub decision: String,
    /// A row for each candidate, as `groupkey choose --out` writes them.
    pub rows: Vec<ChoiceRow>,
    /// The answer in words and tables, as `groupkey choose` prints it.
    pub answer: String,
}

/// Runs a command on these arguments: without the program's name, with the command's.
pub fn run(arguments: impl IntoIterator<Item = OsString>, host: &Host) -> CommandOutput {
    let mut printed = Vec::new();
    let outcome = host.run(|| commands::run(&parse(arguments)?, &mut printed));
    CommandOutput { printed, failure: outcome.err().and_then(Failure::told) }
}

/// Chooses a scheme. `arguments` are those of `groupkey choose`, without its name, that say for
/// whom and how.
pub fn choose(
    arguments: impl IntoIterator<Item = OsString>,
    host: &Host,
) -> Result<ChoiceOutput, CommandFailure> {
    let arguments = std::iter::once(OsString::from("choose")).chain(arguments);
    host.run(|| {
        let Some(CliCommand::Choose(arguments)) = parse(arguments)?.command else {
            unreachable!("the first argument names the command");
        };
        let (requirements, decision) = choose::decide(&arguments)?;
        let of_best = |decision: &Decision| {
            let best = decision.recommended.as_ref()?;
            Some(commands_of(best, &requirements, decision.runs(&best.candidate)))
        };
        let commands = of_best(&decision).unwrap_or_default();
        let mut answer = Vec::new();
        let told = Answer::new(&decision, &requirements, AnswerDepth::Short, &commands);
        choose::print(&told, &mut answer)?;
        Ok(ChoiceOutput {
            rows: ChoiceRow::of(&decision),
            decision: serde_json::to_string(&decision).expect("it is a tree"),
            answer: String::from_utf8(answer).expect("it is made of text"),
        })
    })
    .map_err(|failure: Failure| failure.told().unwrap_or_else(nothing))
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, Failure> {
    let words = std::iter::once(OsString::from("groupkey")).chain(arguments);
    Ok(Cli::try_parse_from(words)?)
}

/// A request for help is no failure of the command, and is none that a library has an answer to.
fn nothing() -> CommandFailure {
    let message = "nothing was asked for but help".to_owned();
    CommandFailure { kind: FailureKind::Input, message, help: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_gives_what_it_prints() {
        let host = Host::new(|_| ());
        let line = "net --json --scheme=skdc --members=3 --runs=1 --threads=1";
        let CommandOutput { printed, failure } = run(words(line), &host);
        assert_eq!(failure, None);
        let row: serde_json::Value = serde_json::from_slice(&printed).expect("one row");
        assert_eq!((&row["scheme"], &row["members"]), (&"skdc".into(), &3.into()));
    }

    #[test]
    fn a_refusal_has_its_remedy_apart() {
        let failed = run(words("net --json --scheme=skcd"), &Host::new(|_| ())).failure;
        let failed = failed.expect("there is no such scheme");
        assert_eq!(failed.kind, FailureKind::Input);
        assert!(failed.message.starts_with("invalid value 'skcd' for '--scheme <ID>'"));
        assert!(failed.help.is_some_and(|help| help.contains("skdc")));
        assert!(!failed.message.contains("Usage"), "{}", failed.message);
    }

    #[test]
    fn a_host_that_stops_has_no_rows() {
        let host = Host::new(|_| ());
        host.stop();
        let line = "net --json --scheme=skdc --members=3 --runs=1 --threads=1";
        let CommandOutput { printed, failure } = run(words(line), &host);
        assert_eq!(failure.map(|failure| failure.kind), Some(FailureKind::Interrupted));
        assert!(printed.is_empty());
    }

    #[test]
    fn a_choice_has_its_answer_and_a_row_for_each_candidate() {
        let line = "--requirements city --fitted";
        let choice = choose(words(line), &Host::new(|_| ())).expect("an example");
        assert!(choice.answer.starts_with("Take "), "{}", choice.answer);
        assert!(choice.decision.starts_with('{') && choice.rows.len() > 5);
    }
}
