//! Joins and evictions that come soon after each other: one change of the key, and one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use groupkey::Epoch;
use groupkey_mqtt::service::trail::Actor;
use groupkey_mqtt::service::{EvictionResults, OperationError};
use groupkey_mqtt::store::{MemoryStore, Store, StoreError, StoredLog, Transaction};
use groupkey_mqtt::{Input, Runtime, Service};

use crate::machines::virtual_group::{VirtualGroup, name};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// A store that counts its commits: each is one sync of a disk.
struct CountingStore {
    store: MemoryStore,
    commits: Arc<AtomicU64>,
}

impl Store for CountingStore {
    fn load(&mut self) -> Result<StoredLog, StoreError> {
        self.store.load()
    }

    fn commit(&mut self, change: &Transaction) -> Result<(), StoreError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.store.commit(change)
    }
}

/// A group of so many devices, whose key has not changed for a second.
fn quiet(members: u32) -> VirtualGroup {
    quiet_of(VirtualGroup::new("lkh-group", &[], members as usize), members)
}

fn quiet_of(mut room: VirtualGroup, members: u32) -> VirtualGroup {
    (0..members).for_each(|number| room.arrive(number));
    room.settle();
    room.now += 2 * SECOND;
    // From now on, time stands still while messages are delivered.
    room.patience = 0;
    room.settle();
    room
}

/// Restarts the service with a store that counts.
fn counting(room: &mut VirtualGroup) -> Arc<AtomicU64> {
    let commits = Arc::<AtomicU64>::default();
    let store = CountingStore { store: room.store.clone(), commits: commits.clone() };
    let (policy, store) = (room.policy.clone(), Box::new(store));
    room.service = Service::open(policy, store, room.now, &mut room.rng).unwrap();
    room.connect().unwrap();
    room.now += 2 * SECOND;
    room.settle();
    commits
}

fn evict_soon(room: &mut VirtualGroup, numbers: &[u32]) -> Receiver<EvictionResults> {
    let (sender, answer) = mpsc::channel();
    let names = numbers.iter().copied().map(name).collect();
    let sends = Box::new(move |_: &Service, results| drop(sender.send(results)));
    room.service.evict_soon(Actor::Terminal, names, sends, room.now).unwrap();
    answer
}

fn done(answer: &Receiver<EvictionResults>) -> Epoch {
    let results = answer.try_recv().expect("an answer").expect("they are carried out");
    let epochs: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    assert!(epochs.windows(2).all(|pair| pair[0] == pair[1]), "{epochs:?}");
    epochs[0]
}

fn tick(room: &mut VirtualGroup) {
    room.service.handle(Input::Tick, room.now, &mut room.rng).unwrap();
}

