//! A key in Python: something to compute with, whose bytes Python never sees.

use groupkey::Key;
use pyo3::prelude::*;

/// A symmetric key of 16 bytes. A step's context makes it and computes with it; so each use is counted,
/// and an audit sees where it came from. It shows Python no bytes. Keys compare in constant time.
#[pyclass(frozen, module = "groupkey.author", name = "Key")]
pub(crate) struct OwnKey(pub(crate) Key);

#[pymethods]
impl OwnKey {
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self) -> &'static str {
        "Key(..)"
    }

    /// A key never changes, so a copy is the key.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}
