//! The file of a member.

use std::path::{Path, PathBuf};
use std::time::Duration;

use groupkey::MemberId;
use groupkey::catalogue::Class;
use groupkey::messages::{MessageSettings, Nonces};
use serde::Deserialize;

use super::broker::{BrokerFile, client_identifier};
use super::file::{Confidential, ConfigError, ConfigFolder, read_config};
use super::file::{bytes, choose, public, secret};
use super::group::GroupFile;
use super::identity_file::{Purpose, identity_for};
use crate::driver::Connection;
use crate::group_form::GroupForm;
use crate::keyring::bytes_from_hex;
use crate::member::Freshness;
use crate::{member, peer};

/// The configuration of `groupkey member`.
#[derive(Clone, Debug)]
pub struct MemberConfig {
    /// How to reach the broker.
    pub connection: Connection,
    /// The file of the member's identity: see [`hold`](super::hold).
    pub identity_file: PathBuf,
    /// Whether a member keeps its membership beside its identity, and resumes it.
    pub resumes: bool,
    /// How the member takes part.
    pub part: Participation,
}

/// How a member takes part.
#[derive(Clone, Debug)]
pub enum Participation {
    /// The member joins the group of a service.
    Member(member::MemberSettings),
    /// The member is a peer of a group without a controller.
    Peer(peer::PeerSettings),
}

/// A commented file for `groupkey member`, with the defaults.
pub const MEMBER_TEMPLATE: &str = include_str!("member.toml");

impl MemberConfig {
    /// Reads a file. Paths in the file are relative to its folder. Creates the identity's file if
    /// it is missing.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        read_config(path, MemberFile::understand)
    }

    /// Reads a file and writes nothing: another identity stands for one whose file is missing.
    pub fn look(path: &Path) -> Result<Self, ConfigError> {
        read_config(path, |file: MemberFile, folder| file.understand_for(folder, Purpose::Look))
    }

    /// Reads only what an operator of a group without a controller needs from a member's file: the
    /// group's form, the prefix of its topics, and the public keys of its operators.
    pub fn read_operators(path: &Path) -> Result<(GroupForm, String, Vec<[u8; 32]>), ConfigError> {
        read_config(path, |file: MemberFile, _| {
            let (_, operators) = file.group.rules()?;
            Ok((file.group.form()?, file.group.prefix, operators))
        })
    }
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
    resume: Option<bool>,
    /// 0 for never.
    proof_s: Option<u64>,
    max_key_age_s: Option<u64>,
    /// What operators have signed.
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    allow_open_files: bool,
    #[serde(default)]
    messages: MessagesFile,
    #[serde(default)]
    peer: Vec<PeerFile>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct MessagesFile {
    /// Whether senders sign. Without it, peers sign if signatures protect the group.
    signed: Option<bool>,
    /// How this member's messages get their nonces. Without it, by counting.
    nonces: Option<String>,
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

impl Confidential for MemberFile {
    fn secret(&self) -> Option<&'static str> {
        self.secret.as_ref().map(|_| "secret").or_else(|| self.broker.secret())
    }

    fn open_files_allowed(&self) -> bool {
        self.allow_open_files
    }
}

impl MemberFile {
    fn freshness(&self) -> Result<Freshness, String> {
        let proof = match self.proof_s {
            Some(0) => None,
            Some(seconds) => Some(Duration::from_secs(seconds)),
            None => Freshness::default().proof,
        };
        let max_key_age = self.max_key_age_s.map(Duration::from_secs);
        if let Some(age) = max_key_age
            && proof.is_none_or(|proof| age < 2 * proof)
        {
            return Err(
                "max_key_age_s is less than twice proof_s: a member would fall silent before a \
                        second question"
                    .to_owned(),
            );
        }
        Ok(Freshness { proof, max_key_age })
    }

    fn understand(self, folder: &Path) -> Result<MemberConfig, String> {
        self.understand_for(folder, Purpose::Run)
    }

