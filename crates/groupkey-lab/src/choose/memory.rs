//! What members take of a chip's memory, for decisions: from what was recorded of them.

use std::collections::BTreeMap;

use groupkey_choose::device::MemberMemory;

use crate::device::Target;
use crate::device::flash::MemberFlash;
use crate::device::member_costs::MemberCost;

/// Returns what was recorded of each scheme on each processor, by scheme, suite, protection and
/// processor.
pub fn make_memories() -> Vec<MemberMemory> {
    let mut known: BTreeMap<MemoryKey, MemberMemory> = BTreeMap::new();
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
    for row in MemberFlash::recorded() {
        let bytes = row.flash_bytes as f64;
        let key = [row.scheme, row.suite, row.protection, row.target];
        entry(&mut known, key).flash = Some(bytes);
    }
    let mut memories: Vec<MemberMemory> = known.into_values().collect();
    for memory in &mut memories {
        memory.working.sort_by_key(|(members, _)| *members);
    }
    memories
}

/// Scheme, suite, protection and processor.
type MemoryKey = [String; 4];

fn entry(known: &mut BTreeMap<MemoryKey, MemberMemory>, key: MemoryKey) -> &mut MemberMemory {
    let [scheme, suite, guard, counts] = key.clone();
    known.entry(key).or_insert(MemberMemory {
        scheme,
        suite,
        guard,
        counts,
        working: Vec::new(),
        flash: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of what was recorded: `groupkey choose --evidence evidence --quick` writes
    /// `memory.jsonl`, which does not depend on how much is counted.
    #[test]
    fn the_shipped_memory_is_what_was_recorded() {
        let made = make_memories();
        let lines: String =
            made.iter().map(|one| serde_json::to_string(one).expect("a tree") + "\n").collect();
        assert!(MemberMemory::shipped() == made, "memory.jsonl is out of date:\n{lines}");
        assert!(made.iter().any(|memory| !memory.working.is_empty()));
    }
}
