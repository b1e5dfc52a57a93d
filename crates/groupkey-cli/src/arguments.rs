//! The command line as a whole; each command describes its own arguments.

use clap::{Parser, Subcommand};

use crate::commands::audit::AuditArguments;
use crate::commands::bench::BenchArguments;
#[cfg(feature = "live")]
use crate::commands::bridge::BridgeArguments;
#[cfg(feature = "live")]
use crate::commands::check::CheckArguments;
use crate::commands::choose::ChooseArguments;
use crate::commands::compare::CompareArguments;
use crate::commands::completions::CompletionsArguments;
#[cfg(feature = "live")]
use crate::commands::ctl::CtlArguments;
#[cfg(feature = "live")]
use crate::commands::demo::DemoArguments;
use crate::commands::device::DeviceArguments;
use crate::commands::man::ManArguments;
#[cfg(feature = "live")]
use crate::commands::member::MemberArguments;
use crate::commands::net::NetArguments;
use crate::commands::report::ReportArguments;
use crate::commands::reproduce::ReproduceArguments;
use crate::commands::schemes::SchemesArguments;
#[cfg(feature = "live")]
use crate::commands::serve::ServeArguments;
#[cfg(feature = "live")]
use crate::commands::soak::SoakArguments;
#[cfg(feature = "live")]
use crate::commands::ticket::TicketArguments;
#[cfg(feature = "live")]
use crate::commands::token::TokenArguments;
use crate::commands::trace::TraceArguments;
use crate::laboratory::VERSION;

/// Choose a group key scheme with evidence.
///
/// Devices that talk n-to-n share a group key that changes whenever a member joins or leaves. Many
/// schemes do that, at very different costs. groupkey runs the schemes themselves in a simulated
/// network (delay, loss, TCP, MQTT) and reports their costs.
#[derive(Debug, Parser)]
#[command(
    name = "groupkey",
    version = VERSION,
    max_term_width = WIDTH,
    help_template = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

Choose and compare:
  choose      which scheme fits a group's requirements, with the evidence
  schemes     the schemes: class, provenance, operations, claims, parameters
  bench       what each role of a scheme computes, keeps and sends
  net         how long until all have the new key, in a simulated network
  audit       attack schemes: their claims beside what an adversary gets
  report      a page of results: charts, a section for each scheme, tables
  compare     two results files: what changed, and what may be noise
  trace       random joins and leaves, made or replayed
  device      profiles of devices: what primitives cost in time and energy

Run a live group (needs the feature `live`, which installed programs have):
  demo        a broker, a service and members in this process
  serve       the service: it admits members and manages the group's key
  ctl         an operator's commands to a service: members, evict, rekey, scheme
  member      a member, over an MQTT broker
  bridge      programs that speak MQTT in clear, and groups
  check       whether a file, its certificates and the broker are ready
  token       named tokens for ctl and other clients of a service
  ticket      an operator's ticket or eviction in a group without a controller

Check groupkey itself:
  reproduce   published studies, run again and compared with ours
  soak        live groups that fail at random: no key gets into wrong hands

Install it:
  completions what a shell needs to complete commands and options
  man         manual pages

Options:
{options}{after-help}",
    after_help = "\
Examples:
  groupkey choose --requirements city     which scheme fits a city, with the evidence
  groupkey schemes                        which schemes there are
  groupkey bench --scheme skdc,lkh-group --members 100,1000
  groupkey net --scheme skdc,lkh-group --loss 0,10 --delay 0,100
  groupkey net --probe --loss 10          one message through the same network
  groupkey audit --scheme oft             what it claims, and what breaks it
  groupkey reproduce network-impact       a published study, with a report
  groupkey reproduce all --quick          all five, for a first look
  groupkey demo                           a live group over MQTT, in one process

