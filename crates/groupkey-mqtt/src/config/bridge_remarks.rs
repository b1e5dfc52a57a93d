//! What a bridge's file allows that its author may not have meant.

use super::bridge::{BridgeConfig, BridgeGroup};
use crate::bridge::TopicFilter;

impl BridgeConfig {
    /// Returns what works, but perhaps not as it was meant, and what to do then.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.groups.iter().flat_map(BridgeGroup::remarks).collect();
        for (place, group) in self.groups.iter().enumerate() {
            for other in &self.groups[place + 1..] {
                let filters = &other.station.rules.outward;
                if let Some((own, theirs)) = overlap(&group.station.rules.outward, filters) {
                    remarks.push(format!(
                        "{} and {}: what fits both {own} and {theirs} of `out` leaves for both \
                         groups: narrow one, if each message is for one group",
                        group.prefix, other.prefix
                    ));
                }
            }
        }
        remarks
    }
}

impl BridgeGroup {
    fn remarks(&self) -> Vec<String> {
        let (prefix, rules) = (&self.prefix, &self.station.rules);
        let mut remarks = Vec::new();
        if rules.outward.is_empty() && rules.inward.is_empty() {
            remarks.push(format!("{prefix}: nothing passes: add `out`, or a [[group.in]]"));
        }
        if !rules.outward.is_empty() && self.station.listeners.is_empty() {
            remarks.push(format!(
                "{prefix}: without `to`, what a receiver misses is lost: name the bridges that confirm"
            ));
        }
        if rules.outward.iter().any(|filter| filter.as_str() == "#") {
            remarks.push(format!(
                "{prefix}: `out` has #: all that programs publish leaves: name topics, if some are to stay"
            ));
        }
        for (place, filter) in rules.outward.iter().enumerate() {
            let others = &rules.outward[place + 1..];
            if let Some((own, other)) = overlap(std::slice::from_ref(filter), others) {
                remarks.push(format!(
                    "{prefix}: what fits both {own} and {other} of `out` may leave twice: narrow one"
                ));
            }
        }
        remarks
    }
}

/// Returns the first filters of both lists that have a topic in common.
fn overlap<'a>(some: &'a [TopicFilter], others: &'a [TopicFilter]) -> Option<(&'a str, &'a str)> {
    some.iter().find_map(|own| {
        let other = others.iter().find(|other| own.overlaps(other))?;
        Some((own.as_str(), other.as_str()))
    })
}
