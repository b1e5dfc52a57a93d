//! What a member takes of a chip's memory, counted on emulated processors.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::candidate::Variant;
use crate::evidence::Estimate;

/// What a member of one scheme takes on one processor. Parameters are the sound profile's: others
/// change it little.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// The scheme's id.
    pub scheme: String,
    /// The suite's name.
    pub suite: String,
    /// The protection of messages.
    pub guard: String,
    /// The processor, by the name of its device.
    pub counts: String,
    /// Sizes of groups that were measured (members), ascending, each with the most working memory
    /// that the member needed: stack, heap and static variables (bytes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub working: Vec<(u32, f64)>,
    /// Program memory (bytes), if the program was weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<f64>,
}

impl Memory {
    /// Returns what comes with the program.
    pub fn shipped() -> &'static [Self] {
        static SHIPPED: OnceLock<Vec<Memory>> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let lines = include_str!("shipped/memory.jsonl").lines();
            lines.map(|line| serde_json::from_str(line).expect("a test reads it")).collect()
        })
    }

    /// Returns what is known of a variant on a processor.
    pub fn of<'m>(memories: &'m [Self], variant: &Variant, counts: &str) -> Option<&'m Self> {
        memories.iter().find(|memory| {
            memory.scheme == variant.scheme
                && memory.suite == variant.suite
                && memory.guard == variant.guard
                && memory.counts == counts
        })
    }

    /// Returns the working memory in a group of this many members (bytes): that of the next larger
    /// size that was measured. Beyond the largest one it is that of the largest, marked as
    /// extrapolated: a member needs at least as much.
    pub fn at(&self, members: u32) -> Option<Estimate<f64>> {
        let next = self.working.iter().find(|(measured, _)| *measured >= members);
        let (_, value) = *next.or_else(|| self.working.last())?;
        Some(Estimate { value, is_extrapolated: next.is_none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_between_has_the_memory_of_the_next_larger_one() {
        let memory = Memory {
            scheme: "skdc".to_owned(),
            suite: "standard".to_owned(),
            guard: "mac".to_owned(),
            counts: "cortex-m4".to_owned(),
            working: vec![(10, 1_000.0), (100, 2_800.0)],
            flash: None,
        };
        let at = |members| memory.at(members).map(|found| (found.value, found.is_extrapolated));
        assert_eq!(at(10), Some((1_000.0, false)));
        assert_eq!(at(11), Some((2_800.0, false)));
        assert_eq!(at(150), Some((2_800.0, true)));
        assert_eq!(Memory { working: Vec::new(), ..memory }.at(20), None);
    }

    #[test]
    fn what_is_shipped_is_in_order() {
        for memory in Memory::shipped() {
            assert!(memory.working.is_sorted_by(|a, b| a.0 < b.0), "{memory:?}");
            assert!(groupkey::catalogue::scheme(&memory.scheme).is_some(), "{memory:?}");
        }
    }
}
