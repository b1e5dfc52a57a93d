//! The laboratory's commands, and the command itself.

use std::ffi::OsString;
use std::iter;

use groupkey_cli::laboratory::{self as commands, CommandOutput, FailureKind};
use groupkey_cli::run_on;
use groupkey_lab::registry::with_schemes;
use pyo3::prelude::*;

use crate::own::OwnScheme;
use crate::rows::Rows;
use crate::work::{apart, input_error, raised};

/// Runs the command `groupkey` with these arguments, on this process's standard input and output.
/// Returns its exit code.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let words = iter::once(OsString::from("groupkey")).chain(arguments);
    py.detach(|| run_on(words, &[]))
}

/// Runs a command of the laboratory, which knows these `schemes`, too. Returns what it printed, and
/// what it remarked.
///
/// A failure is raised, unless `despite` it something was printed: an audit that finds a claim
/// broken fails, and has its findings.
#[pyfunction]
pub(crate) fn laboratory(
    py: Python<'_>,
    arguments: Vec<OsString>,
    progress: Option<&Bound<'_, PyAny>>,
    despite: bool,
    schemes: Vec<PyRef<'_, OwnScheme>>,
) -> PyResult<(Vec<u8>, Vec<String>)> {
    let entries: Vec<_> = schemes.iter().map(|scheme| scheme.0).collect();
    let schemes: Vec<_> = entries.iter().map(|entry| entry.scheme).collect();
    let watch = || entries.iter().try_for_each(|entry| entry.raise());
    let (output, mut remarks) = apart(py, progress, &watch, |host| {
        with_schemes(&schemes, || commands::run(arguments, host))
    })?;
    let output = output.map_err(|error| input_error(py, error.to_string(), None))?;
    let CommandOutput { printed, failure } = output;
    match failure {
        Some(failure) if despite && failure.kind == FailureKind::Running && !printed.is_empty() => {
            remarks.push(failure.message);
        }
        Some(failure) => return Err(raised(py, failure)),
        None => {}
    }
    Ok((printed, remarks))
}

/// Chooses a scheme. Returns the decision as JSON, its candidates as rows, the answer in words,
/// and what was remarked.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    arguments: Vec<OsString>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Rows, String, Vec<String>)> {
    let (choice, remarks) =
        apart(py, progress, &|| Ok(()), |host| commands::choose(arguments, host))?;
    let choice = choice.map_err(|failure| raised(py, failure))?;
    Ok((choice.decision, Rows::of(&choice.rows)?, choice.answer, remarks))
}
