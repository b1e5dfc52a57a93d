//! Attacks on a change of scheme, by members of the group as it was.

use std::collections::BTreeSet;

use groupkey::catalogue;
use groupkey::protection::Guard;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{GroupForm, Input, Output, Runtime};
use minicbor::bytes::{ByteArray, ByteVec};

use crate::machines::virtual_group::{VirtualGroup, name};

/// An evicted member never hears that it is out, so it has all that it ever had. It hears everything
/// else, in three ways: as it was sent, on its own topics, and with its number in place of others'.
#[test]
fn an_evicted_member_with_every_recording_learns_no_key_of_the_successor() {
    for (old, new) in [("lkh-group", "skdc"), ("skdc", "lkh-group"), ("gkmp", "igkmp")] {
        for is_evicted_in_the_change in [false, true] {
            let mut room = room(old, 5, Guard::Signature);
            let begin = room.heard_by_broker().len();
            if is_evicted_in_the_change {
                // It has asked for its place. Another member keeps the change waiting.
                seat_of(&mut room, 4).asleep = true;
                change(&mut room, new);
                room.patience = 1_500_000_000;
                room.settle();
                assert_eq!(room.service.change_under_way().unwrap().asked, 4);
            }
            seat_of(&mut room, 2).asleep = true;
            room.evict(2);
            if is_evicted_in_the_change {
                room.reconnect(&name(4));
            } else {
                change(&mut room, new);
            }
            room.patience = 5_000_000_000;
            room.talkers = [0, 1, 3, 4].into_iter().map(name).collect();
            room.settle();
            room.assert_group(&[0, 1, 3, 4]);
            assert_eq!(room.service.policy().form.configuration.scheme().id, new);
            let successor = room.service.founded();
            assert!(has_key_of(&room, 1, successor) && !room.said.is_empty());

            let recorded = room.heard_by_broker().split_off(begin);
            let mut attempts = 0;
            for attempt in [as_it_was, on_its_own_topics, with_its_number] {
                for publish in &recorded {
                    let (topic, payload) = attempt(publish);
                    hear(&mut room, 2, &topic, &payload);
                    attempts += 1;
                    assert!(!has_key_of(&room, 2, successor), "{old} to {new}: {topic}");
                }
                let (now, rng) = (room.now, &mut room.rng);
                let seat = room.members.get_mut(&name(2)).unwrap();
                seat.member.handle(Input::Tick, now, rng).unwrap();
            }
            assert!(attempts > 60, "{attempts}");
            // Whatever it asks for with all that, it does not get.
            seat_of(&mut room, 2).asleep = false;
            room.talkers.clear();
            room.run_for(120);
            assert!(!has_key_of(&room, 2, successor), "{old} to {new}");
            room.assert_group(&[0, 1, 3, 4]);
            // What it reads is from before: members speak under the former key until they have the
            // successor's.
            let heard: BTreeSet<_> = seat_of(&mut room, 2).heard.iter().cloned().collect();
            let after = room.said.len();
            room.talkers = [0, 1, 3, 4].into_iter().map(name).collect();
            room.publish(format!("{}/all", room.policy.prefix), vec![0xff]);
            room.settle();
            assert!(room.said.len() > after);
            let again: BTreeSet<_> = seat_of(&mut room, 2).heard.iter().cloned().collect();
            assert_eq!(heard, again, "{old} to {new}: it reads on");
        }
    }
}

/// A member has the group's key, an identity and, with a MAC, what all others protect their messages
/// with. None of it makes an announcement.
#[test]
fn a_member_cannot_announce_a_successor() {
    for guard in [Guard::Signature, Guard::Merkle, Guard::Mac] {
        let mut room = room("lkh-group", 4, guard);
        // A genuine one as a pattern, which is given up, and forgotten by all members.
        room.patience = 0;
        change(&mut room, "skdc");
        room.settle();
        let genuine = announcement(&room);
        assert!(room.service.cancel_change());
        room.patience = 5_000_000_000;
        room.run_for(200);

        let asked = requests(&room);
        let forged = seat_of(&mut room, 1).member.counters().forged;
        let member = room.settings(3).identity;
        let (body, signature): (ByteVec, ByteArray<64>) = minicbor::decode(&genuine).unwrap();
        let mut attempts = Vec::new();
        let later = of_a_later_founding(&body);
        let context = room.service.context().as_bytes();
        let purposes = ["groupkey succession 1", "groupkey welcome 1", "groupkey notice 1", ""];
        for purpose in purposes {
            for parts in [&[&context[..], &later[..]][..], &[&later[..]]] {
                attempts.push((later.clone(), member.sign(purpose, parts)));
            }
        }
        attempts.push((later.clone(), signature.into()));
        attempts.push((later, [0; 64]));
        let count = attempts.len() as u64;
        for (body, signature) in attempts {
            let payload = minicbor::to_vec((ByteVec::from(body), ByteArray::from(signature)));
            room.publish(format!("{}/epoch", room.policy.prefix), payload.unwrap());
        }
        room.settle();
        assert_eq!(requests(&room), asked, "nobody asks for a place");
        assert!(seat_of(&mut room, 1).member.counters().forged >= forged + count);
        room.assert_group(&[0, 1, 2, 3]);
        // The genuine change still takes all along.
        change(&mut room, "skdc");
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        assert_eq!(room.service.policy().form.configuration.scheme().id, "skdc");
    }
}

