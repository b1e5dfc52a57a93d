//! The keys that an evicted member and its subgroup's controller get, alone and together.

use alloc::collections::{BTreeMap, VecDeque};

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::GroupId;
use crate::outbox::{Channel, Outbox, SubsetId};
use crate::party::Command;
use crate::protection::Protection;

/// Two subgroups. Of the first members, even ids are in the first, odd ids in the second.
struct Group {
    suite: Suite,
    controller: Controller,
    subgroups: Vec<SubgroupController>,
    members: BTreeMap<u32, Member>,
    rng: ChaCha20Rng,
    /// All messages that went over an open channel.
    heard: Vec<Vec<u8>>,
}

impl Group {
    fn of(profile: Profile, members: u32) -> Self {
        Self::with(profile, Suite::Standard, members)
    }

    fn with(profile: Profile, suite: Suite, members: u32) -> Self {
        let ids: Vec<_> = (0..members).map(MemberId).collect();
        let mut group = Self {
            suite,
            controller: Controller::new(profile, 2),
            subgroups: (0..2).map(|id| SubgroupController::new(profile, SubgroupId(id))).collect(),
            members: (0..members).map(|id| (id, Member::new(profile))).collect(),
            rng: ChaCha20Rng::seed_from_u64(1),
            heard: Vec::new(),
        };
        group.command(Command::Enroll(&ids));
        group.command(Command::Create(&ids));
        group
    }

    fn add(&mut self, id: u32) {
        self.members.insert(id, Member::new(self.controller.profile));
        self.command(Command::Enroll(&[MemberId(id)]));
        self.command(Command::Add(MemberId(id)));
    }

    fn evict(&mut self, id: u32) -> Member {
        let evicted = self.members.remove(&id).unwrap();
        self.command(Command::Remove(MemberId(id)));
        evicted
    }

    fn group_key(&self) -> Key {
        let (_, key) = self.controller.group_key().unwrap();
        assert!(self.members.values().all(|member| member.group_key().unwrap().1 == key));
        key.clone()
    }

    fn epoch(&self) -> Epoch {
        self.controller.domain.epoch()
    }

    fn command(&mut self, command: Command<'_>) {
        let mut outbox = Outbox::new();
        self.context(PartyId::Controller, &mut outbox, |group, cx| {
            cx.command(&mut group.controller, command).unwrap();
        });
        let mut queue = VecDeque::from([outbox]);
        while let Some(outbox) = queue.pop_front() {
            for message in outbox.messages() {
                if message.channel == Channel::Open {
                    self.heard.push(message.bytes.to_vec());
                }
                for to in self.receivers(message.to) {
                    let mut outbox = Outbox::new();
                    self.context(to, &mut outbox, |group, cx| {
                        cx.deliver(group.party(to), message.channel, message.bytes).unwrap();
                    });
                    queue.push_back(outbox);
                }
            }
        }
    }

    fn receivers(&self, to: Recipient) -> Vec<PartyId> {
        match to {
            Recipient::Member(member) => [member.into()].into(),
            Recipient::SubgroupController(subgroup) => [subgroup.into()].into(),
            Recipient::Subset(SubsetId(subgroup)) => {
                let server = SubgroupId(subgroup).into();
                let here = self.members.iter().filter(|(_, m)| m.membership.server() == server);
                here.map(|(&id, _)| MemberId(id).into()).collect()
            }
            Recipient::Controller | Recipient::Group => {
                unreachable!("nobody asks, nothing is for all")
            }
        }
    }

    fn party(&mut self, id: PartyId) -> &mut dyn Party {
        match id {
            PartyId::Controller => &mut self.controller,
            PartyId::SubgroupController(id) => &mut self.subgroups[id.0 as usize],
            PartyId::Member(id) => self.members.get_mut(&id.0).unwrap(),
        }
    }

