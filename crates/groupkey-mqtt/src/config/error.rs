//! Why a file cannot be used.

use std::path::Path;
use std::{fmt, fs};

/// A file that cannot be used: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(super) String);

pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|error| wrong(path, error))
}

pub(super) fn wrong(path: &Path, what: impl fmt::Display) -> ConfigError {
    ConfigError(format!("{}: {what}", path.display()))
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
