//! Members without a service get their key although messages are lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use groupkey::catalogue::{Class, Profile};
use groupkey::error::Misuse;
use groupkey::event_order::{self, Evict, Join, Rules};
use groupkey::protection::Guard;
use groupkey::{
    Context, Epoch, GroupContext, GroupId, Instance, Key, MemberId, Operation, Outbox, PartyId,
    Recipient, Setting, SubgroupId, Suite, catalogue,
};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::{Keyring, Secret};
use groupkey_mqtt::peer::{Peer, PeerSettings, PeerSettingsError};
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::store::StoreError;
use groupkey_mqtt::store::{DecisionStore, Decisions};
use groupkey_mqtt::{GroupForm, Input, Output, Runtime};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::machines::virtual_group::assert_grown;

mod insider;

/// Three peers and a broker that drops the given messages for a while.
struct Circle {
    scheme: &'static str,
    guard: Guard,
    peers: BTreeMap<u32, (Peer, BTreeSet<String>)>,
    events: BTreeMap<u32, Vec<MemberEvent>>,
    on_the_way: VecDeque<Publish>,
    now: u64,
    rng: ChaCha20Rng,
    /// Whether a message does not reach a peer.
    loses: fn(u32, &Publish) -> bool,
    lost: Vec<Publish>,
    said: Vec<Publish>,
    /// Until when, ns.
    lossy_until: u64,
    /// What operators gave to the peers.
    words: BTreeMap<u32, Vec<Vec<u8>>>,
    memories: BTreeMap<u32, SharedMemory>,
    rules: Rules,
}

/// Outlives its peer.
#[derive(Clone, Default)]
struct SharedMemory(Arc<Mutex<Decisions>>);

impl DecisionStore for SharedMemory {
    fn load(&mut self) -> Result<Decisions, StoreError> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn keep(&mut self, decisions: &Decisions) -> Result<(), StoreError> {
        *self.0.lock().unwrap() = decisions.clone();
        Ok(())
    }
}

/// The number whose identity is the operator's.
const OPERATOR: u32 = 200;

const PREFIX: &str = "circle";
const SECOND: u64 = 1_000_000_000;
/// The code of messages about the order of events: after version, group and epoch comes the operation.
const ORDER: u8 = 11;
const SCHEMES: [&str; 4] = ["tgdh", "gdh2", "ckd", "bd"];

impl Circle {
    fn new(scheme: &'static str, loses: fn(u32, &Publish) -> bool) -> Self {
        Self::ruled(scheme, Rules::default(), loses)
    }

    fn ruled(scheme: &'static str, rules: Rules, loses: fn(u32, &Publish) -> bool) -> Self {
        Self::protected(scheme, Guard::Signature, rules, loses)
    }

    fn protected(
        scheme: &'static str,
        guard: Guard,
        rules: Rules,
        loses: fn(u32, &Publish) -> bool,
    ) -> Self {
        let rng = ChaCha20Rng::seed_from_u64(1);
        let mut circle = Self {
            scheme,
            guard,
            peers: BTreeMap::new(),
            events: BTreeMap::new(),
            on_the_way: VecDeque::new(),
            now: SECOND,
            rng,
            loses,
            lost: Vec::new(),
            said: Vec::new(),
            lossy_until: 10 * SECOND,
            words: BTreeMap::new(),
            memories: BTreeMap::new(),
            rules,
        };
        (1..=3).for_each(|number| circle.arrive(number));
        circle
    }

    /// The same group after 20 s, which has evicted the third peer. That one is switched off.
    fn without_third(scheme: &'static str) -> Self {
        let mut circle = Self::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        let (now, rng) = (circle.now, &mut circle.rng);
        circle.peers.get_mut(&1).unwrap().0.remove(THREE, now, rng).unwrap();
        circle.run_until(20 * SECOND);
        circle.peers.remove(&3);
        circle.now = 20 * SECOND;
        circle
    }

    /// A device is switched on, or on again.
    fn arrive(&mut self, number: u32) {
        let mut settings = settings(self.scheme, number);
        settings.form.guard = self.guard;
        settings.rules = self.rules;
        settings.words = self.words.get(&number).cloned().unwrap_or_default();
        let memory = self.memories.entry(number).or_default().clone();
        let mut peer = Peer::open(settings, Box::new(memory)).unwrap();
        peer.handle(Input::Connected, self.now, &mut self.rng).unwrap();
        self.peers.insert(number, (peer, BTreeSet::new()));
    }

    /// Runs until this time, or until no peer has anything to do.
    fn run_until(&mut self, end: u64) {
        for _ in 0..100_000 {
            if self.carry() {
                continue;
            }
            if !self.tick(end) {
                return;
            }
        }
        panic!("{}: it never ends", self.scheme);
    }

    /// Goes on to the next time at which a peer has something to do. Returns whether there is one
    /// until `end`.
    fn tick(&mut self, end: u64) -> bool {
        let next = self.peers.values().filter_map(|(peer, _)| peer.deadline()).min();
        let Some(next) = next.filter(|&next| next <= end) else { return false };
        self.now = self.now.max(next);
        for (peer, _) in self.peers.values_mut() {
            if peer.deadline().is_some_and(|deadline| deadline <= self.now) {
                peer.handle(Input::Tick, self.now, &mut self.rng).unwrap();
            }
        }
        true
    }

    /// Runs until this time while somebody answers every message before anybody else does.
    fn run_against(&mut self, end: u64, mut answers: impl FnMut(&Publish) -> Vec<Publish>) {
        loop {
            let said = self.said.len();
            if self.carry() {
                let Some(last) = self.said.get(said).cloned() else { continue };
                answers(&last).into_iter().for_each(|answer| self.on_the_way.push_front(answer));
                continue;
            }
            if !self.tick(end) {
                return;
            }
        }
    }

    /// Publishes the peers' outputs, and delivers one message.
    fn carry(&mut self) -> bool {
        for (number, (peer, topics)) in &mut self.peers {
            while let Some(output) = peer.poll().unwrap() {
                match output {
                    Output::Publish(publish) => self.on_the_way.push_back(publish),
                    Output::Subscribe(topic) => drop(topics.insert(topic)),
                    Output::Unsubscribe(topic) => drop(topics.remove(&topic)),
                    Output::Event(event) => self.events.entry(*number).or_default().push(event),
                }
            }
        }
        let Some(publish) = self.on_the_way.pop_front() else { return false };
        self.said.push(publish.clone());
        for (&number, (peer, topics)) in &mut self.peers {
            let is_lost = self.now < self.lossy_until && (self.loses)(number, &publish);
            if topics.contains(&publish.topic) && is_lost {
                self.lost.push(publish.clone());
            } else if topics.contains(&publish.topic) {
                let input = Input::Arrived { topic: &publish.topic, payload: &publish.payload };
                let before = peer.counters();
                peer.handle(input, self.now, &mut self.rng).unwrap();
                assert_grown(before, peer.counters());
            }
        }
        true
    }

