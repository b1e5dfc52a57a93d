//! What the service writes to its store, and what it does not.

use std::collections::BTreeMap;
use std::time::Duration;

use groupkey::{Epoch, Key, Suite, catalogue};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{Member, MemberSettings};
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::{OpenError, OperationError, ServiceEvent};
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::store::{MemoryStore, Store, Transaction};
use groupkey_mqtt::{GroupForm, Input, Output, Policy, Runtime, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::machines::virtual_group::{VirtualGroup, name, schemes_of_services};

/// A member asks twice a second whether it missed something, for an hour.
#[test]
fn a_member_that_asks_all_the_time_is_evicted_all_the_same() {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    room.policy.limits.log = 1_500;
    let mut room = VirtualGroup::of(room.policy);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let request = request_of(&mut room, 2);
    let before = room.service.stored();
    let answers = room.published.len();
    for _ in 0..3_600 {
        room.publish(request.topic.clone(), request.payload.clone());
        room.publish(request.topic.clone(), request.payload.clone());
        room.settle();
        room.now += SECOND;
    }
    assert!(room.published.len() > answers + 1_000, "it is answered");
    assert_eq!(room.service.stored(), before, "no answer is in the store");
    room.evict(2);
    room.assert_group(&[0, 3]);
}

/// Devices fill the log by joining and losing their state. What is left is the operator's.
#[test]
fn the_last_entries_of_the_log_are_the_operators() {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    room.policy.limits.log = 1_500;
    let mut room = VirtualGroup::of(room.policy);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let mut arrivals = 0;
    while room.service.ready().is_ok() {
        room.now += 600 * SECOND;
        room.arrive(3);
        room.settle();
        arrivals += 1;
        assert!(arrivals < 500, "the log never fills");
    }
    let epoch = room.epoch();
    room.arrive(4);
    room.settle();
    assert_eq!(room.epoch(), epoch, "nobody joins");
    room.evict(3);
    room.service.readmit(&name(3), room.now).unwrap();
    room.assert_group(&[0, 1, 2]);
}

/// Answers are not logged, so they must change no controller: of all schemes that a service runs,
/// subgroup controllers included. A service that replays the log goes on as one that answered.
#[test]
fn who_answers_is_afterwards_as_before() {
    let mut answering = 0;
    for scheme in catalogue::SCHEMES {
        let evicts = scheme.operations.contains(&groupkey::Operation::Remove);
        if !scheme.has_controller() || !evicts || scheme.id == "iolus" {
            continue;
        }
        let mut room = VirtualGroup::new(scheme.id, &[], 6);
        (0..6).for_each(|number| room.arrive(number));
        room.settle();
        let stored = room.service.stored().0;
        for sleeper in [1, 4] {
            room.members.get_mut(&name(sleeper)).unwrap().asleep = true;
        }
        room.evict(2);
        let after_eviction = room.service.stored().0;
        // In RISEG, members also confirm what they were given.
        let confirms = scheme.id == "riseg";
        assert!(confirms || after_eviction == stored + 3, "{}", scheme.id);
        for sleeper in [1, 4] {
            room.reconnect(&name(sleeper));
        }
        room.settle();
        room.assert_group(&[0, 1, 3, 4, 5]);
        let asked = room.heard_by_broker();
        let asked = asked.iter().filter(|publish| publish.topic.contains("/requests")).count();
        let after_answers = room.service.stored().0;
        assert!(confirms || after_answers == after_eviction, "{}: it was logged", scheme.id);
        answering += usize::from(asked > 0);

        let copy = Box::new(copy_of(&room.store));
        let mut other =
            Service::open(room.policy.clone(), copy, room.now, &mut room.rng.clone()).unwrap();
        let notice = last_notice(&room);
        hear(&mut other, &notice, room.now).unwrap();
        assert!(other.is_confirmed());
        while other.poll().unwrap().is_some() {}
        while room.service.poll().unwrap().is_some() {}
        let evict = |service: &mut Service| {
            service.evict(&name(3), room.now, &mut room.rng.clone()).unwrap();
            let mut sent = Vec::new();
            while let Some(output) = service.poll().unwrap() {
                match output {
                    Output::Publish(publish) if !is_notice(&publish) => {
                        sent.push((publish.topic, publish.payload));
                    }
                    _ => {}
                }
            }
            (service.group_key().map(|(epoch, key)| (epoch, key.clone())), sent)
        };
        let (replayed, answered) = (evict(&mut other), evict(&mut room.service));
        assert!(replayed == answered, "{}", scheme.id);
    }
    assert!(answering >= 15, "{answering} schemes answered");
}

/// A group with a period, a copy of its store from before an eviction, and the notice of that.
fn with_a_backup() -> (VirtualGroup, MemoryStore, Publish) {
    let mut room = VirtualGroup::new("igkmp", &[("subgroups", 2)], 4);
    room.policy.period = Some(Duration::from_secs(60));
    let mut room = VirtualGroup::of(room.policy);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let backup = copy_of(&room.store);
    room.evict(3);
    let notice = last_notice(&room);
    (room, backup, notice)
}

fn open(room: &VirtualGroup, store: MemoryStore, now: u64) -> Service {
    let mut rng = ChaCha20Rng::seed_from_u64(now);
    Service::open(room.policy.clone(), Box::new(store), now, &mut rng).unwrap()
}

/// What a service says that was opened with an old store, whatever reaches it.
fn published_by(service: &mut Service) -> usize {
    said_by(service).len()
}

/// Only another founding, with another identity, takes the group away from who has a copy of the store.
#[test]
fn who_has_the_store_is_the_service_until_the_group_is_founded_anew() {
    let (mut room, _, notice) = with_a_backup();
    let mut stolen = open(&room, copy_of(&room.store), room.now);
    hear(&mut stolen, &notice, room.now).unwrap();
    let has_it = |room: &VirtualGroup| {
        let ours = &room.service;
        [stolen.public() == ours.public(), stolen.context() == ours.context()]
    };
    assert!(stolen.is_confirmed() && stolen.group_key() == room.service.group_key());
    assert_eq!(has_it(&room), [true, true]);
    room.lose_store();
    assert_eq!(has_it(&room), [false, false]);
}

/// Neither the clock nor the operator nor a device makes the service act before it has seen the
/// notice.
#[test]
fn a_restored_store_does_nothing_before_it_is_compared() {
    let (mut room, backup, notice) = with_a_backup();
    let request = request_to_join(&mut room);
    let now = room.now + 120 * SECOND;
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut service = open(&room, backup, now);
    let before = service.group_key().map(|(epoch, _)| epoch);
    assert!(service.relies_on_retained_messages());
    assert_eq!(service.deadline(), None);
    service.handle(Input::Tick, now, &mut rng).unwrap();
    service.handle(Input::Connected, now, &mut rng).unwrap();
    hear(&mut service, &request, now).unwrap();
    service.handle(Input::Tick, now + SECOND, &mut rng).unwrap();
    let refusals = [
        service.evict(&name(0), now, &mut rng).map(drop),
        service.rekey(now, &mut rng).map(drop),
        service.readmit(&name(0), now),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Err(OperationError::Unconfirmed)), "{refusal:?}");
    }
    assert_eq!(published_by(&mut service), 0);
    assert_eq!(service.group_key().map(|(epoch, _)| epoch), before);
    let seen = hear(&mut service, &notice, now);
    assert!(matches!(seen, Err(Fatal::OldStore { .. })), "{seen:?}");
}

