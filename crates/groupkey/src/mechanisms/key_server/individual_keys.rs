//! The individual keys of a controller's members. The controller draws and stores one for each
//! slot, or derives each from one master key when it needs it. Derived keys take the same key
//! material for ten members as for ten thousand. In both cases a reused slot gets a new key.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::Error;
use crate::saved_state::{PartyState, Saved, SavedState};
use crate::secret::{Key, List};
use crate::wire::Reader;

#[derive(Debug)]
pub(crate) enum IndividualKeys {
    Derived {
        /// Drawn when the first individual key is issued.
        master: Option<Key>,
        /// How many earlier members had the slot. The number goes into the key. Nothing else
        /// distinguishes the keys of successive members of a slot. With a change every second, it
        /// would take 136 years to wrap around.
        predecessors: Vec<u32>,
    },
    /// Each drawn at random and kept.
    Stored(List<Key>),
}

impl IndividualKeys {
    /// Returns keys that will be derived. There is no master key yet.
    pub(crate) const fn derived() -> Self {
        Self::Derived { master: None, predecessors: Vec::new() }
    }

    pub(crate) fn reserve_exact(&mut self, slots: usize) {
        match self {
            Self::Derived { predecessors, .. } => predecessors.reserve_exact(slots),
            Self::Stored(keys) => keys.reserve_exact(slots),
        }
    }

    pub(crate) fn add_slot(&mut self) {
        match self {
            Self::Derived { predecessors, .. } => predecessors.push(0),
            Self::Stored(keys) => keys.push(Key::default()),
        }
    }

    pub(crate) fn issue(&mut self, cx: &mut Context<'_>, slot: u32) -> Key {
        match self {
            Self::Derived { master, .. } => drop(master.get_or_insert_with(|| cx.random_key())),
            Self::Stored(keys) => keys[slot as usize] = cx.random_key(),
        }
        self.key(cx, slot)
    }

    pub(crate) fn key(&self, cx: &mut Context<'_>, slot: u32) -> Key {
        self.key_by(slot, |master, label, context| cx.derive(master, label, context)).into_owned()
    }

    /// Returns the same key as [`Self::key`], with `derive` as in [`Context::derive`].
    pub(crate) fn key_by(
        &self,
        slot: u32,
        derive: impl FnOnce(&Key, &'static str, &[u8]) -> Key,
    ) -> Cow<'_, Key> {
        match self {
            Self::Derived { master, predecessors } => {
                let master = master.as_ref().expect("no slot is occupied before the first issue");
                let mut context = [0; 8];
                context[..4].copy_from_slice(&slot.to_be_bytes());
                context[4..].copy_from_slice(&predecessors[slot as usize].to_be_bytes());
                Cow::Owned(derive(master, "groupkey individual key", &context))
            }
            Self::Stored(keys) => Cow::Borrowed(&keys[slot as usize]),
        }
    }

    pub(crate) fn stored(&self) -> &[Key] {
        match self {
            Self::Derived { .. } => &[],
            Self::Stored(keys) => keys,
        }
    }

    /// Retires the key of a slot whose member is gone. It is never used again.
    pub(crate) fn retire(&mut self, slot: u32) {
        match self {
            Self::Derived { predecessors, .. } => {
                let predecessors = &mut predecessors[slot as usize];
                *predecessors = predecessors.wrapping_add(1);
            }
            Self::Stored(keys) => keys[slot as usize] = Key::default(),
        }
    }

    pub(crate) fn fit(&self, slots: usize) -> bool {
        match self {
            Self::Derived { predecessors, .. } => predecessors.len() == slots,
            Self::Stored(keys) => keys.len() == slots,
        }
    }

    pub(crate) fn key_bytes(&self, occupied: usize) -> usize {
        match self {
            Self::Derived { master, .. } => usize::from(master.is_some()) * Key::BYTES,
            Self::Stored(_) => occupied * Key::BYTES,
        }
    }
}

