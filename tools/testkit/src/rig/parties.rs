//! The parties of a rig, and the receivers of a message. An index finds the receivers without
//! asking all parties, because a large group has as many messages as members.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Index;

use groupkey::{Event, MemberId, Party, PartyId, Recipient, SubsetId};
use rand_chacha::ChaCha20Rng;

/// The parties, in the order of their ids.
#[derive(Default)]
pub(super) struct RigParties {
    seats: BTreeMap<PartyId, RigParty>,
    subscribers: BTreeMap<SubsetId, BTreeSet<PartyId>>,
    dismissed: BTreeSet<PartyId>,
}

pub(super) struct RigParty {
    pub(super) party: Box<dyn Party>,
    pub(super) standing: RigPresence,
    subscriptions: BTreeSet<SubsetId>,
    /// The id under which a former member continues.
    pub(super) acts_as: Option<PartyId>,
    pub(super) keys_of: Option<PartyId>,
    /// The party's own generator, if it has one.
    pub(super) rng: Option<ChaCha20Rng>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RigPresence {
    Asleep,
    Awake,
    Former,
}

impl RigParties {
    /// Gives a party a seat. A party that had the seat before is removed.
    pub(super) fn take_in(&mut self, id: PartyId, party: Box<dyn Party>) {
        self.remove(id);
        let seat = RigParty {
            party,
            standing: RigPresence::Awake,
            subscriptions: BTreeSet::new(),
            acts_as: None,
            keys_of: None,
            rng: None,
        };
        self.insert(id, seat);
    }

    /// Makes a member an outsider that listens on under another id. Returns its previous standing.
    pub(super) fn dismiss(&mut self, member: MemberId, ghost: PartyId) -> Option<RigPresence> {
        let mut seat = self.remove(member.into())?;
        let before = core::mem::replace(&mut seat.standing, RigPresence::Former);
        seat.acts_as = Some(member.into());
        self.insert(ghost, seat);
        self.dismissed.insert(ghost);
        Some(before)
    }

    pub(super) fn reinstate(&mut self, ghost: PartyId, member: MemberId, standing: RigPresence) {
        let Some(mut seat) = self.remove(ghost) else { return };
        seat.standing = standing;
        seat.acts_as = None;
        self.insert(member.into(), seat);
    }

    /// Removes the outsiders.
    pub(super) fn forget_former(&mut self) {
        for ghost in self.former().collect::<Vec<_>>() {
            self.remove(ghost);
        }
    }

    pub(super) fn heed(&mut self, id: PartyId, events: &[Event]) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        for event in events {
            match *event {
                Event::Subscribed(subset) => {
                    seat.subscriptions.insert(subset);
                    self.subscribers.entry(subset).or_default().insert(id);
                }
                Event::Unsubscribed(subset) => {
                    seat.subscriptions.remove(&subset);
                    cancel(&mut self.subscribers, subset, id);
                }
                _ => {}
            }
        }
    }

    pub(super) fn get(&self, id: PartyId) -> Option<&RigParty> {
        self.seats.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: PartyId) -> Option<&mut RigParty> {
        self.seats.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PartyId, &RigParty)> {
        self.seats.iter().map(|(&id, seat)| (id, seat))
    }

    pub(super) fn subgroup_controllers(&self) -> impl Iterator<Item = &RigParty> {
        let others = self.seats.range(..FIRST_MEMBER);
        others.filter(|&(&id, _)| id != PartyId::Controller).map(|(_, seat)| seat)
    }

    /// Returns the parties that a message is for, in the order of their ids.
    pub(super) fn addressed(&self, to: Recipient) -> Vec<PartyId> {
        match (to, to.party()) {
            (Recipient::Subset(subset), _) => {
                self.subscribers.get(&subset).into_iter().flatten().copied().collect()
            }
            (_, Some(party)) => Vec::from_iter(self.get(party).map(|_| party)),
            (_, None) => self.seats.range(FIRST_MEMBER..).map(|(&id, _)| id).collect(),
        }
    }