/// The copy made one step of its own, and is in the same epoch as the last notice.
#[test]
fn equal_epochs_of_another_history_are_noticed() {
    let (room, backup, notice) = with_a_backup();
    let now = room.now + 120 * SECOND;
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut other = open(&room, backup.clone(), now);
    other.accept_state(now, &mut rng).unwrap();
    other.handle(Input::Connected, now, &mut rng).unwrap();
    other.handle(Input::Tick, now + Service::SILENCE, &mut rng).unwrap();
    assert!(other.is_confirmed());
    other.rekey(now, &mut rng).unwrap();
    assert_eq!(other.group_key().unwrap().0, room.epoch());
    assert!(matches!(hear(&mut other, &notice, now), Err(Fatal::OtherHistory { .. })));
    // It began anew with that store.
    let mut again = open(&room, backup, now);
    assert!(matches!(hear(&mut again, &notice, now), Err(Fatal::OtherHistory { .. })));
}

/// Whoever has any message of a change came to it through a broker that has the notice of the change,
/// too. So a copy from before the change is an old one, even if the service died in between.
#[test]
fn the_broker_knows_of_a_change_before_it_forwards_a_message_of_it() {
    for scheme in ["skdc", "lkh-group", "igkmp"] {
        let mut room = VirtualGroup::new(scheme, &[], 6);
        (0..6).for_each(|number| room.arrive(number));
        room.settle();
        let backup = copy_of(&room.store);
        let now = room.now + SECOND;
        room.service.evict(&name(3), now, &mut room.rng).unwrap();
        let mut outputs = std::iter::from_fn(|| room.service.poll().unwrap());
        let first = outputs.find_map(|output| match output {
            Output::Publish(publish) => Some(publish),
            _ => None,
        });
        let first = first.expect("it publishes the change");
        assert!(first.topic.ends_with("/state") && first.retain, "{scheme}");
        let mut service = open(&room, backup, now);
        let refused = hear(&mut service, &first, now);
        assert!(refused.is_err() && !service.is_confirmed(), "{scheme}");
    }
}

