//! One file for each command.

mod adaptation;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod bridge;
pub(crate) mod campaign;
pub(crate) mod check;
pub(crate) mod choose;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod ctl;
pub(crate) mod demo;
pub(crate) mod device;
mod http_listener;
#[cfg(target_os = "linux")]
mod impaired_broker;
mod key_export;
mod link_arguments;
#[cfg(target_os = "linux")]
mod live_plans;
pub(crate) mod man;
pub(crate) mod member;
mod member_event;
pub(crate) mod net;
pub(crate) mod report;
pub(crate) mod reproduce;
mod scheme_arguments;
pub(crate) mod schemes;
pub(crate) mod serve;
pub(crate) mod soak;
pub(crate) mod ticket;
pub(crate) mod token;
pub(crate) mod trace;
#[cfg(target_os = "linux")]
pub(crate) mod validate;

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
        Some(CliCommand::Bridge(arguments)) => bridge::run(arguments, out),
        Some(CliCommand::Campaign(arguments)) => campaign::run(arguments, out),
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
        #[cfg(target_os = "linux")]
        Some(CliCommand::Validate(arguments)) => validate::run(arguments, out),
        Some(CliCommand::Demo(arguments)) => demo::run(arguments, out),
        Some(CliCommand::Member(arguments)) => member::run(arguments, out),
        Some(CliCommand::Ctl(arguments)) => ctl::run(arguments, out),
        Some(CliCommand::Serve(arguments)) => serve::run(arguments, out),
        Some(CliCommand::Ticket(arguments)) => ticket::run(arguments, out),
        Some(CliCommand::Token(arguments)) => token::run(arguments, out),
        Some(CliCommand::Soak(arguments)) => soak::run(arguments, out),
    }
}