    /// Returns the outsiders.
    pub(super) fn former(&self) -> impl Iterator<Item = PartyId> {
        let is_former = |id: PartyId| self.seats[&id].standing == RigPresence::Former;
        self.dismissed.iter().copied().filter(move |&id| is_former(id))
    }

    fn insert(&mut self, id: PartyId, seat: RigParty) {
        for &subset in &seat.subscriptions {
            self.subscribers.entry(subset).or_default().insert(id);
        }
        self.seats.insert(id, seat);
    }

    fn remove(&mut self, id: PartyId) -> Option<RigParty> {
        let seat = self.seats.remove(&id)?;
        seat.subscriptions.iter().for_each(|&subset| cancel(&mut self.subscribers, subset, id));
        self.dismissed.remove(&id);
        Some(seat)
    }
}

impl Index<PartyId> for RigParties {
    type Output = RigParty;

    fn index(&self, id: PartyId) -> &RigParty {
        &self.seats[&id]
    }
}

impl RigParty {
    pub(super) const fn subscriptions(&self) -> &BTreeSet<SubsetId> {
        &self.subscriptions
    }
}

/// The ids of members come after those of controllers.
const FIRST_MEMBER: PartyId = PartyId::Member(MemberId(0));

fn cancel(subscribers: &mut BTreeMap<SubsetId, BTreeSet<PartyId>>, subset: SubsetId, id: PartyId) {
    let Some(of_subset) = subscribers.get_mut(&subset) else { return };
    of_subset.remove(&id);
    // A key tree that grows and shrinks would leave empty sets behind.
    if of_subset.is_empty() {
        subscribers.remove(&subset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groupkey::catalogue::Profile;
    use groupkey::catalogue::scheme;

    fn seats(members: u32) -> RigParties {
        let skdc = scheme("skdc").expect("in the catalogue").configuration(Profile::Sound);
        let mut seats = RigParties::default();
        seats.take_in(PartyId::Controller, skdc.controller().expect("it has one"));
        for member in (0..members).map(MemberId) {
            seats.take_in(member.into(), skdc.member(member));
        }
        seats
    }

    fn member(id: u32) -> PartyId {
        MemberId(id).into()
    }

    /// The index finds the same parties as a search among all parties, in every standing.
    #[test]
    fn those_addressed_are_those_included() {
        let (odd, even) = (SubsetId(1), SubsetId(2));
        let mut seats = seats(6);
        for id in 0..6 {
            let subset = if id % 2 == 1 { odd } else { even };
            seats.heed(member(id), &[Event::Subscribed(subset)]);
        }
        let agree = |seats: &RigParties| {
            let one = [member(1), member(8), PartyId::Controller].map(Recipient::from);
            let all = [Recipient::Group, Recipient::Subset(odd), Recipient::Subset(even)];
            for to in one.into_iter().chain(all) {
                let includes = |(id, seat): &(PartyId, &RigParty)| {
                    to.includes(*id, |subset| seat.subscriptions.contains(&subset))
                };
                let included: Vec<_> = seats.iter().filter(includes).map(|(id, _)| id).collect();
                assert_eq!(seats.addressed(to), included, "{to:?}");
            }
            seats.former().collect::<Vec<_>>()
        };
        assert_eq!(agree(&seats), []);
        seats.heed(member(3), &[Event::Unsubscribed(odd), Event::Subscribed(even)]);
        let ghost = member(u32::MAX);
        assert_eq!(seats.dismiss(MemberId(1), ghost), Some(RigPresence::Awake));
        assert_eq!(seats.dismiss(MemberId(1), ghost), None, "it is gone");
        assert_eq!(agree(&seats), [ghost]);
        seats.reinstate(ghost, MemberId(1), RigPresence::Asleep);
        assert_eq!(agree(&seats), []);
        seats.dismiss(MemberId(5), ghost);
        let again = self::seats(1).remove(member(0)).expect("it is there");
        seats.take_in(member(4), again.party);
        assert_eq!(agree(&seats), [ghost]);
        seats.forget_former();
        assert_eq!(agree(&seats), []);
        assert_eq!(seats.addressed(Recipient::Subset(odd)), [member(1)]);
    }
}
