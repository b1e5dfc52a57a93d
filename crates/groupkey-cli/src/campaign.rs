//! Runs plans with a progress bar, and stops on Ctrl-C.

use std::io;
use std::thread;

use groupkey_lab::campaign::{self, CampaignError, CampaignOptions, CampaignOutcome};
use groupkey_lab::plan::Plan;
use groupkey_lab::results::NetworkRow;
use groupkey_sim::group::GroupError;

use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;

/// Runs the plans on `threads` threads, or on all cores, and hands over each row as it is done.
pub(crate) fn run(
    plans: &[Plan],
    threads: Option<u16>,
    mut on_row: impl FnMut(&NetworkRow) -> io::Result<()>,
) -> Result<CampaignOutcome, Failure> {
    let runs = plans.iter().map(|plan| plan.runs as usize).sum();
    with_options(threads, runs, |options| campaign::run(plans, options, &mut on_row))
}

/// Runs plans of finished rows more often, on `threads` threads, or on all cores.
pub(crate) fn extend(
    plans: &[Plan],
    threads: Option<u16>,
    rows: &mut [NetworkRow],
) -> Result<CampaignOutcome, Failure> {
    with_options(threads, 0, |options| campaign::extend(plans, rows, options))
}

fn with_options(
    threads: Option<u16>,
    runs: usize,
    run: impl FnOnce(&CampaignOptions<'_>) -> Result<CampaignOutcome, CampaignError>,
) -> Result<CampaignOutcome, Failure> {
    let bar = ProgressBar::new();
    bar.advance(0, runs);
    let options = CampaignOptions {
        threads: threads.map_or_else(all_cores, usize::from),
        stop: interruption::requested(),
        on_progress: &|progress| bar.update(progress),
    };
    Ok(run(&options)?)
}

pub(crate) fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::Plan { .. } => Self::input(error.to_string()),
            CampaignError::Run { error: GroupError::Refused(..), .. } => {
                Self::input(error.to_string())
                    .with_help("`groupkey schemes ID` has a scheme's limits, and what --set changes")
            }
            CampaignError::Run { .. } => Self::running(error.to_string()).with_help(
                "an operation that does not get through has no time; try less loss, or more bandwidth",
            ),
            CampaignError::Sink(ref problem) if problem.kind() == io::ErrorKind::BrokenPipe => {
                Self::OutputClosed
            }
            // The sink is standard output or a file. The error names it.
            CampaignError::Sink(_) => Self::running(error.to_string()),
        }
    }
}
