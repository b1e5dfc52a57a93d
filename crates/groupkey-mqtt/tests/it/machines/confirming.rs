//! Members say which epoch they have, and the service notes it, in memory.

use std::collections::BTreeSet;
use std::time::Duration;

use groupkey::{Epoch, MemberId};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::service::{Confirmations, ServiceEvent};
use groupkey_mqtt::{Input, Policy, Runtime, Service};

use crate::machines::virtual_group::{VirtualGroup, name};

/// They ask once an hour by default, and the question is the confirmation.
#[test]
fn a_question_confirms_and_nothing_is_added() {
    let mut room = group(|_| {});
    assert_eq!(counts(&room), (0, 0, 4));
    let before = questions(&room);
    room.run_for(3_600);
    assert_eq!(counts(&room), (4, 0, 0));
    assert_eq!(questions(&room) - before, 4);
    room.service.rekey(room.now, &mut room.rng).unwrap();
    room.settle();
    assert_eq!(counts(&room), (0, 0, 4), "nobody was heard since");
}

#[test]
fn confirmations_are_spread_over_the_window_and_one_for_each_member() {
    let mut room = group(|policy| policy.confirm = Some(Duration::from_secs(60)));
    room.run_for(61);
    assert_eq!(counts(&room), (4, 0, 0));
    let before = questions(&room);
    room.service.rekey(room.now, &mut room.rng).unwrap();
    let (began, mut seconds) = (room.now, BTreeSet::new());
    room.patience = 0;
    for second in 0..62 {
        let asked = questions(&room);
        room.run_for(1);
        if questions(&room) > asked {
            seconds.insert(second);
        }
    }
    assert_eq!((counts(&room), questions(&room) - before), ((4, 0, 0), 4));
    room.patience = 5 * SECOND;
    assert!(seconds.len() >= 3, "they came at once: {seconds:?}");
    let device = room.service.devices(MemberId(1)).next().unwrap();
    assert_eq!(device.confirmed, Some(room.epoch()));
    assert!(device.seen.is_some_and(|seen| seen > began));
    assert!(room.service.confirmations().oldest.is_some_and(|oldest| oldest > began));
    room.run_for(600);
    assert_eq!(questions(&room) - before, 4, "the epoch is confirmed");
}

/// The broker drops the rekey and the notice for one member. Nobody speaks. The others confirm, and the
/// service repeats its notice once.
#[test]
fn who_does_not_confirm_is_reminded_and_catches_up() {
    let mut room = group(|policy| policy.confirm = Some(Duration::from_secs(60)));
    room.run_for(61);
    room.members.get_mut(&name(1)).unwrap().asleep = true;
    room.evict(3);
    room.members.get_mut(&name(1)).unwrap().asleep = false;
    assert_eq!(room.members[&name(1)].member.group_key().unwrap().0, Epoch(1));
    room.run_for(70);
    room.assert_group(&[0, 1, 2]);
    let seat = &room.members[&name(1)];
    assert!(seat.events.contains(&MemberEvent::Behind(Epoch(2))));
    let status = seat.member.key_status(room.now);
    assert_eq!((status.epoch, status.behind, status.times_behind), (Some(Epoch(2)), None, 1));
    room.run_for(61);
    assert_eq!(counts(&room), (3, 0, 0));
}

/// A member that cannot catch up says what it has, and so its operator sees it. When it has caught up, it
/// says so soon, although nobody expects confirmations.
#[test]
fn who_is_behind_is_shown_until_it_is_not() {
    let mut room = group(|_| {});
    room.members.get_mut(&name(1)).unwrap().asleep = true;
    room.evict(3);
    room.forget_retained();
    room.keep_back = |sent| sent.topic.ends_with("/requests");
    room.members.get_mut(&name(1)).unwrap().asleep = false;
    let now = room.now;
    let seat = room.members.get_mut(&name(1)).unwrap();
    seat.member.handle(Input::Connected, now, &mut room.rng).unwrap();
    room.run_for(15);
    assert_eq!(counts(&room), (0, 1, 2));
    let status = room.members[&name(1)].member.key_status(room.now);
    assert_eq!((status.epoch, status.behind), (Some(Epoch(1)), Some(Epoch(2))));
    room.let_go();
    room.run_for(75);
    assert_eq!(counts(&room), (1, 0, 2));
}