/// Whether keys are derived follows from the configuration.
impl PartyState for IndividualKeys {
    fn save_state(&self, state: &mut SavedState) {
        match self {
            Self::Derived { master, predecessors } => {
                master.save(state);
                predecessors.save(state);
            }
            Self::Stored(keys) => keys.save(state),
        }
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        match self {
            Self::Derived { master, predecessors } => {
                *master = Saved::restore(state)?;
                *predecessors = Saved::restore(state)?;
            }
            Self::Stored(keys) => *keys = Saved::restore(state)?,
        }
        Ok(())
    }
}

impl Default for IndividualKeys {
    fn default() -> Self {
        Self::Stored(List::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Setting;
    use crate::crypto::Suite;
    use crate::error::{Error, Misuse};
    use crate::identity::{Epoch, GroupId, MemberId, PartyId};
    use crate::mechanisms::key_server::enrolment::SlotRoster;
    use crate::outbox::Outbox;
    use crate::protection::Protection;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn rosters() -> [SlotRoster; 2] {
        [SlotRoster::with_derived_keys(), SlotRoster::default()]
    }

    fn with_context<T>(seed: u64, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(seed), Outbox::new());
        let (setting, me, mut probe) =
            (Setting::new(GroupId(0), Suite::Standard), PartyId::Controller, ());
        act(&mut Context::new(setting, me, Protection::None, &mut rng, 0, &mut outbox, &mut probe))
    }

    fn enroll(roster: &mut SlotRoster, seed: u64, members: &[u32]) -> Result<(), Error> {
        let members: Vec<_> = members.iter().copied().map(MemberId).collect();
        with_context(seed, |cx| roster.enroll(cx, Epoch(1), &members))
    }

    fn keys(roster: &SlotRoster, slots: u32) -> List<Key> {
        with_context(0, |cx| (0..slots).map(|slot| roster.individual_key(cx, slot)).collect())
    }

    #[test]
    fn no_two_members_ever_have_the_same_key() {
        for mut roster in rosters() {
            enroll(&mut roster, 1, &[10, 11, 12]).unwrap();
            let mut seen = keys(&roster, 3);
            for round in 0..20 {
                // The same member joins again, or another member takes the slot.
                let leaver = if round < 10 { 11 } else { 90 + round };
                roster.join(MemberId(leaver)).unwrap();
                roster.evict(MemberId(leaver));
                let newcomer = if round < 9 { 11 } else { 91 + round };
                enroll(&mut roster, u64::from(round) + 2, &[newcomer]).unwrap();
                let now = keys(&roster, 3);
                let fresh: Vec<_> = now.iter().filter(|key| !seen.contains(key)).collect();
                assert_eq!(fresh.len(), 1, "the others keep theirs");
                seen.push(fresh[0].clone());
            }
            assert!((1..seen.len()).all(|at| !seen[..at].contains(&seen[at])));
        }
    }

    #[test]
    fn a_refused_enrolment_changes_no_key() {
        for (mut roster, mut other) in rosters().into_iter().zip(rosters()) {
            let twice = Err(Misuse::AlreadyEnrolled(MemberId(5)).into());
            assert_eq!(enroll(&mut roster, 1, &[5, 6, 5]), twice);
            assert_eq!(roster.key_bytes(), 0);
            enroll(&mut roster, 2, &[5, 6]).unwrap();
            assert_eq!(enroll(&mut roster, 3, &[7, 5]), twice);
            enroll(&mut other, 2, &[5, 6]).unwrap();
            for roster in [&mut roster, &mut other] {
                roster.join(MemberId(6)).unwrap();
                roster.evict(MemberId(6));
                enroll(roster, 4, &[7, 8]).unwrap();
            }
            assert_eq!(keys(&roster, 3), keys(&other, 3));
        }
    }

    #[test]
    fn derived_keys_take_no_key_material() {
        let [mut derived, mut stored] = rosters();
        for count in [1, 10, 100] {
            let members: Vec<_> = (count..2 * count).collect();
            enroll(&mut derived, 1, &members).unwrap();
            enroll(&mut stored, 1, &members).unwrap();
            assert_eq!(derived.key_bytes(), Key::BYTES);
            assert_eq!(stored.key_bytes(), stored.enrolled() * Key::BYTES);
        }
    }
}
