//! The kinds of results, as their headers name them.

use std::path::Path;

use super::file::{FileHeader, ResultsError, first_line, format_named, is_row};
use super::{ResultsHeader, RunHeader};
use crate::audit::Finding;
use crate::bench::BenchHeader;
use crate::bench::trace::ReplayRow;
use crate::choose::ChoiceRow;

/// What the rows of a results file are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultsKind {
    /// Claims of schemes, and what attacks found: `groupkey audit`.
    Audit,
    /// What roles compute, keep and send: `groupkey bench`.
    Benchmark,
    /// Candidates for requirements: `groupkey choose`.
    Choice,
    /// Times of operations in networks: `groupkey net`.
    Network,
    /// What a trace costs each role: `groupkey trace --replay`.
    Trace,
}

impl ResultsKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Audit, Self::Benchmark, Self::Choice, Self::Network, Self::Trace];

    /// Returns the kind of a results file, by its header or by its first row.
    pub fn of(path: &Path) -> Result<Self, ResultsError> {
        let first = first_line(path)?;
        let refused = |problem| ResultsError { path: path.to_owned(), line: 1, problem };
        let Some(format) = format_named(&first) else {
            let kind = Self::ALL.into_iter().find(|kind| kind.has_row(&first));
            return kind.ok_or_else(|| refused("neither a header nor a row of results".to_owned()));
        };
        Self::ALL.into_iter().find(|kind| kind.format() == format).ok_or_else(|| {
            let known = Self::ALL.map(|kind| format!("{:?}", kind.format())).join(", ");
            refused(format!("format is {format:?}, none of {known}"))
        })
    }

    /// Returns the [`FileHeader::FORMAT`] of its files.
    pub const fn format(self) -> &'static str {
        match self {
            Self::Audit => RunHeader::<Finding>::FORMAT,
            Self::Benchmark => BenchHeader::FORMAT,
            Self::Choice => RunHeader::<ChoiceRow>::FORMAT,
            Self::Network => ResultsHeader::FORMAT,
            Self::Trace => RunHeader::<ReplayRow>::FORMAT,
        }
    }

    /// Says what its files have, in words: `a benchmark`.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Audit => "an audit",
            Self::Benchmark => "a benchmark",
            Self::Choice => "candidates of a choice",
            Self::Network => "a study of a network",
            Self::Trace => "the costs of a trace",
        }
    }

    fn has_row(self, line: &[u8]) -> bool {
        match self {
            Self::Audit => is_row::<Finding>(line),
            Self::Benchmark => is_row::<<BenchHeader as FileHeader>::Row>(line),
            Self::Choice => is_row::<ChoiceRow>(line),
            Self::Network => is_row::<<ResultsHeader as FileHeader>::Row>(line),
            Self::Trace => is_row::<ReplayRow>(line),
        }
    }
}
