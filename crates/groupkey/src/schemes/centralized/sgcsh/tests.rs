//! The keys that an evicted member and a joining member together get from a group's chains, in
//! either profile. Also the cost of healing, and a member's response to an altered broadcast.

use alloc::vec;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::crypto::meter::{Meter, Primitive};
use crate::identity::{GroupId, MemberId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::Command;
use crate::protection::Protection;
use crate::wire::parse_header;

const SESSIONS: u32 = 40;

/// A group that records its open messages.
struct Group {
    profile: Profile,
    single: bool,
    controller: Controller,
    /// An evicted party stays here, and hears the messages on open channels.
    members: Vec<(MemberId, Member)>,
    rng: ChaCha20Rng,
    recorded: Vec<Vec<u8>>,
    keys: Vec<(Epoch, Key)>,
}

impl Group {
    fn new(profile: Profile, size: u32) -> Self {
        Self::with(profile, size, false)
    }

    fn with(profile: Profile, size: u32, single: bool) -> Self {
        let mut group = Self {
            profile,
            single,
            controller: Controller::new(profile, SESSIONS, false, single),
            members: Vec::new(),
            rng: ChaCha20Rng::seed_from_u64(1),
            recorded: Vec::new(),
            keys: Vec::new(),
        };
        let everybody: Vec<_> = (0..size).map(MemberId).collect();
        everybody.iter().for_each(|&id| group.sit(id));
        group.command(Command::Enroll(&everybody));
        group.command(Command::Create(&everybody));
        group
    }

    fn sit(&mut self, id: MemberId) {
        self.members.push((id, Member::new(self.profile, SESSIONS, false, self.single)));
    }

    /// Adds a member. Returns its place.
    fn add(&mut self, id: u32) -> usize {
        self.sit(MemberId(id));
        self.command(Command::Enroll(&[MemberId(id)]));
        self.command(Command::Add(MemberId(id)));
        self.members.len() - 1
    }

    /// Gives the controller a command, and every member its messages.
    fn command(&mut self, command: Command<'_>) {
        let mut outbox = Outbox::new();
        self.act(PartyId::Controller, &mut outbox, &mut (), |group, cx| {
            cx.command(&mut group.controller, command).unwrap();
        });
        for message in outbox.messages() {
            if message.channel == Channel::Open {
                self.recorded.push(message.bytes.to_vec());
            }
            for place in 0..self.members.len() {
                // An evicted member, or a member that is not addressed, refuses.
                let _ = self.offer(place, message.channel, message.bytes);
            }
        }
        if let Some((epoch, key)) = self.controller.group_key() {
            self.keys.push((epoch, key.clone()));
        }
    }

    /// Offers a message to a member, which may refuse it. Returns the result and its cost.
    fn offer(
        &mut self,
        place: usize,
        channel: Channel,
        bytes: &[u8],
    ) -> (Result<(), Error>, Meter) {
        let mut meter = Meter::new();
        let mut result = Ok(());
        let me = self.members[place].0.into();
        self.act(me, &mut Outbox::new(), &mut meter, |group, cx| {
            result = cx.deliver(&mut group.members[place].1, channel, bytes);
        });
        (result, meter)
    }

    /// Combines the keys of two former or current members for sessions in which neither was a
    /// member. One follows the forward chain; the other has the backward key of the epoch in which
    /// it joined. Returns how many session keys of these epochs they get.
    fn pool(&mut self, evicted: usize, newcomer: usize, epochs: core::ops::Range<u64>) -> usize {
        let mut chains = self.members[evicted].1.chains.clone();
        let backward = self.members[newcomer].1.chains.end().clone();
        let keys = self.keys.clone();
        let mut got = 0;
        self.act(PartyId::Controller, &mut Outbox::new(), &mut (), |_, cx| {
            chains.advance(cx, epochs.end);
            let passed = chains.link(cx, epochs.end, &backward).expect("it is the same chain");
            chains.reach(epochs.end, backward, &passed);
            for epoch in epochs {
                let key = chains.session_key(cx, epoch).unwrap();
                got += usize::from(keys.contains(&(Epoch(epoch), key)));
            }
        });
        got
    }

    /// Returns the keys of the tree that a member holds, and its individual key.
    fn held(&self, place: usize) -> Vec<Key> {
        let member = &self.members[place].1;
        let individual = member.membership.enrolment().unwrap().key.clone();
        member.path.iter().map(|(_, key)| key.clone()).chain([individual]).collect()
    }

    /// Returns whether any of these keys, or a hash of it, opens the forward key in the removal of
    /// this epoch. The opened key must lead to the session's key.
    fn opens_forward(&mut self, held: Vec<Key>, pair: [usize; 2], epoch: u64) -> bool {
        let recorded = self.recorded.iter().find_map(|bytes| {
            let (header, body) = parse_header(bytes).unwrap();
            let message = Message::new(header, body);
            let is_it = header.epoch.0 == epoch && header.kind == REFRESH;
            is_it.then(|| {
                let news = News::parse(&message, self.profile).unwrap();
                (news.masked.to_vec(), news.confirmation)
            })
        });
        let (masked, confirmation) = recorded.unwrap();
        let masked: [u8; 16] = masked[..16].try_into().unwrap();
        let masked = Key::from_bytes(masked);
        let keys = self.keys.clone();
        let mut chains = self.members[pair[0]].1.chains.clone();
        let backward = self.members[pair[1]].1.chains.end().clone();
        let (came, _) = self.members[pair[1]].1.group_key().unwrap();
        let mut opened = false;
        self.act(PartyId::Controller, &mut Outbox::new(), &mut (), |_, cx| {
            let passed = chains.link(cx, came.0, &backward).expect("it is the same chain");
            chains.reach(came.0, backward, &passed);
            for mut kek in held {
                for _ in 0..8 {
                    let mut chains = chains.clone();
                    let change = (Epoch(epoch), &confirmation);
                    let forward = update::mask(cx, &kek, FORWARD, change, [0; 2], &masked);
                    chains.begin_forward(cx, epoch, forward);
                    let key = chains.session_key(cx, epoch).unwrap();
                    opened |= keys.contains(&(Epoch(epoch), key));
                    kek = update::next_key(cx, &kek);
                }
            }
        });
        opened
    }

    fn act(
        &mut self,
        me: PartyId,
        outbox: &mut Outbox,
        probe: &mut dyn crate::crypto::meter::Probe,
        act: impl FnOnce(&mut Self, &mut Context<'_>),
    ) {
        let mut rng = self.rng.clone();
        let setting = Setting::new(GroupId(0), Suite::Standard);
        let mut cx = Context::new(setting, me, Protection::None, &mut rng, 0, outbox, probe);
        act(self, &mut cx);
        self.rng = rng;
    }
}

fn forms() -> impl Iterator<Item = (Profile, bool)> {
    Profile::ALL.into_iter().flat_map(|profile| [(profile, false), (profile, true)])
}

#[test]
fn an_evicted_member_and_a_newcomer_read_what_lies_between_as_published_only() {
    for (profile, readable) in [(Profile::Published, true), (Profile::Sound, false)] {
        for size in [3, 4, 5, 9] {
            let mut group = Group::new(profile, size);
            group.command(Command::Rekey);
            // Member 1 is evicted with epoch 3, and is no member from that epoch on.
            group.command(Command::Remove(MemberId(1)));
            let stayed = group.held(0);
            group.command(Command::Rekey);
            let other = group.add(20);
            group.command(Command::Rekey);
            let newcomer = group.add(21);
            assert_eq!(group.keys.last().unwrap().0, Epoch(7));
            let between = 3..7;
            let expected = if readable { between.clone().count() } else { 0 };
            assert_eq!(group.pool(1, newcomer, between.clone()), expected, "{size} members");
            // Both are needed: neither has the keys alone.
            for (place, first) in [(1, 1), (other, 5), (newcomer, 7)] {
                let member = group.members[place].1.chains.clone();
                group.act(PartyId::Controller, &mut Outbox::new(), &mut (), |_, cx| {
                    let known = |epoch| member.session_key(cx, epoch).is_some();
                    let known: Vec<_> = (1..8).map(known).collect();
                    let last = if place == 1 { 2 } else { 7 };
                    assert!((1..8).zip(known).all(|(at, is)| is == (first..=last).contains(&at)));
                });
            }
            if !readable {
                let pair = [1, newcomer];
                let held = pair.iter().flat_map(|&place| group.held(place)).collect();
                assert!(!group.opens_forward(held, pair, 3), "{size} members");
                assert!(group.opens_forward(stayed, pair, 3), "who stayed can");
            }
        }
    }
}

/// No accomplice is needed: a member that comes back has both keys itself.
#[test]
fn who_leaves_and_comes_back_reads_what_lay_between_as_published_only() {
    for (profile, readable) in [(Profile::Published, true), (Profile::Sound, false)] {
        let mut group = Group::new(profile, 5);
        group.command(Command::Remove(MemberId(2)));
        group.command(Command::Rekey);
        group.command(Command::Rekey);
        let again = group.add(2);
        let between = 2..5;
        let expected = if readable { between.clone().count() } else { 0 };
        assert_eq!(group.pool(2, again, between), expected);
    }
}

/// Shows the purpose of the forward chain. A joining member tries to heal sessions before its join
/// with the keys that it got. It hashes the backward key back, and tries every forward key that it
/// has or can make.
#[test]
fn a_newcomer_heals_what_was_before_its_time_with_a_single_chain_only() {
    for (profile, single) in forms() {
        let mut group = Group::with(profile, 5, single);
        group.command(Command::Rekey);
        group.command(Command::Remove(MemberId(1)));
        group.add(20);
        group.command(Command::Rekey);
        let newcomer = group.add(21);
        let (came, _) = group.members[newcomer].1.group_key().unwrap();
        let chains = group.members[newcomer].1.chains.clone();
        let backward = chains.end().clone();
        let mut known: Vec<_> = Vec::new();
        // An enrolment does not change the key.
        let mut keys = group.keys.clone();
        keys.dedup();
        group.act(MemberId(21).into(), &mut Outbox::new(), &mut (), |_, cx| {
            let given = chains.history(cx, backward.clone(), came.0, came.0).starts;
            assert_eq!(given.len(), usize::from(!single));
            // The keys of its own forward chain, from the key that it got.
            let mut own = chains;
            let forward: Vec<_> = (came.0..=u64::from(SESSIONS))
                .flat_map(|epoch| {
                    own.advance(cx, epoch);
                    own.history(cx, backward.clone(), epoch, epoch).starts.first().cloned()
                })
                .map(|(_, key)| Some(key))
                .collect();
            let forward = if single { vec![None] } else { forward };
            for (epoch, real) in &keys {
                let healed = forward.iter().any(|forward| {
                    let starts = forward.iter().map(|key| (epoch.0, key.clone())).collect();
                    let history = History {
                        epoch: came.0,
                        session: came.0,
                        sessions: came.0 + 1 - epoch.0,
                        end: None,
                        backward: backward.clone(),
                        starts,
                    };
                    let healed = Chains::new(SESSIONS, Keep::Ends, single).with(cx, history);
                    healed.unwrap().session_key(cx, epoch.0).as_ref() == Some(real)
                });
                known.extend(healed.then_some(*epoch));
            }
        });
        let expected: Vec<_> = if single { (1..=came.0).map(Epoch).collect() } else { vec![came] };
        assert_eq!(known, expected, "{profile:?}");

        // The member returns these keys when asked.
        for (epoch, real) in &keys {
            let mut past = None;
            group.act(MemberId(21).into(), &mut Outbox::new(), &mut (), |group, cx| {
                past = group.members[newcomer].1.past_key(cx, *epoch);
            });
            assert_eq!(past.as_ref(), expected.contains(epoch).then_some(real));
        }
    }
}

#[test]
fn healing_costs_a_hash_of_each_chain_for_every_session_missed() {
    for (profile, single) in forms() {
        for missed in 0..10 {
            let mut group = Group::with(profile, 5, single);
            let sleeper = group.members.remove(1);
            (0..=missed).for_each(|_| group.command(Command::Rekey));
            group.members.insert(1, sleeper);
            let bytes = group.recorded.last().unwrap().clone();
            let (result, meter) = group.offer(1, Channel::Open, &bytes);
            assert_eq!(result, Ok(()));
            let chains = if single { 1 } else { 2 };
            assert_eq!(meter.tally(Primitive::Hash).calls, chains * (missed + 1));
            // `sound` derives one more: the confirmation of the session key.
            let derivations = if profile == Profile::Sound { 3 } else { 2 };
            assert_eq!(meter.tally(Primitive::Derive).calls, derivations);
            assert_eq!(group.members[1].1.group_key(), group.controller.group_key());
        }
    }
}

/// XOR does not protect the key, but the backward chain must lead to a key that the member holds.
#[test]
fn a_changed_backward_key_or_record_is_noticed_without_any_protection() {
    for single in [false, true] {
        let mut group = Group::with(Profile::Published, 8, single);
        for command in [Command::Rekey, Command::Remove(MemberId(5))] {
            let sleeper = group.members.remove(0);
            group.command(command);
            group.members.insert(0, sleeper);
            let genuine = group.recorded.last().unwrap().clone();
            let before = group.members[0].1.group_key().map(|(epoch, key)| (epoch, key.clone()));
            for place in genuine.len() - 16..genuine.len() {
                let mut changed = genuine.clone();
                changed[place] ^= 1;
                let (result, _) = group.offer(0, Channel::Open, &changed);
                assert_eq!(result, Err(Misbehaviour::WrongKey.into()));
                let after = group.members[0].1.group_key().map(|(epoch, key)| (epoch, key.clone()));
                assert_eq!(after, before);
            }
            assert_eq!(group.offer(0, Channel::Open, &genuine).0, Ok(()));
            assert_eq!(group.members[0].1.group_key(), group.controller.group_key());
        }
    }
}