/// The broker forgot the notice, or somebody removed it.
#[test]
fn without_a_notice_the_operator_decides() {
    let (room, backup, _) = with_a_backup();
    let now = room.now + 120 * SECOND;
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    for removed in [None, Some(Vec::new())] {
        let mut service = open(&room, copy_of(&backup), now);
        service.handle(Input::Connected, now, &mut rng).unwrap();
        if let Some(payload) = removed {
            let topic = format!("{}/state", room.policy.prefix);
            let removed = Publish { id: 0, topic, payload, retain: true, expiry: None };
            hear(&mut service, &removed, now).unwrap();
        }
        let silent_at = now + Service::SILENCE;
        assert_eq!(service.deadline(), Some(silent_at));
        service.handle(Input::Tick, silent_at, &mut rng).unwrap();
        assert!(!service.is_confirmed());
        let events = std::iter::from_fn(|| service.poll().unwrap());
        let events: Vec<_> =
            events.filter(|output| !matches!(output, Output::Subscribe(_))).collect();
        assert_eq!(events, [Output::Event(ServiceEvent::Unconfirmed)]);
        service.handle(Input::Tick, silent_at + 3_600 * SECOND, &mut rng).unwrap();
        assert!(service.rekey(silent_at, &mut rng).is_err());
        service.accept_state(silent_at, &mut rng).unwrap();
        assert!(service.is_confirmed() && published_by(&mut service) > 0);
        service.rekey(silent_at, &mut rng).unwrap();
    }
}

/// A device and a member spoke while the service was away. They need not ask again.
#[test]
fn what_arrives_before_the_notice_is_not_lost() {
    let (mut room, ..) = with_a_backup();
    let request = request_to_join(&mut room);
    let notice = last_notice(&room);
    let now = room.now + SECOND;
    let mut service = open(&room, copy_of(&room.store), now);
    hear(&mut service, &request, now).unwrap();
    assert_eq!(published_by(&mut service), 0);
    hear(&mut service, &notice, now).unwrap();
    let answers = std::iter::from_fn(|| service.poll().unwrap());
    let is_offer = |output: &Output<ServiceEvent>| matches!(output, Output::Publish(sent) if sent.topic.ends_with("/welcome/device-5"));
    assert_eq!(answers.filter(is_offer).count(), 1);
}

