//! One file for each command.

pub(crate) mod audit;
pub(crate) mod bench;
#[cfg(feature = "live")]
pub(crate) mod bridge;
#[cfg(feature = "live")]
pub(crate) mod check;
pub(crate) mod choose;
pub(crate) mod compare;
pub(crate) mod completions;
#[cfg(feature = "live")]
pub(crate) mod ctl;
#[cfg(feature = "live")]
pub(crate) mod demo;
pub(crate) mod device;
#[cfg(feature = "live")]
mod http_listener;
#[cfg(feature = "live")]
mod key_export;
pub(crate) mod man;
#[cfg(feature = "live")]
pub(crate) mod member;
#[cfg(feature = "live")]
mod member_event;
pub(crate) mod net;
pub(crate) mod report;
pub(crate) mod reproduce;
mod scheme_arguments;
pub(crate) mod schemes;
#[cfg(feature = "live")]
pub(crate) mod serve;
#[cfg(feature = "live")]
pub(crate) mod soak;
#[cfg(feature = "live")]
pub(crate) mod ticket;
#[cfg(feature = "live")]
pub(crate) mod token;
pub(crate) mod trace;

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Cli, CliCommand};
use crate::failure::Failure;

/// Runs the command that the command line names.
pub(crate) fn run(cli: &Cli, out: &mut dyn Write) -> Result<(), Failure> {
    match &cli.command {
        None => Ok(write!(out, "{}", Cli::command().render_long_help())?),
        Some(CliCommand::Audit(arguments)) => audit::run(arguments, out),
        Some(CliCommand::Bench(arguments)) => bench::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Bridge(arguments)) => bridge::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Check(arguments)) => check::run(arguments, out),
        Some(CliCommand::Choose(arguments)) => choose::run(arguments, out),
        Some(CliCommand::Device(arguments)) => device::run(arguments, out),
        Some(CliCommand::Compare(arguments)) => compare::run(arguments, out),
        Some(CliCommand::Completions(arguments)) => completions::run(arguments, out),
        Some(CliCommand::Man(arguments)) => man::run(arguments, out),
        Some(CliCommand::Net(arguments)) => net::run(arguments, out),
        Some(CliCommand::Report(arguments)) => report::run(arguments, out),
        Some(CliCommand::Reproduce(arguments)) => reproduce::run(arguments, out),
        Some(CliCommand::Schemes(arguments)) => schemes::run(arguments, out),
        Some(CliCommand::Trace(arguments)) => trace::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Demo(arguments)) => demo::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Member(arguments)) => member::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Ctl(arguments)) => ctl::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Serve(arguments)) => serve::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Ticket(arguments)) => ticket::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Token(arguments)) => token::run(arguments, out),
        #[cfg(feature = "live")]
        Some(CliCommand::Soak(arguments)) => soak::run(arguments, out),
    }
}