    /// Of the keys that there are.
    fn epochs(&self) -> Vec<u64> {
        self.keys().iter().flatten().map(|(epoch, _)| epoch.0).collect()
    }

    fn keys(&self) -> Vec<Option<(Epoch, Key)>> {
        let keys = self.peers.values().map(|(peer, _)| peer.group_key());
        keys.map(|key| key.map(|(epoch, key)| (epoch, key.clone()))).collect()
    }

    /// The founding that the first peer is in, and its context.
    fn life(&self) -> (Instance, GroupContext) {
        let (peer, _) = &self.peers[&1];
        (peer.instance().unwrap(), *peer.context())
    }

    /// How many messages each peer has accepted.
    fn taken(&self) -> Vec<u64> {
        self.peers.values().map(|(peer, _)| peer.counters().taken).collect()
    }

    fn assert_agreed(&self) {
        let keys = self.keys();
        assert!(keys[0].is_some(), "{}: {keys:?}", self.scheme);
        assert!(keys.iter().all(|key| *key == keys[0]), "{}: {keys:?}", self.scheme);
    }
}

#[test]
fn who_is_taken_out_hears_so_and_stays_out_until_it_is_started_again() {
    for (scheme, by) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, 1), (scheme, 3)]) {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
        let (now, rng) = (circle.now, &mut circle.rng);
        circle.peers.get_mut(&by).unwrap().0.remove(MemberId(3), now, rng).unwrap();
        circle.run_until(20 * SECOND);
        let keys = circle.keys();
        assert!(keys[0].is_some() && keys[0] == keys[1] && keys[2].is_none(), "{scheme}: {keys:?}");
        let out = circle.events[&3].iter().filter(|&event| *event == MemberEvent::Evicted);
        assert_eq!(out.count(), 1, "{scheme}");
        assert!(!circle.events[&1].contains(&MemberEvent::Evicted), "{scheme}");

        let (peer, _) = circle.peers.get_mut(&3).unwrap();
        let not_member = Err(Misuse::NotMember(MemberId(3)).into());
        assert!(peer.is_out() && peer.deadline().is_none(), "{scheme}");
        assert_eq!(peer.say(b"still here", circle.now, &mut circle.rng), not_member);
        assert_eq!(peer.remove(MemberId(1), circle.now, &mut circle.rng), not_member);
        for input in [Input::Connected, Input::Tick] {
            peer.handle(input, circle.now, &mut circle.rng).unwrap();
        }
        circle.run_until(100 * SECOND);
        assert_eq!(circle.keys(), keys, "{scheme}: it does not come back by itself");
        // Its device forgets everything, or is another one with the same identity.
        circle.memories.remove(&3);
        circle.arrive(3);
        circle.run_until(200 * SECOND);
        if by == 3 {
            circle.assert_agreed();
            continue;
        }
        assert_eq!(circle.keys(), keys, "{scheme}: it does not come back by asking");
        circle
            .words
            .insert(3, vec![word(scheme, |cx| event_order::ticket(cx, Epoch(2), THREE, &[]))]);
        circle.arrive(3);
        circle.run_until(300 * SECOND);
        circle.assert_agreed();
    }
}

const THREE: MemberId = MemberId(3);
const FOUR: MemberId = MemberId(4);

/// What the operator signs.
fn word(scheme: &'static str, act: impl FnOnce(&mut Context<'_>)) -> Vec<u8> {
    word_under(Guard::Signature, scheme, act)
}

fn word_under(guard: Guard, scheme: &'static str, act: impl FnOnce(&mut Context<'_>)) -> Vec<u8> {
    let context = context_under(guard, scheme, Instance::default());
    signed(context, SubgroupId(0).into(), OPERATOR as u8, act).payload
}

/// The members restart, and with them their group. The evicted peer is there, too.
#[test]
fn an_eviction_outlives_restarts_and_new_beginnings() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        let (now, rng) = (circle.now, &mut circle.rng);
        circle.peers.get_mut(&1).unwrap().0.remove(THREE, now, rng).unwrap();
        circle.run_until(20 * SECOND);
        // One member restarts, and must begin anew with the other.
        circle.now = 20 * SECOND;
        circle.arrive(2);
        circle.run_until(60 * SECOND);
        circle.peers.clear();
        circle.now = 60 * SECOND;
        let events = circle.events.remove(&3);
        assert!(events.is_some_and(|events| events.contains(&MemberEvent::Evicted)));
        circle.arrive(3);
        circle.run_until(61 * SECOND);
        assert!(circle.peers[&3].0.is_out(), "{scheme}: it remembers");
        assert_eq!(circle.events[&3], [MemberEvent::Evicted]);
        circle.memories.remove(&3);
        [3, 1, 2].into_iter().for_each(|number| circle.arrive(number));
        circle.run_until(200 * SECOND);
        let keys = circle.keys();
        assert!(keys[0].is_some() && keys[0] == keys[1] && keys[2].is_none(), "{scheme}: {keys:?}");
    }
}

/// The members were never told by the one that brings it.
#[test]
fn an_operators_word_evicts_whoever_brings_it() {
    let rules = Rules { evict: Evict::Operators, join: Join::Ticket };
    let signed = SCHEMES.map(|scheme| (scheme, Guard::Signature));
    // The word has a signature of its own there, too.
    for (scheme, guard) in signed.into_iter().chain([("tgdh", Guard::Merkle)]) {
        let word = |act: &dyn Fn(&mut Context<'_>)| word_under(guard, scheme, act);
        let mut circle = Circle::protected(scheme, guard, rules, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
        let (now, rng) = (circle.now, &mut circle.rng);
        let refused = circle.peers.get_mut(&1).unwrap().0.remove(THREE, now, rng);
        assert_eq!(refused, Err(Misuse::WrongRole.into()));
        let ticket = word(&|cx| event_order::ticket(cx, Epoch(0), MemberId(4), &[THREE]));
        let eviction = word(&|cx| event_order::eviction(cx, Epoch(1), THREE, Epoch(2)));
        circle.now = 20 * SECOND;
        circle.arrive(4);
        circle.run_until(30 * SECOND);
        assert_eq!(circle.keys()[3], None, "{scheme}: it has no ticket");
        circle.words.insert(4, vec![ticket, eviction]);
        circle.now = 30 * SECOND;
        circle.arrive(4);
        circle.run_until(100 * SECOND);
        assert!(circle.events[&3].contains(&MemberEvent::Evicted), "{scheme}");
        circle.peers.remove(&3);
        circle.assert_agreed();
        assert!(circle.memories.values().all(|memory| {
            let decisions = memory.0.lock().unwrap();
            decisions.evicted.iter().any(|&(member, _)| member == THREE)
        }));
    }
}

/// Nobody says that the third peer is dead, and most schemes need it.
#[test]
fn a_member_that_died_is_taken_for_dead_and_comes_back() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.peers.remove(&3);
        circle.now = 20 * SECOND;
        circle.arrive(4);
        circle.run_until(80 * SECOND);
        circle.assert_agreed();
        assert!(circle.memories[&1].0.lock().unwrap().evicted.is_empty(), "{scheme}");
        // It was only out of reach, and has missed everything.
        circle.now = 80 * SECOND;
        circle.arrive(3);
        circle.run_until(160 * SECOND);
        circle.assert_agreed();
    }
}

