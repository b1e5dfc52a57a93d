//! A past for a group: members leave, and each is replaced by another one.
//!
//! Who leaves is drawn from all members of the moment, so that the slots of those that have left lie
//! as departures that do not depend on each other leave them. A scheme with batches takes a quarter
//! of the members at once: what its tree looks like afterwards depends on who is there, and not on
//! the number of changes. So four departures for each member take sixteen changes.

use groupkey::catalogue::Scheme;
use groupkey::{MemberId, Operation};
use groupkey_sim::group::{Carrier, GroupError, OperationResult, SimulatedGroup};

/// Lets members of a group leave, each of them replaced by another one. Returns the last change.
pub(crate) fn turn_over<C: Carrier>(
    scheme: &Scheme,
    departures: u32,
    group: &mut SimulatedGroup<C>,
) -> Result<OperationResult, GroupError> {
    let mut last = None;
    let members = group.members() as u32;
    for (round, count) in (0..).zip(rounds(scheme, members, departures)) {
        let leaving: Vec<MemberId> = drawn(&group.current_members(), count, round);
        last = Some(if scheme.operations.contains(&Operation::Batch) {
            group.batch(count, &leaving)?
        } else {
            group.add()?;
            group.remove(leaving.first().map(|member| member.0))?
        });
    }
    match last {
        Some(last) => Ok(last),
        None => group.rekey(),
    }
}

/// Returns how many changes of a group such a past is made of.
pub(super) fn changes(scheme: &Scheme, members: u32, departures: u32) -> u64 {
    let rounds = rounds(scheme, members, departures).count() as u64;
    if scheme.operations.contains(&Operation::Batch) { rounds } else { 2 * rounds }
}

pub(super) fn rounds(
    scheme: &Scheme,
    members: u32,
    departures: u32,
) -> impl Iterator<Item = u32> + use<> {
    let has_batches = scheme.operations.contains(&Operation::Batch);
    let most = if has_batches { (members / PARTS).max(1) } else { 1 };
    (0..departures.div_ceil(most)).map(move |round| most.min(departures - round * most))
}

pub(super) fn drawn<M: Copy>(members: &[M], count: u32, round: u64) -> Vec<M> {
    let (mut left, mut state) = (members.to_vec(), round);
    let count = left.len().min(count as usize);
    for place in 0..count {
        // SplitMix64; which numbers they are matters to nothing.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let other = place + ((mixed ^ (mixed >> 31)) % (left.len() - place) as u64) as usize;
        left.swap(place, other);
    }
    left.truncate(count);
    left
}

/// A round takes one member of so many.
const PARTS: u32 = 4;

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    #[test]
    fn rounds_take_a_quarter_where_there_are_batches() {
        let [sd, skdc] = ["sd", "skdc"].map(|id| scheme(id).expect("in the catalogue"));
        assert_eq!(rounds(sd, 20, 12).collect::<Vec<_>>(), [5, 5, 2]);
        assert_eq!(rounds(sd, 2, 2).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(rounds(skdc, 20, 3).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!((changes(sd, 20, 12), changes(skdc, 20, 3)), (3, 6));
    }

    #[test]
    fn a_draw_is_of_different_members_and_the_same_each_time() {
        let members: Vec<u32> = (0..100).collect();
        let mut leaving = drawn(&members, 25, 3);
        assert_eq!(leaving, drawn(&members, 25, 3));
        assert_ne!(leaving, drawn(&members, 25, 4));
        leaving.sort_unstable();
        leaving.dedup();
        assert_eq!(leaving.len(), 25);
        let sum: u32 = (0..40).flat_map(|round| drawn(&members, 25, round)).sum();
        assert!((45.0..54.0).contains(&(f64::from(sum) / 1_000.0)), "{sum}");
    }
}
