//! The configuration files of a service or a member (TOML). Unknown keys are refused, so that a
//! typing error is not taken for a default.

mod http;
mod identity_file;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use groupkey::catalogue::{self, Class, Law, Profile, Scheme};
use groupkey::messages;
use groupkey::protection::{Guard, PublicIdentity};
use groupkey::{GroupId, MemberId, Operation, Suite};
use serde::Deserialize;
use zeroize::Zeroizing;

pub use self::http::HttpConfig;
use self::http::HttpFile;
pub use self::identity_file::{hold, identity};
use crate::driver::{Connection, Quality};
use crate::form::Form;
use crate::keyring::{Secret, bytes_from_hex};
use crate::policy::Policy;
use crate::tls::Tls;
use crate::topics::Topics;
use crate::version::Version;
use crate::{member, peer};

/// What `groupkey serve` reads.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The broker.
    pub connection: Connection,
    /// What the operator decided.
    pub policy: Policy,
    /// Where the store is.
    pub store: PathBuf,
    /// The HTTP interface, if there is to be one.
    pub http: Option<HttpConfig>,
}

/// What `groupkey member` reads.
#[derive(Clone, Debug)]
pub struct MemberConfig {
    /// The broker.
    pub connection: Connection,
    /// Where its identity is kept: see [`hold`].
    pub identity_file: PathBuf,
    /// How it takes part.
    pub part: Part,
}

/// How a member takes part.
#[derive(Clone, Debug)]
pub enum Part {
    /// It joins a service.
    Member(member::Settings),
    /// It is one of the members of a group without a controller.
    Peer(peer::Settings),
}

/// A file that cannot be used: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

/// A commented file for `groupkey serve`, with the defaults.
pub const SERVE_TEMPLATE: &str = include_str!("config/serve.toml");

/// A commented file for `groupkey member`, with the defaults.
pub const MEMBER_TEMPLATE: &str = include_str!("config/member.toml");

impl ServeConfig {
    /// Reads a file. Paths in it are relative to it.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read(path)?;
        let file: ServeFile = toml::from_str(&text).map_err(|error| wrong(path, error))?;
        file.understand(path.parent().unwrap_or_else(|| Path::new(".")))
            .map_err(|what| wrong(path, what))
    }
}