/// The first peer announces the eviction, and does not hear so itself. It waits for that.
#[test]
fn an_announcement_that_is_lost_is_repeated_with_the_request() {
    for scheme in SCHEMES {
        let is_announcement =
            |_, sent: &Publish| sent.payload.len() > 6 && sent.payload[4..6] == [ORDER, 3];
        let mut circle = Circle::new(scheme, is_announcement);
        circle.lossy_until = 12 * SECOND;
        circle.run_until(8 * SECOND);
        for at in [10, 14, 20] {
            circle.now = at * SECOND;
            let (peer, _) = circle.peers.get_mut(&2).unwrap();
            let _ = peer.remove(THREE, circle.now, &mut circle.rng);
            circle.run_until((at + 1) * SECOND);
        }
        assert!(!circle.lost.is_empty(), "{scheme}");
        circle.peers.remove(&3);
        circle.assert_agreed();
        assert!(!circle.peers[&1].0.counts_as_member(THREE), "{scheme}");
    }
}

/// The others have the fourth peer as a member from then on, and wait for it.
#[test]
fn who_does_not_hear_that_it_was_admitted_asks_anew() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |to, sent| {
            to == 4 && sent.payload.len() > 6 && sent.payload[4..6] == [ORDER, 3]
        });
        circle.lossy_until = 16 * SECOND;
        circle.run_until(8 * SECOND);
        circle.now = 10 * SECOND;
        circle.arrive(4);
        circle.run_until(100 * SECOND);
        assert!(!circle.lost.is_empty(), "{scheme}");
        circle.assert_agreed();
        assert!(circle.peers[&1].0.counts_as_member(FOUR), "{scheme}");
    }
}

/// A member is away, and the founders restart meanwhile, so that they found a second group.
#[test]
fn a_group_that_was_founded_twice_becomes_one_again() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |to, _| to == 4);
        circle.lossy_until = 0;
        circle.run_until(8 * SECOND);
        circle.now = 10 * SECOND;
        circle.arrive(4);
        circle.run_until(20 * SECOND);
        circle.assert_agreed();
        circle.now = 20 * SECOND;
        circle.lossy_until = 60 * SECOND;
        // Nobody remembers anything.
        circle.memories.clear();
        (1..=3).for_each(|number| circle.arrive(number));
        circle.run_until(60 * SECOND);
        let epochs = circle.epochs();
        assert_eq!(epochs[..3], [1, 1, 1], "{scheme}: {epochs:?}");
        circle.now = 60 * SECOND;
        for (peer, _) in circle.peers.values_mut() {
            peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
        }
        circle.run_until(300 * SECOND);
        circle.assert_agreed();
        assert!(circle.peers.values().all(|(peer, _)| peer.is_settled()), "{scheme}");
    }
}

/// All peers ask to join a group that is gone. The one that had the key said so, and died.
#[test]
fn founders_that_nobody_takes_in_found_the_group_anew() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.now = 20 * SECOND;
        circle.peers.remove(&1);
        circle.peers.remove(&2);
        (1..=2).for_each(|number| circle.arrive(number));
        circle.run_until(22 * SECOND);
        circle.now = 22 * SECOND;
        circle.arrive(3);
        circle.run_until(600 * SECOND);
        circle.assert_agreed();
    }
}

/// The third peer has joined again before, so that the others must ask it for the epoch. Each of
/// them would wait for the other one's answer, although both have just restarted.
#[test]
fn if_all_but_one_restart_the_last_one_tells_them_the_epoch() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        for (at, number) in [(10, 3), (30, 2), (32, 1)] {
            circle.run_until(at * SECOND);
            circle.now = at * SECOND;
            circle.arrive(number);
        }
        circle.run_until(100 * SECOND);
        circle.assert_agreed();
    }
}

/// The broker publishes the last will of the third peer's connection. Anybody could.
#[test]
fn a_last_will_is_a_hint_that_silence_confirms() {
    for scheme in SCHEMES {
        for is_dead in [false, true] {
            let mut circle = Circle::new(scheme, |_, _| false);
            circle.run_until(8 * SECOND);
            circle.now = 20 * SECOND;
            if is_dead {
                circle.peers.remove(&3);
            }
            let before = circle.said.len();
            for _ in 0..100 {
                let (topic, payload) = settings(scheme, 3).will().unwrap();
                circle.on_the_way.push_back(Publish {
                    id: 0,
                    topic,
                    payload,
                    retain: false,
                    expiry: None,
                });
            }
            circle.run_until(31 * SECOND);
            assert!(circle.epochs().iter().all(|&epoch| epoch == 1), "{scheme}");
            circle.run_until(60 * SECOND);
            circle.assert_agreed();
            assert_eq!(circle.epochs()[0] > 1, is_dead, "{scheme}: {:?}", circle.epochs());
            if !is_dead {
                let said = circle.said.len() - before - 100;
                assert!(said <= 4, "two ask one, which answers: {said}");
            }
        }
    }
}

/// The third peer hears nothing for a while, but keeps its state.
#[test]
fn a_member_that_was_taken_for_dead_rejoins_by_itself() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |to, _| to == 3);
        circle.lossy_until = 0;
        circle.run_until(8 * SECOND);
        circle.now = 20 * SECOND;
        circle.lossy_until = 80 * SECOND;
        circle.arrive(4);
        circle.run_until(79 * SECOND);
        circle.now = 80 * SECOND;
        let (peer, _) = circle.peers.get_mut(&3).unwrap();
        peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
        circle.run_until(1_000 * SECOND);
        circle.assert_agreed();
        assert!(!circle.events[&3].contains(&MemberEvent::Evicted), "{scheme}");
    }
}

/// The third peer is a member, and claims a later epoch whenever somebody asks.
#[test]
fn a_member_that_lies_about_the_epoch_disturbs_ever_more_rarely() {
    let scheme = "tgdh";
    let mut circle = Circle::new(scheme, |_, _| false);
    circle.run_until(8 * SECOND);
    circle.now = 20 * SECOND;
    let (mut said, mut answers) = (circle.said.len(), 0);
    let (instance, context) = circle.life();
    while circle.now < 3_620 * SECOND {
        let far = 1_000 + circle.now / SECOND;
        circle.on_the_way.push_back(said_by_third(context, far, Operation::Rekey, 0, &[]));
        for _ in 0..1_000 {
            if !circle.carry() {
                break;
            }
            let last = circle.said.last().filter(|_| circle.said.len() > said).cloned();
            said = circle.said.len();
            if let Some(question) = last.filter(|sent| is_greeting(sent) && is_question(sent)) {
                circle.on_the_way.push_front(answered_by_third(scheme, instance, &question, far));
                answers += 1;
            }
        }
        circle.run_until(circle.now + SECOND);
        circle.now += 2 * SECOND;
    }
    let epochs = circle.epochs();
    assert!(answers > 10 && epochs[0] > 2, "{answers} {epochs:?}");
    assert!(epochs[0] < 60, "in an hour, of two that are lied to: {epochs:?}");
}

