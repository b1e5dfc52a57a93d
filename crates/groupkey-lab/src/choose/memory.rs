//! What members take of a chip's memory, for decisions: from what was recorded of them.

use std::collections::BTreeMap;

use groupkey_choose::memory::Memory;

use crate::device::Target;
use crate::device::member_costs::MemberCost;

/// Returns what was recorded of each scheme on each processor, by scheme, suite, protection and
/// processor.
pub fn make_memories() -> Vec<Memory> {
    let mut known: BTreeMap<Key, Memory> = BTreeMap::new();
    for row in Target::ALL.into_iter().flat_map(MemberCost::recorded) {
        let Some(bytes) = row.ram_bytes() else { continue };
        let MemberCost { scheme, suite, protection, target, members, .. } = row;
        let memory = entry(&mut known, [scheme, suite, protection, target]);
        let bytes = bytes as f64;
        match memory.working.iter_mut().find(|(size, _)| *size == members) {
            Some((_, most)) => *most = most.max(bytes),
            None => memory.working.push((members, bytes)),
        }
    }
    for (scheme, guard, kilobytes) in FLASH {
        for (target, kilobytes) in Target::ALL.into_iter().zip(kilobytes) {
            let key = [scheme, "standard", guard, target.name()].map(str::to_owned);
            entry(&mut known, key).flash = Some((kilobytes * 1_000.0).round());
        }
    }
    let mut memories: Vec<Memory> = known.into_values().collect();
    for memory in &mut memories {
        memory.working.sort_by_key(|(members, _)| *members);
    }
    memories
}

/// Scheme, suite, protection and processor.
type Key = [String; 4];

fn entry(known: &mut BTreeMap<Key, Memory>, key: Key) -> &mut Memory {
    let [scheme, suite, guard, counts] = key.clone();
    known.entry(key).or_insert(Memory {
        scheme,
        suite,
        guard,
        counts,
        working: Vec::new(),
        flash: None,
    })
}

/// The flash of a member (1,000 bytes) on each of [`Target::ALL`], with the suite `standard`, as
/// `docs/devices.md` has it.
const FLASH: [(&str, &str, [f64; 2]); 8] = [
    ("skdc", "mac", [76.0, 111.9]),
    ("skdc", "signature", [166.0, 242.4]),
    ("lkh-group", "mac", [124.1, 175.2]),
    ("oft", "mac", [104.0, 147.6]),
    ("igkmp", "mac", [117.0, 162.4]),
    ("gdh2", "mac", [180.2, 245.1]),
    ("tgdh", "signature", [272.9, 383.8]),
    ("nishat", "mac", [441.2, 607.4]),
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// After a change of what was recorded: `groupkey choose --evidence evidence --quick` writes
    /// `memory.jsonl`, which does not depend on how much is counted.
    #[test]
    fn the_shipped_memory_is_what_was_recorded() {
        let made = make_memories();
        let lines: String =
            made.iter().map(|one| serde_json::to_string(one).expect("a tree") + "\n").collect();
        assert!(Memory::shipped() == made, "memory.jsonl is out of date:\n{lines}");
        assert!(made.iter().any(|memory| !memory.working.is_empty()));
    }

    #[test]
    fn the_flash_is_the_documented_one() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.md");
        let page = fs::read_to_string(page).expect("the page");
        for (scheme, guard, [thumb, riscv]) in FLASH {
            let is_signed = guard == "signature";
            let line = page.lines().find(|line| {
                line.starts_with(&format!("| `{scheme}` |"))
                    && line.contains("signatures") == is_signed
            });
            let line = line.unwrap_or_else(|| panic!("docs/devices.md lacks {scheme}, {guard}"));
            let documented = format!("| {thumb:.1} | {riscv:.1} |");
            assert!(line.contains(&documented), "{line} has not {documented}");
        }
    }
}