/// The announcements of all changes so far, in every later group.
#[test]
fn an_announcement_of_an_earlier_change_is_refused() {
    let mut room = room("lkh-group", 4, Guard::Signature);
    let mut earlier = Vec::new();
    for new in ["skdc", "lkh-group", "igkmp", "skdc"] {
        change(&mut room, new);
        room.settle();
        earlier.push(announcement(&room));
        room.run_for(60);
        let (asked, founded) = (requests(&room), room.service.founded());
        let refused = seat_of(&mut room, 1).member.counters().refusals();
        for payload in &earlier {
            for topic in ["epoch".to_owned(), format!("welcome/{}", name(1))] {
                room.publish(format!("{}/{topic}", room.policy.prefix), payload.clone());
            }
        }
        room.settle();
        assert_eq!((requests(&room), room.service.founded()), (asked, founded), "{new}");
        let again = seat_of(&mut room, 1).member.counters().refusals();
        assert_eq!(again - refused, 2 * earlier.len() as u64, "{new}");
        room.assert_group(&[0, 1, 2, 3]);
    }
}

fn of_a_later_founding(body: &[u8]) -> Vec<u8> {
    let mut decoder = minicbor::Decoder::new(body);
    decoder.array().unwrap();
    decoder.u64().unwrap();
    // The form.
    decoder.skip().unwrap();
    let begin = decoder.position();
    let founded = decoder.u64().unwrap();
    let later = minicbor::to_vec(founded + 1).unwrap();
    [&body[..begin], &later, &body[decoder.position()..]].concat()
}

/// A message as it was sent.
fn as_it_was(publish: &Publish) -> (String, Vec<u8>) {
    (publish.topic.clone(), publish.payload.clone())
}

/// A message to another device or member, as if it were for the evicted one.
fn on_its_own_topics(publish: &Publish) -> (String, Vec<u8>) {
    let mut topic = publish.topic.clone();
    for number in 0..5 {
        topic = topic.replace(&format!("/{}", name(number)), &format!("/{}", name(2)));
        topic = topic.replace(&format!("/m{number:06}"), "/m000002");
    }
    (topic, publish.payload.clone())
}

/// The same with the evicted member's name in the message.
fn with_its_number(publish: &Publish) -> (String, Vec<u8>) {
    let (topic, mut payload) = on_its_own_topics(publish);
    for number in [0, 1, 3, 4] {
        let (other, own) = (name(number).into_bytes(), name(2).into_bytes());
        for at in 0..payload.len().saturating_sub(other.len()) {
            if payload[at..].starts_with(&other) {
                payload[at..at + own.len()].copy_from_slice(&own);
            }
        }
    }
    (topic, payload)
}

/// A member hears a message, and what it would send is lost.
fn hear(room: &mut VirtualGroup, number: u32, topic: &str, payload: &[u8]) {
    let (now, rng) = (room.now, &mut room.rng);
    let seat = room.members.get_mut(&name(number)).unwrap();
    seat.member.handle(Input::Arrived { topic, payload }, now, rng).unwrap();
    while let Some(output) = seat.member.poll().unwrap() {
        if let Output::Event(groupkey_mqtt::event::MemberEvent::Heard(received)) = output {
            seat.heard.push(received.content);
        }
    }
}

fn has_key_of(room: &VirtualGroup, number: u32, founded: u64) -> bool {
    let member = &room.members[&name(number)].member;
    let is_present = room.service.group_key().zip(member.group_key());
    member.founded() == Some(founded) && member.group_key().is_some()
        || is_present.is_some_and(|((_, present), (_, held))| present == held)
}

fn seat_of(
    room: &mut VirtualGroup,
    number: u32,
) -> &mut crate::machines::virtual_group::VirtualDevice {
    room.members.get_mut(&name(number)).unwrap()
}

fn announcement(room: &VirtualGroup) -> Vec<u8> {
    let sent = room.heard_by_broker().into_iter();
    let sent = sent.filter(|sent| sent.topic.ends_with("/epoch") && !sent.retain);
    sent.map(|sent| sent.payload).next_back().expect("there was a change")
}

fn requests(room: &VirtualGroup) -> usize {
    room.heard_by_broker().iter().filter(|sent| sent.topic.ends_with("/join")).count()
}

fn change(room: &mut VirtualGroup, scheme: &str) {
    let guard = room.service.policy().form.guard;
    let form = GroupForm { guard, ..GroupForm::of(catalogue::scheme(scheme).unwrap()) };
    room.service.change_scheme(form, room.now, &mut room.rng).unwrap();
}

fn room(scheme: &str, members: u32, guard: Guard) -> VirtualGroup {
    let mut policy = VirtualGroup::new(scheme, &[], members as usize).policy;
    policy.form.guard = guard;
    policy.allowed.mac = guard == Guard::Mac;
    policy.identity = Some(Secret::from_bytes([200; 32]));
    let mut room = VirtualGroup::of(policy);
    (0..members).for_each(|number| room.arrive(number));
    room.settle();
    room.assert_group(&(0..members).collect::<Vec<_>>());
    room
}
