//! The native part of the Python package `groupkey`: the laboratory, schemes in Python, rows as Arrow, live
//! groups, and the command. What users call is in `../groupkey`, in Python.

mod device;
mod files;
mod flat;
mod laboratory;
mod live;
mod own;
mod rows;
mod work;

/// The native part of groupkey. Its functions are an inner matter: use the package.
#[pyo3::pymodule(gil_used = false)]
mod _groupkey {
    #[pymodule_export]
    use super::device::NativeDevice;
    #[pymodule_export]
    use super::files::{read, requirement_fields, toml, version};
    #[pymodule_export]
    use super::laboratory::{choose, laboratory, run};
    #[pymodule_export]
    use super::live::{LiveMember, LiveService, broker};
    #[pymodule_export]
    use super::own::{OwnKey, OwnMessage, OwnScheme, StepContext, check};
    #[pymodule_export]
    use super::rows::Rows;
}
