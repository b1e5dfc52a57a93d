//! `groupkey reproduce`: published studies, run again.

pub(crate) mod folder;
mod network_impact;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Arguments of `groupkey reproduce`.
#[derive(Args, Debug)]
#[command(arg_required_else_help = false)]
pub(crate) struct ReproduceArguments {
    /// Which study.
    #[command(subcommand)]
    study: Study,
}

/// The studies that can be run again.
#[derive(Debug, Subcommand)]
enum Study {
    /// SKDC, LKH and G-DH under packet loss and delay (Prantl et al. 2024, Discover Data,
    /// doi 10.1007/s44248-024-00015-1).
    NetworkImpact(network_impact::NetworkImpactArguments),
}

/// Runs the study.
pub(crate) fn run(arguments: &ReproduceArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.study {
        Study::NetworkImpact(arguments) => network_impact::run(arguments, out),
    }
}