#[test]
fn the_first_eviction_is_at_once_and_those_soon_after_it_are_one_change() {
    let mut room = quiet(12);
    let first = evict_soon(&mut room, &[0]);
    assert!(room.service.deadline() <= Some(room.now));
    tick(&mut room);
    assert_eq!(done(&first), Epoch(2));
    let changed = room.now;
    room.now += 10 * MILLISECOND;
    let (second, others) = (evict_soon(&mut room, &[1]), evict_soon(&mut room, &[2, 3, 2]));
    room.now = changed + 49 * MILLISECOND;
    tick(&mut room);
    assert!(second.try_recv().is_err(), "it waits");
    room.now = changed + 50 * MILLISECOND;
    tick(&mut room);
    assert_eq!((done(&second), done(&others)), (Epoch(3), Epoch(3)));
    room.settle();
    room.assert_group(&[4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn joins_and_evictions_that_wait_are_one_change_and_one_commit() {
    let mut room = quiet(9);
    let commits = counting(&mut room);
    let before = (room.epoch(), commits.load(Ordering::Relaxed));
    let first = evict_soon(&mut room, &[0]);
    tick(&mut room);
    assert_eq!(done(&first).0, before.0.0 + 1);
    let (changed, before) = (room.now, (room.epoch(), commits.load(Ordering::Relaxed)));
    room.now += MILLISECOND;
    let answers: Vec<_> = (1..5).map(|number| evict_soon(&mut room, &[number])).collect();
    (20..27).for_each(|number| room.arrive(number));
    room.settle();
    assert_eq!((room.service.waiting(), room.epoch()), (7, before.0), "they wait");
    room.now = changed + 50 * MILLISECOND;
    tick(&mut room);
    assert!(answers.iter().all(|answer| done(answer).0 == before.0.0 + 1));
    assert_eq!((room.service.waiting(), room.epoch().0), (0, before.0.0 + 1));
    assert_eq!(commits.load(Ordering::Relaxed), before.1 + 1);
    room.settle();
    room.assert_group(&[5, 6, 7, 8, 20, 21, 22, 23, 24, 25, 26]);
}

#[test]
fn what_waits_together_is_one_commit_however_many_they_are() {
    for many in [1, 5, 40] {
        let mut room = quiet(43);
        let commits = counting(&mut room);
        let before = commits.load(Ordering::Relaxed);
        let answer = evict_soon(&mut room, &(0..many).collect::<Vec<_>>());
        tick(&mut room);
        let evicted = done(&answer);
        assert_eq!(commits.load(Ordering::Relaxed), before + 1, "{many} evictions");
        room.now += MILLISECOND;
        (43..43 + many.min(20)).for_each(|number| room.arrive(number));
        room.settle();
        assert_eq!(commits.load(Ordering::Relaxed), before + 1, "requests cost no commit");
        room.now += 50 * MILLISECOND;
        tick(&mut room);
        assert_eq!(commits.load(Ordering::Relaxed), before + 2, "{many} joins");
        assert_eq!(room.epoch().0, evicted.0 + 1);
    }
}

/// Nobody may keep the key for long because joins are collected for long.
#[test]
fn an_eviction_waits_for_a_second_at_most() {
    let mut room = quiet(5);
    room.policy.batch = Duration::from_secs(3_600);
    counting(&mut room);
    let first = evict_soon(&mut room, &[0]);
    tick(&mut room);
    assert_eq!(done(&first), room.epoch());
    let second = evict_soon(&mut room, &[1]);
    room.now += SECOND - 1;
    tick(&mut room);
    assert!(second.try_recv().is_err(), "the key has just changed");
    room.now += 1;
    tick(&mut room);
    assert_eq!(done(&second), room.epoch());
    assert_eq!(room.service.member_count(), 3);
}

#[test]
fn who_is_unknown_or_must_stay_keeps_nobody_else_in() {
    let mut room = quiet(3);
    let (nobody, pair) = (evict_soon(&mut room, &[50]), evict_soon(&mut room, &[0, 1]));
    tick(&mut room);
    let nobody = nobody.try_recv().unwrap().unwrap();
    assert!(matches!(&nobody[..], [Err(OperationError::Unknown(_))]), "{nobody:?}");
    let pair = pair.try_recv().unwrap().unwrap();
    assert!(matches!(&pair[..], [Ok(_), Err(OperationError::BarredOnly(_))]), "{pair:?}");
    room.settle();
    // Whoever joins next takes the place of the one that could not leave.
    room.now += SECOND;
    room.arrive(7);
    room.settle();
    room.now += 50 * MILLISECOND;
    room.settle();
    room.assert_group(&[2, 7]);
}

/// Schemes without batches, and groups whose changes are staged, let each leave by itself.
#[test]
fn without_batches_they_are_one_commit_too() {
    let mut room = quiet_of(VirtualGroup::new("skdc", &[], 6), 6);
    let commits = counting(&mut room);
    let (before, epoch) = (commits.load(Ordering::Relaxed), room.epoch());
    let answer = evict_soon(&mut room, &[0, 1, 2]);
    tick(&mut room);
    assert_eq!(done(&answer).0, epoch.0 + 3);
    assert_eq!(commits.load(Ordering::Relaxed), before + 1);
}

#[test]
fn a_full_store_refuses_each_of_them() {
    let mut room = quiet(4);
    room.policy.limits.log = 1;
    let (policy, store) = (room.policy.clone(), Box::new(room.store.clone()));
    room.service = Service::open(policy, store, room.now, &mut room.rng).unwrap();
    room.connect().unwrap();
    let answers = [1, 2].map(|number| evict_soon(&mut room, &[number]));
    tick(&mut room);
    for answer in answers {
        let refused = answer.try_recv().unwrap().unwrap_err().to_string();
        assert!(refused.contains("full"), "{refused}");
    }
    assert_eq!(room.service.member_count(), 4);
}

/// The service is killed at every point of a change with joins and evictions.
#[test]
fn what_was_answered_holds_wherever_the_service_is_killed() {
    let mut point = 0;
    loop {
        let mut room = quiet(5);
        let first = evict_soon(&mut room, &[0]);
        tick(&mut room);
        done(&first);
        room.now += MILLISECOND;
        let answer = evict_soon(&mut room, &[1, 2]);
        (20..22).for_each(|number| room.arrive(number));
        room.settle();
        let crashes = room.crashes;
        room.service.crash_at(point);
        room.patience = 100 * SECOND;
        room.settle();
        let is_done = answer.try_recv().is_ok_and(|results| results.is_ok());
        let expected = match room.service.members().iter().any(|(member, _)| *member == name(1)) {
            true => &[1, 2, 3, 4, 20, 21][..],
            false => &[3, 4, 20, 21],
        };
        room.assert_group(expected);
        assert!(!is_done || expected.len() == 4, "killed at {point}");
        if room.crashes == crashes {
            assert!(is_done && point > 5, "it was killed {point} times");
            return;
        }
        point += 1;
    }
}