Exit codes: 0 done, 1 something failed while running, 2 bad usage or input, 3 evicted
from the group, 130 interrupted."
)]
pub(crate) struct Cli {
    /// The command to run; without one, this help.
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Most columns of help. The text after the options is wrapped by hand, and longer lines would be
/// broken again.
const WIDTH: usize = 100;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Attack schemes: compare their claims with what an adversary gets.
    ///
    /// Runs every short history of joins and leaves, and many longer ones, and traces every
    /// operation on secrets. From the trace the audit computes everything that an adversary can
    /// derive. The adversary hears all traffic and has corrupted former members, new members or
    /// subgroup controllers. If the adversary gets a group key that it must not have, the shortest
    /// way to that key is printed.
    Audit(AuditArguments),
    /// Measure what each role of a scheme computes, keeps and sends.
    ///
    /// Prints one row for each role, operation and phase. It has the time with its confidence
    /// interval, the cost of the counted primitives by themselves and the ratio of the two. It also
    /// has bytes kept, and messages and bytes sent. Schemes with a controller and schemes without
    /// one are listed in separate tables, because they serve different needs. Counts and bytes are
    /// the same in every run; times are this machine's.
    Bench(Box<BenchArguments>),
    /// Bridge programs that speak MQTT in clear and groups: protect what leaves, open what comes in.
    ///
    /// The programs publish and subscribe at a broker on this machine, as ever. A file says which topics
    /// leave for which group, and what may come in from whom. The names of topics travel encrypted, as
    /// the payloads do. At QoS 1 the broker in clear keeps each message until the other side has it.
    #[cfg(feature = "live")]
    Bridge(BridgeArguments),
    /// Check whether a service or a member can run: its files, certificates, clock and broker.
    ///
    /// Reads the configuration file and what it names, and then connects as that service or member
    /// would, with a client identifier of its own. It writes no file. It publishes a message that is
    /// none of the group's on each topic that the role needs, which members and services ignore.
    #[cfg(feature = "live")]
    Check(CheckArguments),
    /// Choose a scheme: what fits a group's requirements best, with the evidence.
    ///
    /// Takes the requirements from a file, from --set, or asks for them. Names one scheme with its
    /// parameters, algorithms, protection and quality of service; the candidates that no other one
    /// beats; where the recommendation turns; and what is out by which requirement.
    Choose(Box<ChooseArguments>),
    /// Compare two results files: what changed, and what may be noise.
    Compare(CompareArguments),
    /// Print a script by which a shell completes commands, options and their values.
    Completions(CompletionsArguments),
    /// Operate a running service: list and evict members, change the key or the scheme.
    #[cfg(feature = "live")]
    Ctl(CtlArguments),
    /// Run a live group: a broker, a service and members in this process.
    #[cfg(feature = "live")]
    Demo(DemoArguments),
    /// Work with device profiles: what primitives cost in time and energy, and where each
    /// figure comes from.
    Device(DeviceArguments),
    /// Write manual pages, one of each command.
    Man(ManArguments),
    /// Join a live group over an MQTT broker as a member.
    #[cfg(feature = "live")]
    Member(MemberArguments),
    /// Run schemes in a simulated network: how long until every member has the new key.
    ///
    /// Every party runs the scheme's own code. The network between the parties is simulated: links
    /// with delay and loss, Linux's TCP, MQTT through one broker. A member's computation takes as
    /// long as it takes on the chosen device. Lists, separated by commas, give one row for each
    /// combination. The same arguments and seed give the same numbers, with any number of threads.
    Net(Box<NetArguments>),
    /// Make a results page: charts, a section per scheme, a comparison table.
    Report(ReportArguments),
    /// Run a published study again and compare our numbers with the published ones.
    Reproduce(ReproduceArguments),
    /// List the schemes: class, provenance, operations, claims, limits and parameters.
    Schemes(SchemesArguments),
    /// Serve a live group over an MQTT broker: admit members and manage the group's key.
    #[cfg(feature = "live")]
    Serve(ServeArguments),
    /// Sign a ticket, or an eviction, as an operator of a group without a controller.
    #[cfg(feature = "live")]
    Ticket(TicketArguments),
    /// Add, list or revoke named tokens, with which clients reach a service over HTTP.
    #[cfg(feature = "live")]
    Token(TokenArguments),
    /// Let live groups fail at random, and check that no key gets into wrong hands.
    ///
    /// Runs the service, members and peers as they run live, in virtual time, through random
    /// histories of joins, evictions, messages and faults. Checks what must always hold, and that
    /// all honest parties come back by themselves.
    #[cfg(feature = "live")]
    Soak(SoakArguments),
    /// Generate a random trace of joins and leaves, or replay a trace.
    Trace(Box<TraceArguments>),
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use clap::error::ErrorKind;
    use clap::{CommandFactory, FromArgMatches};
    use proptest::prelude::*;