/// An evicted peer still has its identity, and the others' files may still name it.
#[test]
fn an_evicted_peer_cannot_have_the_members_begin_again() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
        let (now, rng) = (circle.now, &mut circle.rng);
        circle.peers.get_mut(&1).unwrap().0.remove(MemberId(3), now, rng).unwrap();
        circle.run_until(20 * SECOND);
        circle.peers.remove(&3);
        let (keys, said) = (circle.keys(), circle.said.len());
        let (_, context) = circle.life();
        assert!(keys[0].is_some() && keys[0] == keys[1], "{scheme}: {keys:?}");

        for minute in 1..=5 {
            circle.now = circle.now.max((20 + 60 * minute) * SECOND);
            let far = 1_000_000 + minute;
            let of_the_scheme = said_by_third(context, far, Operation::Rekey, 0, &[]);
            // An announcement that creates a group of 3, 1 and 2, with two tickets.
            let create = Operation::Create as u64;
            let announced =
                said_by_third(context, far, Operation::Order, 3, &[&[create], &[3, 1, 2], &[7, 7]]);
            circle.on_the_way.extend([of_the_scheme, announced]);
            circle.run_until((20 + 60 * minute + 59) * SECOND);
        }
        assert_eq!(circle.keys(), keys, "{scheme}");
        assert_eq!(circle.said.len(), said + 10, "{scheme}: only the evicted peer says anything");
    }
}

/// The first member doubts its key, and the evicted peer is the fastest to answer.
#[test]
fn an_evicted_peer_that_answers_a_question_is_not_believed() {
    for scheme in SCHEMES {
        let mut circle = Circle::without_third(scheme);
        let keys = circle.keys();
        let (peer, _) = circle.peers.get_mut(&1).unwrap();
        peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
        let mut said = circle.said.len();
        let mut answers = 0;
        let (instance, _) = circle.life();
        while circle.carry() {
            let last = circle.said.last().filter(|_| circle.said.len() > said).cloned();
            said = circle.said.len();
            if let Some(question) = last.filter(|sent| is_greeting(sent) && is_question(sent)) {
                circle.on_the_way.push_front(answered_by_third(scheme, instance, &question, 1_000));
                answers += 1;
            }
        }
        circle.run_until(100 * SECOND);
        assert!(answers > 0);
        assert_eq!(circle.peers[&1].0.counters().refused, answers, "{scheme}");
        assert_eq!(circle.keys(), keys, "{scheme}");
    }
}

/// Somebody answers in the third peer's name, without its key.
#[test]
fn an_answer_that_a_peer_did_not_sign_is_not_believed() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.peers.remove(&3);
        let (peer, _) = circle.peers.get_mut(&1).unwrap();
        peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
        let ((instance, _), mut forgeries, mut said) = (circle.life(), 0, circle.said.len());
        while circle.carry() {
            let last = circle.said.last().filter(|_| circle.said.len() > said).cloned();
            said = circle.said.len();
            let is_ours = |sent: &Publish| is_greeting(sent) && is_question(sent);
            if let Some(question) = last.filter(is_ours) {
                for epoch in [0, 1_000] {
                    let mut answer = answered_by_third(scheme, instance, &question, epoch);
                    *answer.payload.last_mut().unwrap() ^= 1;
                    circle.on_the_way.push_front(answer);
                    forgeries += 1;
                }
            }
        }
        assert!(forgeries > 0);
        assert_eq!(circle.peers[&1].0.counters().forged, forgeries, "{scheme}");
    }
}

#[test]
fn a_peer_counts_each_message_that_it_refuses() {
    type Founding = (Vec<(u32, ByteArray<16>)>, ByteArray<64>);
    let mut circle = Circle::new("gdh2", |_, _| false);
    circle.run_until(8 * SECOND);
    assert!(circle.peers.values().all(|(peer, _)| peer.counters().overflowed == 0));
    let founding = |sent: &Publish| minicbor::decode::<Founding>(&sent.payload).ok();
    let recorded = circle.said.iter().find_map(founding).unwrap();
    let nobodys: Founding = (Vec::new(), recorded.1);
    let mut forged = recorded.clone();
    forged.1[0] ^= 1;
    let [join, to_peer, epoch] =
        ["join", "to/m000002", "epoch"].map(|topic| format!("{PREFIX}/{topic}"));
    let cases = [
        ("malformed", &join, vec![0xff; 40]),
        ("malformed", &join, minicbor::to_vec(&nobodys).unwrap()),
        ("forged", &join, minicbor::to_vec(&forged).unwrap()),
        ("refused", &join, minicbor::to_vec(&recorded).unwrap()),
        ("malformed", &epoch, vec![0x80]),
        ("malformed", &epoch, vec![0x41; 1 << 20]),
        ("oversized", &to_peer, vec![0x41; (1 << 20) + 1]),
    ];
    // Only a peer without a key judges a founding.
    circle.arrive(2);
    let (peer, _) = circle.peers.get_mut(&2).unwrap();
    for (reason, topic, payload) in cases {
        let count = |peer: &Peer| {
            let mut counts = peer.counters().by_reason().into_iter();
            counts.find_map(|(name, count)| (name == reason).then_some(count)).unwrap()
        };
        for _ in 0..2 {
            let (before, all) = (count(peer), peer.counters().refusals());
            let input = Input::Arrived { topic, payload: &payload };
            peer.handle(input, circle.now, &mut circle.rng).unwrap();
            let after = (count(peer), peer.counters().refusals());
            assert_eq!(after, (before + 1, all + 1), "{reason} {topic}");
        }
    }
}

/// Their clocks are not the same. The key changes once a period, and later after another change.
#[test]
fn peers_change_their_key_after_a_period() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.peers.clear();
        for number in 1..=3 {
            let period = Some(Duration::from_secs(100));
            let mut peer = Peer::new(PeerSettings { period, ..settings(scheme, number) }).unwrap();
            peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
            circle.peers.insert(number, (peer, BTreeSet::new()));
            circle.now += SECOND;
        }
        circle.run_until(60 * SECOND);
        let epoch = |circle: &Circle| circle.peers[&1].0.group_key().unwrap().0;
        let first = epoch(&circle);
        circle.run_until(150 * SECOND);
        assert_eq!(epoch(&circle), first.next(), "{scheme}");
        circle.run_until(250 * SECOND);
        assert_eq!(epoch(&circle), first.next().next(), "{scheme}");
        let keys: BTreeSet<_> = circle
            .peers
            .values()
            .map(|(peer, _)| peer.group_key().map(|(epoch, key)| (epoch, *key.as_bytes())))
            .collect();
        assert_eq!(keys.len(), 1, "{scheme}");
    }
}

