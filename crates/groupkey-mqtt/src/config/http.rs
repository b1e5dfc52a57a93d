//! The `[http]` part of a service's or a bridge's file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::file::secret;
use super::identity_file::{Purpose, identity_for};
use super::tokens::NamedToken;
use crate::keyring::Secret;

/// The address and the token of the HTTP interface of a service or a bridge.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// The address.
    pub listen: SocketAddr,
    /// The token that clients must send.
    pub token: Secret,
    /// The file of further tokens, which have names and rights.
    pub tokens_file: Option<PathBuf>,
    /// The names under which clients may ask, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Whether they may ask for keys for other protocols.
    pub exports: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HttpFile {
    listen: Option<String>,
    token: Option<String>,
    token_file: Option<PathBuf>,
    tokens_file: Option<PathBuf>,
    allow_remote: bool,
    hosts: Vec<String>,
    export: bool,
}

impl HttpFile {
    pub(super) fn secret(&self) -> Option<&'static str> {
        self.token.as_ref().map(|_| "http.token")
    }

    /// Refuses what is of a service alone.
    pub(super) fn of_a_bridge(self) -> Result<Self, String> {
        match self.export {
            true => Err("http.export is of a service: a bridge gives no keys".to_owned()),
            false => Ok(self),
        }
    }

    /// Checks the settings. Returns `None` without an address. Creates the token's file if it is
    /// missing.
    pub(super) fn understand(
        self,
        folder: &Path,
        purpose: Purpose,
    ) -> Result<Option<HttpConfig>, String> {
        let Some(listen) = self.listen else { return Ok(None) };
        let listen: SocketAddr = listen.parse().map_err(|_| {
            format!(
                "http.listen is {listen:?}: give it an address and a port, as in 127.0.0.1:8475"
            )
        })?;
        if !listen.ip().is_loopback() && !self.allow_remote {
            return Err(format!(
                "http.listen is {listen}, which others can reach, and HTTP is not encrypted: listen on \
                 127.0.0.1 and put a proxy with TLS before it, or set http.allow_remote = true"
            ));
        }
        let token = match (self.token, self.token_file) {
            (Some(token), None) => secret("http.token", &token)?,
            (None, Some(path)) => {
                let token = identity_for(&folder.join(path), purpose);
                token.map_err(|error| format!("http.token_file: {error}"))?
            }
            _ => return Err("http needs either a token or a token_file to listen".to_owned()),
        };
        let is_name = |host: &String| !host.is_empty() && !host.contains([':', '/', '*', ' ']);
        if let Some(wrong) = self.hosts.iter().find(|host| !is_name(host)) {
            return Err(format!(
                "http.hosts has {wrong:?}: give names alone, as in groups.example, without scheme and port"
            ));
        }
        let tokens_file = self.tokens_file.map(|path| folder.join(path));
        if let Some(path) = &tokens_file {
            NamedToken::read(path).map_err(|error| format!("http.tokens_file: {error}"))?;
        }
        let (hosts, exports) = (self.hosts, self.export);
        Ok(Some(HttpConfig { listen, token, tokens_file, hosts, exports }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn understand(text: &str) -> Result<Option<HttpConfig>, String> {
        let file: HttpFile = toml::from_str(text).map_err(|error| error.to_string())?;
        file.understand(Path::new("/nowhere"), Purpose::Run)
    }

    #[test]
    fn nobody_listens_without_being_told_to() {
        assert!(understand("").unwrap().is_none());
        assert!(understand("token = 'x'").unwrap().is_none());
    }

    #[test]
    fn weak_settings_are_refused() {
        let token = "ab".repeat(32);
        let refused = |text: &str| understand(&text.replace("TOKEN", &token)).unwrap_err();
        assert!(refused("listen = '127.0.0.1:0'").contains("token_file"));
        assert!(refused("listen = '127.0.0.1:0'\ntoken = 'short'").contains("64 hexadecimal"));
        assert!(refused("listen = '0.0.0.0:1'\ntoken = 'TOKEN'").contains("allow_remote"));
        assert!(refused("listen = 'localhost'\ntoken = 'TOKEN'").contains("127.0.0.1:8475"));
        assert!(refused("listne = 'localhost'").contains("listne"));
        let hosts = "listen = '127.0.0.1:0'\ntoken = 'TOKEN'\nhosts = ['http://groups.example']";
        assert!(refused(hosts).contains("http.hosts has"));
        let remote = "listen = '0.0.0.0:1'\ntoken = 'TOKEN'\nallow_remote = true";
        assert!(understand(&remote.replace("TOKEN", &token)).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn the_file_of_the_token_is_made_and_is_nobody_elses() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let understand = || {
            let text = "listen = '[::1]:8475'\ntoken_file = 'http.token'";
            toml::from_str::<HttpFile>(text).unwrap().understand(folder.path(), Purpose::Run)
        };
        let drawn = understand().unwrap().unwrap().token;
        assert!(understand().unwrap().unwrap().token == drawn, "it is read again");
        let file = folder.path().join("http.token");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(understand().unwrap_err().contains("chmod 600"));
    }
}
