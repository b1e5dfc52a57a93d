//! The member costs that this program knows.

use super::super::emulated::Target;
use super::MemberCost;

impl MemberCost {
    /// Returns the costs that were recorded for a processor.
    pub fn recorded(target: Target) -> Vec<Self> {
        let text = match target {
            Target::CortexM4 => include_str!("../../../../../data/cortex-m4.jsonl"),
            Target::Rv32imac => include_str!("../../../../../data/rv32imac.jsonl"),
        };
        let rows = text.lines().skip(1).map(serde_json::from_str);
        rows.collect::<Result<_, _>>().expect("a test reads it")
    }
}
