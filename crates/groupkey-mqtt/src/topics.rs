//! The topics of a group, with their senders and receivers. All have one prefix.
//!
//! | topic | payload | from | to |
//! |---|---|---|---|
//! | `<prefix>/all` | a party's message | controllers, members | all members |
//! | `<prefix>/set/0000000007` | a party's message | controllers | the members of a subset |
//! | `<prefix>/to/m000042` | a party's message, or a peer's hello | controllers, members | member 42 |
//! | `<prefix>/to/s000003` | a party's message | members | the controller of subgroup 3 |
//! | `<prefix>/requests` | a party's message | members | the controller |
//! | `<prefix>/join` | a request to join, or a peer's hello | devices | the service, or all peers |
//! | `<prefix>/welcome/<name>` | the answer, or a farewell | the service | the device |
//! | `<prefix>/epoch` | the notice of the current epoch, retained | the service | all members |
//! | `<prefix>/state` | the notice of its last state, retained | the service | itself, later |
//! | `<prefix>/talk` | a group message (COSE) | members | all members |
//!
//! With the prefix `g/1`, the first five topics are as long as the simulator counts them: 7, 18,
//! 14, 14 and 12 bytes.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

use groupkey::{MemberId, Recipient, SubgroupId, SubsetId};

/// The names of a group's topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    prefix: String,
}

/// The purpose of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicKind {
    /// The notice of the current epoch.
    Epoch,
    /// Requests to join.
    Join,
    /// The notice of the service's last state.
    State,
    /// Group messages.
    Talk,
    /// Messages of parties.
    To(Recipient),
    /// Answers to the device of this name.
    Welcome(String),
}

/// A prefix that topics cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPrefix;

impl Topics {
    /// Creates the topics under a prefix of 1 to 200 bytes, such as `plant/7`. Refuses MQTT's
    /// wildcards, control characters, a first `$` and empty levels.
    pub fn new(prefix: &str) -> Result<Self, BadPrefix> {
        let level = |level: &str| {
            !level.is_empty() && !level.contains(|c: char| matches!(c, '+' | '#') || c.is_control())
        };
        let fits = prefix.len() <= 200 && !prefix.starts_with('$') && prefix.split('/').all(level);
        if fits { Ok(Self { prefix: prefix.to_owned() }) } else { Err(BadPrefix) }
    }

    /// Returns the topic of a party's message to `to`.
    pub fn of(&self, to: Recipient) -> String {
        let prefix = &self.prefix;
        match to {
            Recipient::Controller => format!("{prefix}/requests"),
            Recipient::Group => format!("{prefix}/all"),
            Recipient::Member(MemberId(id)) => format!("{prefix}/to/m{id:06}"),
            Recipient::SubgroupController(SubgroupId(id)) => format!("{prefix}/to/s{id:06}"),
            Recipient::Subset(SubsetId(id)) => format!("{prefix}/set/{id:010}"),
        }
    }

    /// Returns the topic of the notice of the current epoch.
    pub fn epoch(&self) -> String {
        format!("{}/epoch", self.prefix)
    }

    /// Returns the topic of the notice of the service's last state.
    pub fn state(&self) -> String {
        format!("{}/state", self.prefix)
    }

    /// Returns the topic of requests to join.
    pub fn join(&self) -> String {
        format!("{}/join", self.prefix)
    }

    /// Returns the topic of group messages.
    pub fn talk(&self) -> String {
        format!("{}/talk", self.prefix)
    }

    /// Returns the topic of answers to the device of this name.
    pub fn welcome(&self, name: &str) -> String {
        format!("{}/welcome/{name}", self.prefix)
    }

    /// Returns the purpose of a topic, or `None` if it is not a topic of this group.
    pub fn place(&self, topic: &str) -> Option<TopicKind> {
        let rest = topic.strip_prefix(&self.prefix)?.strip_prefix('/')?;
        let place = match rest {
            "all" => TopicKind::To(Recipient::Group),
            "epoch" => TopicKind::Epoch,
            "join" => TopicKind::Join,
            "requests" => TopicKind::To(Recipient::Controller),
            "state" => TopicKind::State,
            "talk" => TopicKind::Talk,
            _ => match rest.split_once('/')? {
                ("set", id) => TopicKind::To(Recipient::Subset(SubsetId(id.parse().ok()?))),
                ("to", id) if id.starts_with('m') => {
                    TopicKind::To(Recipient::Member(MemberId(id[1..].parse().ok()?)))
                }
                ("to", id) if id.starts_with('s') => {
                    TopicKind::To(Recipient::SubgroupController(SubgroupId(id[1..].parse().ok()?)))
                }
                ("welcome", name) => TopicKind::Welcome(name.to_owned()),
                _ => return None,
            },
        };
        Some(place)
    }
}

/// Returns whether a device may have this name: 1 to 64 ASCII letters, digits, `.`, `_` and `-`. A
/// name is one level of a topic.
pub fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(allowed)
}

impl fmt::Display for BadPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a prefix has 1 to 200 bytes, levels that are not empty, no + and no #, as in plant/7"
        )
    }
}

impl core::error::Error for BadPrefix {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_as_long_as_the_simulator_counts_them_and_read_back() {
        let topics = Topics::new("g/1").unwrap();
        for (to, length) in [
            (Recipient::Controller, 12),
            (Recipient::Group, 7),
            (Recipient::Member(MemberId(42)), 14),
            (Recipient::SubgroupController(SubgroupId(3)), 14),
            (Recipient::Subset(SubsetId(u32::MAX)), 18),
        ] {
            assert_eq!(topics.of(to).len(), length);
            assert_eq!(topics.place(&topics.of(to)), Some(TopicKind::To(to)));
        }
        assert_eq!(
            topics.place(&topics.welcome("truck-7")),
            Some(TopicKind::Welcome("truck-7".into()))
        );
        assert_eq!(topics.place("g/12/all"), None);
    }

    #[test]
    fn prefixes_with_wildcards_are_refused() {
        for prefix in ["", "a//b", "/a", "a/+", "#", "$SYS", "a\0"] {
            assert_eq!(Topics::new(prefix), Err(BadPrefix), "{prefix:?}");
        }
        assert!(!is_name("a/b") && !is_name("") && is_name("truck-7.a_B"));
    }
}