#[test]
fn after_a_clean_stop_the_store_is_one_state() {
    let (mut room, ..) = with_a_backup();
    room.service.stop(room.now).unwrap();
    assert!(matches!(room.service.poll(), Err(Fatal::Crashed)));
    assert_eq!(copy_of(&room.store).load().unwrap().entries.len(), 1);
    room.revive(&Fatal::Crashed);
    assert_eq!(room.service.stored().0, 3, "the state, this opening, and its record");
    room.service.rekey(room.now, &mut room.rng).unwrap();
    let stored = room.service.stored().0;
    room.revive(&Fatal::Crashed);
    assert_eq!(room.service.stored().0, stored + 2, "each opening is an entry, and a record");
    room.settle();
    room.assert_group(&[0, 1, 2]);
}

#[test]
fn of_two_copies_of_a_stopped_store_the_second_one_does_not_begin() {
    let (mut room, _, notice) = with_a_backup();
    room.service.stop(room.now).unwrap();
    let now = room.now + SECOND;
    let [mut first, mut second] = [now, now + 1].map(|at| open(&room, copy_of(&room.store), at));
    hear(&mut first, &notice, now).unwrap();
    assert!(first.is_confirmed());
    let begun = said_by(&mut first).into_iter().rfind(|sent| sent.topic.ends_with("/state"));
    let refused = hear(&mut second, &begun.expect("a notice of the opening"), now + SECOND);
    assert!(matches!(refused, Err(Fatal::OtherHistory { .. })), "{refused:?}");
}

/// A service crashes after a change, and once more after it has published one message. Its store still
/// has the notice of before the change, because the broker's acknowledgements are written a second later.
#[test]
fn a_service_that_begins_again_hides_no_notice_behind_an_earlier_one() {
    let (room, _, notice) = with_a_backup();
    let (store, now) = (copy_of(&room.store), room.now + SECOND);
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut first = open(&room, store.clone(), now);
    hear(&mut first, &notice, now).unwrap();
    let backup = copy_of(&store);
    first.rekey(now, &mut rng).unwrap();
    let is_of_state = |sent: &Publish| sent.topic.ends_with("/state");
    let last = said_by(&mut first).into_iter().rfind(is_of_state).expect("a notice of the change");

    let mut again = open(&room, store, now + SECOND);
    hear(&mut again, &last, now + SECOND).unwrap();
    let said = said_by(&mut again);
    let retained = said.iter().find(|sent| is_of_state(sent)).expect("a notice of the opening");
    let mut old = open(&room, backup, now + 2 * SECOND);
    let refused = hear(&mut old, retained, now + 2 * SECOND);
    assert!(matches!(refused, Err(Fatal::OldStore { .. })), "{refused:?}");
}

/// The copy has the same history. It is not known from the service that comes back after a crash.
#[test]
fn a_copy_of_a_running_store_begins_and_the_original_ends() {
    let (mut room, _, notice) = with_a_backup();
    let mut copy = open(&room, copy_of(&room.store), room.now);
    hear(&mut copy, &notice, room.now).unwrap();
    assert!(copy.is_confirmed());
    let begun = said_by(&mut copy).into_iter().rfind(|sent| sent.topic.ends_with("/state"));
    let now = room.now;
    let ended = hear(&mut room.service, &begun.expect("a notice of the opening"), now);
    assert!(matches!(ended, Err(Fatal::OtherHistory { .. })), "{ended:?}");
}