/// The broker replays what a member said an hour ago: the member is no more alive for that.
#[test]
fn a_recording_is_no_sign_of_life() {
    let mut room = group(|_| {});
    let begin = room.heard_by_broker().len();
    room.run_for(3_600);
    let seen = |room: &VirtualGroup| {
        room.service.devices(MemberId(0)).map(|device| device.seen).collect::<Vec<_>>()
    };
    let before = seen(&room);
    let heard = room.heard_by_broker();
    for recorded in heard[begin..].iter().filter(|sent| sent.topic.ends_with("/join")) {
        room.publish(recorded.topic.clone(), recorded.payload.clone());
    }
    room.now += 100 * SECOND;
    room.settle();
    assert_eq!(seen(&room), before);
}

#[test]
fn silent_members_are_evicted_in_one_change_and_may_come_back() {
    for scheme in ["lkh-group", "skdc"] {
        let mut room = silent(scheme, 2);
        room.run_for(1_300);
        room.assert_group(&[0, 1, 2]);
        let out = |event: &&ServiceEvent| matches!(event, ServiceEvent::Silent { .. });
        assert_eq!(room.events.iter().filter(out).count(), 2, "{scheme}");
        let changes = room.service.history().last().filter(|done| done.left > 0).count();
        assert_eq!((changes, room.service.member_count()), (1, 3), "{scheme}");
        wake(&mut room, 3);
        room.run_for(200);
        room.assert_group(&[0, 1, 2, 3]);
    }
}

/// Two of four are silent, and a third has left: the fault may be the network's.
#[test]
fn a_group_in_which_most_are_silent_stays_as_it_is() {
    let mut room = silent("lkh-group", 4);
    room.run_for(5_000);
    assert_eq!((room.service.member_count(), room.epoch()), (5, Epoch(1)));
}

/// The broker is down for hours. The service's time goes on, and nothing is acknowledged. When it is
/// connected again, the members have as long as at its start.
#[test]
fn nobody_is_silent_while_the_broker_is_down() {
    let mut room = silent("lkh-group", 0);
    for _ in 0..50 {
        room.now += 200 * SECOND;
        let now = room.now;
        room.service.handle(Input::Tick, now, &mut room.rng).unwrap();
    }
    assert_eq!((room.service.member_count(), room.epoch()), (5, Epoch(1)));
    let now = room.now;
    room.service.handle(Input::Connected, now, &mut room.rng).unwrap();
    room.run_for(1_000);
    assert_eq!((room.service.member_count(), room.epoch()), (5, Epoch(1)));
}

/// A service that restarts has heard nobody, and waits as long as any.
#[test]
fn nobody_is_silent_at_the_start() {
    let mut room = silent("lkh-group", 0);
    room.run_for(500);
    let store = Box::new(room.store.clone());
    room.now += 5_000 * SECOND;
    room.service = Service::open(room.policy.clone(), store, room.now, &mut room.rng).unwrap();
    room.connect().unwrap();
    room.run_for(3_000);
    assert_eq!((room.service.member_count(), room.epoch()), (5, Epoch(1)));
    assert_eq!(counts(&room).0, 5);
}

/// Five members. The last `silent` of them are switched off.
fn silent(scheme: &str, silent: u32) -> VirtualGroup {
    let room = VirtualGroup::new(scheme, &[], 5);
    let policy = Policy { evict_silent_after: Some(Duration::from_secs(900)), ..room.policy };
    let mut room = VirtualGroup::of(policy);
    let now = room.now;
    room.service.handle(Input::Connected, now, &mut room.rng).unwrap();
    (0..5).for_each(|number| room.arrive(number));
    room.settle();
    for number in 5 - silent..5 {
        room.members.get_mut(&name(number)).unwrap().asleep = true;
    }
    room
}

fn wake(room: &mut VirtualGroup, number: u32) {
    let now = room.now;
    let seat = room.members.get_mut(&name(number)).unwrap();
    seat.member.handle(Input::Connected, now, &mut room.rng).unwrap();
    room.reconnect(&name(number));
}

fn group(change: impl Fn(&mut Policy)) -> VirtualGroup {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    change(&mut room.policy);
    let mut room = VirtualGroup::of(room.policy);
    room.is_spread = true;
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    assert_eq!(room.epoch(), Epoch(1));
    room
}

/// Members that have confirmed, that are behind, and that were not heard.
fn counts(room: &VirtualGroup) -> (usize, usize, usize) {
    let Confirmations { confirmed, behind, unconfirmed, .. } = room.service.confirmations();
    (confirmed, behind, unconfirmed)
}

fn questions(room: &VirtualGroup) -> usize {
    room.heard_by_broker().iter().filter(|sent| sent.topic.ends_with("/join")).count()
}

const SECOND: u64 = 1_000_000_000;
