//! Why a benchmark fails.

use std::{error, fmt, io};

use groupkey::{Error, PartyId};

use crate::plan::PlanError;

/// Why a benchmark fails.
#[derive(Debug)]
pub enum BenchError {
    /// A party holds another key than the rest, or none: the measured steps were not the operation.
    Disagreement(PartyId),
    /// A plan cannot be run, so no plan was run.
    Plan {
        /// Its scheme.
        scheme: &'static str,
        /// The reason.
        error: PlanError,
    },
    /// The scheme does not support this at this size.
    Refused(Error),
    /// The rows could not be written.
    Sink(io::Error),
    /// A party refused a genuine message.
    Step {
        /// The party.
        party: PartyId,
        /// The party's error.
        error: Error,
    },
    /// Two repetitions counted different work: something does not follow from the inputs alone.
    Unsteady(PartyId),
}

impl BenchError {
    /// Returns the error of a party that refused a command. The scheme does not support the command
    /// at this size, or something is wrong.
    pub(crate) const fn of_command(party: PartyId, error: Error) -> Self {
        match error {
            Error::Misuse(_) | Error::Unsupported(_) => Self::Refused(error),
            Error::Misbehaved(_) => Self::Step { party, error },
        }
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disagreement(party) => write!(f, "{party} holds another key than the rest"),
            Self::Plan { scheme, error } => write!(f, "{scheme}: {error}"),
            Self::Refused(error) => error.fmt(f),
            Self::Sink(error) => write!(f, "the results cannot be written: {error}"),
            Self::Step { party, error } => write!(f, "{party}: {error}"),
            Self::Unsteady(party) => {
                write!(f, "{party} did not do the same in every repetition; this is a bug")
            }
        }
    }
}

impl error::Error for BenchError {}
