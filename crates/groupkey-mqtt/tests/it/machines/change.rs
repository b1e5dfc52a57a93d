//! A group changes its scheme while it lives.

use groupkey::protection::Guard;
use groupkey::{GroupId, Operation, catalogue};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::{ChangeError, OpenError, OperationError, ServiceEvent};
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{GroupForm, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::machines::virtual_group::{VirtualGroup, name};

#[test]
fn a_group_goes_through_schemes_and_nothing_that_is_said_is_lost() {
    for (members, seed) in [(5, 1), (12, 2), (40, 3)] {
        let mut room = room("lkh-group", members);
        room.order = Some(ChaCha20Rng::seed_from_u64(seed));
        let numbers: Vec<_> = (0..members).collect();
        let talkers: Vec<_> = numbers.iter().copied().map(name).collect();
        let mut seen = vec![life(&room)];
        for (scheme, parameters) in SCHEMES {
            room.talkers.clone_from(&talkers);
            let asked = asked_for_keys(&room);
            change(&mut room, scheme, parameters);
            room.settle();
            assert_eq!(asked_for_keys(&room), asked, "no message came too early");
            room.assert_group(&numbers);
            assert_eq!(scheme_of(&room), scheme);
            assert!(room.service.change_under_way().is_none());
            for (founded, key) in &seen {
                let (present, new) = life(&room);
                assert!(present > *founded && new != *key, "{scheme}");
            }
            seen.push(life(&room));
            assert!(room.said.len() > members as usize, "{scheme}: {}", room.said.len());
            room.assert_all_heard(&numbers);
            room.talkers.clear();
            // Nobody reads on in the former group for ever, and the new scheme works.
            room.run_for(60);
            room.arrive(members);
            room.settle();
            room.evict(members);
            room.assert_group(&numbers);
            room.members.remove(&name(members));
            room.service.readmit(&name(members), room.now).unwrap();
        }
        for seat in room.members.values() {
            assert_eq!(
                seat.events.iter().filter(|event| **event == MemberEvent::JoinsAgain).count(),
                0
            );
        }
    }
}

#[test]
fn every_scheme_follows_every_kind_and_is_followed() {
    for scheme in catalogue::SCHEMES {
        let form = GroupForm::of(scheme);
        let has = |operation| scheme.operations.contains(&operation);
        let is_live = scheme.has_controller() && form.check(Default::default()).is_ok();
        if !is_live || !has(Operation::Add) || !has(Operation::Remove) {
            continue;
        }
        let mut room = room("skdc", 6);
        for next in [form, self::form("igkmp", &[]), self::form("lkh-group", &[])] {
            if next.configuration.scheme().id == scheme_of(&room) {
                continue;
            }
            room.talkers = (0..6).map(name).collect();
            room.service.change_scheme(next, room.now, &mut room.rng).unwrap();
            room.settle();
            room.assert_group(&[0, 1, 2, 3, 4, 5]);
            room.assert_all_heard(&[0, 1, 2, 3, 4, 5]);
        }
        assert_eq!(scheme_of(&room), "lkh-group", "{}", scheme.id);
    }
}

#[test]
fn parameters_algorithms_and_protection_change_like_the_scheme() {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    room.policy.allowed.mac = true;
    let mut room = VirtualGroup::of(room.policy);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let present = form("lkh-group", &[]);
    let forms = [
        form("lkh-group", &[("degree", 5)]),
        GroupForm { suite: groupkey::Suite::Constrained, ..present.clone() },
        GroupForm { guard: Guard::Mac, ..present.clone() },
        present,
    ];
    for form in forms {
        room.talkers = (0..4).map(name).collect();
        room.service.change_scheme(form.clone(), room.now, &mut room.rng).unwrap();
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        room.assert_all_heard(&[0, 1, 2, 3]);
        assert_eq!(format!("{:?}", room.service.policy().form), format!("{form:?}"));
    }
}

/// The broker and the members know only what the change left. The service's file has the old
/// scheme.
#[test]
fn killed_anywhere_one_scheme_is_in_force_and_all_come_back() {
    let (mut before, mut after) = (0, 0);
    for (old, new) in [("lkh-group", "skdc"), ("skdc", "igkmp"), ("igkmp", "lkh-group")] {
        let mut first = room(old, 4);
        let start = first.service.fault_points();
        change(&mut first, new, &[]);
        first.settle();
        let points = first.service.fault_points() - start;
        assert!(points > 8, "{points}");
        for point in 0..points {
            let mut room = room(old, 4);
            room.order = Some(ChaCha20Rng::seed_from_u64(point));
            room.talkers = (0..4).map(name).collect();
            let key = life(&room);
            room.service.crash_at(point);
            change(&mut room, new, &[]);
            room.settle();
            assert_eq!(room.crashes, 1, "{old}, point {point}");
            // The notice that the broker has is the former group's, or the successor's.
            assert_eq!(room.accepted, 0, "{old}, point {point}");
            room.assert_group(&[0, 1, 2, 3]);
            let scheme = scheme_of(&room);
            assert_eq!(life(&room) == key, scheme == old, "{point}");
            assert!(scheme == old || scheme == new);
            if scheme == old {
                before += 1;
                change(&mut room, new, &[]);
                room.settle();
                room.assert_group(&[0, 1, 2, 3]);
            } else {
                after += 1;
            }
            assert_eq!(scheme_of(&room), new);
            room.assert_all_heard(&[0, 1, 2, 3]);
            assert!(!joined_again(&room));
            // Another restart, another member, an eviction.
            room.talkers.clear();
            room.revive(&Fatal::Crashed);
            assert_eq!(scheme_of(&room), new);
            room.arrive(4);
            room.settle();
            room.evict(0);
            room.assert_group(&[1, 2, 3, 4]);
        }
    }
    println!("{before} before, {after} after");
    assert!(before >= 9 && after >= 9, "{before} {after}");
}

#[test]
fn killed_again_and_again_the_change_comes_through() {
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let mut crashes = 0;
    for round in 0..60 {
        let (new, parameters) = SCHEMES[round % SCHEMES.len()];
        let mut room = room("lkh-key", 5);
        room.patience = 20_000_000_000;
        room.deaths = (0..6).map(|_| rng.next_u64() % 12).collect();
        room.service.crash_at(rng.next_u64() % 12);
        for _ in 0..10 {
            if scheme_of(&room) != new && room.service.change_under_way().is_none() {
                change(&mut room, new, parameters);
            }
            room.settle();
        }
        assert_eq!(scheme_of(&room), new, "{round}");
        room.assert_group(&[0, 1, 2, 3, 4]);
        crashes += room.crashes;
    }
    assert!(crashes > 100, "{crashes}");
}

#[test]
fn who_is_evicted_before_during_or_after_the_change_gains_nothing() {
    for (old, new) in [("lkh-group", "igkmp"), ("dep", "skdc")] {
        for when in ["before", "during, not asked", "during, asked", "after"] {
            let mut room = room(old, 6);
            if when == "before" {
                room.evict(2);
            }
            if when == "during, not asked" {
                // Its requests do not arrive.
                room.keep_back = |publish| publish.topic.ends_with("/join");
            }
            if when.starts_with("during") {
                // One member keeps the change waiting.
                asleep(&mut room, 5, true);
            }
            change(&mut room, new, &[]);
            if when.starts_with("during") {
                room.patience = 1_500_000_000;
                room.settle();
                let asked = room.service.change_under_way().unwrap().asked;
                assert_eq!(asked, if when == "during, asked" { 5 } else { 0 });
                room.evict(2);
                assert_eq!(scheme_of(&room), old);
                room.let_go();
                room.reconnect(&name(5));
                room.patience = 5_000_000_000;
            }
            room.settle();
            if when == "after" {
                room.assert_group(&[0, 1, 2, 3, 4, 5]);
                room.evict(2);
            }
            assert_eq!(scheme_of(&room), new, "{when}");
            room.assert_group(&[0, 1, 3, 4, 5]);
            assert!(room.members[&name(2)].member.is_out(), "{when}");
            let heard = room.members[&name(2)].heard.len();
            room.talkers = [0, 1, 3, 4, 5].into_iter().map(name).collect();
            // It asks again, with all that it has.
            let refused = room.service.counters().refused;
            room.arrive(2);
            room.run_for(30);
            assert!(room.service.counters().refused > refused, "{when}");
            room.assert_group(&[0, 1, 3, 4, 5]);
            assert!(room.members[&name(2)].member.group_key().is_none(), "{when}");
            assert_eq!(heard, 0);
            // And everything that was ever sent comes again.
            let recorded = room.heard_by_broker();
            room.talkers.clear();
            play(&mut room, recorded);
            room.run_for(120);
            room.assert_group(&[0, 1, 3, 4, 5]);
        }
    }
}

/// Also the requests that the service never got, and those of another change.
#[test]
fn recordings_of_a_change_disturb_nobody() {
    let mut room = room("lkh-group", 5);
    asleep(&mut room, 4, true);
    change(&mut room, "dep", &[]);
    room.patience = 1_500_000_000;
    room.settle();
    assert_eq!(room.service.change_under_way().unwrap().asked, 4);
    let counters = room.service.counters();
    let recorded = room.heard_by_broker().into_iter().filter(|sent| sent.topic.ends_with("/join"));
    let recorded: Vec<_> = recorded.collect();
    play(&mut room, recorded.clone());
    room.settle();
    let again = room.service.counters();
    let replayed = again.replayed - counters.replayed;
    assert_eq!((again.taken, replayed), (counters.taken, recorded.len() as u64));
    assert!(room.service.cancel_change() && !room.service.cancel_change());
    room.reconnect(&name(4));
    room.patience = 5_000_000_000;
    room.settle();
    assert_eq!(scheme_of(&room), "lkh-group");
    change(&mut room, "skdc", &[]);
    room.settle();
    room.run_for(60);
    let recorded = room.heard_by_broker();
    let (before, published) = (life(&room), room.epoch());
    play(&mut room, recorded.clone());
    room.run_for(300);
    assert_eq!((life(&room), room.epoch()), (before, published));
    room.assert_group(&[0, 1, 2, 3, 4]);
    assert!(!joined_again(&room));
    // During the next change, too.
    change(&mut room, "lkh-group", &[]);
    play(&mut room, recorded);
    room.settle();
    room.assert_group(&[0, 1, 2, 3, 4]);
    assert_eq!(scheme_of(&room), "lkh-group");
}

#[test]
fn an_announcement_of_somebody_else_of_another_group_or_of_an_earlier_epoch_does_nothing() {
    let announcement = |room: &VirtualGroup| {
        let sent = room.heard_by_broker();
        let sent = sent.into_iter().filter(|sent| sent.topic.ends_with("/epoch") && !sent.retain);
        sent.map(|sent| sent.payload).next_back().unwrap()
    };
    let asked = |room: &VirtualGroup| {
        room.heard_by_broker().iter().filter(|sent| sent.topic.ends_with("/join")).count()
    };
    // Another service, and another founding of the same service.
    let mut foreign = Vec::new();
    for secret in [7, 200] {
        let mut other = VirtualGroup::new("lkh-group", &[], 3);
        other.policy.identity = Some(groupkey_mqtt::keyring::Secret::from_bytes([secret; 32]));
        let mut other = VirtualGroup::of(other.policy);
        other.now += 1_000_000_000;
        other.lose_store();
        (0..3).for_each(|number| other.arrive(number));
        other.settle();
        change(&mut other, "skdc", &[]);
        other.settle();
        foreign.push(announcement(&other));
    }
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    room.policy.identity = Some(groupkey_mqtt::keyring::Secret::from_bytes([200; 32]));
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    for index in (0..foreign[0].len()).step_by(7) {
        let mut changed = foreign[0].clone();
        changed[index] ^= 1;
        foreign.push(changed);
    }
    let before = asked(&room);
    let topics = ["epoch".to_owned(), format!("welcome/{}", name(1))];
    for payload in foreign {
        for topic in &topics {
            room.publish(format!("groupkey/1/{topic}"), payload.clone());
        }
    }
    room.settle();
    assert_eq!(asked(&room), before);
    assert!(room.members[&name(1)].member.counters().forged > 0);
    // Of an earlier epoch.
    room.talkers.clear();
    change(&mut room, "skdc", &[]);
    room.patience = 0;
    room.settle();
    let genuine = announcement(&room);
    assert!(room.service.cancel_change());
    room.patience = 5_000_000_000;
    room.run_for(200);
    let before = asked(&room);
    play_one(&mut room, "epoch", &genuine);
    room.settle();
    assert_eq!(asked(&room), before, "forgotten");
    room.arrive(3);
    room.settle();
    let before = asked(&room);
    play_one(&mut room, "epoch", &genuine);
    room.settle();
    assert_eq!(asked(&room), before, "of an earlier epoch");
    room.assert_group(&[0, 1, 2, 3]);
    assert!(!joined_again(&room));
}

#[test]
fn who_sleeps_through_the_change_comes_back() {
    for (new, parameters) in SCHEMES {
        let mut room = room("lkh-group", 6);
        asleep(&mut room, 2, true);
        let (now, seat) = (room.now, room.members.get_mut(&name(0)).unwrap());
        seat.member.say(b"slippery road", now, &mut room.rng).unwrap();
        room.settle();
        change(&mut room, new, parameters);
        room.run_for(70);
        assert_eq!(scheme_of(&room), new);
        room.assert_group(&[0, 1, 3, 4, 5]);
        let (patience, awake) = (room.patience, name(2));
        room.reconnect(&awake);
        room.patience = 0;
        room.settle();
        assert!(room.members[&awake].events.contains(&MemberEvent::JoinsAgain), "{new}");
        assert!(room.members[&awake].member.group_key().is_none(), "{new}");
        // The broker has kept what was said under the former key.
        let sent = room.heard_by_broker().into_iter();
        let kept: Vec<_> = sent.filter(|sent| sent.topic.ends_with("/talk")).collect();
        play(&mut room, kept);
        room.settle();
        assert_eq!(room.members[&awake].heard, [b"slippery road"], "{new}");
        room.patience = patience;
        room.run_for(10);
        room.assert_group(&[0, 1, 2, 3, 4, 5]);
        for number in [1, 3, 4, 5] {
            assert_eq!(room.members[&name(number)].heard.len(), 1, "{new}: a replay is no news");
        }
        let changed = ServiceEvent::Changed {
            scheme: scheme_of(&room),
            members: 5,
            left_behind: 1,
            founded: room.service.founded(),
        };
        assert!(room.events.contains(&changed), "{new}");
    }
}

#[test]
fn who_wakes_up_in_time_comes_along() {
    let mut room = room("lkh-group", 4);
    asleep(&mut room, 2, true);
    change(&mut room, "skdc", &[]);
    room.patience = 5_000_000_000;
    for _ in 0..4 {
        room.now += 5_000_000_000;
        room.patience = 1_500_000_000;
        room.settle();
    }
    let under_way = room.service.change_under_way().unwrap();
    assert_eq!((under_way.asked, under_way.members), (3, 4));
    room.reconnect(&name(2));
    room.patience = 5_000_000_000;
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    assert_eq!(scheme_of(&room), "skdc");
    assert!(!joined_again(&room));
}

#[test]
fn who_joins_or_loses_its_state_meanwhile_comes_along() {
    for new in ["igkmp", "skdc"] {
        let mut room = room("gkmp", 5);
        asleep(&mut room, 4, true);
        change(&mut room, new, &[]);
        room.patience = 1_500_000_000;
        room.settle();
        // A new device, and one that had asked for its place.
        room.arrive(5);
        room.now += 2_000_000_000;
        room.arrive(1);
        room.settle();
        room.service.rekey(room.now, &mut room.rng).unwrap();
        room.settle();
        assert_eq!(scheme_of(&room), "gkmp");
        room.reconnect(&name(4));
        room.patience = 5_000_000_000;
        room.talkers = (0..6).map(name).collect();
        room.settle();
        assert_eq!(scheme_of(&room), new);
        room.assert_group(&[0, 1, 2, 3, 4, 5]);
        room.assert_all_heard(&[0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn lost_welcomes_and_first_keys_are_asked_for() {
    let lost: [fn(&Publish) -> bool; 3] = [
        |publish| publish.topic.contains("/welcome/device-2"),
        |publish| {
            ["/all", "/to/m000002"].iter().any(|end| publish.topic.ends_with(end))
                || publish.topic.contains("/set/")
        },
        |publish| {
            ["/all", "/to/m000002", "/epoch"].iter().any(|end| publish.topic.ends_with(end))
                || publish.topic.contains("/set/")
        },
    ];
    for (index, lost) in lost.into_iter().enumerate() {
        for new in ["lkh-key", "igkmp"] {
            let mut room = room("skdc", 4);
            change(&mut room, new, &[]);
            // They are told, and have not asked yet.
            room.patience = 0;
            room.settle();
            room.keep_back = lost;
            room.talkers = (0..4).map(name).collect();
            room.patience = 1_100_000_000;
            room.settle();
            assert_eq!(scheme_of(&room), new);
            // They are lost, not late.
            assert!(!room.kept_back.is_empty(), "{index}");
            room.kept_back.clear();
            room.let_go();
            room.patience = 45_000_000_000;
            room.settle();
            room.assert_group(&[0, 1, 2, 3]);
            assert!(!joined_again(&room), "{index}");
            room.assert_all_heard(&[0, 1, 2, 3]);
        }
    }
}

#[test]
fn a_group_of_two_changes_and_fewer_do_not() {
    let mut room = room("lkh-group", 2);
    change(&mut room, "skdc", &[]);
    room.settle();
    room.assert_group(&[0, 1]);
    assert_eq!(scheme_of(&room), "skdc");
    asleep(&mut room, 1, true);
    change(&mut room, "lkh-group", &[]);
    room.run_for(70);
    assert_eq!(scheme_of(&room), "skdc");
    let failed = room.events.iter().find_map(|event| match event {
        ServiceEvent::ChangeFailed { scheme: "lkh-group", why } => Some(why.clone()),
        _ => None,
    });
    assert!(matches!(failed, Some(ChangeError::Members { members: 1, .. })), "{failed:?}");
    room.reconnect(&name(1));
    room.settle();
    room.assert_group(&[0, 1]);
    assert!(!joined_again(&room));
    // A pending eviction counts nobody who would come along.
    assert!(room.service.evict(&name(1), room.now, &mut room.rng).is_err());
    let refused = room.service.change_scheme(form("oft", &[]), room.now, &mut room.rng);
    assert!(matches!(
        refused,
        Err(OperationError::CannotChange(ChangeError::Members { members: 1, .. }))
    ));
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut room = room("lkh-group", 3);
    let (before, stored) = (life(&room), room.service.stored());
    let recorded = room.service.trail().since(0).count() as u64;
    let refusal = |room: &mut VirtualGroup, form: GroupForm| match room
        .service
        .change_scheme(form, room.now, &mut room.rng)
        .unwrap_err()
    {
        OperationError::CannotChange(why) => why,
        other => panic!("{other}"),
    };
    let present = form("lkh-group", &[]);
    assert_eq!(refusal(&mut room, present.clone()), ChangeError::Same);
    let other_number = GroupForm { group: GroupId(9), ..present.clone() };
    assert_eq!(refusal(&mut room, other_number), ChangeError::Same);
    assert_eq!(refusal(&mut room, form("tgdh", &[])), ChangeError::NoController("tgdh"));
    let open = GroupForm { guard: Guard::None, ..form("skdc", &[]) };
    assert!(matches!(refusal(&mut room, open), ChangeError::Form(_)));
    assert!(matches!(refusal(&mut room, form("iolus", &[])), ChangeError::Form(_)));
    let fixed = ChangeError::NoComingAndGoing("alohali-r");
    assert_eq!(refusal(&mut room, form("alohali-r", &[])), fixed);
    change(&mut room, "skdc", &[]);
    assert_eq!(refusal(&mut room, form("oft", &[])), ChangeError::UnderWay);
    assert!(room.service.cancel_change());
    room.settle();
    assert_eq!(life(&room), before);
    // Each attempt is on record, and nothing else is stored.
    room.settle();
    let attempts = room.service.trail().since(recorded).count() as u64;
    assert_eq!((attempts, room.service.stored().0), (9, stored.0 + 9));
    let mut empty = VirtualGroup::new("lkh-group", &[], 3);
    assert_eq!(refusal(&mut empty, form("skdc", &[])), ChangeError::NoGroup);
}

#[test]
fn the_file_may_have_the_form_before_the_change_or_the_present_one() {
    let mut room = room("lkh-group", 3);
    change(&mut room, "skdc", &[]);
    room.settle();
    change(&mut room, "oft", &[]);
    room.settle();
    let mut open = |form: GroupForm| {
        room.policy.form = form;
        let store = Box::new(room.store.clone());
        Service::open(room.policy.clone(), store, room.now, &mut room.rng)
            .map(|service| service.policy().form.configuration.scheme().id)
    };
    assert_eq!(open(form("lkh-group", &[])).unwrap(), "oft");
    assert_eq!(open(form("oft", &[])).unwrap(), "oft");
    for other in [form("skdc", &[]), form("lkh-group", &[("degree", 3)])] {
        assert!(matches!(open(other), Err(OpenError::FormChanged)));
    }
}

fn life(room: &VirtualGroup) -> (u64, groupkey::Key) {
    (room.service.founded(), room.service.group_key().unwrap().1.clone())
}

fn asked_for_keys(room: &VirtualGroup) -> usize {
    let is_request =
        |sent: &&Publish| sent.topic.contains("/requests") || sent.topic.contains("/to/s");
    room.heard_by_broker().iter().filter(is_request).count()
}

fn scheme_of(room: &VirtualGroup) -> &'static str {
    room.service.policy().form.configuration.scheme().id
}

fn joined_again(room: &VirtualGroup) -> bool {
    room.members.values().any(|seat| seat.events.contains(&MemberEvent::JoinsAgain))
}

fn asleep(room: &mut VirtualGroup, number: u32, asleep: bool) {
    room.members.get_mut(&name(number)).unwrap().asleep = asleep;
}

/// Publishes recorded messages again. The broker retains none of them.
fn play(room: &mut VirtualGroup, recorded: Vec<Publish>) {
    for Publish { topic, payload, .. } in recorded {
        room.publish(topic, payload);
    }
}

fn play_one(room: &mut VirtualGroup, topic: &str, payload: &[u8]) {
    room.publish(format!("groupkey/1/{topic}"), payload.to_vec());
}

fn room(scheme: &str, members: u32) -> VirtualGroup {
    let mut room = VirtualGroup::new(scheme, &[], members as usize);
    (0..members).for_each(|number| room.arrive(number));
    room.settle();
    room.assert_group(&(0..members).collect::<Vec<_>>());
    room
}

fn form(scheme: &str, parameters: &[(&str, u32)]) -> GroupForm {
    let mut form = GroupForm::of(catalogue::scheme(scheme).unwrap());
    for &(name, value) in parameters {
        form.configuration.set(name, value).unwrap();
    }
    form
}

fn change(room: &mut VirtualGroup, scheme: &str, parameters: &[(&str, u32)]) {
    room.service.change_scheme(form(scheme, parameters), room.now, &mut room.rng).unwrap();
}

const SCHEMES: [(&str, &[(&str, u32)]); 6] = [
    ("skdc", &[]),
    ("igkmp", &[("subgroups", 3)]),
    ("kronos", &[]),
    ("lkh-group", &[("degree", 3)]),
    ("dep", &[("subgroups", 2)]),
    ("oft", &[]),
];
