//! Reads a configuration file, and reports why it cannot be used.

use std::path::Path;
use std::{fmt, fs};

use serde::de::DeserializeOwned;

/// The reason why a file cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(super) String);

/// Reads a file's text and makes a configuration of it. `understand` gets the folder to which the
/// paths in the file are relative.
pub(super) fn read_config<F: DeserializeOwned, C>(
    path: &Path,
    understand: impl FnOnce(F, &Path) -> Result<C, String>,
) -> Result<C, ConfigError> {
    let file = toml::from_str(&read(path)?).map_err(|error| wrong(path, error))?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    understand(file, folder).map_err(|what| wrong(path, what))
}

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