/// The broker retains the notice that reached it last. That is the one of the copy's opening, although
/// the other copy has changed the key before it arrived.
#[test]
fn of_two_copies_at_once_one_that_crashes_begins_again_behind_the_other() {
    let (mut room, _, notice) = with_a_backup();
    room.service.stop(room.now).unwrap();
    let (now, store) = (room.now + SECOND, copy_of(&room.store));
    let mut one = open(&room, copy_of(&room.store), now);
    let mut other = open(&room, store.clone(), now + 1);
    for (copy, at) in [&mut one, &mut other].into_iter().zip(now..) {
        hear(copy, &notice, at).unwrap();
        assert!(copy.is_confirmed());
    }
    one.rekey(now, &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
    let begun = said_by(&mut other).into_iter().rfind(|sent| sent.topic.ends_with("/state"));
    let begun = begun.expect("a notice of the opening");
    let mut again = open(&room, store, now + SECOND);
    hear(&mut again, &begun, now + SECOND).unwrap();
    assert!(again.is_confirmed() && one.group_key().unwrap().0 > again.group_key().unwrap().0);
    assert!(matches!(hear(&mut one, &begun, now + SECOND), Err(Fatal::OtherHistory { .. })));
}

/// Nothing shows that a notice is not the last one but a later notice.
#[test]
fn a_broker_that_shows_an_old_notice_hides_that_a_store_is_old() {
    let (mut room, ..) = with_a_backup();
    let (backup, notice) = (copy_of(&room.store), last_notice(&room));
    room.evict(2);
    let mut old = open(&room, backup, room.now);
    hear(&mut old, &notice, room.now).unwrap();
    assert!(old.is_confirmed());
}

/// Neither has heard of the other when both make the next epoch, under the same keys. If two receivers
/// see the same difference between what the copies sent, it is that of two keys, or of two seeds.
#[test]
fn two_copies_at_once_do_not_show_the_difference_of_their_keys() {
    let suites = [Suite::Standard, Suite::Constrained];
    let (mut changed, mut shown) = (0, Vec::new());
    for (scheme, suite) in
        schemes_of_services().flat_map(|scheme| suites.map(|suite| (scheme.id, suite)))
    {
        let Some([one, other]) = changed_by_two_copies(scheme, suite) else { continue };
        assert_eq!(one.epoch, other.epoch, "{scheme}");
        changed += 1;
        if one.shows_difference_to(&other) {
            shown.push(format!("{scheme} {}", suite.name()));
        }
    }
    assert!(changed >= 30, "{changed}");
    assert!(shown.is_empty(), "{shown:?}");
}

/// What a copy of a service did.
struct Changed {
    epoch: Epoch,
    key: [u8; Key::BYTES],
    sent: Vec<Publish>,
}

impl Changed {
    fn shows_difference_to(&self, other: &Self) -> bool {
        let of_keys = exclusive_or(&self.key, &other.key);
        let mut seen = BTreeMap::new();
        for (here, there) in self.sent.iter().zip(&other.sent) {
            assert_eq!(here.topic, there.topic);
            let windows = here.payload.windows(Key::BYTES).zip(there.payload.windows(Key::BYTES));
            for (here, there) in windows {
                let difference = exclusive_or(here, there);
                // Numbers, and what is only in part of a key, have bytes in common.
                let is_random = !difference.contains(&0);
                // What is repeated is the same in both.
                let is_of_two = |before: &[u8]| before != here;
                if is_random
                    && (difference == of_keys
                        || seen.insert(difference, here).is_some_and(is_of_two))
                {
                    return true;
                }
            }
        }
        false
    }
}

/// Two copies of a stopped store evict a member at once, each with randomness of its own. Both send the
/// same messages, with other keys.
fn changed_by_two_copies(scheme: &str, suite: Suite) -> Option<[Changed; 2]> {
    let mut room = VirtualGroup::new(scheme, &[], 6);
    room.policy.form.suite = suite;
    let mut room = VirtualGroup::of(room.policy);
    (0..6).for_each(|number| room.arrive(number));
    room.settle();
    let (before, _) = room.service.group_key()?;
    let notice = last_notice(&room);
    room.service.stop(room.now).unwrap();
    let now = room.now + SECOND;
    let [one, other] = [1, 2].map(|seed| {
        let mut service = open(&room, copy_of(&room.store), now);
        hear(&mut service, &notice, now).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        service.evict(&name(3), now, &mut rng).ok()?;
        let (epoch, key) = service.group_key().filter(|&(epoch, _)| epoch > before)?;
        let key = *key.as_bytes();
        let mut sent = said_by(&mut service);
        // The notice goes to two topics.
        sent.retain(|sent| !["/state", "/epoch"].iter().any(|end| sent.topic.ends_with(end)));
        Some(Changed { epoch, key, sent })
    });
    Some([one?, other?])
}

fn exclusive_or(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

fn said_by(service: &mut Service) -> Vec<Publish> {
    let outputs = std::iter::from_fn(|| service.poll().unwrap());
    let said = outputs.filter_map(|output| match output {
        Output::Publish(publish) => Some(publish),
        _ => None,
    });
    said.collect()
}

/// The same group with a checkpoint after every operation and with none: same members, same keys.
#[test]
fn a_checkpoint_changes_nothing_in_any_scheme() {
    let mut compared = 0;
    for scheme in schemes_of_services() {
        let policy = VirtualGroup::new(scheme.id, &[], 4).policy;
        let evicts = scheme.operations.contains(&groupkey::Operation::Remove);
        let [log, checkpoints] = [u64::MAX, 1].map(|entries| {
            let mut policy = policy.clone();
            policy.limits.checkpoint = entries;
            let mut room = VirtualGroup::of(policy);
            (0..5).for_each(|number| room.arrive(number));
            room.settle();
            for step in 0..3 {
                room.revive(&Fatal::Crashed);
                if evicts {
                    room.evict(step);
                    room.arrive(5 + step);
                    room.settle();
                }
            }
            let members: Vec<_> = room.members.keys().cloned().collect();
            let key = room.service.group_key().map(|(epoch, key)| (epoch, key.clone()));
            assert!(entries > 1 || room.service.stored().0 == 1, "{}", scheme.id);
            (room.service.members(), members, key)
        });
        assert!(log == checkpoints, "{}", scheme.id);
        compared += 1;
    }
    assert!(compared >= 20, "{compared} schemes");
}

#[test]
fn a_log_of_another_version_is_refused_and_one_that_was_stopped_is_not() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let of_another_version = |store: &MemoryStore| {
        let mut saved = store.clone().load().unwrap();
        let ours = env!("CARGO_PKG_VERSION").as_bytes();
        let place = saved.entries[0].windows(ours.len()).position(|bytes| bytes == ours).unwrap();
        saved.entries[0][place] = b'9';
        let mut copy = MemoryStore::default();
        let change =
            Transaction { first: saved.first, entries: saved.entries, ..Transaction::default() };
        copy.commit(&Transaction { replaces: true, ..change }).unwrap();
        copy
    };
    let open = |room: &VirtualGroup, store| {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        Service::open(room.policy.clone(), Box::new(store), room.now, &mut rng)
    };
    let refused = open(&room, of_another_version(&room.store)).unwrap_err();
    assert!(matches!(refused, OpenError::OtherVersion(Some(_))), "{refused}");
    assert!(refused.to_string().contains("start and stop it once with that version"), "{refused}");
    room.service.stop(room.now).unwrap();
    let service = open(&room, of_another_version(&room.store)).unwrap();
    assert_eq!(service.group_key(), room.service.group_key());
}

/// A replay that leads to other keys, as another version's may, is noticed at once.
#[test]
fn a_replay_that_leads_elsewhere_is_refused() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let saved = room.store.clone().load().unwrap();
    let last = saved.entries.len() - 1;
    let mut refusals = 0;
    for place in 0..saved.entries[last].len() {
        let mut entries = saved.entries.clone();
        entries[last][place] ^= 1;
        let mut copy = MemoryStore::default();
        copy.commit(&Transaction { entries, ..Transaction::default() }).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let opened = Service::open(room.policy.clone(), Box::new(copy), room.now, &mut rng);
        refusals += u32::from(opened.is_err());
    }
    // The seed has 32 bytes.
    assert!(refusals >= 40, "{refusals}");
}

