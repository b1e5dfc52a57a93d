//! What members take of a chip's memory, for decisions: from what was recorded of them.

use std::collections::BTreeMap;

use groupkey::Suite;
use groupkey::catalogue::Class;
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
        let MemberCost { scheme, class, suite, protection, target, members, .. } = row;
        // Without a controller every member sends sooner or later.
        let has_listeners = suite == Suite::Pq.name() && class != Class::Distributed.name();
        let listens = has_listeners && row.sent_messages == Some(0);
        let memory = entry(&mut known, [scheme, suite, protection, target]);
        raise(&mut memory.working, members, bytes as f64);
        if listens {
            raise(&mut memory.listening, members, bytes as f64);
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
        memory.listening.sort_by_key(|(members, _)| *members);
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
        listening: Vec::new(),
        flash: None,
    })
}

/// Raises what a group of this many members needs to at least so much.
fn raise(measured: &mut Vec<(u32, f64)>, members: u32, bytes: f64) {
    match measured.iter_mut().find(|(size, _)| *size == members) {
        Some((_, most)) => *most = most.max(bytes),
        None => measured.push((members, bytes)),
    }
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