    fn understand_for(self, folder: &Path, purpose: Purpose) -> Result<MemberConfig, String> {
        if !crate::topics::is_name(&self.name) {
            return Err(format!("name {:?}: {}", self.name, member::MemberSettingsError::Name));
        }
        let client = client_identifier(&self.group.prefix, &format!("device:{}", self.name))?;
        self.group.only_what_counts(!self.peer.is_empty())?;
        let identity_file = folder.join(&self.identity);
        let identity = identity_for(&identity_file, purpose).map_err(|error| error.0)?;
        let shared = self.secret.as_deref().map(|text| secret("secret", text)).transpose()?;
        let service = self.service.as_deref().map(|text| public("service", text)).transpose()?;
        let freshness = self.freshness()?;
        let MessagesFile { signed, nonces } = self.messages;
        let named = |name: String| choose(Nonces::ALL, Nonces::name, "messages.nonces", &name);
        let nonces = nonces.map(named).transpose()?.unwrap_or_default();
        let messages = MessageSettings { signed, nonces, ..MessageSettings::default() };
        let (prefix, resumes) = (self.group.prefix.clone(), self.resume.unwrap_or(true));
        let words =
            self.words.iter().map(|text| bytes("words", text)).collect::<Result<Vec<_>, _>>()?;
        let part = if self.peer.is_empty() {
            if !words.is_empty() {
                return Err("words are for groups without a controller: remove them".to_owned());
            }
            if signed.is_some() {
                return Err(
                    "messages.signed is for groups without a controller: the service says \
                            whether members sign (group.senders); remove the line"
                        .to_owned(),
                );
            }
            Participation::Member(member::MemberSettings {
                prefix,
                name: self.name,
                identity,
                shared,
                service,
                allowed: self.group.allowed(),
                messages,
                freshness,
            })
        } else {
            if self.proof_s.is_some() || self.max_key_age_s.is_some() {
                return Err("proof_s and max_key_age_s are for groups with a service: remove them"
                    .to_owned());
            }
            if self.resume.is_some() {
                return Err("resume is for groups with a service: remove it".to_owned());
            }
            let form = self.group.form()?;
            if form.configuration.scheme().class() != Class::Distributed {
                return Err(format!("{} has a controller: remove the peers", self.group.scheme));
            }
            let (rules, operators) = self.group.rules()?;
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
                    "the identity of [[peer]] {} does not match the file {}",
                    self.name,
                    self.identity.display()
                ));
            }
            let founders = self.peer.iter().filter(|peer| peer.founder);
            if founders.clone().count() < 2 {
                return Err("give founder = true to at least two [[peer]]s".to_owned());
            }
            let period = self.group.period(&form)?;
            Participation::Peer(peer::PeerSettings {
                prefix,
                me: MemberId(me.number),
                identity,
                form,
                directory,
                founders: founders.map(|peer| MemberId(peer.number)).collect(),
                rules,
                operators,
                words,
                messages,
                period,
            })
        };
        let files = ConfigFolder { path: folder, open_files_allowed: self.allow_open_files };
        let mut connection = self.broker.connection(client, files)?;
        if let Participation::Peer(settings) = &part {
            connection.will = settings.will();
        }
        Ok(MemberConfig { connection, identity_file, resumes, part })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::identity_file::identity;

    use groupkey::event_order::{Evict, Join, Rules};

    use super::*;
    use crate::driver::Version;
    use crate::keyring::hex;

    #[test]
    fn the_template_is_what_it_says() {
        let file: MemberFile = toml::from_str(MEMBER_TEMPLATE).unwrap();
        assert_eq!((file.group.prefix.as_str(), file.broker.qos), ("groupkey/1", 1));
        assert_eq!(file.broker.mqtt, Version::default().name());
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
        assert!(matches!(part, Participation::Peer(_)) && connection.tls.is_some());
        assert!(connection.will.is_some_and(|(topic, _)| topic == "groupkey/1/join"));
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
    fn the_rules_of_a_group_without_a_controller_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        let peers = ["a", "b"].map(|name| {
            let public = identity(&folder.path().join(format!("{name}.key"))).unwrap().public();
            let number = u32::from(name == "b");
            let identity = hex(&public);
            format!("[[peer]]\nname = '{name}'\nnumber = {number}\nidentity = '{identity}'\nfounder = true\n")
        });
        let operator = hex(&crate::keyring::Secret::from_bytes([9; 32]).public());
        let understand = |words: &str, rules: &str| {
            let text = format!(
                "name = 'a'\nidentity = 'a.key'\n{words}\n[group]\nscheme = 'tgdh'\n{rules}\n"
            );
            let file: Result<MemberFile, _> = toml::from_str(&(text + &peers.concat()));
            let config = file.map_err(|error| error.to_string())?.understand(folder.path())?;
            match config.part {
                Participation::Peer(settings) => Ok(settings),
                Participation::Member(_) => Err("no peer".to_owned()),
            }
        };
        for (line, rules) in [
            ("", Rules::default()),
            ("evict = 'one'\njoin = 'listed'", Rules::default()),
            ("evict = { of = 2 }", Rules { evict: Evict::Members(2), join: Join::Listed }),
            (
                "evict = 'operators'\njoin = 'ticket'",
                Rules { evict: Evict::Operators, join: Join::Ticket },
            ),
        ] {
            assert_eq!(understand("", line).unwrap().rules, rules, "{line}");
        }
        let settings =
            understand("words = ['0aF9']", &format!("operators = ['{operator}']")).unwrap();
        assert_eq!((settings.words, settings.operators.len()), (vec![vec![0x0a, 0xf9]], 1));
        for (words, rules, problem) in [
            ("words = ['0aF']", "", "words"),
            ("words = ['']", "", "words"),
            ("", "evict = { of = 1 }", "group.evict"),
            ("", "evict = { of = 2, or = 3 }", "evict"),
            ("", "evict = 'two'", "group.evict"),
            ("", "join = 'anybody'", "group.join"),
            ("", "operators = ['00']", "group.operators"),
        ] {
            let refused = understand(words, rules).unwrap_err();
            assert!(refused.contains(problem), "{refused}");
        }
    }

    #[test]
    fn a_member_is_told_how_its_messages_get_their_nonces() {
        let folder = tempfile::tempdir().unwrap();
        let secret = "ab".repeat(32);
        for (line, nonces) in [
            ("", Nonces::Counter),
            ("[messages]\nnonces = 'counter'", Nonces::Counter),
            ("[messages]\nnonces = 'synthetic'", Nonces::Synthetic),
        ] {
            let text = format!("name = 'a'\nidentity = 'a.key'\nsecret = '{secret}'\n{line}");
            let file = toml::from_str::<MemberFile>(&text).unwrap();
            let part = file.understand(folder.path()).unwrap().part;
            let Participation::Member(settings) = part else { panic!("it has a service") };
            assert_eq!(settings.messages.nonces, nonces);
        }
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
        assert!(refused(&format!("{member}[group]\njoin = 'ticket'")).contains("only prefix"));
        assert!(refused(&format!("{member}words = ['00']")).contains("words"));
        assert!(refused(&format!("{member}[group]\nprefix = 'a/+'")).contains("group.prefix"));
        assert!(refused(&format!("{member}[broker]\nhost = 'b:1883'")).contains("broker.port"));
        assert!(refused(&format!("{member}[messages]\nsigned = true")).contains("messages.signed"));
        assert!(
            refused(&format!("{member}[messages]\nnonces = 'none'")).contains("messages.nonces")
        );
        assert!(refused(&member.replace("'a'", "'a b'")).contains("a name has"));
    }
}
