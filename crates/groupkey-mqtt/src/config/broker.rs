//! The `[broker]` part of both files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use zeroize::Zeroizing;

use super::file::{read, wrong};
use super::value::choose;
use crate::driver::{Connection, Quality};
use crate::tls::Tls;
use crate::topics::Topics;
use crate::version::Version;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BrokerFile {
    host: String,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    tls: Option<TlsFile>,
    pub(super) mqtt: String,
    pub(super) qos: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsFile {
    ca: PathBuf,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Default for BrokerFile {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: None,
            user: None,
            password: None,
            password_file: None,
            tls: None,
            mqtt: Version::default().name().to_owned(),
            qos: 1,
        }
    }
}

impl BrokerFile {
    pub(super) fn connection(self, client: String, folder: &Path) -> Result<Connection, String> {
        let version = choose(Version::ALL, Version::name, "broker.mqtt", &self.mqtt)?;
        let is_address = self.host.parse::<std::net::Ipv6Addr>().is_ok();
        if self.host.is_empty() || !is_address && self.host.contains([':', '/']) {
            return Err(format!(
                "broker.host is {:?}: give a name or an address alone; the port is broker.port",
                self.host
            ));
        }
        let qos = Quality::from_level(self.qos)
            .ok_or_else(|| format!("broker.qos is {}: it can be 0, 1 or 2", self.qos))?;
        let password = match (self.password, &self.password_file) {
            (Some(_), Some(_)) => {
                return Err("broker: give password or password_file, not both".to_owned());
            }
            (Some(password), None) => Some(Zeroizing::new(password)),
            (None, Some(path)) => {
                let text = Zeroizing::new(read(&folder.join(path)).map_err(|error| error.0)?);
                Some(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            (None, None) => None,
        };
        let login = match (self.user, password) {
            (Some(user), password) => Some((user, password.unwrap_or_default())),
            (None, Some(_)) => return Err("broker.password needs a broker.user".to_owned()),
            (None, None) => None,
        };
        let default_port = if self.tls.is_some() { 8883 } else { 1883 };
        let port = self.port.unwrap_or(default_port);
        let tls = self.tls.map(|tls| tls.understand(folder)).transpose()?;
        Ok(Connection { login, tls, version, qos, ..Connection::new(self.host, port, client) })
    }
}

impl TlsFile {
    fn understand(&self, folder: &Path) -> Result<Tls, String> {
        let read = |path: &PathBuf| {
            let path = folder.join(path);
            fs::read(&path).map(Zeroizing::new).map_err(|error| wrong(&path, error).0)
        };
        let own = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            (None, None) => None,
            _ => return Err("broker.tls: certificate and key belong together".to_owned()),
        };
        let own = own.as_ref().map(|(certificate, key)| (&certificate[..], &key[..]));
        Tls::new(&read(&self.ca)?, own).map_err(|error| format!("broker.{error}"))
    }
}

/// Returns the client identifier, which is unique to a role in a group. It has no slash, because
/// some brokers refuse slashes.
pub(super) fn client_identifier(prefix: &str, role: &str) -> Result<String, String> {
    Topics::new(prefix).map_err(|error| format!("group.prefix: {error}"))?;
    Ok(format!("groupkey:{role}:{}", prefix.replace('.', "..").replace('/', ".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_an_identifier_of_its_own() {
        let identifier = |prefix, role| client_identifier(prefix, role).unwrap();
        let all = [
            identifier("plant/1", "service"),
            identifier("plant/2", "service"),
            identifier("plant.1", "service"),
            identifier("plant/1", "device:service"),
            identifier("plant/1/device", "service"),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one) && !one.contains('/'), "{one}");
        }
        assert!(client_identifier("plant/+", "service").is_err());
    }
}