/// A checkpoint has a hash of the state that it holds, last of all.
#[test]
fn a_checkpoint_with_another_fingerprint_is_refused() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.service.stop(room.now).unwrap();
    let [checkpoint] = &room.store.clone().load().unwrap().entries[..] else { panic!() };
    let end = checkpoint.len();
    let mut refusals = 0;
    for place in end - 40..end {
        let mut checkpoint = checkpoint.clone();
        checkpoint[place] ^= 1;
        let mut copy = MemoryStore::default();
        copy.commit(&Transaction { entries: vec![checkpoint], ..Transaction::default() }).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let opened = Service::open(room.policy.clone(), Box::new(copy), room.now, &mut rng);
        refusals += u32::from(opened.is_err());
    }
    // The hash and its head have 34 bytes.
    assert!(refusals >= 34, "{refusals}");
    let mut other = VirtualGroup::new("lkh-group", &[], 2);
    (0..2).for_each(|number| other.arrive(number));
    other.settle();
    other.service.stop(other.now).unwrap();
    let [of_another_state] = &other.store.clone().load().unwrap().entries[..] else { panic!() };
    let hash = |checkpoint: &[u8]| checkpoint[checkpoint.len() - 32..].to_vec();
    assert_ne!(hash(checkpoint), hash(of_another_state));
}

