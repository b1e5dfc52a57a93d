//! The file of a bridge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::broker::BrokerFile;
use super::file::{Confidential, ConfigError, ConfigFolder, public, read_config};
use super::http::{HttpConfig, HttpFile};
use super::identity_file::Purpose;
use super::member::{MemberConfig, Participation};
use crate::bridge::{AllowedSenders, InwardRule, StationSettings, TopicFilter, TopicRules};
use crate::driver::{Connection, Version};

/// The configuration of `groupkey bridge`.
#[derive(Clone, Debug)]
pub struct BridgeConfig {
    /// The groups.
    pub groups: Vec<BridgeGroup>,
    /// The HTTP interface, if it is enabled.
    pub http: Option<HttpConfig>,
}

/// One group of a bridge.
#[derive(Clone, Debug)]
pub struct BridgeGroup {
    /// The prefix of the group's topics, by which it is told apart.
    pub prefix: String,
    /// How the bridge takes part in the group.
    pub member: MemberConfig,
    /// How it serves the local broker.
    pub station: StationSettings,
}

/// A commented file for `groupkey bridge`.
pub const BRIDGE_TEMPLATE: &str = include_str!("bridge.toml");

impl BridgeConfig {
    /// Reads a file and the members' files that it names. Creates the identities' files if they are
    /// missing.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        read_config(path, |file: BridgeFile, folder| file.understand(folder, Purpose::Run))
    }

    /// Reads the same files and writes nothing.
    pub fn look(path: &Path) -> Result<Self, ConfigError> {
        read_config(path, |file: BridgeFile, folder| file.understand(folder, Purpose::Look))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BridgeFile {
    #[serde(default)]
    local: BrokerFile,
    #[serde(default)]
    http: HttpFile,
    #[serde(default)]
    allow_open_files: bool,
    group: Vec<GroupFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupFile {
    member: PathBuf,
    #[serde(default)]
    out: Vec<String>,
    #[serde(default)]
    to: Vec<String>,
    window: Option<u16>,
    #[serde(default)]
    bridges: BTreeMap<String, String>,
    #[serde(default, rename = "in")]
    inward: Vec<InwardFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InwardFile {
    topics: Vec<String>,
    from: FromFile,
    retain: Option<bool>,
    qos: Option<u8>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FromFile {
    Names(Vec<String>),
    Word(String),
}

impl Confidential for BridgeFile {
    fn secret(&self) -> Option<&'static str> {
        self.local.secret().map(|_| "local.password").or_else(|| self.http.secret())
    }

    fn open_files_allowed(&self) -> bool {
        self.allow_open_files
    }
}

impl BridgeFile {
    fn understand(self, folder: &Path, purpose: Purpose) -> Result<BridgeConfig, String> {
        let read = match purpose {
            Purpose::Run => MemberConfig::read,
            Purpose::Look => MemberConfig::look,
        };
        let files = ConfigFolder { path: folder, open_files_allowed: self.allow_open_files };
        // Its problems are named as those of the members' brokers are.
        let local = self.local.connection(String::new(), files);
        let local = local.map_err(|problem| problem.replace("broker.", "local."))?;
        if local.version != Version::V5 {
            return Err(
                "local.mqtt is 3.1.1: a bridge needs MQTT 5 there, because nothing else keeps \
                        what it published from coming back"
                    .to_owned(),
            );
        }
        let http = self.http.of_a_bridge()?.understand(folder, purpose)?;
        let mut groups: Vec<BridgeGroup> = Vec::new();
        for (place, file) in self.group.into_iter().enumerate() {
            let place = format!("[[group]] {} ({})", place + 1, file.member.display());
            let member = read(&folder.join(&file.member));
            let member = member.map_err(|error| format!("{place}: {error}"))?;
            let group = file.understand(member, &local);
            let group = group.map_err(|problem| format!("{place}: {problem}"))?;
            if groups.iter().any(|other| other.prefix == group.prefix) {
                let prefix = group.prefix;
                return Err(format!(
                    "{place}: two groups have the prefix {prefix}: a bridge is one member"
                ));
            }
            let identity = &group.member.identity_file;
            if groups.iter().any(|other| other.member.identity_file == *identity) {
                return Err(format!(
                    "{place}: two groups have the identity {}: give each a file of its own",
                    identity.display()
                ));
            }
            groups.push(group);
        }
        if groups.is_empty() {
            return Err("there is no [[group]]".to_owned());
        }
        // What one group has protected is no message for another.
        let reserved: Vec<String> = groups.iter().map(|group| group.prefix.clone()).collect();
        for group in &mut groups {
            group.station.rules.reserved.clone_from(&reserved);
        }
        Ok(BridgeConfig { groups, http })
    }
}

impl GroupFile {
    fn understand(self, member: MemberConfig, local: &Connection) -> Result<BridgeGroup, String> {
        let mut known = BTreeMap::new();
        for (name, key) in &self.bridges {
            known.insert(name.as_str(), public(&format!("group.bridges.{name}"), key)?);
        }
        let named = |place: &str, name: &String| {
            known.get(name.as_str()).copied().ok_or_else(|| {
                format!("{place} names {name}, which is not in [group.bridges]: add its public key")
            })
        };
        let (prefix, identity) = match &member.part {
            Participation::Member(settings) => (settings.prefix.clone(), settings.identity.clone()),
            Participation::Peer(settings) => (settings.prefix.clone(), settings.identity.clone()),
        };
        let listeners: BTreeSet<_> =
            self.to.iter().map(|name| named("group.to", name)).collect::<Result<_, _>>()?;
        if listeners.contains(&identity.public()) {
            return Err("group.to names this bridge itself: name the others".to_owned());
        }
        let filters = |place: &str, texts: &[String]| {
            let filter = |text: &String| {
                TopicFilter::parse(text).ok_or_else(|| {
                    format!("{place}: {text:?} is no filter of topics: write plant/+/x or plant/#")
                })
            };
            texts.iter().map(filter).collect::<Result<Vec<_>, _>>()
        };
        let mut inward = Vec::new();
        for (place, rule) in self.inward.iter().enumerate() {
            let place = format!("[[group.in]] {}", place + 1);
            let from = match &rule.from {
                FromFile::Word(word) if word == "any" => AllowedSenders::Any,
                FromFile::Word(word) => {
                    return Err(format!(
                        "{place}: from is {word:?}: it can be \"any\", or a list of names"
                    ));
                }
                FromFile::Names(names) => AllowedSenders::Identities(
                    names
                        .iter()
                        .map(|name| named(&format!("{place}: from"), name))
                        .collect::<Result<_, _>>()?,
                ),
            };
            let qos = rule.qos.unwrap_or(1);
            if qos > 1 {
                return Err(format!("{place}: qos is {qos}: it can be 0 or 1"));
            }
            let topics = filters(&format!("{place}: topics"), &rule.topics)?;
            inward.push(InwardRule { topics, from, retain: rule.retain.unwrap_or(true), qos });
        }
        let window = self.window.unwrap_or(512);
        if !(1..=10_000).contains(&window) {
            return Err(format!("group.window is {window}: it can be 1 to 10000"));
        }
        let outward = filters("group.out", &self.out)?;
        // The member's own identifier names its session at the group's broker, which may be the same.
        let client = format!("{}:bridge", member.connection.client);
        let local = Connection { client, ..local.clone() };
        let rules = TopicRules { outward, inward, reserved: Vec::new() };
        let station = StationSettings { local, rules, listeners, identity, window };
        Ok(BridgeGroup { prefix, member, station })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bridge::InwardRuling;
    use crate::config::identity;
    use crate::keyring::hex;

    /// Reads a bridge's file beside two members' files.
    fn read(text: &str) -> Result<BridgeConfig, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, key) in [("a", "a"), ("b", "b"), ("d", "b")] {
            let text = format!(
                "name = '{name}'\nidentity = '{key}.key'\nsecret = '{}'\n[group]\nprefix = 'g/{name}'\n",
                "ab".repeat(32)
            );
            let path = folder.path().join(format!("{name}.toml"));
            fs::write(&path, text).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            }
        }
        let other = hex(&identity(&folder.path().join("other.key")).unwrap().public());
        let own = hex(&identity(&folder.path().join("a.key")).unwrap().public());
        let path = folder.path().join("bridge.toml");
        fs::write(&path, text.replace("OTHER", &other).replace("OWN", &own)).unwrap();
        BridgeConfig::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_groups_with_rules_of_their_own() {
        let config = read(
            "[[group]]\nmember = 'a.toml'\nout = ['x/#']\nto = ['b']\nwindow = 9\n\
             [group.bridges]\nb = 'OTHER'\n\
             [[group.in]]\ntopics = ['y']\nfrom = ['b']\nretain = false\n\
             [[group.in]]\ntopics = ['z']\nfrom = 'any'\nqos = 0\n\
             [[group]]\nmember = 'b.toml'\n",
        )
        .unwrap();
        let [first, second] = &config.groups[..] else { panic!("two groups") };
        assert_eq!((first.prefix.as_str(), first.station.window), ("g/a", 9));
        assert_eq!(first.station.local.client, "groupkey:device:a:g.a:bridge");
        let rules = &first.station.rules;
        assert!(rules.leaves("x/1") && !rules.leaves("y"));
        let listener = first.station.listeners.first().unwrap();
        assert!(matches!(rules.admit("y", Some(listener)), InwardRuling::By(rule) if !rule.retain));
        assert!(matches!(rules.admit("z", None), InwardRuling::By(rule) if rule.qos == 0));
        // No group's protected messages are taken for a program's.
        assert_eq!(rules.reserved, ["g/a", "g/b"]);
        assert!(!second.station.rules.leaves("x/1") && second.station.listeners.is_empty());
        let template = BRIDGE_TEMPLATE.replace("member.toml", "a.toml");
        let template = read(&template).unwrap();
        assert!(template.groups[0].station.rules.leaves("plant/7/temperature"));
        assert!(template.http.is_none() && config.http.is_none());
        let http = "[http]\nlisten = '127.0.0.1:8476'\ntoken_file = 'http.token'\n";
        let config = read(&format!("{http}[[group]]\nmember = 'a.toml'\n")).unwrap();
        assert_eq!(config.http.unwrap().listen.to_string(), "127.0.0.1:8476");
    }

    #[test]
    fn a_mistake_is_told_with_what_to_do() {
        let group = "[[group]]\nmember = 'a.toml'\n";
        for (text, told) in [
            (String::new(), "group"),
            ("group = []\n".to_owned(), "no [[group]]"),
            (format!("{group}out = ['a/#/b']\n"), "no filter of topics"),
            (format!("{group}out = ['$SYS/#']\n"), "no filter of topics"),
            (format!("{group}to = ['c']\n"), "names c"),
            (format!("{group}to = ['a']\n[group.bridges]\na = 'OWN'\n"), "itself"),
            (format!("{group}window = 0\n"), "group.window is 0"),
            (format!("{group}[group.bridges]\nb = '00'\n"), "group.bridges.b"),
            (format!("{group}[[group.in]]\ntopics = ['a']\nfrom = 'all'\n"), "\"any\""),
            (format!("{group}[[group.in]]\ntopics = ['a']\n"), "from"),
            (
                format!("{group}[[group.in]]\ntopics = ['a']\nfrom = 'any'\nqos = 2\n"),
                "[[group]] 1 (a.toml): [[group.in]] 1: qos is 2",
            ),
            (
                "[[group]]\nmember = 'b.toml'\n[[group]]\nmember = 'd.toml'\n".to_owned(),
                "[[group]] 2 (d.toml): two groups have the identity",
            ),
            (format!("[http]\nlisten = '0.0.0.0:1'\n{group}"), "http.allow_remote"),
            (format!("[http]\nlisten = '127.0.0.1:0'\nexport = true\n{group}"), "no keys"),
            (format!("{group}{group}"), "two groups have the prefix g/a"),
            (format!("[local]\nmqtt = '3.1.1'\n{group}"), "needs MQTT 5"),
            (format!("[local]\nhost = 'far.example'\n{group}"), "local.allow_plain"),
            (format!("{group}ouut = []\n"), "unknown field"),
            ("[[group]]\nmember = 'c.toml'\n".to_owned(), "c.toml"),
        ] {
            let refused = read(&text).map(drop).unwrap_err();
            assert!(refused.contains(told), "{text}: {refused}");
        }
    }
}