    fn context<T>(
        &mut self,
        me: PartyId,
        outbox: &mut Outbox,
        act: impl FnOnce(&mut Self, &mut Context<'_>) -> T,
    ) -> T {
        let (mut rng, mut probe) = (self.rng.clone(), ());
        let (setting, none) = (Setting::new(GroupId(0), self.suite), Protection::None);
        let mut cx = Context::new(setting, me, none, &mut rng, 0, outbox, &mut probe);
        let result = act(self, &mut cx);
        self.rng = rng;
        result
    }

    /// Tries to open, with a KEK_2, the layer that a subgroup's controller holds now.
    fn try_to_open(&mut self, subgroup: usize, inner_key: &Key) -> Option<Key> {
        let (layer, epoch) = (self.subgroups[subgroup].layer.clone(), self.epoch());
        self.open(&layer, inner_key, epoch)
    }

    fn open(&mut self, layer: &Layer, inner_key: &Key, epoch: Epoch) -> Option<Key> {
        let profile = self.controller.profile;
        self.context(PartyId::Controller, &mut Outbox::new(), |_, cx| {
            let layer_key = key_of_epoch(cx, profile, epoch, inner_key, LAYER);
            layer.open(cx, &layer_key, epoch).ok()
        })
    }
}

#[test]
fn published_falls_to_an_evicted_member_and_its_subgroups_controller() {
    let mut group = Group::of(Profile::Published, 6);
    let inner_key = group.evict(2).inner_key.unwrap();
    assert_eq!(group.try_to_open(0, &inner_key), Some(group.group_key()));
    // This works in later epochs too, but in their own subgroup only.
    group.evict(3);
    group.add(8);
    assert_eq!(group.try_to_open(0, &inner_key), Some(group.group_key()));
    assert_eq!(group.try_to_open(1, &inner_key), None);
}

#[test]
fn sound_does_not() {
    let mut group = Group::of(Profile::Sound, 6);
    let inner_key = group.evict(2).inner_key.unwrap();
    for change in 0..6 {
        assert_eq!(group.try_to_open(0, &inner_key), None);
        assert_eq!(group.try_to_open(1, &inner_key), None);
        match change {
            0 => drop(group.evict(3)),
            1 | 3 => group.add(10 + change),
            2 => drop(group.evict(0)),
            _ => group.command(Command::Rekey),
        }
        group.group_key();
    }
}

#[test]
fn a_newcomer_and_its_subgroups_controller_do_not_get_earlier_keys_in_sound() {
    for (profile, safe) in [(Profile::Published, false), (Profile::Sound, true)] {
        let mut group = Group::of(profile, 4);
        let (earlier, epoch) = (group.subgroups[0].layer.clone(), group.epoch());
        let key = group.group_key();
        group.add(4);
        let inner_key = group.members[&4].inner_key.clone().unwrap();
        let opened = group.open(&earlier, &inner_key, epoch);
        assert_eq!(opened, if safe { None } else { Some(key) });
    }
}

/// A subgroup's controller keeps a layer that it handed on. An evicted member has its group key. The
/// papers' wraps do not say which epoch they are for.
#[test]
fn what_was_made_for_an_epoch_does_not_open_in_a_later_one() {
    for (profile, safe) in [(Profile::Published, false), (Profile::Sound, true)] {
        let mut group = Group::with(profile, profile.default_suite(), 6);
        let (earlier, key) = (group.subgroups[0].layer.clone(), group.group_key());
        let inner_key = group.members[&2].inner_key.clone().unwrap();
        // Member 3 is in the other subgroup, so KEK_2 stays here.
        group.evict(3);
        assert_eq!(group.members[&2].inner_key.as_ref(), Some(&inner_key));
        group.subgroups[0].layer = earlier;
        assert_eq!(group.try_to_open(0, &inner_key), if safe { None } else { Some(key) });
    }
}

/// Nor does the piece in which a member got its KEK_2 open in a later epoch.
#[test]
fn a_piece_that_is_handed_on_again_is_refused() {
    let mut group = Group::of(Profile::Sound, 6);
    let end_to_end = group.members[&2].end_to_end.clone().unwrap();
    let (epoch, inner_keys) = (group.epoch(), group.controller.inner_keys.clone());
    group.context(PartyId::Controller, &mut Outbox::new(), |_, cx| {
        let mut piece = Vec::new();
        let then = key_of_epoch(cx, Profile::Sound, epoch, &end_to_end, OWN_PIECE);
        cx.wrap_keys(&then, epoch, 0, [&inner_keys[0]], &mut piece);
        let later = epoch.next();
        let now = key_of_epoch(cx, Profile::Sound, later, &end_to_end, OWN_PIECE);
        assert!(cx.unwrap_key(&now, later, 0, &piece).is_err());
    });
}

#[test]
fn a_subgroups_controller_alone_gets_nothing() {
    for profile in [Profile::Published, Profile::Sound] {
        let mut group = Group::of(profile, 6);
        group.add(6);
        group.evict(1);
        group.command(Command::Rekey);
        let SubgroupController { subgroup, outer_key, layer, .. } = &group.subgroups[0];
        let mut held = Vec::from([outer_key.clone().unwrap()]);
        held.extend(layer.0.clone());
        held.push(subgroup.membership.enrolment().unwrap().key.clone());
        held.extend(subgroup.roster.current_members().map(|(_, key)| key.clone()));
        assert!(subgroup.membership.group_key().is_none());
        // No key works as KEK_2, neither for what it holds nor for any wrapped key that it heard.
        let group_key = group.group_key();
        for key in &held {
            assert_ne!(key, &group_key);
            assert_eq!(group.try_to_open(0, key), None);
        }
        let heard = core::mem::take(&mut group.heard);
        let epochs: Vec<_> = (1..=group.epoch().0).map(Epoch).collect();
        for message in heard {
            for wrapped in message.windows(24) {
                for (key, &epoch) in
                    held.iter().flat_map(|key| epochs.iter().map(move |e| (key, e)))
                {
                    let opened = group.context(PartyId::Controller, &mut Outbox::new(), |_, cx| {
                        cx.unwrap_key(key, epoch, 0, wrapped).ok()
                    });
                    assert_ne!(opened.as_ref(), Some(&group_key));
                }
            }
        }
    }
}