#[test]
fn rules_that_need_operators_are_refused_without_one() {
    let (evict, join) = (Evict::Operators, Join::Ticket);
    for rules in [Rules { evict, ..Rules::default() }, Rules { join, ..Rules::default() }] {
        let with = PeerSettings { rules, ..settings("tgdh", 1) };
        assert!(Peer::new(with.clone()).is_ok());
        let without = PeerSettings { operators: Vec::new(), ..with };
        assert_eq!(Peer::new(without).err(), Some(PeerSettingsError::NoOperators));
    }
}

/// It answers the request to join before the group does, with a roster of its own.
#[test]
fn an_evicted_peer_welcomes_nobody() {
    let scheme = "gdh2";
    let mut circle = Circle::new(scheme, |_, _| false);
    circle.run_until(8 * SECOND);
    let (now, rng) = (circle.now, &mut circle.rng);
    circle.peers.get_mut(&1).unwrap().0.remove(MemberId(3), now, rng).unwrap();
    circle.run_until(20 * SECOND);
    circle.peers.remove(&3);
    circle.now = 20 * SECOND;
    circle.arrive(4);
    let mut welcomes = 0;
    let (_, context) = circle.life();
    circle.run_against(29 * SECOND, |last| {
        if !last.topic.ends_with("/all") || last.payload[4..7] != [ORDER, 0, 4 + 1] {
            return Vec::new();
        }
        welcomes += 3;
        // For the next epoch, and both places that a welcome can come from.
        let welcome = |(epoch, roster): (u64, [u64; 3])| {
            signed_by_third(context, |cx| {
                let exponent = cx.random_exponent();
                let element = cx.generator_power(&exponent);
                let to = Recipient::Member(MemberId(4));
                let mut draft = cx.draft(to, Epoch(epoch), Operation::Add, 4);
                draft.array(3);
                roster.iter().for_each(|&id| _ = draft.number(id));
                draft.elements(&[element.clone(), element.clone(), element]).send();
            })
        };
        [(3, [1, 3, 4]), (3, [3, 1, 4]), (4, [1, 3, 4])].map(welcome).to_vec()
    });
    assert!(welcomes > 0);
    circle.assert_agreed();
    assert_eq!(circle.epochs(), [3, 3, 3], "and nobody had to begin again");
}

/// All devices lose their memory and found the group anew: the same members, number and prefix.
/// Everything that was ever said in the first founding is said again, at every stage.
#[test]
fn nothing_of_an_earlier_founding_of_peers_is_accepted() {
    for scheme in ["tgdh", "gdh2", "bd"] {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
        let (first, _) = circle.life();
        for act in [
            |peer: &mut Peer, now, rng: &mut ChaCha20Rng| peer.say(b"clear road", now, rng),
            |peer: &mut Peer, now, rng: &mut ChaCha20Rng| peer.remove(THREE, now, rng),
        ] {
            let (peer, _) = circle.peers.get_mut(&1).unwrap();
            act(peer, circle.now, &mut circle.rng).unwrap();
            circle.run_until(circle.now + 6 * SECOND);
        }
        circle.peers.remove(&3);
        circle.now = 30 * SECOND;
        circle.arrive(4);
        circle.run_until(40 * SECOND);
        circle.assert_agreed();
        assert_eq!(circle.epochs(), [3, 3, 3]);
        let recorded = circle.said.clone();

        circle.peers.clear();
        circle.memories.clear();
        circle.now = 60 * SECOND;
        [1, 2].into_iter().for_each(|number| circle.arrive(number));
        circle.on_the_way.extend(recorded.clone());
        circle.run_until(70 * SECOND);
        assert_eq!(circle.keys(), [None, None], "{scheme}: one founder is not there");
        circle.arrive(3);
        circle.on_the_way.extend(recorded.clone());
        circle.run_until(80 * SECOND);
        circle.assert_agreed();
        assert_eq!(circle.epochs(), [1, 1, 1], "{scheme}");
        let (second, _) = circle.life();
        assert_ne!(first, second);

        circle.events.clear();
        let (keys, taken) = (circle.keys(), circle.taken());
        for second in 80..140 {
            circle.now = second * SECOND;
            match second % 3 {
                0 => circle.on_the_way.extend(recorded.clone()),
                1 => circle.on_the_way.extend(recorded.iter().rev().cloned()),
                _ => {}
            }
            circle.run_until((second + 1) * SECOND);
        }
        assert_eq!(circle.keys(), keys, "{scheme}");
        assert_eq!(circle.taken(), taken, "{scheme}");
        assert!(circle.events.is_empty(), "{scheme}: {:?}", circle.events);

        circle.arrive(4);
        circle.on_the_way.extend(recorded.clone());
        circle.run_against(150 * SECOND, |last| {
            // Whatever the group says, somebody repeats what was once said like it before.
            let is_like = |old: &&Publish| old.topic == last.topic && !recorded.contains(last);
            recorded.iter().filter(is_like).cloned().collect()
        });
        circle.assert_agreed();
        assert_eq!(circle.epochs(), [2, 2, 2, 2], "{scheme}");
    }
}

/// A newcomer that knows nothing hears of the group from an evicted peer, too. That one says that the
/// others were evicted, and announces a group of itself and the newcomer as soon as that one asks.
#[test]
fn an_evicted_peer_leads_no_newcomer() {
    for scheme in SCHEMES {
        let mut circle = Circle::without_third(scheme);
        circle.arrive(4);
        let mut lies = [0, 0];
        let (instance, context) = circle.life();
        circle.run_against(29 * SECOND, |last| {
            if is_greeting(last) && is_question(last) && last.payload[1] == 4 {
                lies[0] += 1;
                return vec![reported_by_third(scheme, instance, last, 2, vec![(1, 2), (2, 2)])];
            }
            if !last.topic.ends_with("/all") || last.payload[4..7] != [ORDER, 0, 4 + 1] {
                return Vec::new();
            }
            lies[1] += 1;
            let (create, ticket) = (Operation::Create as u64, ticket_of(last));
            let body: [&[u64]; 4] = [&[create], &[3, 4], &[ticket], &[]];
            vec![said_by_third(context, 3, Operation::Order, 3, &body)]
        });
        assert!(lies[0] > 0 && lies[1] > 0, "{scheme}: {lies:?}");
        circle.assert_agreed();
        assert!(circle.epochs().iter().all(|&epoch| epoch == 3), "{scheme}: {:?}", circle.epochs());
    }
}

