//! Labels of derivations: text of Python that the library wants for as long as the process lives.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Returns a label for as long as the process lives, as the library wants it. A scheme has a few.
pub(super) fn kept_label(label: &str) -> PyResult<&'static str> {
    if label.len() > LABEL || label.contains('\0') {
        let told = format!("a label has at most {LABEL} bytes, and no zero byte");
        return Err(PyValueError::new_err(told));
    }
    let mut known = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(label) {
        return Ok(known);
    }
    if known.len() == DIFFERENT_LABELS {
        let told = "a label says what a key is for: put what changes into the context";
        return Err(PyValueError::new_err(told));
    }
    let kept: &'static str = Box::leak(Box::<str>::from(label));
    known.insert(kept);
    Ok(kept)
}

static LABELS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

const LABEL: usize = 64;

const DIFFERENT_LABELS: usize = 1000;
