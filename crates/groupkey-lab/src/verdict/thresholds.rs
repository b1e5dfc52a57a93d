//! The thresholds and margins of all grades, from one file.

use serde::Deserialize;

/// The thresholds and margins by which findings are graded (`thresholds.toml`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Share of exceptions.
    pub exceptions: Threshold,
    /// Share of settings that a condition covers at least.
    pub condition: Threshold,
    /// Largest corrected p-value of a condition.
    pub chance: Threshold,
    /// Error of one comparison.
    pub error: Threshold,
    /// Margin of what is said to be above or below something else.
    pub order: Threshold,
    /// Margin of a printed bound.
    pub bound: Threshold,
    /// Margin of what is said to grow or to stay.
    pub change: Threshold,
    /// Margin of a printed time of TGDH.
    pub printed: Threshold,
    /// Factor of what is said to be about a value.
    pub about: Threshold,
    /// Share of the cost that makes a primitive a leading one.
    pub leading: Threshold,
}

/// A threshold or margin.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Its value: a share, or a factor.
    pub value: f64,
    /// What it limits.
    pub meaning: String,
    /// The day on which it got its value.
    pub since: String,
    /// Why it has this value.
    pub reason: String,
}

impl Thresholds {
    /// Reads the thresholds in use.
    pub fn in_use() -> Self {
        toml::from_str(include_str!("thresholds.toml")).expect("a test reads it")
    }

    /// Returns all thresholds with their names.
    pub fn all(&self) -> [(&'static str, &Threshold); 10] {
        [
            ("exceptions", &self.exceptions),
            ("condition", &self.condition),
            ("chance", &self.chance),
            ("error", &self.error),
            ("order", &self.order),
            ("bound", &self.bound),
            ("change", &self.change),
            ("printed", &self.printed),
            ("about", &self.about),
            ("leading", &self.leading),
        ]
    }

    /// Returns the same thresholds with one of them multiplied: what is above 1 is a factor, of which
    /// the part above 1 is multiplied. Returns `None` if there is no threshold of this name.
    pub fn scaled(&self, name: &str, by: f64) -> Option<Self> {
        let mut scaled = self.clone();
        let threshold = match name {
            "exceptions" => &mut scaled.exceptions,
            "condition" => &mut scaled.condition,
            "chance" => &mut scaled.chance,
            "error" => &mut scaled.error,
            "order" => &mut scaled.order,
            "bound" => &mut scaled.bound,
            "change" => &mut scaled.change,
            "printed" => &mut scaled.printed,
            "about" => &mut scaled.about,
            "leading" => &mut scaled.leading,
            _ => return None,
        };
        threshold.value = match threshold.value {
            share @ ..=1.0 => share * by,
            factor => 1.0 + (factor - 1.0) * by,
        };
        Some(scaled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_has_a_reason_and_a_day_and_can_be_scaled() {
        let thresholds = Thresholds::in_use();
        for (name, threshold) in thresholds.all() {
            let day: Vec<&str> = threshold.since.split('-').collect();
            assert_eq!(day.iter().map(|part| part.len()).collect::<Vec<_>>(), [4, 2, 2], "{name}");
            assert!(!threshold.reason.is_empty() && !threshold.meaning.is_empty(), "{name}");
            let twice = thresholds.scaled(name, 2.0).expect("it has this name");
            let changed: Vec<_> = thresholds
                .all()
                .into_iter()
                .zip(twice.all())
                .filter(|(before, after)| before.1.value < after.1.value)
                .map(|(before, _)| before.0)
                .collect();
            assert_eq!(changed, [name]);
        }
        assert_eq!(thresholds.scaled("another", 2.0), None);
    }
}
