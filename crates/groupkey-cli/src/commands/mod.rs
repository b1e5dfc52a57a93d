//! One file for each command.

mod adaptation;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod choose;
pub(crate) mod compare;
pub(crate) mod ctl;
pub(crate) mod demo;
pub(crate) mod device;
mod event;
mod form;
mod history;
#[cfg(target_os = "linux")]
mod impaired;
mod links;
#[cfg(target_os = "linux")]
mod live;
pub(crate) mod member;
pub(crate) mod mqtt_probe;
pub(crate) mod net;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schemes;
mod selection;
pub(crate) mod serve;
pub(crate) mod soak;
pub(crate) mod ticket;
pub(crate) mod trace;
#[cfg(target_os = "linux")]
pub(crate) mod validate;

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Cli, Command};
use crate::failure::Failure;

/// Runs the command that the command line names.
pub(crate) fn run(cli: &Cli, out: &mut dyn Write) -> Result<(), Failure> {
    match &cli.command {
        None => Ok(write!(out, "{}", Cli::command().render_long_help())?),
        Some(Command::Audit(arguments)) => audit::run(arguments, out),
        Some(Command::Bench(arguments)) => bench::run(arguments, out),
        Some(Command::Choose(arguments)) => choose::run(arguments, out),
        Some(Command::Device(arguments)) => device::run(arguments, out),
        Some(Command::Compare(arguments)) => compare::run(arguments, out),
        Some(Command::Net(arguments)) => net::run(arguments, out),
        Some(Command::Report(arguments)) => report::run(arguments, out),
        Some(Command::Reproduce(arguments)) => reproduce::run(arguments, out),
        Some(Command::Schemes(arguments)) => schemes::run(arguments, out),
        Some(Command::Trace(arguments)) => trace::run(arguments, out),
        Some(Command::MqttProbe(arguments)) => mqtt_probe::run(arguments, out),
        #[cfg(target_os = "linux")]
        Some(Command::Validate(arguments)) => validate::run(arguments, out),
        Some(Command::Demo(arguments)) => demo::run(arguments, out),
        Some(Command::Member(arguments)) => member::run(arguments, out),
        Some(Command::Ctl(arguments)) => ctl::run(arguments, out),
        Some(Command::Serve(arguments)) => serve::run(arguments, out),
        Some(Command::Ticket(arguments)) => ticket::run(arguments, out),
        Some(Command::Soak(arguments)) => soak::run(arguments, out),
    }
}
