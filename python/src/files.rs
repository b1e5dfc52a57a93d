//! Files of results, and the text of files that are written for the command.

use std::path::{Path, PathBuf};

use groupkey_choose::requirements::FIELDS;
use groupkey_cli::laboratory::VERSION;
use groupkey_lab::audit::Finding;
use groupkey_lab::bench::BenchHeader;
use groupkey_lab::bench::trace::ReplayRow;
use groupkey_lab::choose::ChoiceRow;
use groupkey_lab::results::{
    FileHeader, ResultsError, ResultsHeader, ResultsKind, RunHeader, read_jsonl,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::rows::Rows;
use crate::work::input_error;

/// Reads a results file. Returns its kind, its header as JSON, and its rows.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf) -> PyResult<(&'static str, String, Rows)> {
    let refused = |error: ResultsError| {
        input_error(py, error.to_string(), Some("groupkey net --out and the like write such files"))
    };
    let path = &path;
    let kind = py.detach(|| ResultsKind::of(path)).map_err(refused)?;
    let (word, read) = match kind {
        ResultsKind::Audit => ("audit", py.detach(|| whole::<RunHeader<Finding>>(path))),
        ResultsKind::Benchmark => ("bench", py.detach(|| whole::<BenchHeader>(path))),
        ResultsKind::Choice => ("choice", py.detach(|| whole::<RunHeader<ChoiceRow>>(path))),
        ResultsKind::Network => ("network", py.detach(|| whole::<ResultsHeader>(path))),
        ResultsKind::Trace => ("trace", py.detach(|| whole::<RunHeader<ReplayRow>>(path))),
    };
    let (header, rows) = read.map_err(refused)?;
    Ok((word, header, rows?))
}

/// Writes an object, given as JSON, as TOML: the form of the command's files.
#[pyfunction]
pub(crate) fn toml(json: &str) -> PyResult<String> {
    let object: serde_json::Value =
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    ::toml::to_string(&object).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns the version and the commit, as `groupkey --version` tells them.
#[pyfunction]
pub(crate) const fn version() -> &'static str {
    VERSION
}

/// Returns the fields of requirements: section and key, with a dot between them, and their
/// meanings.
#[pyfunction]
pub(crate) fn requirement_fields() -> Vec<(&'static str, &'static str)> {
    FIELDS.iter().map(|field| (field.name, field.meaning)).collect()
}

fn whole<H: FileHeader>(path: &Path) -> Result<(String, PyResult<Rows>), ResultsError> {
    let (header, rows) = read_jsonl::<H>(path)?;
    let header = serde_json::to_string(&header).expect("it is plain data");
    Ok((header, Rows::of(&rows)))
}
