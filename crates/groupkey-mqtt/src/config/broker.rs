//! The `[broker]` part of both files.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str;

use serde::Deserialize;
use zeroize::Zeroizing;

use super::file::ConfigFolder;
use super::file::choose;
use crate::driver::Version;
use crate::driver::{Connection, Quality};
use crate::tls::{Tls, TlsOption};
use crate::topics::Topics;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BrokerFile {
    host: String,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    tls: Option<TlsFile>,
    websocket: Option<String>,
    allow_plain: bool,
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
            websocket: None,
            allow_plain: false,
            mqtt: Version::default().name().to_owned(),
            qos: 1,
        }
    }
}

impl BrokerFile {
    pub(super) fn secret(&self) -> Option<&'static str> {
        self.password.as_ref().map(|_| "broker.password")
    }

    pub(super) fn connection(
        self,
        client: String,
        folder: ConfigFolder<'_>,
    ) -> Result<Connection, String> {
        let version = choose(Version::ALL, Version::name, "broker.mqtt", &self.mqtt)?;
        let is_address = self.host.parse::<Ipv6Addr>().is_ok();
        if self.host.is_empty() || !is_address && self.host.contains([':', '/']) {
            return Err(format!(
                "broker.host is {:?}: give a name or an address alone; the port is broker.port",
                self.host
            ));
        }
        if self.tls.is_none() && !self.allow_plain && !is_this_machine(&self.host) {
            return Err(format!(
                "broker.host is {:?}, another machine, and without TLS whoever is between sees which \
                 devices talk, and the broker's password: set broker.tls, or broker.allow_plain = true \
                 if the network protects it",
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
                let bytes = folder.read_secret("broker.password_file", path)?;
                let text = str::from_utf8(&bytes)
                    .map_err(|error| format!("broker.password_file: {error}"))?;
                Some(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            (None, None) => None,
        };
        let login = match (self.user, password) {
            (Some(user), password) => Some((user, password.unwrap_or_default())),
            (None, Some(_)) => return Err("broker.password needs a broker.user".to_owned()),
            (None, None) => None,
        };
        let default_port = match (&self.websocket, &self.tls) {
            (None, None) => 1883,
            (None, Some(_)) => 8883,
            (Some(_), None) => 80,
            (Some(_), Some(_)) => 443,
        };
        if let Some(path) = &self.websocket {
            require_path(path)?;
        }
        let port = self.port.unwrap_or(default_port);
        let tls = self.tls.map(|tls| tls.understand(folder)).transpose()?;
        let connection = Connection::new(self.host, port, client);
        #[cfg(feature = "websocket")]
        let connection = Connection { websocket: self.websocket, ..connection };
        Ok(Connection { login, tls, version, qos, ..connection })
    }
}

impl TlsFile {
    fn understand(&self, folder: ConfigFolder<'_>) -> Result<Tls, String> {
        let own = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                Some((folder.read(certificate)?, folder.read_secret("broker.tls.key", key)?))
            }
            (None, None) => None,
            _ => return Err("broker.tls: certificate and key belong together".to_owned()),
        };
        let own = own.as_ref().map(|(certificate, key)| (&certificate[..], &key[..]));
        Tls::new(&folder.read(&self.ca)?, own).map_err(|error| {
            let path = match error.option {
                TlsOption::Authority => Some(&self.ca),
                TlsOption::Certificate => self.certificate.as_ref(),
                TlsOption::Key => self.key.as_ref(),
            };
            let file = path.map(|path| format!(" (in {})", path.display()));
            format!("broker.{error}{}", file.unwrap_or_default())
        })
    }
}

/// Refuses what is no path of a WebSocket.
fn require_path(path: &str) -> Result<(), String> {
    if cfg!(not(feature = "websocket")) {
        return Err("broker.websocket: this build has no WebSockets".to_owned());
    }
    let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    let is_plain = is_path && !path.contains('#');
    let wrong = || format!("broker.websocket is {path:?}: give the path alone, as in \"/mqtt\"");
    if is_plain { Ok(()) } else { Err(wrong()) }
}

/// Returns whether a broker's host is this machine, so that nobody is between. A name other than
/// `localhost` may lead anywhere.
fn is_this_machine(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// Returns the client identifier, which is unique to a role in a group. It has no slash, because
/// some brokers refuse slashes.
pub fn client_identifier(prefix: &str, role: &str) -> Result<String, String> {
    Topics::new(prefix).map_err(|error| format!("group.prefix: {error}"))?;
    Ok(format!("groupkey:{role}:{}", prefix.replace('.', "..").replace('/', ".")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Reads a file beside which the certificate of an authority is.
    fn connection(text: &str) -> Result<Connection, String> {
        let folder = tempfile::tempdir().unwrap();
        let authority = rcgen::generate_simple_self_signed(["broker".to_owned()]).unwrap();
        fs::write(folder.path().join("ca.pem"), authority.cert.pem()).unwrap();
        let file: BrokerFile = toml::from_str(text).unwrap();
        let folder = ConfigFolder { path: folder.path(), open_files_allowed: false };
        file.connection("client".to_owned(), folder)
    }

    #[test]
    fn a_remote_broker_needs_tls_or_the_operators_word() {
        let near = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "localhost", "LocalHost"];
        for host in near {
            assert!(connection(&format!("host = '{host}'")).is_ok(), "{host}");
        }
        let far =
            ["broker.example", "192.0.2.1", "0.0.0.0", "::", "2001:db8::1", "localhost.example"];
        for host in far {
            let plain = format!("host = '{host}'\n");
            let refusal = connection(&plain).unwrap_err();
            assert!(refusal.contains("broker.tls") && refusal.contains("allow_plain"), "{refusal}");
            assert!(connection(&(plain.clone() + "allow_plain = true")).is_ok(), "{host}");
            assert!(connection(&(plain + "tls = { ca = 'ca.pem' }")).is_ok(), "{host}");
        }
    }

    #[cfg(feature = "websocket")]
    #[test]
    fn a_websocket_has_a_path_and_ports_of_its_own() {
        let plain = connection("websocket = '/mqtt'").unwrap();
        assert_eq!((plain.port, plain.websocket.as_deref()), (80, Some("/mqtt")));
        let guarded = connection("websocket = '/'\ntls = { ca = 'ca.pem' }").unwrap();
        assert_eq!(guarded.port, 443);
        for path in ["", "mqtt", "ws://broker/mqtt", "/a b", "/a#b", "/\u{e4}"] {
            let refusal = connection(&format!("websocket = '{path}'")).unwrap_err();
            assert!(refusal.contains("broker.websocket"), "{refusal}");
        }
        assert!(
            connection("host = 'broker.example'\nwebsocket = '/'").unwrap_err().contains("tls")
        );
    }

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
