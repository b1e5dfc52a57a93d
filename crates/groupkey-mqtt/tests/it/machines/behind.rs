//! Members that missed a change of the key, and cannot know it from a notice.

use std::time::Duration;

use groupkey::error::{Misbehaviour, Misuse};
use groupkey::{Epoch, Error};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::member::{Freshness, MemberSettings};
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{Input, Runtime};

use crate::machines::virtual_group::{VirtualGroup, key, name};

const SCHEMES: [&str; 3] = ["lkh-group", "skdc", "igkmp"];

/// Nobody says anything. The broker has lost the notice, and everything that it kept for the member.
#[test]
fn who_finds_no_notice_after_a_reconnection_asks_what_it_missed() {
    for scheme in SCHEMES {
        let mut room = one_behind(scheme);
        connect(&mut room, 1);
        room.run_for(15);
        room.assert_group(&[0, 1, 2]);
        assert!(room.members[&name(1)].events.contains(&MemberEvent::Behind(Epoch(2))), "{scheme}");
        assert_eq!(room.service.history().catch_ups(), 1, "{scheme}");
    }
}

/// A recorded notice of the epoch before is no evidence that nothing was missed.
#[test]
fn an_earlier_notice_is_none() {
    let mut room = one_behind("lkh-group");
    let recorded = room.heard_by_broker();
    let recorded = recorded.iter().find(|sent| sent.topic.ends_with("/epoch")).unwrap().clone();
    room.evict(2);
    room.reconnect(&name(1));
    room.run_for(15);
    room.assert_group(&[0, 1]);
    room.members.get_mut(&name(1)).unwrap().asleep = true;
    room.arrive(4);
    room.settle();
    room.forget_retained();
    connect(&mut room, 1);
    room.publish(recorded.topic, recorded.payload);
    room.run_for(15);
    room.assert_group(&[0, 1, 4]);
}

/// The connection holds, and the broker dropped a message.
#[test]
fn a_group_message_that_nobody_can_read_makes_a_member_ask() {
    for scheme in SCHEMES {
        let mut room = one_behind(scheme);
        room.reconnect(&name(1));
        let now = room.now;
        say(&mut room, 0, b"slippery road").unwrap();
        room.patience = SECOND;
        room.settle();
        assert_eq!(room.members[&name(1)].member.group_key().unwrap().0, Epoch(1), "{scheme}");
        room.run_for(6);
        room.assert_group(&[0, 1, 2]);
        assert_eq!(room.members[&name(1)].heard, [b"slippery road"], "{scheme}");
        assert!(room.now - now <= 10 * SECOND);
    }
}

/// Whoever was evicted has the old key. The service is out of reach after its answer to the question.
#[test]
fn who_knows_that_it_is_behind_says_nothing_under_the_old_key() {
    let mut room = one_behind("lkh-group");
    room.keep_back = |sent| sent.topic.ends_with("/requests");
    connect(&mut room, 1);
    room.run_for(15);
    let refused = say(&mut room, 1, b"under the old key").unwrap_err();
    let (got, current) = (Epoch(2), Epoch(1));
    assert_eq!(refused, Error::from(Misbehaviour::SkippedEpoch { got, current }));
    room.let_go();
    room.run_for(20);
    say(&mut room, 1, b"under the new key").unwrap();
    room.settle();
    assert_eq!(room.members[&name(0)].heard, [b"under the new key"]);
}