/// A member that restarted asks to get back in, and its ticket is public. An evicted peer announces
/// at once that it leads the new group, with that ticket.
#[test]
fn an_evicted_peer_leads_nobody_that_asks_to_get_back_in() {
    for scheme in SCHEMES {
        let mut circle = Circle::without_third(scheme);
        circle.arrive(2);
        let mut lies = 0;
        let (_, context) = circle.life();
        circle.run_against(40 * SECOND, |last| {
            if !last.topic.ends_with("/all") || last.payload[4..7] != [ORDER, 0, 2 + 1] {
                return Vec::new();
            }
            lies += 1;
            let create = Operation::Create as u64;
            let ticket = ticket_of(last);
            let leads = |others: &[u64]| {
                let body: [&[u64]; 4] = [&[create], others, &[ticket], &[]];
                said_by_third(context, 3, Operation::Order, 3, &body)
            };
            vec![leads(&[3, 2]), leads(&[3, 1, 2])]
        });
        assert!(lies > 0, "{scheme}");
        circle.assert_agreed();
        assert!(circle.epochs().iter().all(|&epoch| epoch >= 3), "{scheme}: {:?}", circle.epochs());
    }
}

/// What an operator's ticket undoes is also undone in the peer's own memory.
#[test]
fn an_evicted_peer_that_remembers_comes_back_by_a_ticket() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        let (now, rng) = (circle.now, &mut circle.rng);
        circle.peers.get_mut(&1).unwrap().0.remove(THREE, now, rng).unwrap();
        circle.run_until(20 * SECOND);
        for (epoch, is_in) in [(1, false), (2, true)] {
            circle.now += 20 * SECOND;
            let ticket = word(scheme, |cx| event_order::ticket(cx, Epoch(epoch), THREE, &[]));
            circle.words.insert(3, vec![ticket]);
            circle.arrive(3);
            circle.run_until(circle.now + 60 * SECOND);
            assert_eq!(circle.peers[&3].0.is_out(), !is_in, "{scheme}");
        }
        circle.assert_agreed();
        assert!(circle.memories[&3].0.lock().unwrap().evicted.is_empty());
    }
}

#[test]
fn a_flood_of_a_recorded_question_takes_nobodys_answers() {
    let mut circle = Circle::new("tgdh", |_, _| false);
    circle.run_until(8 * SECOND);
    let is_of_third =
        |sent: &&Publish| is_greeting(sent) && is_question(sent) && sent.payload[1] == 3;
    let question = circle.said.iter().find(is_of_third).unwrap().clone();
    circle.peers.remove(&3);
    circle.now = 20 * SECOND;
    for tick in 0..100 {
        if tick == 50 {
            circle.arrive(3);
        }
        // The recording always comes first.
        circle.on_the_way.push_front(question.clone());
        circle.now += SECOND / 10;
        circle.run_until(circle.now);
    }
    circle.assert_agreed();
}

/// The other founders are switched off, and their questions were recorded.
#[test]
fn recorded_questions_make_no_founder_believe_that_all_are_there() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        let questions = circle.said.iter().filter(|sent| is_greeting(sent) && is_question(sent));
        let questions: Vec<_> = questions.cloned().collect();
        circle.peers.clear();
        circle.now = 20 * SECOND;
        circle.arrive(1);
        let said = circle.said.len();
        circle.on_the_way.extend(questions);
        circle.run_until(40 * SECOND);
        assert!(circle.said[said..].iter().all(is_greeting), "{scheme}: it only asks and answers");
        [2, 3].into_iter().for_each(|number| circle.arrive(number));
        circle.run_until(45 * SECOND);
        circle.assert_agreed();
    }
}

/// A message to the group, signed by the third peer. A body's first number stands alone, and arrays
/// follow.
fn said_by_third(
    context: GroupContext,
    epoch: u64,
    operation: Operation,
    kind: u8,
    body: &[&[u64]],
) -> Publish {
    signed_by_third(context, |cx| {
        let mut draft = cx.draft(Recipient::Group, Epoch(epoch), operation, kind);
        for (place, numbers) in body.iter().enumerate() {
            if place > 0 {
                draft.array(numbers.len());
            }
            for &number in *numbers {
                draft.number(number);
            }
        }
        draft.send();
    })
}

/// The ticket of a request to join. It is the body's only number, before a signature of 2 + 64 bytes.
fn ticket_of(request: &Publish) -> u64 {
    let content = &request.payload[..request.payload.len() - 66];
    u64::from_be_bytes(content[content.len() - 8..].try_into().unwrap())
}

