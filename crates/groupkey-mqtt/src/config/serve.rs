//! The file of a service.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::broker::{BrokerFile, client_identifier};
use super::file::{Confidential, ConfigError, ConfigFolder, read_config};
use super::file::{public, secret};
use super::group::GroupFile;
use super::http::{HttpConfig, HttpFile};
use super::identity_file::{Purpose, identity, identity_for};
use crate::disk::{CACHE_BYTES, DiskStore};
use crate::driver::Connection;
use crate::member;
use crate::policy::Policy;
use crate::store::StoreError;

/// The configuration of `groupkey serve`.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// How to reach the broker.
    pub connection: Connection,
    /// The operator's decisions.
    pub policy: Policy,
    /// Where the store is.
    pub store: StoreConfig,
    /// The HTTP interface, if it is enabled.
    pub http: Option<HttpConfig>,
}

/// Where a service's store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The path of the store.
    pub path: PathBuf,
    /// The path of the file with the key that encrypts the store, if it is encrypted.
    pub key_file: Option<PathBuf>,
    /// How much of the store is kept in memory, in bytes.
    pub cache_bytes: usize,
}

/// The longest time that a change of scheme may wait for members, s: a day.
const LONGEST_CHANGE_S: u64 = 86_400;

/// A commented file for `groupkey serve`, with the defaults.
pub const SERVE_TEMPLATE: &str = include_str!("serve.toml");

