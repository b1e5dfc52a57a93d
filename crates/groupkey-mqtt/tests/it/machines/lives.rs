//! Lives of groups: members join, leave, sleep, lose their state, and send messages.

use std::collections::BTreeSet;
use std::time::Duration;

use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::MemberSettings;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{Input, Runtime};

use crate::machines::virtual_group::{VirtualGroup, key, name};

const SCHEMES: [(&str, &[(&str, u32)]); 5] = [
    ("lkh-group", &[]),
    ("lkh-key", &[]),
    ("skdc", &[]),
    ("dep", &[("subgroups", 2)]),
    ("igkmp", &[("subgroups", 2)]),
];

#[test]
fn members_come_and_go_and_talk() {
    for (scheme, parameters) in SCHEMES {
        let mut room = VirtualGroup::new(scheme, parameters, 4);
        (0..4).for_each(|number| room.arrive(number));
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        room.arrive(4);
        room.settle();
        room.assert_group(&[0, 1, 2, 3, 4]);
        room.evict(1);
        room.assert_group(&[0, 2, 3, 4]);
        assert!(room.members[&name(1)].member.is_out(), "{scheme}");

        let (now, seat) = (room.now, room.members.get_mut(&name(4)).unwrap());
        seat.member.say(b"slippery road", now, &mut room.rng).unwrap();
        room.settle();
        for number in [0, 2, 3] {
            assert_eq!(room.members[&name(number)].heard, [b"slippery road"], "{scheme}");
        }
        assert!(room.members[&name(1)].heard.is_empty() && room.members[&name(4)].heard.is_empty());
    }
}

#[test]
fn what_expires_is_what_somebody_can_ask_for_again() {
    for (scheme, parameters) in SCHEMES {
        let mut room = VirtualGroup::new(scheme, parameters, 4);
        (0..5).for_each(|number| room.arrive(number));
        room.settle();
        room.members.get_mut(&name(0)).unwrap().asleep = true;
        room.evict(1);
        room.reconnect(&name(0));
        let (now, seat) = (room.now, room.members.get_mut(&name(2)).unwrap());
        seat.member.say(b"slippery road", now, &mut room.rng).unwrap();
        room.settle();
        let mut seen = BTreeSet::new();
        for Publish { topic, retain, expiry, .. } in room.heard_by_broker() {
            let place = topic.strip_prefix("groupkey/1/").unwrap().split('/').next().unwrap();
            seen.insert(place.to_owned());
            match place {
                "all" | "set" => assert_eq!(expiry, Some(60), "{topic}"),
                // To members, or to the controllers of subgroups.
                "to" => assert!(matches!(expiry, Some(60 | 30)), "{topic}"),
                "join" | "requests" => assert_eq!(expiry, Some(30), "{topic}"),
                // An offer of a number, or the welcome itself.
                "welcome" => assert!(matches!(expiry, Some(30) | None), "{topic}"),
                _ => assert_eq!(expiry, None, "{topic}"),
            }
            assert!(!retain || expiry.is_none(), "latecomers need {topic}");
        }
        for place in ["to", "join", "welcome", "epoch", "talk"] {
            assert!(seen.contains(place), "{scheme}: {seen:?}");
        }
    }
}

#[test]
fn who_slept_through_changes_catches_up() {
    for (scheme, parameters) in SCHEMES {
        let mut room = VirtualGroup::new(scheme, parameters, 6);
        (0..6).for_each(|number| room.arrive(number));
        room.settle();
        for sleeper in [1, 4] {
            room.members.get_mut(&name(sleeper)).unwrap().asleep = true;
        }
        room.arrive(6);
        room.settle();
        room.evict(2);
        room.arrive(7);
        room.settle();
        for sleeper in [1, 4] {
            room.reconnect(&name(sleeper));
        }
        room.settle();
        room.assert_group(&[0, 1, 3, 4, 5, 6, 7]);
    }
}

/// The broker has dropped its messages: only the notice of the epoch shows that it missed
/// something.
#[test]
fn who_was_away_for_many_epochs_catches_up() {
    for (scheme, parameters) in SCHEMES {
        for epochs in [1, 5, 20] {
            let mut room = VirtualGroup::new(scheme, parameters, 6);
            (0..6).for_each(|number| room.arrive(number));
            room.settle();
            let before = room.epoch();
            room.members.get_mut(&name(3)).unwrap().asleep = true;
            for change in 0..epochs {
                // A new member joins and is evicted.
                let newcomer = 6 + change / 2;
                if change % 2 == 0 {
                    room.arrive(newcomer);
                    room.settle();
                } else {
                    room.evict(newcomer);
                }
            }
            assert!(room.epoch().0 >= before.0 + u64::from(epochs), "{scheme}");
            room.reconnect(&name(3));
            room.settle();
            let last = 6 + epochs / 2;
            let members: Vec<_> = (0..6).chain((epochs % 2 == 1).then_some(last)).collect();
            room.assert_group(&members);
        }
    }
}

