//! How links and the broker fail: the arguments of `groupkey net` for connections that end.

use clap::Args;
use groupkey_lab::conditions::OutageRate;
use groupkey_lab::plan::Plan;
use groupkey_sim::SessionState;

use crate::failure::Failure;
use crate::{number, value_parsers};

/// How links and the broker fail, and what becomes of sessions.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Outages")]
pub(crate) struct OutageArguments {
    /// Outages of each client's link an hour: both directions lose everything, and nobody is told.
    #[arg(
        long,
        value_name = "PER_HOUR",
        allow_negative_numbers = true,
        requires = "outage_length",
        value_parser = number::rate,
    )]
    outages: Option<f64>,

    /// Mean length of these outages in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        requires = "outages",
        value_parser = number::rate,
    )]
    outage_length: Option<f64>,

    /// Restarts of the broker an hour. It closes all connections.
    #[arg(
        long,
        value_name = "PER_HOUR",
        allow_negative_numbers = true,
        requires = "restart_length",
        value_parser = number::rate,
    )]
    restarts: Option<f64>,

    /// Mean time that a restart takes, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        requires = "restarts",
        value_parser = number::rate,
    )]
    restart_length: Option<f64>,

    /// MQTT's keep-alive in seconds [default: 60].
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u16).range(1..),
    )]
    keep_alive: Option<u16>,

    /// What is left of a session when its connection has ended [default: kept].
    #[arg(long, value_name = "STATE", value_parser = value_parsers::session())]
    session: Option<SessionState>,
}

impl OutageArguments {
    /// Lets a plan's links and broker fail as often as the arguments say.
    pub(super) fn apply(&self, plan: &mut Plan) {
        plan.link.initial.outages = self.of_links();
        plan.restarts = pair(self.restarts, self.restart_length);
        plan.keep_alive_s = self.keep_alive.unwrap_or(plan.keep_alive_s);
        plan.session = self.session.unwrap_or(plan.session);
    }

    /// Refuses options that make no difference where nothing fails.
    pub(super) fn refuse_without_outages(&self) -> Result<(), Failure> {
        if self.of_links().is_some() || self.restarts.is_some() {
            return Ok(());
        }
        let given =
            [("--keep-alive", self.keep_alive.is_some()), ("--session", self.session.is_some())];
        Failure::refuse_any(&given, "--outages or --restarts")
    }

    fn of_links(&self) -> Option<OutageRate> {
        pair(self.outages, self.outage_length)
    }
}

fn pair(per_hour: Option<f64>, length_s: Option<f64>) -> Option<OutageRate> {
    let (per_hour, length_s) = per_hour.zip(length_s)?;
    Some(OutageRate { per_hour, length_s })
}
