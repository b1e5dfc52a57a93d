//! What each family of subsets is checked with.

use alloc::collections::BTreeSet;

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::{GroupId, PartyId};
use crate::outbox::Outbox;
use crate::protection::Protection;

pub(crate) const DEPTH: u32 = 7;

pub(crate) fn slots() -> impl Strategy<Value = BTreeSet<u32>> {
    let ranges = prop::collection::vec((0..1_u32 << DEPTH, 1..40_u32), 0..6);
    ranges.prop_map(|ranges| {
        let slots = ranges.into_iter().flat_map(|(first, count)| first..first + count);
        slots.filter(|slot| slot >> DEPTH == 0).collect()
    })
}

/// Covers these slots.
pub(crate) fn subsets(family: &impl SubsetFamily, occupied: &BTreeSet<u32>) -> Vec<Subset> {
    let mut occupancy = Occupancy::new(DEPTH);
    occupancy.fill(occupied.iter().copied());
    family.cover(&occupancy)
}

/// Covers these slots: each is in one subset, whose key its member has, and no other slot is in any.
/// Returns the cover.
pub(crate) fn cover(family: &impl SubsetFamily, occupied: &BTreeSet<u32>) -> Vec<Subset> {
    let cover = subsets(family, occupied);
    let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::seed_from_u64(1), Outbox::new(), ());
    let (setting, protection) = (Setting::new(GroupId(1), Suite::Standard), Protection::None);
    let me = PartyId::Controller;
    let cx = &mut Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
    let master = cx.random_key();
    for slot in 0..1 << DEPTH {
        let mine: Vec<_> = cover.iter().filter(|&&subset| family.has(subset, slot)).collect();
        assert_eq!(mine.len(), usize::from(occupied.contains(&slot)), "{slot} in {mine:?}");
        for &&subset in &mine {
            let secrets = family.secrets(cx, &master, slot);
            assert_eq!(secrets.len(), family.secrets_held());
            let key = family.key_of_member(cx, &secrets, slot, subset);
            assert_eq!(key, family.key(cx, &master, subset), "{slot} in {subset:?}");
        }
    }
    cover
}

proptest! {
    #[test]
    fn single_changes_lead_to_the_same_occupancy(start in slots(), end in slots()) {
        let (mut changed, mut filled) = (Occupancy::new(DEPTH), Occupancy::new(DEPTH));
        changed.fill(start.iter().copied());
        filled.fill(end.iter().copied());
        start.difference(&end).for_each(|&slot| changed.set(slot, false));
        end.difference(&start).for_each(|&slot| changed.set(slot, true));
        for node in 1..2 << DEPTH {
            prop_assert_eq!(changed.filling(node), filled.filling(node), "{}", node);
        }
    }
}