impl ServeConfig {
    /// Reads a file. Paths in the file are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        read_config(path, ServeFile::understand)
    }

    /// Reads a file and writes nothing: another secret stands for one whose file is missing.
    pub fn look(path: &Path) -> Result<Self, ConfigError> {
        read_config(path, |file: ServeFile, folder| file.understand_for(folder, Purpose::Look))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeFile {
    #[serde(default)]
    broker: BrokerFile,
    #[serde(default)]
    group: GroupFile,
    #[serde(default)]
    http: HttpFile,
    store: StoreFile,
    identity: Option<PathBuf>,
    #[serde(default)]
    allow_open_files: bool,
    #[serde(default)]
    tokens: Vec<String>,
    #[serde(default)]
    device: Vec<DeviceFile>,
}

/// `store = "path"`, or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoreFile {
    Path(PathBuf),
    Table(StoreTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreTable {
    path: PathBuf,
    key_file: Option<PathBuf>,
    #[serde(default = "default_cache")]
    cache_bytes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    name: String,
    key: Option<String>,
    identity: Option<String>,
}

const fn default_cache() -> usize {
    CACHE_BYTES
}

/// The least memory for a store, in bytes.
const LEAST_CACHE: usize = 64 << 10;

impl StoreConfig {
    /// Looks at the store, and changes nothing. Returns whether there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if it is damaged, if others may read it, or if its key is missing or
    /// another one, [`StoreError::InUse`] if a service has it open.
    pub fn look(&self) -> Result<bool, StoreError> {
        if !self.path.exists() {
            return Ok(false);
        }
        let key = self.key_file.as_deref().map(|path| {
            self.has_key(path)?;
            identity_for(path, Purpose::Look).map_err(|error| StoreError::Failed(error.to_string()))
        });
        DiskStore::look(&self.path, key.transpose()?.as_ref())?;
        Ok(true)
    }

    fn has_key(&self, key_file: &Path) -> Result<(), StoreError> {
        if self.path.exists() && !key_file.exists() {
            return Err(StoreError::Failed(format!(
                "its key is missing: put {} back, without which nobody can read the store",
                key_file.display()
            )));
        }
        Ok(())
    }

    /// Opens the store. Draws the key of a new store if its file is missing.
    pub fn open(&self) -> Result<DiskStore, StoreError> {
        let key = self.key_file.as_deref().map(|key_file| {
            self.has_key(key_file)?;
            identity(key_file).map_err(|error| StoreError::Failed(error.to_string()))
        });
        DiskStore::open_with(&self.path, key.transpose()?.as_ref(), self.cache_bytes)
    }
}

impl Confidential for ServeFile {
    fn secret(&self) -> Option<&'static str> {
        let has_key = self.device.iter().any(|device| device.key.is_some());
        (has_key.then_some("device.key"))
            .or_else(|| (!self.tokens.is_empty()).then_some("tokens"))
            .or_else(|| self.broker.secret())
            .or_else(|| self.http.secret())
    }

    fn open_files_allowed(&self) -> bool {
        self.allow_open_files
    }
}

impl ServeFile {
    fn understand(self, folder: &Path) -> Result<ServeConfig, String> {
        self.understand_for(folder, Purpose::Run)
    }

    fn understand_for(self, folder: &Path, purpose: Purpose) -> Result<ServeConfig, String> {
        self.group.only_of_a_service()?;
        let form = self.group.form()?;
        if !form.configuration.scheme().has_controller() {
            return Err(format!(
                "{} has no controller: run groupkey member on each device, and no service",
                self.group.scheme
            ));
        }
        let (_, most) = form.configuration.scheme().members;
        if !(2..=most as usize).contains(&self.group.founders) {
            let founders = self.group.founders;
            return Err(format!("group.founders is {founders}: it can be 2 to {most}"));
        }
        let client = client_identifier(&self.group.prefix, "service")?;
        let mut policy = Policy::of(form);
        policy.allowed = self.group.allowed();
        policy.prefix.clone_from(&self.group.prefix);
        policy.founders = self.group.founders;
        policy.batch = Duration::from_millis(self.group.batch_ms);
        policy.period = self.group.period(&policy.form)?;
        policy.rekey_expiry_s = self.group.rekey_expiry_s;
        if policy.rekey_expiry_s == 0 {
            return Err("group.rekey_expiry_s is 0: it must be a second or more".to_owned());
        }
        if !(1..=LONGEST_CHANGE_S).contains(&self.group.change_s) {
            let seconds = self.group.change_s;
            return Err(format!("group.change_s is {seconds}: it can be 1 to {LONGEST_CHANGE_S}"));
        }
        policy.change = Duration::from_secs(self.group.change_s);
        policy.confirm = self.group.confirm()?;
        policy.activate = self.group.activation()?;
        policy.evict_silent_after = self.group.silence()?;
        if let Some(path) = &self.identity {
            let path = folder.join(path);
            policy.is_identity_new = !path.exists();
            policy.identity = Some(identity_for(&path, purpose).map_err(|error| error.0)?);
        }
        for token in &self.tokens {
            let token = secret("tokens", token)?;
            if policy.tokens.contains(&token) {
                return Err(
                    "tokens: a token is listed twice, and each token admits one device".to_owned()
                );
            }
            policy.tokens.push(token);
        }
        for device in self.device {
            if !crate::topics::is_name(&device.name) {
                return Err(format!(
                    "device {:?}: {}",
                    device.name,
                    member::MemberSettingsError::Name
                ));
            }
            let name = device.name;
            if policy.keys.contains_key(&name) || policy.identities.contains_key(&name) {
                return Err(format!("device {name} is listed twice"));
            }
            match (device.key, device.identity) {
                (Some(key), None) => drop(policy.keys.insert(name, secret("key", &key)?)),
                (None, Some(key)) => {
                    policy.identities.insert(name, public("device.identity", &key)?);
                }
                _ => return Err(format!("device {name}: give it a key or an identity")),
            }
        }
        let files = ConfigFolder { path: folder, open_files_allowed: self.allow_open_files };
        let connection = self.broker.connection(client, files)?;
        let http = self.http.understand(folder, purpose)?;
        let StoreTable { path, key_file, cache_bytes } = match self.store {
            StoreFile::Path(path) => {
                StoreTable { path, key_file: None, cache_bytes: default_cache() }
            }
            StoreFile::Table(table) => table,
        };
        if cache_bytes < LEAST_CACHE {
            return Err(format!(
                "store.cache_bytes is {cache_bytes}: it can be {LEAST_CACHE} and more"
            ));
        }
        let key_file = key_file.map(|path| folder.join(path));
        let store = StoreConfig { path: folder.join(path), key_file, cache_bytes };
        Ok(ServeConfig { connection, policy, store, http })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Version;

    #[test]
    fn the_template_is_what_it_says() {
        let file: ServeFile = toml::from_str(SERVE_TEMPLATE).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = file.understand(folder.path()).unwrap();
        assert_eq!(config.http.unwrap().listen.to_string(), "127.0.0.1:8475");
        assert_eq!(config.policy.form.configuration.scheme().id, "lkh-group");
        assert_eq!((config.policy.founders, config.connection.port), (2, 1883));
        assert_eq!(config.connection.version, Version::default());
        let default = Policy::of(config.policy.form);
        assert_eq!(config.policy.rekey_expiry_s, default.rekey_expiry_s);
        assert_eq!(config.policy.change, default.change);
    }

    #[test]
    fn typing_errors_and_weak_forms_are_refused() {
        let refused = |text: &str| {
            let file = toml::from_str::<ServeFile>(text).map_err(|error| error.to_string());
            file.and_then(|file| file.understand(Path::new("/nowhere"))).unwrap_err()
        };
        assert!(refused("store = 's'\nshceme = 'x'").contains("shceme"));
        assert!(refused("store = 's'\n[adapt]\nfloor_s = 60").contains("unknown field `adapt`"));
        assert!(refused("store = 's'\n[group]\nscheme = 'x'").contains("groupkey schemes"));
        assert!(refused("store = 's'\n[group]\nsuite = 'published'").contains("allow_published"));
        assert!(refused("store = 's'\n[group]\nprotection = 'mac'").contains("allow_mac"));
        assert!(refused("store = 's'\n[group]\nscheme = 'tgdh'").contains("groupkey member"));
        assert!(refused("store = 's'\n[broker]\nqos = 3").contains("0, 1 or 2"));
        assert!(refused("store = 's'\n[broker]\nmqtt = '4'").contains("broker.mqtt is \"4\""));
        assert!(refused("store = 's'\n[group]\nrekey_expiry_s = 0").contains("a second or more"));
        let small = "store = { path = 's', cache_bytes = 65535 }";
        assert!(refused(small).contains("store.cache_bytes is 65535"));
        assert!(refused("store = 's'\n[group]\nconfirm_s = 0").contains("can be 1 to 86400"));
        let hasty = "store = 's'\n[group]\nevict_silent_after_s = 59";
        assert!(refused(hasty).contains("can be 60 to"));
        for when in ["'most'", "0", "1.5", "-1"] {
            let text = format!("store = 's'\n[group]\nactivate = {{ after_s = 9, when = {when} }}");
            assert!(refused(&text).contains("or a share such as 0.9"), "{when}");
        }
        let soon = "store = 's'\n[group]\nactivate = { after_s = 1 }";
        assert!(refused(soon).contains("can be 2 to 86400"));
        let spinning = "store = 's'\n[group]\nscheme = 'igkmp'\nperiod_s = 0";
        assert!(refused(spinning).contains("a second or more"));
        assert!(refused("store = 's'\n[broker]\npassword = 'x'").contains("broker.user"));
        let both = "store = 's'\n[broker]\nuser = 'x'\npassword = 'x'\npassword_file = 'x'";
        assert!(refused(both).contains("not both"));
        let half = "store = 's'\n[broker]\ntls = { ca = 'ca.pem', key = 'x.pem' }";
        assert!(refused(half).contains("belong together"));
        let missing = "store = 's'\n[broker]\ntls = { ca = 'ca.pem' }";
        assert!(refused(missing).contains("/nowhere/ca.pem"));
        assert!(refused("store = 's'\ntokens = ['x']").contains("64 hexadecimal"));
        let token = "ab".repeat(32);
        assert!(
            refused(&format!("store = 's'\ntokens = ['{token}', '{token}']")).contains("twice")
        );
        for founders in ["0", "1", "99999999"] {
            let text = format!("store = 's'\n[group]\nfounders = {founders}");
            assert!(refused(&text).contains("group.founders"));
        }
        let device = format!("[[device]]\nname = 'a'\nkey = '{token}'\n");
        assert!(refused(&format!("store = 's'\n{device}{device}")).contains("a is listed twice"));
        let of_small_order = format!("01{}", "00".repeat(31));
        let device = format!("[[device]]\nname = 'a'\nidentity = '{of_small_order}'\n");
        assert!(refused(&format!("store = 's'\n{device}")).contains("is not a public key"));
    }

    #[test]
    fn a_store_draws_its_key_once() {
        let folder = tempfile::tempdir().unwrap();
        let text = "store = { path = 'group.redb', key_file = 'store.key', cache_bytes = 65536 }";
        let file: ServeFile = toml::from_str(text).unwrap();
        let store = file.understand(folder.path()).unwrap().store;
        assert_eq!(store.cache_bytes, 65_536);
        drop(store.open().unwrap());
        let key_file = folder.path().join("store.key");
        let key = std::fs::read(&key_file).unwrap();
        drop(store.open().unwrap());
        assert_eq!(std::fs::read(&key_file).unwrap(), key);
        std::fs::remove_file(&key_file).unwrap();
        assert!(store.open().unwrap_err().to_string().contains("its key is missing"));
        assert!(!key_file.exists());
    }

    #[test]
    fn the_default_scheme_changes_its_key_after_a_period() {
        let text = "store = 's'\n[group]\nperiod_s = 3600\n";
        let file: ServeFile = toml::from_str(text).unwrap();
        let config = file.understand(Path::new("/nowhere")).unwrap();
        assert_eq!(config.policy.period, Some(Duration::from_secs(3_600)));
    }
}
