//! Admission: accepted and refused devices, and the reports about them.

use std::time::Duration;

use groupkey::catalogue::{self, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey::{Epoch, Suite};
use groupkey_mqtt::event::{Hint, MemberEvent};
use groupkey_mqtt::group_form::Weakness;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::MemberSettings;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::{OperationError, RefusalReason, ServiceEvent};
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::store::{MemoryStore, Store, Transaction};
use groupkey_mqtt::{Allowed, GroupForm, Input, Member, Output, Policy, Runtime, Service};

use crate::machines::hostile::Offer;
use crate::machines::virtual_group::{VirtualGroup, key, name};

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_fleet_follows_a_service_that_has_lost_its_store() {
    let mut room = with_identity(3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    for _ in 0..2 {
        room.evict(2);
        room.service.readmit(&name(2), room.now).unwrap();
        room.now += SECOND;
        room.arrive(2);
        room.settle();
    }
    room.assert_group(&[0, 1, 2]);
    let (reached, said) = (room.epoch(), room.heard_by_broker());

    room.now += 60 * SECOND;
    room.lose_store();
    room.settle();
    room.assert_group(&[0, 1, 2]);
    let epoch = room.epoch();
    assert!(epoch < reached, "it is another group: {epoch}, {reached}");

    // Messages of the earlier group are ignored.
    for sent in said
        .iter()
        .filter(|sent| ["/epoch", "/welcome/"].iter().any(|part| sent.topic.contains(part)))
    {
        room.publish(sent.topic.clone(), sent.payload.clone());
    }
    room.run_for(200);
    room.assert_group(&[0, 1, 2]);
    assert_eq!(room.epoch(), epoch, "nobody joined again");
}

/// The clock went back, and the broker forgot the notice: nothing says which group is the later one.
/// The members ask the service. A recorded notice of the other group makes them ask again, and
/// changes nothing.
#[test]
fn a_fleet_follows_a_service_that_has_lost_its_store_and_the_time() {
    let mut room = with_identity(3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let said = room.heard_by_broker();
    let recorded = said.iter().rfind(|sent| sent.topic.ends_with("/epoch")).unwrap().clone();

    let clocks_of_devices = room.now;
    room.forget_retained();
    room.now -= 3_600 * SECOND;
    room.lose_store();
    room.service.handle(Input::Tick, room.now, &mut room.rng).unwrap();
    room.now = clocks_of_devices;
    room.run_for(200);
    room.assert_group(&[0, 1, 2]);
    let (epoch, said) = (room.epoch(), room.heard_by_broker().len());

    for _ in 0..100 {
        for seat in room.members.values_mut() {
            let Publish { topic, payload, .. } = &recorded;
            let input = Input::Arrived { topic, payload };
            seat.member.handle(input, room.now, &mut room.rng).unwrap();
        }
    }
    room.run_for(200);
    room.assert_group(&[0, 1, 2]);
    assert_eq!(room.epoch(), epoch, "nobody joined again");
    let answered = room.heard_by_broker().len() - said;
    assert!(answered <= 3 * 2 * 5, "three members ask a few times: {answered}");
}

#[test]
fn an_old_copy_of_the_store_is_refused_before_an_epoch_is_used_twice() {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let saved = room.store.load().unwrap();
    room.evict(3);
    let mut said = room.heard_by_broker().into_iter().rev();
    let notice = said.find(|sent| sent.topic.ends_with("/epoch")).unwrap();

    let mut copy = MemoryStore::default();
    copy.commit(&Transaction { entries: saved.entries, ..Transaction::default() }).unwrap();
    let (policy, now) = (room.policy.clone(), room.now);
    let mut service = Service::open(policy, Box::new(copy), now, &mut room.rng).unwrap();
    service.handle(Input::Connected, now, &mut room.rng).unwrap();
    let mut before = std::iter::from_fn(|| service.poll().unwrap());
    assert!(!before.any(|output| matches!(output, Output::Publish(sent) if sent.retain)));
    let input = || Input::Arrived { topic: &notice.topic, payload: &notice.payload };
    let refused = service.handle(input(), now, &mut room.rng).unwrap_err();
    let Fatal::OldStore { stored, announced } = refused else { panic!("{refused}") };
    assert_eq!((stored, announced), (Epoch(1), room.epoch()));
    assert!(service.poll().is_err() && service.ready().is_err());
    // The service with the latest store ignores it.
    room.service.handle(input(), now, &mut room.rng).unwrap();
}

#[test]
fn a_new_store_whose_clock_is_behind_founds_a_later_group() {
    let mut room = with_identity(3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let mut said = room.heard_by_broker().into_iter().rev();
    let notice = said.find(|sent| sent.topic.ends_with("/epoch")).unwrap();
    let saved = room.store.load().unwrap();
    let input = || Input::Arrived { topic: &notice.topic, payload: &notice.payload };

    room.now -= 60 * SECOND;
    room.lose_store();
    room.service.handle(input(), room.now, &mut room.rng).unwrap();
    // It remembers that after a restart.
    let store = Box::new(room.store.clone());
    let (policy, now) = (room.policy.clone(), room.now);
    room.service = Service::open(policy.clone(), store, now, &mut room.rng).unwrap();
    room.service.handle(Input::Connected, now, &mut room.rng).unwrap();
    room.service.handle(input(), now, &mut room.rng).unwrap();
    room.now += Service::SILENCE;
    room.service.handle(Input::Tick, room.now, &mut room.rng).unwrap();
    room.run_for(200);
    room.assert_group(&[0, 1, 2]);

    // A group that has members cannot become a later group.
    let mut said = room.heard_by_broker().into_iter().rev();
    let later = said.find(|sent| sent.topic.ends_with("/epoch")).unwrap();
    let mut copy = MemoryStore::default();
    copy.commit(&Transaction { entries: saved.entries, ..Transaction::default() }).unwrap();
    let mut service = Service::open(policy, Box::new(copy), now, &mut room.rng).unwrap();
    let input = Input::Arrived { topic: &later.topic, payload: &later.payload };
    let refused = service.handle(input, now, &mut room.rng).unwrap_err();
    assert!(matches!(refused, Fatal::EarlierGroup { .. }), "{refused}");
    let causes = ["old copy", "clock was behind"];
    assert!(causes.iter().all(|cause| refused.to_string().contains(cause)), "{refused}");
    assert!(service.poll().is_err() && service.ready().is_err());
}

/// A broker that has forgotten the notice of one copy's group lets the other copy act.
#[test]
fn two_copies_of_a_store_without_a_group_have_two_foundings() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    let saved = room.store.load().unwrap().entries;
    room.arrive(0);
    room.settle();
    let request = room.heard_by_broker().into_iter().find(|sent| sent.topic.ends_with("/join"));
    let request = request.unwrap();
    let mut foundings = (0..2).map(|_| {
        let mut copy = MemoryStore::default();
        copy.commit(&Transaction { entries: saved.clone(), ..Transaction::default() }).unwrap();
        let (policy, now) = (room.policy.clone(), room.now);
        let mut service = Service::open(policy, Box::new(copy), now, &mut room.rng).unwrap();
        let arrived = Input::Arrived { topic: &request.topic, payload: &request.payload };
        service.handle(Input::Connected, now, &mut room.rng).unwrap();
        for input in [Input::Tick, arrived] {
            service.handle(input, now + Service::SILENCE, &mut room.rng).unwrap();
        }
        let offer =
            std::iter::from_fn(|| service.poll().unwrap()).find_map(|output| match output {
                Output::Publish(sent) if sent.topic.contains("/welcome/") => Some(sent.payload),
                _ => None,
            });
        let ((_, founding), ..): Offer = minicbor::decode(&offer.unwrap()).unwrap();
        founding
    });
    assert_ne!(foundings.next(), foundings.next());
}

#[test]
fn who_comes_back_over_and_over_waits() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let before = room.epoch().0;
    for _ in 0..500 {
        room.arrive(2);
        room.patience = SECOND / 2;
        room.settle();
        room.now += SECOND;
    }
    let changes = room.epoch().0 - before;
    assert!((10..40).contains(&changes), "{changes} changes of the key in 500 s");
    room.patience = 100 * SECOND;
    room.settle();
    room.assert_group(&[0, 1, 2]);
}

#[test]
fn of_two_one_can_be_barred_and_is_out_when_a_third_has_come() {
    let mut room = VirtualGroup::new("lkh-group", &[], 2);
    (0..2).for_each(|number| room.arrive(number));
    room.settle();
    let refused = room.service.evict(&name(1), room.now, &mut room.rng);
    assert!(matches!(refused, Err(OperationError::BarredOnly(_))), "{refused:?}");
    room.settle();
    room.assert_group(&[0, 1]);
    room.arrive(2);
    room.settle();
    room.assert_group(&[0, 2]);
    assert!(room.members[&name(1)].member.is_out());
}

/// A group of two cannot remove the one that lost its memory, and no third one comes.
#[test]
fn a_pair_gets_its_group_back_whichever_of_the_two_restarts() {
    for scheme in ["lkh-group", "skdc", "igkmp"] {
        for restarted in [&[1][..], &[0], &[0, 1]] {
            for founders in [2, 3] {
                let mut room = VirtualGroup::new(scheme, &[], founders);
                (0..founders as u32).for_each(|number| room.arrive(number));
                room.settle();
                (2..founders as u32).for_each(|number| room.evict(number));
                room.assert_group(&[0, 1]);
                room.now += 60 * SECOND;
                for &number in restarted {
                    room.arrive(number);
                }
                room.run_for(120);
                let keys = [0, 1].map(|number| {
                    let (epoch, key) = room.members[&name(number)].member.group_key().unwrap();
                    (epoch, *key.as_bytes())
                });
                assert_eq!(keys[0], keys[1], "{scheme} {restarted:?}");
                let (epoch, key) = room.service.group_key().unwrap();
                assert_eq!((epoch, *key.as_bytes()), keys[0], "{scheme} {restarted:?}");
                assert_eq!(room.service.member_count(), 2);
                let is_out = |number| room.members[&name(number)].member.is_out();
                assert!((2..founders as u32).all(is_out), "evicted devices stay out");
            }
        }
    }
}

/// The service is killed at every point of that.
#[test]
fn a_pair_gets_its_group_back_although_the_service_is_killed() {
    let mut point = 0;
    loop {
        let mut room = VirtualGroup::new("lkh-group", &[], 2);
        (0..2).for_each(|number| room.arrive(number));
        room.settle();
        room.now += 60 * SECOND;
        let crashes = room.crashes;
        room.service.crash_at(point);
        (0..2).for_each(|number| room.arrive(number));
        room.run_for(200);
        let has_key = |number| {
            let member = &room.members[&name(number)].member;
            member.group_key().is_some_and(|key| Some(key) == room.service.group_key())
        };
        assert!(has_key(0) && has_key(1), "killed at {point}");
        if room.crashes == crashes {
            break;
        }
        point += 1;
    }
    assert!(point > 5, "it was killed {point} times");
}

#[test]
fn who_is_refused_is_told_of_and_sees_that_something_is_wrong() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    room.arrive(0);
    room.run_for(20);
    let waits = |name, waiting| ServiceEvent::Waits { name, waiting, founders: 3 };
    assert_eq!(room.events, [waits(name(0), 1)]);
    assert!(room.members[&name(0)].events.contains(&MemberEvent::NotIn(Hint::Known)));
    (1..3).for_each(|number| room.arrive(number));
    room.settle();
    room.events.clear();
    // A secret that the service does not know.
    let shared = Some(Secret::from_bytes([9; 32]));
    room.arrive_with(MemberSettings { shared, ..room.settings(70) });
    // Another service's public key.
    let service = Some(Secret::from_bytes([8; 32]).public());
    let shared = room.policy.keys.get(&name(5)).cloned();
    room.arrive_with(MemberSettings { service, shared, ..room.settings(5) });
    room.run_for(20);
    let refused = ServiceEvent::Refused { name: name(70), why: RefusalReason::NoPermission };
    assert_eq!(room.events.iter().filter(|event| **event == refused).count(), 1);
    assert_eq!(room.members[&name(70)].events, [MemberEvent::NotIn(Hint::NoAnswer)]);
    assert!(room.members[&name(5)].events.contains(&MemberEvent::NotIn(Hint::Unopened)));
}

#[test]
fn a_device_that_lacks_the_groups_scheme_says_so_and_holds_nobody_up() {
    static SKDC: [Scheme; 1] = [*catalogue::scheme("skdc").unwrap()];
    static LKH: [Scheme; 1] = [*catalogue::scheme("lkh-group").unwrap()];
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    for number in 0..3 {
        let settings = MemberSettings { shared: Some(key(number)), ..room.settings(number) };
        room.arrive_as(name(number), Member::with_schemes(settings, &LKH).unwrap());
    }
    room.settle();
    let settings = MemberSettings { shared: Some(key(3)), ..room.settings(3) };
    room.arrive_as(name(3), Member::with_schemes(settings, &SKDC).unwrap());
    room.run_for(20);
    assert!(room.members[&name(3)].events.contains(&MemberEvent::NotIn(Hint::OtherScheme)));
    assert_eq!(room.members[&name(3)].member.group_key(), None);
    assert_eq!(room.members[&name(0)].member.group_key().map(|(epoch, _)| epoch), Some(Epoch(2)));
}

/// Whatever the service's operator allows.
#[test]
fn a_device_joins_no_group_that_is_weaker_than_it_accepts() {
    let skdc = catalogue::scheme("skdc").unwrap();
    let sound = GroupForm::of(skdc);
    let published =
        GroupForm { configuration: skdc.configuration(Profile::Published), ..sound.clone() };
    for (form, weakness) in [
        (GroupForm { guard: Guard::Mac, ..sound.clone() }, Weakness::SharedMac),
        (GroupForm { guard: Guard::None, ..sound.clone() }, Weakness::Unprotected),
        (
            GroupForm { suite: Suite::Published, ..sound.clone() },
            Weakness::ForReproductionOnly("published"),
        ),
        (published, Weakness::ForReproductionOnly("skdc")),
    ] {
        let mut room = VirtualGroup::new("skdc", &[], 2);
        (room.policy.form, room.policy.allowed) = (form.clone(), ALL);
        let mut room = VirtualGroup::of(room.policy);
        (0..2).for_each(|number| room.arrive(number));
        room.settle();
        assert!(room.service.group_key().is_some(), "{form}");
        room.arrive_with(wary(&room, 2));
        room.run_for(20);
        let seat = &room.members[&name(2)];
        assert!(seat.events.contains(&MemberEvent::NotIn(Hint::TooWeak(weakness))), "{form}");
        assert!(seat.member.group_key().is_none() && seat.member.number().is_none(), "{form}");
    }
}

#[test]
fn a_member_follows_no_change_to_a_group_that_is_weaker_than_it_accepts() {
    let mut room = VirtualGroup::new("skdc", &[], 3);
    room.policy.allowed = ALL;
    let mut room = VirtualGroup::of(room.policy);
    (0..2).for_each(|number| room.arrive(number));
    room.arrive_with(wary(&room, 2));
    room.settle();
    room.assert_group(&[0, 1, 2]);
    let form = GroupForm { guard: Guard::Mac, ..room.policy.form.clone() };
    room.service.change_scheme(form, room.now, &mut room.rng).unwrap();
    room.run_for(100);
    let key = |number| room.members[&name(number)].member.group_key().map(|(_, key)| key);
    let weak = room.service.group_key().map(|(_, key)| key);
    assert!(key(0) == weak && key(1) == weak && key(2) != weak);
}

const ALL: Allowed = Allowed { mac: true, published: true };

/// A device that accepts what members accept by default.
fn wary(room: &VirtualGroup, number: u32) -> MemberSettings {
    let (shared, allowed) = (Some(key(number)), Allowed::default());
    MemberSettings { shared, allowed, ..room.settings(number) }
}

/// The operator decides before the device is admitted again.
#[test]
fn a_device_that_is_evicted_while_it_waits_is_not_admitted() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    room.policy.batch = Duration::from_secs(60);
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.run_for(90);
    room.assert_group(&[0, 1, 2]);
    room.members.remove(&name(2));
    room.arrive(2);
    room.settle();
    assert_eq!(room.service.waiting(), 1);
    room.evict(2);
    assert_eq!(room.service.waiting(), 0);
    room.run_for(120);
    room.assert_group(&[0, 1]);
}

#[test]
fn a_device_without_a_clock_joins_again_whether_it_counts_its_starts_or_not() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    let start = |room: &mut VirtualGroup, starts: u64| {
        let settings = MemberSettings { shared: Some(key(2)), ..room.settings(2) };
        // Later than all times of this test: the clock does not help.
        let stamp = 1 << 60 | starts << 32;
        room.arrive_as(name(2), Member::new(settings).unwrap().stamped_from(stamp));
        room.settle();
        room.members[&name(2)].member.group_key().is_some()
    };
    (0..2).for_each(|number| room.arrive(number));
    assert!(start(&mut room, 1));
    assert!(start(&mut room, 2));
    assert!(start(&mut room, 1), "it learns its last stamp, and goes on from there");
    assert!(start(&mut room, 3));
}

/// The service's identity outlives its store.
fn with_identity(founders: usize) -> VirtualGroup {
    let room = VirtualGroup::new("lkh-group", &[], founders);
    let identity = Some(Secret::from_bytes([50; 32]));
    VirtualGroup::of(Policy { identity, ..room.policy })
}