fn signed_by_third(context: GroupContext, act: impl FnOnce(&mut Context<'_>)) -> Publish {
    signed(context, MemberId(3).into(), 3, act)
}

fn context(scheme: &str, instance: Instance) -> GroupContext {
    context_under(Guard::Signature, scheme, instance)
}

fn context_under(guard: Guard, scheme: &str, instance: Instance) -> GroupContext {
    let configuration = catalogue::scheme(scheme).unwrap().configuration(Profile::Sound);
    configuration.setting(GroupId(1), Suite::Standard, guard, PREFIX, instance).context
}

/// The one message that `act` sends, signed by a party whose identity has these bytes.
fn signed(
    context: GroupContext,
    me: PartyId,
    identity: u8,
    act: impl FnOnce(&mut Context<'_>),
) -> Publish {
    let mut keyring = Keyring::default();
    keyring.own(me, &Secret::from_bytes([identity; 32]));
    let setting = Setting::new(GroupId(1), Suite::Standard).with_context(context);
    let (mut outbox, mut probe, mut rng) = (Outbox::new(), (), ChaCha20Rng::seed_from_u64(9));
    let protection = keyring.protection(Guard::Signature, me).unwrap();
    let mut cx = Context::new(setting, me, protection, &mut rng, 0, &mut outbox, &mut probe);
    act(&mut cx);
    let sent = outbox.messages().next().unwrap();
    let topic = match sent.to {
        Recipient::Member(MemberId(id)) => format!("circle/to/m{id:06}"),
        _ => "circle/all".to_owned(),
    };
    Publish { id: 0, topic, payload: sent.bytes.to_vec(), retain: false, expiry: None }
}

fn settings(scheme: &str, number: u32) -> PeerSettings {
    let identity = |number: u32| Secret::from_bytes([number as u8; 32]);
    PeerSettings {
        prefix: PREFIX.to_owned(),
        me: MemberId(number),
        identity: identity(number),
        form: GroupForm::of(catalogue::scheme(scheme).unwrap()),
        directory: (1..=4).map(|id| (MemberId(id), identity(id).public())).collect(),
        founders: [1, 2, 3].map(MemberId).to_vec(),
        rules: Rules::default(),
        operators: vec![identity(OPERATOR).public()],
        words: Vec::new(),
        messages: Default::default(),
        period: None,
    }
}

fn is_greeting(publish: &Publish) -> bool {
    minicbor::decode::<Hello>(&publish.payload).is_ok()
}

fn is_question(hello: &Publish) -> bool {
    let (_, _, _, asker, ..): Hello = minicbor::decode(&hello.payload).unwrap();
    asker.is_none()
}

/// A hello of a peer: member, epoch, nonce, the peer that asked, evicted members, instance, pledge,
/// signature.
type Hello = (
    u32,
    u64,
    ByteArray<16>,
    Option<u32>,
    Vec<(u32, u64)>,
    Option<ByteArray<16>>,
    Option<ByteArray<16>>,
    ByteArray<64>,
);

fn answered_by_third(scheme: &str, instance: Instance, question: &Publish, epoch: u64) -> Publish {
    reported_by_third(scheme, instance, question, epoch, Vec::new())
}

/// The third peer's answer to a question, which says that these were evicted.
fn reported_by_third(
    scheme: &str,
    instance: Instance,
    question: &Publish,
    epoch: u64,
    evicted: Vec<(u32, u64)>,
) -> Publish {
    reported_by(3, scheme, instance, question, epoch, evicted)
}

fn reported_by(
    me: u32,
    scheme: &str,
    instance: Instance,
    question: &Publish,
    epoch: u64,
    evicted: Vec<(u32, u64)>,
) -> Publish {
    let (asker, _, nonce, ..): Hello = minicbor::decode(&question.payload).unwrap();
    let (instance, nobody) = (Some(ByteArray::from(instance.0)), None::<ByteArray<16>>);
    let said = (me, epoch, nonce, Some(asker), &evicted, instance, nobody);
    let said = minicbor::to_vec(said).unwrap();
    let context = context(scheme, Instance::default());
    let parts: [&[u8]; 2] = [context.as_bytes(), &said];
    let signature = Secret::from_bytes([me as u8; 32]).sign("groupkey hello 5", &parts);
    let hello: Hello = (me, epoch, nonce, Some(asker), evicted, instance, nobody, signature.into());
    let (topic, payload) = (format!("circle/to/m{asker:06}"), minicbor::to_vec(hello).unwrap());
    Publish { id: 0, topic, payload, retain: false, expiry: None }
}

#[test]
fn whatever_peers_take_founds_a_group() {
    let distributed =
        catalogue::SCHEMES.iter().filter(|scheme| scheme.class() == Class::Distributed);
    let mut refused = Vec::new();
    for scheme in distributed {
        if Peer::new(settings(scheme.id, 1))
            .is_err_and(|error| error == PeerSettingsError::LongTermKeys)
        {
            refused.push(scheme.id);
            continue;
        }
        let mut circle = Circle::new(scheme.id, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
    }
    assert_eq!(refused, ["cka", "d-lkh", "d-oft", "sender-keys"]);
}

#[test]
fn peers_with_a_mac_are_refused() {
    let mut settings = settings("tgdh", 1);
    settings.form.guard = Guard::Mac;
    assert_eq!(Peer::new(settings).err(), Some(PeerSettingsError::NoMacKey));
}

#[test]
fn a_founder_that_missed_the_creation_gets_the_key() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |to, publish| to == 3 && !is_greeting(publish));
        circle.run_until(8 * SECOND);
        assert!(circle.keys()[2].is_none(), "{scheme}");
        circle.run_until(600 * SECOND);
        circle.assert_agreed();
    }
}

#[test]
fn who_missed_a_new_beginning_does_not_hold_it_up() {
    for scheme in SCHEMES {
        restarted_while(scheme, |to, _| to == 2).assert_agreed();
    }
}

#[test]
fn an_announcement_that_was_lost_is_made_again() {
    for scheme in SCHEMES {
        restarted_while(scheme, |_, publish| publish.payload[4..6] == [ORDER, 3]).assert_agreed();
    }
}

#[test]
fn a_founder_that_restarts_asks_until_it_is_heard() {
    for scheme in SCHEMES {
        restarted_while(scheme, |_, publish| !is_greeting(publish)).assert_agreed();
    }
}

#[test]
fn peers_that_do_not_settle_an_event_ask_for_a_new_beginning() {
    // Only messages about the order of events arrive.
    for scheme in SCHEMES {
        let circle = one_removed_while(scheme, |_, publish| publish.payload[4] != ORDER);
        assert_agreed_without_third(&circle, Epoch(2));
    }
}

#[test]
fn a_peer_that_missed_a_whole_event_gets_the_next_key() {
    for scheme in SCHEMES {
        let circle = one_removed_while(scheme, |to, _| to == 2);
        if circle.events[&1].contains(&MemberEvent::Rekeyed(Epoch(2))) {
            continue; // Its first member needs nobody, and nobody says that there is something to miss.
        }
        assert_agreed_without_third(&circle, Epoch(2));
    }
}

#[test]
fn a_request_to_get_back_in_that_was_lost_is_made_again() {
    let (mut circle, before) = first_missed_removal();
    let is_of_scheme = |publish: &&Publish| publish.payload[4] != ORDER;
    let late = circle.lost.iter().find(is_of_scheme).unwrap().clone();
    circle.loses = |_, _| true;
    circle.lossy_until = circle.now + 10 * SECOND;
    let (peer, _) = circle.peers.get_mut(&1).unwrap();
    let input = Input::Arrived { topic: &late.topic, payload: &late.payload };
    peer.handle(input, circle.now, &mut circle.rng).unwrap();
    circle.run_until(circle.lossy_until);
    assert_eq!(circle.keys(), before, "it was lost");
    circle.run_until(circle.now + 600 * SECOND);
    assert_agreed_without_third(&circle, Epoch(3));
}

#[test]
fn founders_that_hear_recorded_hellos_found_a_group() {
    for scheme in SCHEMES {
        let mut circle = Circle::new(scheme, |_, _| false);
        circle.run_until(8 * SECOND);
        circle.assert_agreed();
        circle.arrive(3);
        circle.run_until(30 * SECOND);
        circle.assert_agreed();
        let hellos: Vec<_> = circle.said.iter().filter(|sent| is_greeting(sent)).cloned().collect();
        assert!(hellos.iter().any(|hello| !is_question(hello)), "{scheme}");
        // All devices are switched off. The last one to restart gets recorded messages.
        circle.peers.clear();
        [1, 2].into_iter().for_each(|number| circle.arrive(number));
        circle.on_the_way.extend(hellos.into_iter().filter(|hello| !is_question(hello)));
        circle.run_until(40 * SECOND);
        assert_eq!(circle.keys(), [None, None], "{scheme}");
        circle.arrive(3);
        circle.run_until(45 * SECOND);
        circle.assert_agreed();
        assert_eq!(circle.keys()[0].as_ref().map(|(epoch, _)| *epoch), Some(Epoch(1)), "{scheme}");
    }
}