/// Anybody may send bytes that look like a group message of a later epoch. They come for hours.
#[test]
fn forged_messages_of_later_epochs_silence_nobody_and_cost_little() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    say(&mut room, 0, b"genuine").unwrap();
    room.settle();
    let heard = room.heard_by_broker();
    let genuine = heard.iter().find(|sent| sent.topic.ends_with("/talk")).unwrap().clone();
    let key_id = [[0; 7].as_slice(), &[1], &[0; 7], &[1]].concat();
    let place = genuine.payload.windows(16).position(|bytes| bytes == key_id).unwrap() + 8;
    let (epoch, before, begin) = (room.epoch(), heard.len(), room.now);
    for second in 0..3_600_u64 {
        let mut forged = genuine.payload.clone();
        forged[place..place + 8].copy_from_slice(&(2 + second % 7).to_be_bytes());
        room.publish(genuine.topic.clone(), forged);
        room.run_for(1);
        if second % 100 == 0 {
            say(&mut room, 2, b"still there").unwrap();
        }
    }
    room.assert_group(&[0, 1, 2]);
    assert_eq!((room.epoch(), room.members[&name(1)].heard.len()), (epoch, 37));
    let asked = |end: &str| {
        let is_asked = |sent: &&Publish| sent.topic.ends_with(end);
        room.heard_by_broker()[before..].iter().filter(is_asked).count()
    };
    // Three members: after 15, 30, 60, 120 s, and then every 240.
    let most = 3 * (5 + (room.now - begin) / SECOND / 240);
    assert!((3..=most as usize).contains(&asked("/join")), "{} of {most}", asked("/join"));
    assert_eq!(asked("/requests"), 0);
    let events = room.members.values().flat_map(|seat| &seat.events);
    assert_eq!(
        events
            .filter(|event| matches!(event, MemberEvent::Behind(_) | MemberEvent::JoinsAgain))
            .count(),
        0
    );
}

/// The connection holds, nobody says anything, and the broker dropped the messages of an eviction.
#[test]
fn a_member_asks_when_nothing_has_proved_its_epoch_for_long() {
    let mut room = one_behind("lkh-group");
    room.reconnect(&name(1));
    room.run_for(3_000);
    assert_eq!(room.members[&name(1)].member.group_key().unwrap().0, Epoch(1), "nothing tells it");
    room.run_for(700);
    room.assert_group(&[0, 1, 2]);
    assert!(room.members[&name(1)].events.contains(&MemberEvent::Behind(Epoch(2))));
}

/// Only the service's answer to a question of its own is proof: neither notices nor rekeys are, for
/// they may be late. Then the member goes on.
#[test]
fn a_member_without_proof_sends_nothing() {
    let mut room = VirtualGroup::new("lkh-group", &[], 2);
    let of = |seconds| Some(Duration::from_secs(seconds));
    let freshness = Freshness { proof: of(60), max_key_age: of(600) };
    for number in 0..3 {
        let settings = MemberSettings { freshness, ..room.settings(number) };
        room.arrive_with(MemberSettings { shared: Some(key(number)), ..settings });
    }
    room.settle();
    room.run_for(500);
    say(&mut room, 1, b"with proof").unwrap();
    room.keep_back = |sent| sent.topic.ends_with("/join");
    room.run_for(500);
    say(&mut room, 1, b"with proof that is old").unwrap();
    room.service.rekey(room.now, &mut room.rng).unwrap();
    room.run_for(200);
    room.assert_group(&[0, 1, 2]);
    let refused = say(&mut room, 1, b"without proof");
    assert_eq!(refused, Err(Misuse::UnprovenEpoch.into()));
    let has = |room: &VirtualGroup, event| room.members[&name(1)].events.contains(&event);
    assert!(has(&room, MemberEvent::Unproven) && !has(&room, MemberEvent::Proven));
    room.kept_back.clear();
    room.let_go();
    room.run_for(300);
    assert!(has(&room, MemberEvent::Proven));
    say(&mut room, 1, b"with proof again").unwrap();
}

/// Three members, and one that was evicted while 1 was away. No notice is left.
fn one_behind(scheme: &str) -> VirtualGroup {
    let mut room = VirtualGroup::new(scheme, &[], 4);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    room.members.get_mut(&name(1)).unwrap().asleep = true;
    room.evict(3);
    room.forget_retained();
    assert_eq!(room.epoch(), Epoch(2), "{scheme}");
    room
}

fn connect(room: &mut VirtualGroup, number: u32) {
    let now = room.now;
    let seat = room.members.get_mut(&name(number)).unwrap();
    seat.member.handle(Input::Connected, now, &mut room.rng).unwrap();
    room.reconnect(&name(number));
}

fn say(room: &mut VirtualGroup, number: u32, content: &[u8]) -> Result<(), Error> {
    let now = room.now;
    room.members.get_mut(&name(number)).unwrap().member.say(content, now, &mut room.rng)
}

const SECOND: u64 = 1_000_000_000;