impl MemberConfig {
    /// Reads a file. Paths in it are relative to it. The identity's file is created if missing.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read(path)?;
        let file: MemberFile = toml::from_str(&text).map_err(|error| wrong(path, error))?;
        file.understand(path.parent().unwrap_or_else(|| Path::new(".")))
            .map_err(|what| wrong(path, what))
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
    store: PathBuf,
    identity: Option<PathBuf>,
    #[serde(default)]
    tokens: Vec<String>,
    #[serde(default)]
    device: Vec<DeviceFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberFile {
    #[serde(default)]
    broker: BrokerFile,
    #[serde(default)]
    group: GroupFile,
    name: String,
    identity: PathBuf,
    /// A pre-shared key or a token.
    secret: Option<String>,
    service: Option<String>,
    #[serde(default)]
    peer: Vec<PeerFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BrokerFile {
    host: String,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    tls: Option<TlsFile>,
    mqtt: String,
    qos: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsFile {
    ca: PathBuf,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

#[derive(Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct GroupFile {
    prefix: String,
    number: u64,
    scheme: String,
    profile: String,
    parameters: std::collections::BTreeMap<String, u32>,
    suite: String,
    protection: String,
    allow_published: bool,
    founders: usize,
    batch_ms: u64,
    period_s: Option<u64>,
    rekey_expiry_s: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    name: String,
    key: Option<String>,
    identity: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerFile {
    name: String,
    number: u32,
    identity: String,
    #[serde(default)]
    founder: bool,
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

impl Default for GroupFile {
    fn default() -> Self {
        Self {
            prefix: "groupkey/1".to_owned(),
            number: 1,
            scheme: "lkh-group".to_owned(),
            profile: Profile::Sound.name().to_owned(),
            parameters: std::collections::BTreeMap::new(),
            suite: Suite::Standard.name().to_owned(),
            protection: Guard::Signature.name().to_owned(),
            allow_published: false,
            founders: 2,
            batch_ms: 50,
            period_s: None,
            rekey_expiry_s: 60,
        }
    }
}

impl BrokerFile {
    fn connection(self, client: String, folder: &Path) -> Result<Connection, String> {
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

impl GroupFile {
    fn form(&self) -> Result<Form, String> {
        let scheme = catalogue::scheme(&self.scheme)
            .ok_or_else(|| format!("no scheme is called {}: see groupkey schemes", self.scheme))?;
        let profile = choose(Profile::ALL, Profile::name, "group.profile", &self.profile)?;
        let mut configuration = scheme.configuration(profile);
        for (name, &value) in &self.parameters {
            configuration
                .set(name, value)
                .map_err(|error| format!("group.parameters.{name}: {error}"))?;
        }
        let form = Form {
            group: GroupId(self.number),
            configuration,
            suite: choose(Suite::ALL, Suite::name, "group.suite", &self.suite)?,
            guard: choose(Guard::ALL, Guard::name, "group.protection", &self.protection)?,
        };
        form.check(self.allow_published).map_err(|error| error.to_string())?;
        Ok(form)
    }

    /// Refuses what nothing heeds in a member's file: a service tells its members the rest.
    fn only_what_counts(&self, has_peers: bool) -> Result<(), String> {
        let default = Self::default();
        let (heeded, advice) = if has_peers {
            let Self { founders, batch_ms, period_s, rekey_expiry_s, .. } = default;
            let heeded = Self { founders, batch_ms, period_s, rekey_expiry_s, ..self.clone() };
            let advice = "founders, batch_ms, period_s and rekey_expiry_s are for a service; \
                          remove them";
            (heeded, advice)
        } else {
            let heeded = Self { prefix: self.prefix.clone(), number: self.number, ..default };
            let advice = "of a group with a service, a member's file says only prefix and \
                          number; remove the rest, which the service tells it";
            (heeded, advice)
        };
        if *self == heeded { Ok(()) } else { Err(format!("[group]: {advice}")) }
    }

    /// After how long the key is changed even if nobody comes or goes.
    fn period(&self, form: &Form) -> Result<Option<Duration>, String> {
        let scheme = form.configuration.scheme();
        match self.period_s {
            None => Ok(None),
            Some(0) => Err("group.period_s is 0: a second is the least".to_owned()),
            Some(_) if !can_rekey(scheme) => {
                let able = catalogue::SCHEMES.iter().filter(|other| {
                    can_rekey(other) && other.has_controller() && other.law == Law::OneKey
                });
                let able = able.map(|scheme| scheme.id).collect::<Vec<_>>().join(", ");
                Err(format!(
                    "group.period_s: {} changes its key only when somebody comes or goes; leave the \
                     line out, or take a scheme that can do more: {able}",
                    scheme.id
                ))
            }
            Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
        }
    }
}

impl ServeFile {
    fn understand(self, folder: &Path) -> Result<ServeConfig, String> {
        let form = self.group.form()?;
        if !form.configuration.scheme().has_controller() {
            return Err(format!(
                "{} has no controller: run groupkey member on each side, and no service",
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
        policy.published_allowed = self.group.allow_published;
        policy.prefix.clone_from(&self.group.prefix);
        policy.founders = self.group.founders;
        policy.batch = Duration::from_millis(self.group.batch_ms);
        policy.period = self.group.period(&policy.form)?;
        policy.rekey_expiry_s = self.group.rekey_expiry_s;
        if policy.rekey_expiry_s == 0 {
            return Err("group.rekey_expiry_s is 0: a second is the least".to_owned());
        }
        if let Some(path) = &self.identity {
            policy.identity = Some(identity(&folder.join(path)).map_err(|error| error.0)?);
        }
        for token in &self.tokens {
            let token = secret("tokens", token)?;
            if policy.tokens.contains(&token) {
                return Err("tokens: one is there twice, and a token lets one device in".to_owned());
            }
            policy.tokens.push(token);
        }
        for device in self.device {
            if !crate::topics::is_name(&device.name) {
                return Err(format!("device {:?}: {}", device.name, member::SettingsError::Name));
            }
            let name = device.name;
            if policy.keys.contains_key(&name) || policy.identities.contains_key(&name) {
                return Err(format!("device {name} is there twice"));
            }
            match (device.key, device.identity) {
                (Some(key), None) => drop(policy.keys.insert(name, secret("key", &key)?)),
                (None, Some(key)) => {
                    policy.identities.insert(name, public("device.identity", &key)?);
                }
                _ => return Err(format!("device {name}: give it a key or an identity")),
            }
        }
        let connection = self.broker.connection(client, folder)?;
        let http = self.http.understand(folder)?;
        Ok(ServeConfig { connection, policy, store: folder.join(self.store), http })
    }
}

impl MemberFile {
    fn understand(self, folder: &Path) -> Result<MemberConfig, String> {
        if !crate::topics::is_name(&self.name) {
            return Err(format!("name {:?}: {}", self.name, member::SettingsError::Name));
        }
        let client = client_identifier(&self.group.prefix, &format!("device:{}", self.name))?;
        self.group.only_what_counts(!self.peer.is_empty())?;
        let identity_file = folder.join(&self.identity);
        let identity = identity(&identity_file).map_err(|error| error.0)?;
        let shared = self.secret.as_deref().map(|text| secret("secret", text)).transpose()?;
        let service = self.service.as_deref().map(|text| public("service", text)).transpose()?;
        let messages = messages::Settings::default();
        let prefix = self.group.prefix.clone();
        let part = if self.peer.is_empty() {
            Part::Member(member::Settings {
                prefix,
                name: self.name,
                identity,
                shared,
                service,
                messages,
            })
        } else {
            let form = self.group.form()?;
            if form.configuration.scheme().class() != Class::Distributed {
                return Err(format!("{} has a controller: remove the peers", self.group.scheme));
            }
            let mut directory = Vec::new();
            for (place, peer) in self.peer.iter().enumerate() {
                let same =
                    |other: &&PeerFile| other.name == peer.name || other.number == peer.number;
                if let Some(other) = self.peer[..place].iter().find(same) {
                    let (name, other) = (&peer.name, &other.name);
                    return Err(format!(
                        "[[peer]]s {other} and {name}: each needs a name and a number of its own"
                    ));
                }
                directory.push((MemberId(peer.number), public("peer.identity", &peer.identity)?));
            }
            let me = self.peer.iter().find(|peer| peer.name == self.name);
            let me = me.ok_or_else(|| format!("no [[peer]] is called {}", self.name))?;
            if bytes_from_hex(&me.identity) != Some(identity.public()) {
                return Err(format!(
                    "the identity of [[peer]] {} is not that of {}",
                    self.name,
                    self.identity.display()
                ));
            }
            let founders = self.peer.iter().filter(|peer| peer.founder);
            if founders.clone().count() < 2 {
                return Err("give founder = true to at least two [[peer]]s".to_owned());
            }
            Part::Peer(peer::Settings {
                prefix,
                me: MemberId(me.number),
                identity,
                form,
                directory,
                founders: founders.map(|peer| MemberId(peer.number)).collect(),
                messages,
            })
        };
        let connection = self.broker.connection(client, folder)?;
        Ok(MemberConfig { connection, identity_file, part })
    }
}

/// What the broker knows a client by: of a group and of a role in it, there is one. No slash, which
/// brokers refuse where access depends on it.
fn client_identifier(prefix: &str, role: &str) -> Result<String, String> {
    Topics::new(prefix).map_err(|error| format!("group.prefix: {error}"))?;
    Ok(format!("groupkey:{role}:{}", prefix.replace('.', "..").replace('/', ".")))
}

fn can_rekey(scheme: &Scheme) -> bool {
    scheme.operations.contains(&Operation::Rekey)
}

fn read(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|error| wrong(path, error))
}

fn wrong(path: &Path, what: impl fmt::Display) -> ConfigError {
    ConfigError(format!("{}: {what}", path.display()))
}

fn secret(what: &str, text: &str) -> Result<Secret, String> {
    Secret::from_hex(text).ok_or_else(|| format!("{what}: 64 hexadecimal digits are needed"))
}

fn public(what: &str, text: &str) -> Result<[u8; 32], String> {
    let bytes = bytes_from_hex(text);
    let bytes = bytes.ok_or_else(|| format!("{what}: 64 hexadecimal digits are needed"))?;
    match PublicIdentity::from_bytes(&bytes) {
        Some(_) => Ok(bytes),
        None => {
            Err(format!("{what}: {text} is no public key: groupkey member --public prints one"))
        }
    }
}

fn choose<T: Copy, const N: usize>(
    all: [T; N],
    name: impl Fn(T) -> &'static str,
    what: &str,
    wanted: &str,
) -> Result<T, String> {
    all.into_iter().find(|&one| name(one) == wanted).ok_or_else(|| {
        let names = all.map(name).join(", ");
        format!("{what} is {wanted:?}: it can be {names}")
    })
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::hex;

    #[test]
    fn the_templates_are_what_they_say() {
        let file: ServeFile = toml::from_str(SERVE_TEMPLATE).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = file.understand(folder.path()).unwrap();
        assert_eq!(config.http.unwrap().listen.to_string(), "127.0.0.1:8475");
        assert_eq!(config.policy.form.configuration.scheme().id, "lkh-group");
        assert_eq!((config.policy.founders, config.connection.port), (2, 1883));
        assert_eq!(config.connection.version, Version::default());
        assert_eq!(config.policy.rekey_expiry_s, Policy::of(config.policy.form).rekey_expiry_s);
        let file: MemberFile = toml::from_str(MEMBER_TEMPLATE).unwrap();
        assert_eq!((file.group.prefix.as_str(), file.broker.qos), ("groupkey/1", 1));
        assert_eq!(file.broker.mqtt, Version::default().name());
    }

    #[test]
    fn typing_errors_and_weak_forms_are_refused() {
        let refused = |text: &str| {
            let file = toml::from_str::<ServeFile>(text).map_err(|error| error.to_string());
            file.and_then(|file| file.understand(Path::new("/nowhere"))).unwrap_err()
        };
        assert!(refused("store = 's'\nshceme = 'x'").contains("shceme"));
        assert!(refused("store = 's'\n[group]\nscheme = 'x'").contains("groupkey schemes"));
        assert!(refused("store = 's'\n[group]\nsuite = 'published'").contains("allow_published"));
        assert!(refused("store = 's'\n[group]\nscheme = 'tgdh'").contains("groupkey member"));
        assert!(refused("store = 's'\n[broker]\nqos = 3").contains("0, 1 or 2"));
        assert!(refused("store = 's'\n[broker]\nmqtt = '4'").contains("broker.mqtt is \"4\""));
        assert!(refused("store = 's'\n[group]\nrekey_expiry_s = 0").contains("a second"));
        let idle = refused("store = 's'\n[group]\nperiod_s = 3600");
        assert!(
            idle.contains("lkh-group changes its key only") && idle.contains("igkmp"),
            "{idle}"
        );
        assert!(!idle.contains("tgdh"), "it has no service: {idle}");
        let spinning = "store = 's'\n[group]\nscheme = 'igkmp'\nperiod_s = 0";
        assert!(refused(spinning).contains("a second"));
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
        assert!(refused(&format!("store = 's'\n{device}{device}")).contains("a is there twice"));
        let of_small_order = format!("01{}", "00".repeat(31));
        let device = format!("[[device]]\nname = 'a'\nidentity = '{of_small_order}'\n");
        assert!(refused(&format!("store = 's'\n{device}")).contains("is no public key"));
    }

    #[test]
    fn a_scheme_that_can_changes_its_key_after_a_period() {
        let text = "store = 's'\n[group]\nscheme = 'igkmp'\nperiod_s = 3600\n";
        let file: ServeFile = toml::from_str(text).unwrap();
        let config = file.understand(Path::new("/nowhere")).unwrap();
        assert_eq!(config.policy.period, Some(Duration::from_secs(3_600)));
    }

    #[test]
    fn a_member_without_a_controller_speaks_tls_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let authority = rcgen::generate_simple_self_signed(["broker".to_owned()]).unwrap();
        fs::write(folder.path().join("ca.pem"), authority.cert.pem()).unwrap();
        let text = "name = 'a'\nidentity = 'a.key'\n[broker]\ntls = { ca = 'ca.pem' }\nmqtt = '3.1.1'\n\
                    [group]\nscheme = 'tgdh'\n";
        let peer = |name: &str, number: u32| {
            let public = identity(&folder.path().join(format!("{name}.key"))).unwrap().public();
            let identity = hex(&public);
            format!(
                "[[peer]]\nname = '{name}'\nnumber = {number}\nidentity = '{identity}'\nfounder = true\n"
            )
        };
        let understand = |peers: &[String]| {
            let file: MemberFile = toml::from_str(&(text.to_owned() + &peers.concat())).unwrap();
            file.understand(folder.path())
        };
        let config = understand(&[peer("a", 0), peer("b", 1)]).unwrap();
        let MemberConfig { connection, part, .. } = config;
        assert!(matches!(part, Part::Peer(_)) && connection.tls.is_some());
        assert_eq!((connection.port, connection.version), (8883, Version::V3));
        let lonely = peer("b", 1).replace("founder = true", "");
        for (peers, problem) in [
            ([peer("a", 0), peer("b", 0)], "a number of its own"),
            ([peer("a", 0), lonely], "at least two"),
        ] {
            assert!(understand(&peers).unwrap_err().contains(problem));
        }
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

    #[test]
    fn what_nothing_heeds_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let secret = "ab".repeat(32);
        let refused = |text: &str| {
            let file = toml::from_str::<MemberFile>(&text.replace("SECRET", &secret)).unwrap();
            file.understand(folder.path()).unwrap_err()
        };
        let member = "name = 'a'\nidentity = 'a.key'\nsecret = 'SECRET'\n";
        assert!(refused(&format!("{member}[group]\nscheme = 'skdc'")).contains("only prefix"));
        assert!(refused(&format!("{member}[group]\nfounders = 7")).contains("only prefix"));
        assert!(refused(&format!("{member}[group]\nprefix = 'a/+'")).contains("group.prefix"));
        assert!(refused(&format!("{member}[broker]\nhost = 'b:1883'")).contains("broker.port"));
        assert!(refused(&member.replace("'a'", "'a b'")).contains("a name has"));
    }

    #[test]
    fn one_process_at_a_time_holds_an_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        identity(&path).unwrap();
        let held = hold(&path).unwrap();
        assert!(hold(&path).unwrap_err().to_string().contains("another groupkey member"));
        drop(held);
        hold(&path).unwrap();
    }
}
