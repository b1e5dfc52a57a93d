//! Which topics leave for the group, and which may come in, from whom. What no rule names stays where it
//! is.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::topic_filter::TopicFilter;

/// The rules of a bridge for one group.
#[derive(Clone, Debug, Default)]
pub struct TopicRules {
    /// Topics that leave for the group.
    pub outward: Vec<TopicFilter>,
    /// Topics that may come in. The first rule that fits counts.
    pub inward: Vec<InwardRule>,
    /// The prefixes of groups' topics, which no rule reaches: what is protected is not protected again.
    pub reserved: Vec<String>,
}

/// Which topics may come in, and how they are published.
#[derive(Clone, Debug)]
pub struct InwardRule {
    /// The topics.
    pub topics: Vec<TopicFilter>,
    /// From whom.
    pub from: AllowedSenders,
    /// Whether a message that its sender's broker retains is retained here, too.
    pub retain: bool,
    /// The highest quality of service, 0 or 1.
    pub qos: u8,
}

/// From whom something may come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedSenders {
    /// Any member of the group.
    Any,
    /// Those with these identities.
    Identities(BTreeSet<[u8; 32]>),
}

/// Whether something may come in.
#[derive(Clone, Copy, Debug)]
pub enum InwardRuling<'a> {
    /// It may, by this rule.
    By(&'a InwardRule),
    /// It may not.
    Denied,
    /// It depends on the sender's identity, which is not known yet.
    Unknown,
}

impl TopicRules {
    /// Returns whether a topic leaves for the group.
    pub fn leaves(&self, topic: &str) -> bool {
        !self.is_reserved(topic) && self.outward.iter().any(|filter| filter.matches(topic))
    }

    /// Returns by which rule a topic may come in from this identity.
    pub fn admit(&self, topic: &str, sender: Option<&[u8; 32]>) -> InwardRuling<'_> {
        if self.is_reserved(topic) {
            return InwardRuling::Denied;
        }
        for rule in &self.inward {
            if !rule.topics.iter().any(|filter| filter.matches(topic)) {
                continue;
            }
            match (&rule.from, sender) {
                (AllowedSenders::Any, _) => return InwardRuling::By(rule),
                (AllowedSenders::Identities(known), Some(sender)) if known.contains(sender) => {
                    return InwardRuling::By(rule);
                }
                (AllowedSenders::Identities(_), Some(_)) => {}
                (AllowedSenders::Identities(_), None) => return InwardRuling::Unknown,
            }
        }
        InwardRuling::Denied
    }

    fn is_reserved(&self, topic: &str) -> bool {
        let below = |prefix: &String| {
            let rest = topic.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.reserved.iter().any(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(texts: &[&str]) -> Vec<TopicFilter> {
        texts.iter().map(|text| TopicFilter::parse(text).unwrap()).collect()
    }

    fn rule(topics: &[&str], from: AllowedSenders) -> InwardRule {
        InwardRule { topics: filters(topics), from, retain: true, qos: 1 }
    }

    #[test]
    fn what_no_rule_names_stays() {
        let rules = TopicRules::default();
        assert!(!rules.leaves("a") && matches!(rules.admit("a", None), InwardRuling::Denied));
        let (known, other) = ([1; 32], [2; 32]);
        let rules = TopicRules {
            outward: filters(&["plant/+/temperature"]),
            inward: [
                rule(&["plant/#"], AllowedSenders::Identities([known].into())),
                rule(&["news"], AllowedSenders::Any),
            ]
            .into(),
            reserved: Vec::new(),
        };
        assert!(rules.leaves("plant/7/temperature") && !rules.leaves("plant/7/door"));
        assert!(matches!(rules.admit("plant/7/door", Some(&known)), InwardRuling::By(_)));
        assert!(matches!(rules.admit("plant/7/door", Some(&other)), InwardRuling::Denied));
        assert!(matches!(rules.admit("plant/7/door", None), InwardRuling::Unknown));
        assert!(matches!(rules.admit("news", Some(&other)), InwardRuling::By(_)));
        assert!(matches!(rules.admit("news", None), InwardRuling::By(_)));
        assert!(matches!(rules.admit("other", Some(&known)), InwardRuling::Denied));
    }

    #[test]
    fn the_groups_own_topics_neither_leave_nor_come_in() {
        let rules = TopicRules {
            outward: filters(&["#"]),
            inward: [rule(&["#"], AllowedSenders::Any)].into(),
            reserved: ["plant/7".to_owned()].into(),
        };
        for topic in ["plant/7", "plant/7/talk", "plant/7/welcome/a"] {
            assert!(!rules.leaves(topic), "{topic}");
            assert!(matches!(rules.admit(topic, None), InwardRuling::Denied), "{topic}");
        }
        assert!(rules.leaves("plant/70") && rules.leaves("plant"));
    }
}