    use super::*;
    use crate::commands::{bench, net};
    use crate::failure::{Failure, LIVE_COMMANDS};

    /// The command with all its arguments built, which takes far longer than to parse a line.
    static COMMAND: LazyLock<clap::Command> = LazyLock::new(|| {
        let mut command = Cli::command();
        command.build();
        command
    });

    const MISSING_SUBCOMMAND: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

    #[test]
    fn the_description_of_the_arguments_is_sound() {
        Cli::command().debug_assert();
    }

    /// The list is by intent, so it is written by hand.
    #[test]
    fn help_lists_every_command_once() {
        let help = Cli::command().render_help().to_string();
        assert!(LIVE_COMMANDS.iter().all(|name| Cli::command().find_subcommand(name).is_some()));
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let lines = help.lines().filter(|line| line.starts_with(&format!("  {name} ")));
            assert_eq!(lines.count(), 1, "{name}");
        }
    }

    #[test]
    fn what_follows_the_options_fits_the_width_of_help() {
        fn all(command: &clap::Command) -> Vec<&clap::Command> {
            let below = command.get_subcommands().flat_map(all);
            std::iter::once(command).chain(below).collect()
        }
        let cli = Cli::command();
        for command in all(&cli) {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                for line in text.lines() {
                    assert!(line.chars().count() <= WIDTH, "{}: {line}", command.get_name());
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Every input is accepted or refused with a message; nothing panics.
        #[test]
        fn any_arguments_are_taken_or_refused(words in prop::collection::vec(word(), 0..12)) {
            let line = std::iter::once("groupkey".to_owned()).chain(words);
            let parsed = COMMAND.clone().try_get_matches_from(line);
            let refused = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
                Ok(Cli { command: Some(CliCommand::Net(arguments)) }) => net::work(&arguments).err(),
                Ok(Cli { command: Some(CliCommand::Bench(arguments)) }) => {
                    bench::work(&arguments).err()
                }
                Ok(_) => None,
                // A command with subcommands, of which none was named, prints its help.
                Err(error) if error.kind() == MISSING_SUBCOMMAND => None,
                Err(error) if error.use_stderr() => Some(Failure::from(error)),
                Err(_) => None,
            };
            if let Some(failure) = refused {
                prop_assert!(failure.to_string().starts_with("error: "), "{failure}");
            }
        }
    }

    /// Generates a word of a command line: often an expected word, sometimes not.
    fn word() -> impl Strategy<Value = String> {
        let known = prop::sample::select(vec![
            "bench",
            "bench",
            "net",
            "net",
            "net",
            "device",
            "list",
            "trace",
            "--kind",
            "poisson",
            "--stay",
            "choose",
            "--print-requirements",
            "members.now=30",
            "compare",
            "--fail-on-change",
            "--threshold",
            "reproduce",
            "network-impact",
            "tgdh",
            "all",
            "--quick",
            "--most-members",
            "schemes",
            "--json",
            "--samples",
            "--scheme",
            "--operation",
            "--members",
            "--loss",
            "--delay",
            "--qos",
            "--runs",
            "--seed",
            "--jitter",
            "--bandwidth",
            "--burst",
            "--loss-direction",
            "--device",
            "--controller-device",
            "--profile",
            "--suite",
            "--protection",
            "--set",
            "--max-in-flight",
            "--threads",
            "--probe",
            "--messages",
            "--until",
            "--scenario",
            "--out",
            "--resume",
            "--fresh",
            "--workload",
            "--class",
            "--role",
            "--repetitions",
            "--step",
            "smart-city",
            "hybrid",
            "sponsor",
            "skdc",
            "lkh-group",
            "gdh2,skdc",
            "create",
            "add,remove",
            "up",
            "published",
            "sound",
            "mac",
            "constrained",
            "esp32-micropython",
            "0",
            "1",
            "2",
            "5,50",
            "100",
            "-1",
            "NaN",
            "inf",
            "1e308",
            "degree=3",
            "degree=",
            "=",
            ",",
            "-",
            "--",
        ]);
        prop_oneof![
            8 => known.prop_map(str::to_owned),
            1 => any::<String>(),
            1 => any::<f64>().prop_map(|number| number.to_string()),
            1 => any::<u64>().prop_map(|number| number.to_string()),
        ]
    }
}
