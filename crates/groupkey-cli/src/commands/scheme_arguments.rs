//! The arguments by which commands choose schemes, their form and the operations on their groups.

use std::collections::BTreeMap;

use clap::builder::StyledStr;
use clap::{Arg, Args};
use groupkey::catalogue::{Class, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};

use crate::failure::Failure;
use crate::{number, value_parsers};

/// Profile, suite and protection. Each command sets its defaults of the last two by `mut_arg`: a
/// default value, or [`defaulting`].
#[derive(Args, Debug)]
pub(crate) struct FormArguments {
    /// Which form of the schemes.
    #[arg(long, value_name = "FORM", default_value = "sound", value_parser = value_parsers::profile())]
    pub(crate) profile: Profile,

    /// Which algorithms.
    #[arg(long, value_name = "NAME", value_parser = value_parsers::suite())]
    suite: Option<Suite>,

    /// How messages are protected.
    #[arg(long, value_name = "KIND", value_parser = value_parsers::protection())]
    protection: Option<Guard>,
}

/// The schemes' own parameters.
#[derive(Args, Debug)]
pub(crate) struct ParameterArguments {
    /// Sets a parameter of the schemes, for example degree=2.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = number::parameter)]
    set: Vec<(String, u32)>,
}

impl ParameterArguments {
    pub(crate) fn each_once(&self) -> Result<Vec<(String, u32)>, Failure> {
        for (place, (name, value)) in self.set.iter().enumerate() {
            let mut before = self.set[..place].iter();
            if let Some((_, other)) = before.find(|(other, _)| other == name) {
                let problem = format!("--set has {name}={other} and {name}={value}");
                return Err(Failure::input(problem)
                    .with_help("a parameter has one value: run the command once for each"));
            }
        }
        Ok(self.set.clone())
    }
}

impl SelectionArguments {
    /// Returns those of the chosen schemes that can run in a suite, and for each reason why others
    /// cannot a note that names them. A scheme that was named is refused.
    pub(crate) fn suited(
        &self,
        chosen: Vec<&'static Scheme>,
        suite: Suite,
    ) -> Result<(Vec<&'static Scheme>, Vec<String>), Failure> {
        let (suited, others): (Vec<&'static Scheme>, Vec<&'static Scheme>) =
            chosen.into_iter().partition(|scheme| scheme.unsuited_to(suite).is_none());
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for scheme in others {
            let Some(reason) = scheme.unsuited_to(suite) else { continue };
            if suited.is_empty() || !self.scheme.is_empty() {
                return Err(Failure::input(format!("{}: {reason}", scheme.id)));
            }
            reasons.entry(reason.to_string()).or_default().push(scheme.id);
        }
        let note =
            |(reason, ids): (String, Vec<&str>)| format!("left out: {}: {reason}", ids.join(", "));
        Ok((suited, reasons.into_iter().map(note).collect()))
    }
}

impl FormArguments {
    /// Returns the chosen suite, or the usual one for the profile: see [`SUITE_OF_PROFILE`].
    pub(crate) fn suite(&self) -> Suite {
        self.suite.unwrap_or_else(|| self.profile.default_suite())
    }

    pub(crate) fn protection_or(&self, usual: impl FnOnce() -> Guard) -> Guard {
        self.protection.unwrap_or_else(usual)
    }
}

/// The default of [`FormArguments::suite`], in words.
pub(crate) const SUITE_OF_PROFILE: &str = "standard; published in the published form";

/// Adds a default to an argument's help. The default depends on other arguments, so clap
/// cannot know it.
pub(crate) fn defaulting(argument: Arg, default: &str) -> Arg {
    let said = argument.get_help().map(StyledStr::to_string).unwrap_or_default();
    argument.help(format!("{said} [default: {default}]"))
}

/// The schemes and operations. Each pair is run. Commands set their own defaults.
#[derive(Args, Debug)]
pub(crate) struct HistoryArguments {
    /// Schemes, by their ids.
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = value_parsers::scheme())]
    pub(crate) scheme: Vec<&'static Scheme>,

    /// What happens to the group.
    #[arg(
        long,
        value_name = "OPERATION",
        value_delimiter = ',',
        default_value = "create",
        value_parser = value_parsers::operation(),
    )]
    pub(crate) operation: Vec<Operation>,
}

/// Schemes or classes. If none is given, each command has its own default.
#[derive(Args, Debug)]
pub(crate) struct SelectionArguments {
    /// Schemes, by their ids [default: all].
    #[arg(
        long,
        value_name = "ID",
        value_delimiter = ',',
        value_parser = value_parsers::scheme(),
        conflicts_with = "class",
    )]
    pub(crate) scheme: Vec<&'static Scheme>,

    /// All schemes of these classes.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = value_parsers::class())]
    pub(crate) class: Vec<Class>,
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::arguments::Cli;

    /// Returns a command's help on an argument, and the default value that clap gives it.
    fn said(command: &str, argument: &str) -> (String, Option<String>) {
        let cli = Cli::command();
        let command = cli.find_subcommand(command).expect("it is one of the commands");
        let mut arguments = command.get_arguments();
        let argument = arguments.find(|it| it.get_id() == argument).expect("it has the argument");
        let value = argument.get_default_values().first();
        let value = value.map(|value| value.to_str().expect("it is text").to_owned());
        (argument.get_help().expect("it has help").to_string(), value)
    }

    #[test]
    fn each_command_says_its_own_defaults() {
        let of_profile = "Which algorithms [default: standard; published in the published form]";
        for (command, argument, help, value) in [
            ("net", "profile", "Which form of the schemes", Some("sound")),
            ("bench", "profile", "Which form of the schemes", Some("sound")),
            ("trace", "profile", "Which form of the schemes", Some("sound")),
            ("net", "suite", of_profile, None),
            ("bench", "suite", of_profile, None),
            ("trace", "suite", of_profile, None),
            (
                "net",
                "protection",
                "How messages are protected [default: mac; signature in the sound form of \
                 distributed schemes]",
                None,
            ),
            (
                "bench",
                "protection",
                "How messages are protected [default: mac; none with --growth]",
                None,
            ),
            ("trace", "protection", "How messages are protected", Some("mac")),
        ] {
            let expected = (help.to_owned(), value.map(str::to_owned));
            assert_eq!(said(command, argument), expected, "{command} --{argument}");
        }
    }

    #[test]
    fn without_a_suite_the_profile_has_one() {
        let form = |words: &[&str]| {
            let command = FormArguments::augment_args(clap::Command::new("form"));
            let matches = command.try_get_matches_from(std::iter::once(&"form").chain(words));
            FormArguments::from_arg_matches(&matches.expect("they fit"))
                .expect("they are arguments")
        };
        assert_eq!(form(&[]).suite(), Suite::Standard);
        assert_eq!(form(&["--profile", "published"]).suite(), Suite::Published);
        let chosen = form(&["--profile", "published", "--suite", "standard"]);
        assert_eq!(chosen.suite(), Suite::Standard);
        assert_eq!(chosen.protection_or(|| Guard::Signature), Guard::Signature);
        let chosen = form(&["--protection", "none"]);
        assert_eq!(chosen.protection_or(|| Guard::Signature), Guard::None);
    }
}
