//! Errors in files that users write, and their positions.

use std::path::{Path, PathBuf};
use std::{error, fmt, fs};

/// An input file that cannot be used. Displays as `file:line:column: problem`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file.
    pub path: PathBuf,
    /// Line and column, both from 1. `None` if the file could not be read, or if the problem has no
    /// position.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and what to do about it.
    pub problem: String,
}

/// A problem in a text, and the byte offset of the problem.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) offset: usize,
    pub(crate) problem: String,
}

impl InputError {
    /// Reads the text of a file.
    pub fn read(path: &Path) -> Result<String, Self> {
        fs::read_to_string(path).map_err(|error| Self {
            path: path.to_owned(),
            position: None,
            problem: error.to_string(),
        })
    }

    /// Turns a mistake in this text into an error of the file.
    pub(crate) fn in_text(path: &Path, text: &str, mistake: Mistake) -> Self {
        Self {
            path: path.to_owned(),
            position: Some(line_and_column(text, mistake.offset)),
            problem: mistake.problem,
        }
    }
}

impl Mistake {
    pub(crate) fn at(offset: usize, problem: impl ToString) -> Self {
        Self { offset, problem: problem.to_string() }
    }
}

impl From<toml::de::Error> for Mistake {
    fn from(error: toml::de::Error) -> Self {
        Self::at(error.span().map_or(0, |span| span.start), error.message())
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, position, problem } = self;
        write!(f, "{}:", path.display())?;
        if let Some((line, column)) = position {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {problem}")
    }
}

impl error::Error for InputError {}

/// Returns the line and the column (in characters) of a byte, both from 1.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