#[test]
fn a_device_that_lost_its_memory_comes_back_as_the_same_member() {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let before = (room.epoch(), room.service.members());
    room.now += 60_000_000_000;
    room.arrive(2);
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    assert_eq!(room.service.members(), before.1);
    assert!(room.epoch() > before.0);
}

/// Otherwise, on a slow network each member of a new group would be removed and added many times.
#[test]
fn who_asks_again_while_its_welcome_is_on_its_way_is_taken_in_once() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    room.keep_back = is_welcome;
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let asked = room.heard_by_broker().iter().filter(|sent| sent.topic.ends_with("/join")).count();
    assert!(asked > 6, "each asked for a number, with it, and once more: {asked}");
    assert_eq!((room.service.member_count(), room.epoch().0), (3, 1));
    assert!(room.members[&name(1)].member.group_key().is_none());
    room.let_go();
    room.settle();
    room.assert_group(&[0, 1, 2]);
    assert_eq!(room.epoch().0, 1);
}

#[test]
fn a_welcome_that_was_lost_is_said_again() {
    let mut room = without_the_welcome_of_3();
    let epoch = room.epoch();
    room.patience = 10_000_000_000;
    let said = room.published.len();
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    assert_eq!(room.epoch(), epoch);
    // The member missed the notice, too, and asks once whether it is in the service's founding.
    assert_eq!(room.published.len(), said + 2, "and no oftener than need be");
}

/// The service has dropped the welcome. It must not treat the device as one that lost its state: an
/// attacker with a recorded request could have it evicted.
#[test]
fn whose_welcome_is_gone_for_good_comes_in_by_its_next_attempt() {
    let mut room = without_the_welcome_of_3();
    room.revive(&Fatal::Crashed);
    let epoch = room.epoch();
    room.patience = 10_000_000_000;
    room.settle();
    assert_eq!(room.epoch(), epoch);
    assert!(room.service.counters().refused > 0);
    assert!(room.members[&name(3)].member.group_key().is_none());
    room.patience = 30_000_000_000;
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    assert!(room.epoch() > epoch);
}

#[test]
fn who_never_hears_of_the_first_key_asks_for_it() {
    for (scheme, parameters) in SCHEMES {
        let mut room = VirtualGroup::new(scheme, parameters, 3);
        room.keep_back = |publish| {
            !is_welcome(publish) && publish.topic.contains("/to/m")
                || ["/all", "/epoch"].iter().any(|end| publish.topic.ends_with(end))
                || publish.topic.contains("/set/")
        };
        (0..3).for_each(|number| room.arrive(number));
        room.settle();
        assert!(room.members.values().all(|seat| seat.member.group_key().is_none()), "{scheme}");
        assert!(room.members.values().all(|seat| seat.member.number().is_some()), "{scheme}");
        room.kept_back.clear();
        room.keep_back = |_| false;
        room.patience = 50_000_000_000;
        room.settle();
        room.assert_group(&[0, 1, 2]);
    }
}

/// Four members; the welcome of the last one was just lost.
fn without_the_welcome_of_3() -> VirtualGroup {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let patience = std::mem::replace(&mut room.patience, 1_000_000_000);
    room.keep_back = is_welcome;
    room.arrive(3);
    room.settle();
    assert_eq!((room.service.member_count(), room.kept_back.len()), (4, 1));
    room.kept_back.clear();
    room.keep_back = |_| false;
    room.patience = patience;
    room
}

/// An array of three; an offer of a number and a farewell have four.
fn is_welcome(publish: &Publish) -> bool {
    publish.topic.contains("/welcome/") && publish.payload.first() == Some(&0x83)
}

#[test]
fn a_token_lets_one_device_in_and_from_then_on_its_identity_does() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    let token = Secret::from_bytes([77; 32]);
    room.policy.tokens.push(token.clone());
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    // Devices 70 and 71 have no pre-shared keys. Both know the token; the first one gets in.
    room.arrive_with(MemberSettings { shared: Some(token.clone()), ..room.settings(70) });
    room.settle();
    room.assert_group(&[0, 1, 2, 70]);
    room.arrive_with(MemberSettings { shared: Some(token.clone()), ..room.settings(71) });
    room.settle();
    room.assert_group(&[0, 1, 2, 70]);
    // The first one restarts, with the token or without.
    for shared in [Some(token), None] {
        room.now += 60_000_000_000;
        room.arrive_with(MemberSettings { shared, ..room.settings(70) });
        room.settle();
        room.assert_group(&[0, 1, 2, 70]);
    }
    // After an eviction neither helps until the operator readmits it.
    room.evict(70);
    room.now += 60_000_000_000;
    room.arrive_with(room.settings(70));
    room.settle();
    room.assert_group(&[0, 1, 2]);
    room.service.readmit(&name(70), room.now).unwrap();
    room.now += 60_000_000_000;
    room.arrive_with(room.settings(70));
    room.settle();
    room.assert_group(&[0, 1, 2, 70]);
}

