//! A service that lost its store founds its group anew, with the same name, number and identities.
//! Whoever recorded the earlier group can send all of it again.

use groupkey::catalogue::scheme;
use groupkey::{Epoch, MemberId};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::store::{MemoryStore, Store, Transaction};
use groupkey_mqtt::{GroupForm, Input, Output, Policy, Runtime, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::machines::virtual_group::{VirtualGroup, name};

#[test]
fn recordings_of_an_earlier_founding_disturb_nobody() {
    for scheme in ["skdc", "lkh-group", "lkh-plus", "boneh-fat", "boneh-thin", "oft", "kronos"] {
        let mut room = with_identity(scheme, 3);
        (0..3).for_each(|number| room.arrive(number));
        room.settle();
        for other in 3..6 {
            room.arrive(other);
            room.settle();
            room.evict(other);
            room.settle();
        }
        let (recorded, reached) = (room.heard_by_broker(), room.epoch());
        (3..6).for_each(|other| drop(room.members.remove(&name(other))));
        room.now += 3_600 * SECOND;
        room.lose_store();
        room.run_for(60);
        room.assert_group(&[0, 1, 2]);
        let begun = room.epoch();
        assert!(begun < reached, "{scheme}: the new group is younger");
        for Publish { topic, payload, .. } in recorded {
            room.publish(topic, payload);
        }
        room.run_for(600);
        // The recorded requests to join are for places in the earlier founding.
        assert_eq!(room.epoch(), begun, "{scheme}: nobody joined or rejoined");
        room.assert_group(&[0, 1, 2]);
    }
}

/// The notice of the later founding came when the device was no member.
#[test]
fn a_welcome_to_a_lost_founding_keeps_nobody_there() {
    let mut room = with_identity("lkh-group", 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.patience = 0;
    room.arrive(3);
    room.settle();
    room.patience = 1_000_000_000;
    // It has been offered a place, and asked for it.
    room.keep_back = |publish| publish.topic.ends_with(&format!("/welcome/{}", name(3)));
    room.settle();
    assert_eq!((room.service.members().len(), room.kept_back.len()), (4, 1));
    room.lose_store();
    room.run_for(4);
    room.assert_group(&[0, 1, 2]);
    room.let_go();
    room.run_for(60);
    room.assert_group(&[0, 1, 2, 3]);
}

/// A second service with the same identity and an empty store, as if a volume were not mounted. Its
/// clock is right, behind or ahead, and it hears either notice first.
#[test]
fn an_empty_store_founds_no_group_beside_the_one_that_its_notice_shows() {
    let mut room = with_identity("lkh-group", 4);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    room.evict(3);
    room.run_for(2);
    let (founded, reached) = (room.service.founded(), room.epoch());
    for (clock, end) in [(0, "/state"), (-3_600, "/epoch"), (3_600, "/state"), (60, "/epoch")] {
        let now = room.now.saturating_add_signed(clock * SECOND as i64);
        let store = MemoryStore::default();
        for attempt in 0..3 {
            // A supervisor starts it again and again.
            let mut second = open(&room.policy, &store, now);
            assert!(!second.is_confirmed());
            let mut rng = ChaCha20Rng::seed_from_u64(attempt);
            second.handle(Input::Connected, now, &mut rng).unwrap();
            let request =
                room.heard_by_broker().into_iter().find(|sent| sent.topic.ends_with("/join"));
            hear(&mut second, &request.unwrap(), now).unwrap();
            assert_eq!(said(&mut second), 0);
            let refused = hear(&mut second, &last(&room, end), now).unwrap_err();
            let Fatal::GroupExists { founded: shown, epoch, members } = refused else {
                panic!("{refused}")
            };
            assert_eq!((shown, epoch, members), (founded, reached, 3));
            assert!(second.poll().is_err(), "it says nothing more");
        }
    }
    // The good service goes on.
    room.evict(2);
    room.assert_group(&[0, 1]);
}

#[test]
fn without_a_notice_an_empty_store_founds_its_group() {
    let room = with_identity("skdc", 3);
    let (policy, now) = (room.policy, room.now);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut service = open(&policy, &MemoryStore::default(), now);
    service.handle(Input::Connected, now, &mut rng).unwrap();
    assert_eq!((said(&mut service), service.deadline()), (0, Some(now + Service::SILENCE)));
    service.handle(Input::Tick, now + Service::SILENCE, &mut rng).unwrap();
    assert!(service.is_confirmed() && said(&mut service) > 0);
    // Nothing can be founded with an identity that was drawn just now.
    let policy = Policy { is_identity_new: true, ..policy };
    assert!(open(&policy, &MemoryStore::default(), now).is_confirmed());
}

/// The operator has said the word. Recordings of the earlier group come before and after it, also
/// after a restart without the word.
#[test]
fn a_recorded_notice_delays_a_founding_and_does_not_prevent_it() {
    let mut room = with_identity("lkh-group", 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.run_for(2);
    let recorded = [last(&room, "/state"), last(&room, "/epoch")];
    (0..3).for_each(|number| drop(room.members.remove(&name(number))));
    room.now += SECOND;
    room.lose_store();
    let (ordered, now) = (copy_of(&room.store), room.now);
    recorded.iter().for_each(|notice| hear(&mut room.service, notice, now).unwrap());
    room.revive(&Fatal::Crashed);
    recorded.iter().for_each(|notice| hear(&mut room.service, notice, now).unwrap());
    room.service.stop(now).unwrap();
    room.revive(&Fatal::Crashed);
    recorded.iter().for_each(|notice| hear(&mut room.service, notice, now).unwrap());
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    recorded.iter().for_each(|notice| hear(&mut room.service, notice, now).unwrap());
    room.assert_group(&[0, 1, 2]);
    // The word was for that group alone. This one has changed its scheme, and is another founding.
    room.service.change_scheme(GroupForm::of(scheme("skdc").unwrap()), now, &mut room.rng).unwrap();
    room.run_for(10);
    assert!(room.service.founded() > open(&room.policy, &ordered, now).founded());
    let refused = hear(&mut open(&room.policy, &ordered, now), &last(&room, "/state"), now);
    assert!(matches!(refused, Err(Fatal::GroupExists { .. })), "{refused:?}");
}

/// By mistake, the operator founded a second group, and the evicted device is in it. The good store
/// ends when it sees that, and the operator's word brings its group back, evictions included.
#[test]
fn a_good_store_goes_on_after_another_founding_of_its_identity() {
    for scheme in ["lkh-group", "skdc", "igkmp"] {
        let mut room = with_identity(scheme, 3);
        (0..4).for_each(|number| room.arrive(number));
        room.settle();
        room.evict(3);
        let good = copy_of(&room.store);
        room.now += 60 * SECOND;
        room.lose_store();
        room.arrive(3);
        room.run_for(60);
        room.assert_group(&[0, 1, 2, 3]);
        let other = room.service.founded();

        let mut restarted = open(&room.policy, &good, room.now);
        let ended = hear(&mut restarted, &last(&room, "/state"), room.now).unwrap_err();
        assert!(matches!(ended, Fatal::EarlierGroup { .. }), "{scheme}: {ended}");
        assert!(ended.to_string().contains("--found"), "{ended}");
        room.found_anew(good).unwrap();
        assert!(room.service.founded() > other, "{scheme}");
        room.run_for(200);
        room.assert_group(&[0, 1, 2]);
        let devices = room.service.devices(MemberId(0));
        let barred: Vec<_> = devices.filter(|device| device.is_barred).collect();
        assert!(barred.len() == 1 && barred[0].name == name(3), "{scheme}: {barred:?}");
        // Its store is as good as before.
        room.revive(&Fatal::Crashed);
        room.arrive(4);
        room.run_for(10);
        room.assert_group(&[0, 1, 2, 4]);
    }
}

/// An old copy of the store, and no later one. The new group has no key of the old one.
#[test]
fn the_operators_word_founds_the_group_of_an_old_store_anew() {
    let mut room = with_identity("lkh-group", 3);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    room.evict(3);
    let old = copy_of(&room.store);
    room.evict(2);
    let last_founding = room.service.founded();
    room.found_anew(old).unwrap();
    assert!(room.service.founded() > last_founding && room.service.group_key().is_none());
    // The copy does not know that 2 was evicted, too.
    room.members.remove(&name(2));
    room.arrive(4);
    room.run_for(200);
    room.assert_group(&[0, 1, 4]);
    assert_eq!(room.epoch(), Epoch(1));
}

#[test]
fn the_operators_word_leaves_the_last_state_as_it_is() {
    let mut room = with_identity("lkh-group", 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let (before, epoch) = (room.service.founded(), room.epoch());
    room.found_anew(room.store.clone()).unwrap();
    room.settle();
    assert_eq!((room.service.founded(), room.epoch()), (before, epoch));
    room.assert_group(&[0, 1, 2]);
}

/// The broker had lost the notice, so the second service waits for founders. It hears of the group
/// before it has any.
#[test]
fn a_founding_that_nobody_has_joined_ends_no_group() {
    let mut room = with_identity("lkh-group", 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.run_for(2);
    let now = room.now + 60 * SECOND;
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut second = open(&room.policy, &MemoryStore::default(), now);
    second.handle(Input::Connected, now, &mut rng).unwrap();
    for wait in [Service::SILENCE, Service::SILENCE + 2 * SECOND] {
        second.handle(Input::Tick, now + wait, &mut rng).unwrap();
    }
    let notices = std::iter::from_fn(|| second.poll().unwrap()).filter_map(|output| match output {
        Output::Publish(sent) if sent.retain => Some(sent),
        _ => None,
    });
    let notices: Vec<_> = notices.collect();
    assert!(!notices.is_empty());
    for notice in &notices {
        room.publish(notice.topic.clone(), notice.payload.clone());
    }
    let said = room.published.len();
    room.run_for(100);
    room.assert_group(&[0, 1, 2]);
    assert!(room.published[said..].iter().any(|sent| sent.topic.ends_with("/state")));
    let refused = hear(&mut second, &last(&room, "/state"), now).unwrap_err();
    assert!(matches!(refused, Fatal::GroupExists { .. }), "{refused}");
    // Nor does it when the good service begins again.
    let mut restarted = open(&room.policy, &copy_of(&room.store), now);
    hear(&mut restarted, &notices[0], now).unwrap();
    assert!(!restarted.is_confirmed(), "and it proves nothing");
    hear(&mut restarted, &last(&room, "/state"), now).unwrap();
    assert!(restarted.is_confirmed());
}

fn open(policy: &Policy, store: &MemoryStore, now: u64) -> Service {
    let mut rng = ChaCha20Rng::seed_from_u64(now);
    Service::open(policy.clone(), Box::new(store.clone()), now, &mut rng).unwrap()
}

fn hear(service: &mut Service, sent: &Publish, now: u64) -> Result<(), Fatal> {
    let input = Input::Arrived { topic: &sent.topic, payload: &sent.payload };
    service.handle(input, now, &mut ChaCha20Rng::seed_from_u64(now))
}

fn said(service: &mut Service) -> usize {
    let outputs = std::iter::from_fn(|| service.poll().unwrap());
    outputs.filter(|output| matches!(output, Output::Publish(_))).count()
}

/// The last message on a topic with this end.
fn last(room: &VirtualGroup, end: &str) -> Publish {
    let heard = room.heard_by_broker();
    heard.into_iter().rfind(|sent| sent.topic.ends_with(end)).expect("there is one")
}

fn copy_of(store: &MemoryStore) -> MemoryStore {
    let saved = store.clone().load().unwrap();
    let mut copy = MemoryStore::default();
    let queued = saved.queue.into_values().collect();
    let (first, entries) = (saved.first, saved.entries);
    copy.commit(&Transaction { first, entries, queued, replaces: true, ..Transaction::default() })
        .unwrap();
    copy
}

/// A room whose service keeps its identity when it loses its store.
fn with_identity(scheme: &str, members: usize) -> VirtualGroup {
    let mut room = VirtualGroup::new(scheme, &[], members);
    room.policy.identity = Some(Secret::from_bytes([200; 32]));
    VirtualGroup::of(room.policy)
}

const SECOND: u64 = 1_000_000_000;
