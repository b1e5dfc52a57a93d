//! The number of runs and the seed: the arguments of `groupkey net` that a scenario
//! does not exclude.

use clap::Args;

use crate::number;

/// How often each combination runs, and the seed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Runs")]
pub(crate) struct RunArguments {
    /// Runs of each combination [default: 30, or the scenario's].
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        value_parser = number::whole(1..=u32::MAX),
    )]
    pub(super) runs: Option<u32>,

    /// Seed of the randomness [default: 1, or the scenario's].
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
}

impl RunArguments {
    /// Returns the runs of each combination, without a scenario.
    pub(super) fn runs(self) -> u32 {
        self.runs.unwrap_or(30)
    }

    /// Returns the seed, without a scenario.
    pub(super) fn seed(self) -> u64 {
        self.seed.unwrap_or(1)
    }
}
