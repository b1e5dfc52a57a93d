//! The subscriptions of all clients. Exact topics are looked up in a map, and filters with
//! wildcards are tried one by one.

use std::collections::{BTreeMap, HashMap};

use crate::packet::Qos;

/// Subscriptions by filter, and by client.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    exact: HashMap<String, BTreeMap<String, Qos>>,
    wildcards: BTreeMap<String, BTreeMap<String, Qos>>,
}

impl Subscriptions {
    pub(super) fn insert(&mut self, client: &str, filter: &str, qos: Qos) {
        let subscribers = if has_wildcard(filter) {
            self.wildcards.entry(filter.to_owned()).or_default()
        } else {
            self.exact.entry(filter.to_owned()).or_default()
        };
        subscribers.insert(client.to_owned(), qos);
    }

    pub(super) fn remove(&mut self, client: &str, filter: &str) {
        if let Some(subscribers) = self.exact.get_mut(filter) {
            subscribers.remove(client);
            if subscribers.is_empty() {
                self.exact.remove(filter);
            }
        }
        if let Some(subscribers) = self.wildcards.get_mut(filter) {
            subscribers.remove(client);
            if subscribers.is_empty() {
                self.wildcards.remove(filter);
            }
        }
    }

    /// Returns the subscribers of a topic, each once with the highest QoS that it was granted.
    pub(super) fn of(&self, topic: &str) -> BTreeMap<String, Qos> {
        let mut subscribers = self.exact.get(topic).cloned().unwrap_or_default();
        for (filter, others) in &self.wildcards {
            if matches(filter, topic) {
                for (client, &qos) in others {
                    let granted = subscribers.entry(client.clone()).or_insert(qos);
                    *granted = qos.max(*granted);
                }
            }
        }
        subscribers
    }
}

/// Returns whether a filter matches a topic (section 4.7).
pub(super) fn matches(filter: &str, topic: &str) -> bool {
    // Wildcards at the beginning do not match a broker's own topics.
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut topic = topic.split('/');
    for level in filter.split('/') {
        match (level, topic.next()) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (level, Some(other)) if level == other => {}
            _ => return false,
        }
    }
    topic.next().is_none()
}

fn has_wildcard(filter: &str) -> bool {
    filter.contains(['+', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_the_standard_says() {
        for (filter, topic, expected) in [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/b/c", "a/b", false),
            ("a/+", "a/b", true),
            ("a/+", "a/b/c", false),
            ("a/+", "a", false),
            ("+/+", "/finance", true),
            ("/+", "/finance", true),
            ("+", "/finance", false),
            ("a/#", "a", true),
            ("a/#", "a/b/c", true),
            ("#", "a/b", true),
            ("#", "$SYS/load", false),
            ("+/load", "$SYS/load", false),
            ("$SYS/#", "$SYS/load", true),
        ] {
            assert_eq!(matches(filter, topic), expected, "{filter} and {topic}");
        }
    }

    #[test]
    fn a_client_with_two_matching_filters_is_there_once() {
        let mut subscriptions = Subscriptions::default();
        subscriptions.insert("a", "t/1", Qos::Level0);
        subscriptions.insert("a", "t/+", Qos::Level2);
        subscriptions.insert("b", "t/2", Qos::Level1);
        assert_eq!(subscriptions.of("t/1"), BTreeMap::from([("a".to_owned(), Qos::Level2)]));
        subscriptions.remove("a", "t/+");
        assert_eq!(subscriptions.of("t/1"), BTreeMap::from([("a".to_owned(), Qos::Level0)]));
        subscriptions.remove("a", "t/1");
        assert!(subscriptions.of("t/1").is_empty());
    }
}
