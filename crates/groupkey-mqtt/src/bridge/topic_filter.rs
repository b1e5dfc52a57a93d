//! Topic names and topic filters (MQTT 5, section 4.7).

use alloc::borrow::ToOwned;
use alloc::string::String;

/// A filter of topics, such as `plant/+/temperature` or `plant/#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicFilter(String);

impl TopicFilter {
    /// Reads a filter. Returns `None` for what is no filter, and for filters of topics that begin with
    /// `$`: those are the broker's own, or name shared subscriptions.
    pub fn parse(text: &str) -> Option<Self> {
        let levels = text.split('/').count();
        let fits = |(place, level): (usize, &str)| match level {
            "#" => place + 1 == levels,
            "+" => true,
            _ => !level.contains(['+', '#']),
        };
        let is_filter = is_text(text) && text.split('/').enumerate().all(fits);
        is_filter.then(|| Self(text.to_owned()))
    }

    /// Returns whether a topic is among those of this filter.
    pub fn matches(&self, topic: &str) -> bool {
        let mut levels = topic.split('/');
        for wanted in self.0.split('/') {
            match (wanted, levels.next()) {
                // It stands for the level above, too.
                ("#", _) => return true,
                ("+", Some(_)) => {}
                (_, level) if level == Some(wanted) => {}
                _ => return false,
            }
        }
        levels.next().is_none()
    }

    /// Returns whether there is a topic that both filters take.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mut own, mut theirs) = (self.0.split('/'), other.0.split('/'));
        loop {
            match (own.next(), theirs.next()) {
                (Some("#"), _) | (_, Some("#")) | (None, None) => return true,
                (Some("+"), Some(_)) | (Some(_), Some("+")) => {}
                (one, other) if one == other => {}
                _ => return false,
            }
        }
    }

    /// Returns the filter as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a program may publish to this topic: no wildcards, and not one of the broker's own.
pub fn is_topic(topic: &str) -> bool {
    is_text(topic) && !topic.contains(['+', '#'])
}

/// Returns whether the text is what both topics and filters are: 1 to 65,535 bytes, no zero byte, and
/// no first `$`.
fn is_text(text: &str) -> bool {
    (1..=usize::from(u16::MAX)).contains(&text.len())
        && !text.starts_with('$')
        && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The examples of MQTT 5, sections 4.7.1.2 and 4.7.1.3.
    #[test]
    fn filters_take_what_the_standard_says() {
        let matches = |filter: &str, topic: &str| {
            TopicFilter::parse(filter).is_some_and(|filter| filter.matches(topic))
        };
        for (filter, topics) in [
            (
                "sport/tennis/player1/#",
                &["sport/tennis/player1", "sport/tennis/player1/ranking"][..],
            ),
            ("sport/#", &["sport", "sport/tennis"]),
            ("#", &["sport", "/finance"]),
            ("sport/tennis/+", &["sport/tennis/player1", "sport/tennis/"]),
            ("sport/+", &["sport/"]),
            ("+/+", &["/finance"]),
            ("/+", &["/finance"]),
        ] {
            assert!(topics.iter().all(|topic| matches(filter, topic)), "{filter}");
        }
        for (filter, topic) in [
            ("sport/tennis/player1/#", "sport/tennis/player2"),
            ("sport/tennis/+", "sport/tennis/player1/ranking"),
            ("sport/+", "sport"),
            ("+", "/finance"),
            ("a", "b"),
            ("a/b", "a"),
        ] {
            assert!(!matches(filter, topic), "{filter} {topic}");
        }
        for wrong in
            ["", "sport/tennis#", "sport/tennis/#/ranking", "sport+", "a\0", "$SYS/#", "$share/a/b"]
        {
            assert_eq!(TopicFilter::parse(wrong), None, "{wrong:?}");
        }
        assert!(is_topic("a/ b") && !is_topic("a/+") && !is_topic("") && !is_topic("$SYS/a"));
    }

    #[test]
    fn filters_overlap_if_a_topic_fits_both() {
        let overlap = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| TopicFilter::parse(text).unwrap());
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            one.overlaps(&other)
        };
        for (one, other) in [
            ("#", "a"),
            ("a/#", "a"),
            ("a/+/c", "+/b/c"),
            ("a/+", "a/#"),
            ("a/b", "a/b"),
            ("+", "#"),
        ] {
            assert!(overlap(one, other), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("a/+", "a"), ("a/#", "b/#"), ("+/x", "+/y"), ("+", "a/b")]
        {
            assert!(!overlap(one, other), "{one} {other}");
        }
    }

    proptest! {
        /// A topic is a filter of itself; each level may be a wildcard, and so may all from one on.
        #[test]
        fn a_wildcard_takes_what_it_stands_for(
            levels in prop::collection::vec("[a-c]{0,2}", 1..5),
            plus in prop::collection::vec(any::<bool>(), 5),
            cut in 0..6_usize,
        ) {
            let topic = levels.join("/");
            prop_assume!(is_topic(&topic));
            let some = levels.iter().zip(&plus).map(|(level, plus)| if *plus { "+" } else { level });
            let mut filter: Vec<&str> = some.collect();
            if cut < filter.len() {
                filter.truncate(cut);
                filter.push("#");
            }
            let filter = TopicFilter::parse(&filter.join("/")).unwrap();
            prop_assert!(filter.matches(&topic), "{filter:?} {topic}");
            let longer = filter.matches(&format!("{topic}/x"));
            prop_assert!(!longer || filter.as_str().ends_with('#'));
        }
    }
}
