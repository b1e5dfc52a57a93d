//! A configuration file of which it is not said whose it is.

use std::path::Path;

use super::file::{ConfigError, read_public, wrong};
use super::{BridgeConfig, MemberConfig, ServeConfig};

/// The configuration of a service, of a bridge or of a member.
#[derive(Clone, Debug)]
pub enum AnyConfig {
    /// `serve.toml`: it has a store.
    Serve(Box<ServeConfig>),
    /// `bridge.toml`: it has a local broker, or a list of groups.
    Bridge(Box<BridgeConfig>),
    /// `member.toml`: it has neither.
    Member(Box<MemberConfig>),
}

impl AnyConfig {
    /// Reads a file, and writes nothing.
    pub fn look(path: &Path) -> Result<Self, ConfigError> {
        let bytes = read_public(path)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| wrong(path, error))?;
        // What is no TOML is told with its place by either.
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let has_groups = table.get("group").is_some_and(toml::Value::is_array);
        if table.contains_key("store") {
            ServeConfig::look(path).map(|config| Self::Serve(Box::new(config)))
        } else if has_groups || table.contains_key("local") {
            BridgeConfig::look(path).map(|config| Self::Bridge(Box::new(config)))
        } else {
            MemberConfig::look(path).map(|config| Self::Member(Box::new(config)))
        }
    }
}