#[test]
fn a_group_message_of_a_later_epoch_leads_to_the_key() {
    let (mut circle, _) = first_missed_removal();
    let (peer, _) = circle.peers.get_mut(&2).unwrap();
    peer.say(b"clear road", circle.now, &mut circle.rng).unwrap();
    circle.run_until(circle.now + 10 * SECOND);
    assert_agreed_without_third(&circle, Epoch(3));
}

/// No peer sends anything, and the messages of the others' event are lost for good.
#[test]
fn a_peer_that_comes_back_asks_whether_its_key_is_still_the_groups() {
    let (mut circle, before) = first_missed_removal();
    circle.run_until(circle.now + 60 * SECOND);
    assert_eq!(circle.keys(), before, "it cannot know");
    let (peer, _) = circle.peers.get_mut(&1).unwrap();
    peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
    circle.run_until(circle.now + 10 * SECOND);
    assert_agreed_without_third(&circle, Epoch(3));
}

#[test]
fn a_recorded_answer_ends_no_doubt() {
    let mut circle =
        Circle::new("tgdh", |to, sent| to == 1 && is_greeting(sent) && !is_question(sent));
    circle.lossy_until = 0;
    circle.run_until(8 * SECOND);
    circle.assert_agreed();
    // The others answer a question, and the answers are lost.
    circle.lossy_until = 20 * SECOND;
    let (peer, _) = circle.peers.get_mut(&1).unwrap();
    peer.handle(Input::Connected, circle.now, &mut circle.rng).unwrap();
    circle.run_until(60 * SECOND);
    let recorded = circle.lost.last().unwrap().clone();

    circle.now = 60 * SECOND;
    circle.loses = FIRST_MISSES_REMOVAL;
    circle.lossy_until = 70 * SECOND;
    let (peer, _) = circle.peers.get_mut(&1).unwrap();
    peer.remove(MemberId(3), circle.now, &mut circle.rng).unwrap();
    circle.run_until(100 * SECOND);
    assert_eq!(circle.epochs(), [1, 2]);
    circle.now = 100 * SECOND;
    let (peer, _) = circle.peers.get_mut(&2).unwrap();
    peer.say(b"clear road", circle.now, &mut circle.rng).unwrap();
    while circle.carry() {}
    circle.on_the_way.push_back(recorded);
    circle.run_until(120 * SECOND);
    assert_agreed_without_third(&circle, Epoch(3));
}

#[test]
fn made_up_group_messages_change_nothing_and_make_nobody_talk_without_limit() {
    let mut circle = Circle::new("tgdh", |_, _| false);
    circle.run_until(8 * SECOND);
    let keys = circle.keys();
    let (peer, _) = circle.peers.get_mut(&1).unwrap();
    peer.say(b"clear road", circle.now, &mut circle.rng).unwrap();
    circle.run_until(10 * SECOND);
    let talk = circle.said.iter().rev().find(|sent| sent.topic.ends_with("/talk")).unwrap().clone();
    let (before, start) = (circle.said.len(), circle.now);
    while circle.now < start + 300 * SECOND {
        for place in 0..talk.payload.len() {
            let mut made_up = talk.clone();
            made_up.payload[place] ^= 2;
            circle.on_the_way.push_back(made_up);
        }
        circle.run_until(circle.now + SECOND);
        circle.now += SECOND;
    }
    let said = circle.said.iter().skip(before).filter(|sent| !sent.topic.ends_with("/talk"));
    let (count, greetings) = said.fold((0, 0), |(all, greetings), sent| {
        (all + 1, greetings + usize::from(is_greeting(sent)))
    });
    assert_eq!(circle.keys(), keys);
    // Each of three asks twice a minute, and the two others answer.
    assert_eq!(count, greetings, "nobody asks for a new beginning");
    assert!((9..=99).contains(&count), "{count}");
}

#[test]
fn a_recorded_question_gets_few_answers() {
    let mut circle = Circle::new("tgdh", |_, _| false);
    circle.run_until(8 * SECOND);
    let question = circle.said.iter().find(|sent| is_greeting(sent) && is_question(sent));
    let question = question.unwrap().clone();
    let is_answer = |sent: &&Publish| is_greeting(sent) && !is_question(sent);
    let before = circle.said.iter().filter(is_answer).count();
    circle.now = 20 * SECOND;
    circle.on_the_way.extend(std::iter::repeat_n(question, 100));
    circle.run_until(21 * SECOND);
    assert_eq!(circle.said.iter().filter(is_answer).count() - before, 2, "one of each other peer");
}

/// One member removes another, these messages are lost for a while, and then ten minutes pass.
fn one_removed_while(scheme: &'static str, loses: fn(u32, &Publish) -> bool) -> Circle {
    let mut circle = Circle::new(scheme, loses);
    circle.lossy_until = 0;
    circle.run_until(8 * SECOND);
    circle.assert_agreed();
    circle.lossy_until = 20 * SECOND;
    let (peer, _) = circle.peers.get_mut(&1).unwrap();
    peer.remove(MemberId(3), circle.now, &mut circle.rng).unwrap();
    circle.run_until(18 * SECOND);
    let keys = circle.keys();
    let is_old = |key: &(Epoch, Key)| key.0 == Epoch(1);
    assert!(keys.iter().flatten().any(is_old), "{scheme}: {keys:?}");
    circle.run_until(600 * SECOND);
    circle.now = 600 * SECOND;
    circle
}

/// The first peer does not receive its own announcement, and the second one has the key without it.
fn first_missed_removal() -> (Circle, Vec<Option<(Epoch, Key)>>) {
    let circle = one_removed_while("tgdh", FIRST_MISSES_REMOVAL);
    let keys = circle.keys();
    assert_eq!(circle.epochs(), [1, 2]);
    (circle, keys)
}

/// Of the others' events the first peer receives only the announcements.
const FIRST_MISSES_REMOVAL: fn(u32, &Publish) -> bool =
    |to, publish| to == 1 && (publish.payload[4] != ORDER || publish.payload[5] == 3);

fn assert_agreed_without_third(circle: &Circle, least: Epoch) {
    let keys = circle.keys();
    assert!(keys[0].as_ref().is_some_and(|(epoch, _)| *epoch >= least), "{keys:?}");
    assert!(keys[0] == keys[1] && keys[2].is_none(), "{}: {keys:?}", circle.scheme);
    assert!(circle.peers.values().all(|(peer, _)| peer.deadline().is_none()), "{}", circle.scheme);
}

/// A founder restarts, these messages are lost for a while, and then ten minutes pass.
fn restarted_while(scheme: &'static str, loses: fn(u32, &Publish) -> bool) -> Circle {
    let mut circle = Circle::new(scheme, loses);
    circle.lossy_until = 0;
    circle.run_until(8 * SECOND);
    circle.assert_agreed();
    circle.lossy_until = 20 * SECOND;
    circle.arrive(3);
    circle.run_until(18 * SECOND);
    assert!(circle.keys()[2].is_none(), "{scheme}");
    circle.run_until(600 * SECOND);
    circle
}