/// It forgot everything and asks anew. Whoever is not the device learns nothing, and asking in ever new
/// attempts has the service answer no more often.
#[test]
fn an_evicted_device_that_asks_again_learns_that_it_is_barred() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.evict(2);
    room.now += 60_000_000_000;
    let is_told =
        |room: &VirtualGroup| room.members[&name(2)].events.contains(&MemberEvent::Evicted);
    room.arrive_with(MemberSettings { shared: Some(key(9)), ..room.settings(2) });
    room.settle();
    assert!(!is_told(&room), "it has another key");
    room.now += 60_000_000_000;
    let (answered, from) = (welcomes(&room), room.now);
    for _ in 0..20 {
        room.arrive(2);
        room.run_for(1);
    }
    let often = (room.now - from) / 10_000_000_000 + 1;
    assert!((1..=often).contains(&((welcomes(&room) - answered) as u64)), "more than {often}");
    room.arrive(2);
    room.run_for(60);
    assert!(is_told(&room));
    let answered = welcomes(&room);
    room.run_for(600);
    assert_eq!(welcomes(&room), answered, "it asks no more");
    room.assert_group(&[0, 1]);
    room.service.readmit(&name(2), room.now).unwrap();
    room.arrive(2);
    room.settle();
    room.assert_group(&[0, 1, 2]);
}

/// Returns how many answers to requests to join the broker has had from the service.
fn welcomes(room: &VirtualGroup) -> usize {
    let answers = room.heard_by_broker();
    answers.iter().filter(|sent| sent.topic.ends_with(&format!("/welcome/{}", name(2)))).count()
}

#[test]
fn the_key_changes_after_a_period() {
    let mut room = with_a_period();
    let before = room.epoch();
    wait(&mut room, 61);
    room.assert_group(&[0, 1, 2]);
    assert_eq!(room.epoch(), before.next());
}

#[test]
fn the_period_goes_on_when_the_service_begins_again() {
    let mut room = with_a_period();
    let before = room.epoch();
    room.revive(&Fatal::Crashed);
    wait(&mut room, 30);
    assert_eq!(room.epoch(), before);
    wait(&mut room, 31);
    room.assert_group(&[0, 1, 2]);
    assert_eq!(room.epoch(), before.next());
    // A rekey that fell due while the service was stopped happens at once.
    room.now += 600 * SECOND;
    room.revive(&Fatal::Crashed);
    wait(&mut room, 0);
    room.assert_group(&[0, 1, 2]);
    assert_eq!(room.epoch(), before.next().next());
    // A clock that was set back does not make the period longer.
    room.now -= 3_600 * SECOND;
    room.revive(&Fatal::Crashed);
    room.service.handle(Input::Connected, room.now, &mut room.rng).unwrap();
    wait(&mut room, 61);
    assert_eq!(room.epoch(), before.next().next().next());
}

/// All new stamps of the device are earlier than its last accepted one: its clock was ten years ahead, and
/// then it has none at all.
#[test]
fn a_clock_that_was_ahead_shuts_nobody_out() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let now = room.now;
    room.now += 3_650 * 86_400 * SECOND;
    room.arrive(3);
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    room.now = now + 60 * SECOND;
    let mut epoch = room.epoch();
    for _ in 0..3 {
        room.arrive(3);
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        assert_eq!(room.epoch(), epoch.next().next(), "it left and joined");
        epoch = room.epoch();
    }
    // Its changes of the scheme and its readmission go on from there, too.
    room.evict(3);
    room.service.readmit(&name(3), room.now).unwrap();
    room.revive(&Fatal::Crashed);
    room.now += SECOND;
    room.arrive(3);
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
}

/// Recordings of all requests, from before and after a clock was ahead, change nothing.
#[test]
fn recorded_requests_of_a_device_whose_clock_was_ahead_stay_without_effect() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let now = room.now;
    for ahead in [0, 3_650 * 86_400 * SECOND, 0] {
        room.now = now + ahead + 60 * SECOND;
        room.arrive(3);
        room.settle();
    }
    room.service.readmit(&name(2), room.now).unwrap();
    let (epoch, replayed) = (room.epoch(), room.service.counters().replayed);
    for publish in room.heard_by_broker() {
        if publish.topic.ends_with("/join") {
            room.publish(publish.topic, publish.payload);
        }
    }
    room.settle();
    assert_eq!(room.epoch(), epoch);
    assert!(room.service.counters().replayed >= replayed + 10);
    room.assert_group(&[0, 1, 2, 3]);
}

/// Three members of a scheme that can rekey without a join or leave, and does so every minute.
fn with_a_period() -> VirtualGroup {
    let mut room = VirtualGroup::new("igkmp", &[("subgroups", 2)], 3);
    room.policy.period = Some(Duration::from_secs(60));
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room
}

fn wait(room: &mut VirtualGroup, seconds: u64) {
    room.now += seconds * SECOND;
    room.service.handle(Input::Tick, room.now, &mut room.rng).unwrap();
    room.settle();
}

const SECOND: u64 = 1_000_000_000;
