//! What one operation took in one run, party by party.

use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::{MemberId, Operation, PartyId};
use groupkey_sim::group::{OperationResult, SimulatedGroup, SimulatedNetwork};

use super::counting_carrier::CountingCarrier;
use super::row::PeerEffort;
use crate::device::Costs;
use crate::interruptible_carrier::InterruptibleCarrier;

/// What one operation took in one run.
pub(super) struct PeerSample {
    pub(super) operation: Operation,
    pub(super) result: OperationResult,
    pub(super) received_bytes: f64,
    pub(super) sender: PeerEffort,
    pub(super) member: Option<PeerEffort>,
    pub(super) newcomer: Option<PeerEffort>,
    pub(super) sender_keys: u64,
    pub(super) member_keys: u64,
}

/// A group whose work is counted.
pub(super) type CountedGroup<'a> =
    SimulatedGroup<CountingCarrier<InterruptibleCarrier<'a, SimulatedNetwork>>>;

/// Returns what the group's last operation took.
pub(super) fn sample(
    group: &CountedGroup<'_>,
    operation: Operation,
    result: OperationResult,
    costs: &Costs,
) -> PeerSample {
    let joined: Option<MemberId> = match operation {
        Operation::Add => group.current_members().last().copied(),
        _ => None,
    };
    let (mut leading, mut others, mut newcomer) = (Vec::new(), Vec::new(), None);
    let keys = group.footprints().map(|(_, footprint)| footprint.permanent as u64);
    let mut parties = group.carrier().parties().iter();
    let has_controller = group.loads().any(|load| load.party == PartyId::Controller);
    // Seats, loads and footprints have one order, but seats of those that have left remain.
    for (load, keys) in group.loads().zip(keys) {
        let Some(counted) = parties.by_ref().find(|counted| counted.id == load.party) else {
            continue;
        };
        let one = TakingPart {
            id: load.party,
            effort: PeerEffort::of(&counted.meter, costs),
            published: counted.published,
            received: load.received.bytes as f64,
            keys,
        };
        match one.id {
            PartyId::Member(member) if Some(member) == joined => newcomer = Some(one.effort),
            PartyId::Member(_) if has_controller || one.published == 0 => others.push(one),
            _ => leading.push(one),
        }
    }
    // Without a controller several members may publish: who works most leads.
    let leader = (0..leading.len()).reduce(|best, place| {
        if leading[place].effort.ms > leading[best].effort.ms { place } else { best }
    });
    let sender = leader.map(|place| leading.swap_remove(place));
    others.extend(leading.into_iter().filter(|one| matches!(one.id, PartyId::Member(_))));
    let received = median(others.iter().map(|one| one.received).collect(), f64::total_cmp);
    let member_keys = median(others.iter().map(|one| one.keys).collect(), Ord::cmp);
    let member = median(others.into_iter().map(|one| one.effort).collect(), |a: &PeerEffort, b| {
        a.ms.total_cmp(&b.ms)
    });
    let sender_keys = sender.as_ref().map_or(0, |sender| sender.keys);
    PeerSample {
        operation,
        result,
        received_bytes: received.unwrap_or_default(),
        sender: sender.map(|sender| sender.effort).unwrap_or_default(),
        member,
        newcomer,
        sender_keys,
        member_keys: member_keys.unwrap_or(sender_keys),
    }
}

/// A party that takes part, and what it did.
struct TakingPart {
    id: PartyId,
    effort: PeerEffort,
    published: u64,
    received: f64,
    keys: u64,
}

/// Returns the value in the middle; of two, the greater.
fn median<T>(mut values: Vec<T>, compare: impl Fn(&T, &T) -> std::cmp::Ordering) -> Option<T> {
    values.sort_by(compare);
    let middle = values.len() / 2;
    values.into_iter().nth(middle)
}

impl PeerEffort {
    fn of(meter: &Meter, costs: &Costs) -> Self {
        let uses = Primitive::ALL.into_iter().map(|primitive| {
            let (tally, cost) = (meter.tally(primitive), costs.of(primitive));
            let ns = tally.calls as f64 * cost.per_call_ns + tally.amount as f64 * cost.per_unit_ns;
            (primitive, tally.calls, ns)
        });
        let (mut all, mut most) = (0.0, None);
        for (primitive, calls, ns) in uses {
            all += ns;
            if ns > most.map_or(0.0, |(_, _, most)| most) {
                most = Some((primitive, calls, ns));
            }
        }
        most.map_or_else(Self::default, |(primitive, calls, ns)| Self {
            ms: all / 1e6,
            mostly: primitive.name().to_owned(),
            calls,
            share: ns / all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_is_the_greater() {
        assert_eq!(median(vec![3, 1], Ord::cmp), Some(3));
        assert_eq!(median(Vec::<u8>::new(), Ord::cmp), None);
    }
}