/// A group of a thousand, in which one after the other is evicted, readmitted and joins again:
/// `GROUPKEY_OPERATIONS=1000000` takes minutes with `--release`.
#[test]
fn the_store_of_a_thousand_members_stays_small() {
    let operations = std::env::var("GROUPKEY_OPERATIONS");
    let operations = operations.map_or(20_000, |number| number.parse().expect("a number"));
    let (largest, first) = lifetime(operations);
    println!("{largest} bytes at most, {first} after the founding");
    assert!(largest < 4 << 20, "{largest} bytes");
}

/// A device asks to join, and again with the number that it is offered.
fn ask_to_join(service: &mut Service, number: u32, now: u64) {
    let mut identity = [7; 32];
    identity[..4].copy_from_slice(&number.to_be_bytes());
    let settings = MemberSettings {
        prefix: service.policy().prefix.clone(),
        name: name(number),
        identity: Secret::from_bytes(identity),
        shared: Some(crate::machines::virtual_group::key(number % 200)),
        service: Some(service.public()),
        allowed: service.policy().allowed,
        messages: Default::default(),
        freshness: Default::default(),
    };
    let mut device = Member::new(settings).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(now + u64::from(number));
    device.handle(Input::Connected, now, &mut rng).unwrap();
    for _ in 0..2 {
        while let Some(output) = device.poll().unwrap() {
            if let Output::Publish(sent) = output {
                hear(service, &sent, now).unwrap();
            }
        }
        while let Some(output) = service.poll().unwrap() {
            if let Output::Publish(sent) = output {
                let input = Input::Arrived { topic: &sent.topic, payload: &sent.payload };
                device.handle(input, now, &mut rng).unwrap();
                service.handle(Input::Acknowledged(sent.id), now, &mut rng).unwrap();
            }
        }
    }
    assert!(service.waiting() > 0, "{:?}", service.counters());
}

/// Returns the largest size of a store over so many operations, and the size at the beginning.
fn lifetime(operations: u32) -> (usize, usize) {
    const MEMBERS: u32 = 1_000;
    let form = GroupForm::of(catalogue::scheme("lkh-group").unwrap());
    let mut policy = Policy { founders: MEMBERS as usize, ..Policy::of(form) };
    policy.limits.checkpoint = 2_000;
    for number in 0..MEMBERS {
        policy.keys.insert(name(number), crate::machines::virtual_group::key(number % 200));
    }
    let store = MemoryStore::default();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut now = 1_700_000_000 * SECOND;
    let mut service =
        Service::open(policy.clone(), Box::new(store.clone()), now, &mut rng).unwrap();
    for number in 0..MEMBERS {
        ask_to_join(&mut service, number, now);
    }
    now += SECOND;
    service.handle(Input::Tick, now, &mut rng).unwrap();
    assert_eq!(service.member_count(), MEMBERS as usize);
    let size = |store: &MemoryStore| {
        let saved = store.clone().load().unwrap();
        let queue = saved.queue.values().map(|publish| publish.payload.len());
        saved.entries.iter().map(Vec::len).chain(queue).sum::<usize>()
    };
    let acknowledge = |service: &mut Service, now: u64, rng: &mut ChaCha20Rng| {
        while let Some(output) = service.poll().unwrap() {
            if let Output::Publish(sent) = output {
                service.handle(Input::Acknowledged(sent.id), now, rng).unwrap();
            }
        }
    };
    acknowledge(&mut service, now, &mut rng);
    let (first, mut largest) = (size(&store), 0);
    for operation in 0..operations {
        now += SECOND;
        let number = operation / 3 % MEMBERS;
        match operation % 3 {
            0 => drop(service.evict(&name(number), now, &mut rng).unwrap()),
            1 => service.readmit(&name(number), now).unwrap(),
            _ => {
                ask_to_join(&mut service, number, now);
                now += SECOND;
                service.handle(Input::Tick, now, &mut rng).unwrap();
            }
        }
        acknowledge(&mut service, now, &mut rng);
        if operation % 97 == 0 {
            largest = largest.max(size(&store));
        }
    }
    assert!(service.member_count() >= MEMBERS as usize - 1);
    (largest, first)
}

