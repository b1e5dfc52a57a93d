//! `groupkey reproduce`: published studies, run again.

mod all;
mod boards;
mod network_impact;
mod printing;
mod recorded;
mod study;

use std::io::Write;

use clap::{Args, Subcommand};
use groupkey_reproduce::Study as Computations;

use self::study::StudyArguments;
use crate::failure::Failure;

/// Arguments of `groupkey reproduce`.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = false,
    override_usage = "groupkey reproduce <all|benchmark|boards|centralized|network-impact|nishat|tgdh> [OPTIONS]"
)]
pub(crate) struct ReproduceArguments {
    /// The study to run.
    #[command(subcommand)]
    study: StudyCommand,
}

/// The studies that can be run again.
#[derive(Debug, Subcommand)]
enum StudyCommand {
    /// All five studies, one after the other, and one page about all of them.
    All(all::AllArguments),
    /// What 24 schemes of three classes compute and keep (Prantl et al. 2024, Discover Data,
    /// doi 10.1007/s44248-024-00010-6).
    Benchmark(StudyArguments),
    /// What S004 and S001 measured on microcontrollers, beside this library on the same chips.
    Boards(boards::BoardsArguments),
    /// SKDC, Nishat and Boneh+, in deployment and in operation (Prantl et al. 2021, ICPE,
    /// doi 10.1145/3427921.3450252).
    Centralized(StudyArguments),
    /// SKDC, LKH and G-DH under packet loss and delay (Prantl et al. 2024, Discover Data,
    /// doi 10.1007/s44248-024-00015-1).
    NetworkImpact(network_impact::NetworkImpactArguments),
    /// Nishat on an ESP32: sizes, times, energy (Prantl et al. 2020, MASCOTS,
    /// doi 10.1109/mascots50786.2020.9285948).
    Nishat(StudyArguments),
    /// TGDH on ESP8266s: joins of two to five members (Prantl et al. 2022, VTC,
    /// doi 10.1109/vtc2022-spring54318.2022.9860762).
    Tgdh(StudyArguments),
}

/// Runs the study.
pub(crate) fn run(arguments: &ReproduceArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.study {
        StudyCommand::All(arguments) => all::run(arguments, out),
        StudyCommand::Benchmark(arguments) => study::run(named("benchmark"), arguments, out),
        StudyCommand::Boards(arguments) => boards::run(arguments, out),
        StudyCommand::Centralized(arguments) => study::run(named("centralized"), arguments, out),
        StudyCommand::NetworkImpact(arguments) => network_impact::run(arguments, out),
        StudyCommand::Nishat(arguments) => study::run(named("nishat"), arguments, out),
        StudyCommand::Tgdh(arguments) => study::run(named("tgdh"), arguments, out),
    }
}

fn named(id: &str) -> &'static Computations {
    Computations::named(id).expect("the laboratory has it")
}