/// A forger knows the member's number and the group's. It has no key.
#[test]
fn a_flood_in_a_members_name_keeps_nobody_from_catching_up() {
    let mut room = VirtualGroup::new("lkh-group", &[], 5);
    (0..5).for_each(|number| room.arrive(number));
    room.settle();
    let genuine = request_of(&mut room, 2);
    room.members.get_mut(&name(2)).unwrap().asleep = true;
    room.evict(3);
    let overflowed = room.service.counters().overflowed;
    for number in 0..1_000_u32 {
        let mut forged = genuine.payload.clone();
        let last = forged.len() - 1 - (number as usize % 32);
        forged[last] ^= 1 + (number / 32) as u8;
        room.publish(genuine.topic.clone(), forged);
        // An eavesdropper repeats what it heard, too.
        room.publish(genuine.topic.clone(), genuine.payload.clone());
    }
    room.settle();
    assert!(room.service.counters().forged >= 900);
    assert!(room.service.counters().overflowed > overflowed + 900);
    room.reconnect(&name(2));
    room.settle();
    room.assert_group(&[0, 2, 4]);
}

/// The first request of a device that is not a member yet.
fn request_to_join(room: &mut VirtualGroup) -> Publish {
    room.keep_back = |sent| sent.topic.ends_with("/join");
    room.arrive(5);
    room.patience = 0;
    room.settle();
    room.kept_back[0].clone()
}

fn request_of(room: &mut VirtualGroup, number: u32) -> Publish {
    room.members.get_mut(&name(number)).unwrap().asleep = true;
    room.evict(1);
    room.reconnect(&name(number));
    room.settle();
    let heard = room.heard_by_broker();
    heard.into_iter().rfind(|sent| sent.topic.ends_with("/requests")).expect("it asks")
}

fn is_notice(publish: &Publish) -> bool {
    ["/epoch", "/state"].iter().any(|end| publish.topic.ends_with(end))
}

fn last_notice(room: &VirtualGroup) -> Publish {
    let heard = room.heard_by_broker();
    heard.into_iter().rfind(|sent| sent.topic.ends_with("/state")).expect("there is a notice")
}

fn hear(service: &mut Service, sent: &Publish, now: u64) -> Result<(), Fatal> {
    let input = Input::Arrived { topic: &sent.topic, payload: &sent.payload };
    service.handle(input, now, &mut ChaCha20Rng::seed_from_u64(now))
}

fn copy_of(store: &MemoryStore) -> MemoryStore {
    let saved = store.clone().load().unwrap();
    let mut copy = MemoryStore::default();
    let queued = saved.queue.values().cloned().collect();
    let (first, entries) = (saved.first, saved.entries);
    let change = Transaction { first, entries, queued, replaces: true, ..Transaction::default() };
    copy.commit(&change).unwrap();
    copy
}

const SECOND: u64 = 1_000_000_000;
