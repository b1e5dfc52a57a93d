//! Malformed, oversized, replayed and forged payloads on every topic.

use std::convert::Infallible;

use groupkey::catalogue::Scheme;
use groupkey::messages::{self, Messenger};
use groupkey::protection::{Guard, Protection};
use groupkey::{Context, GroupId, MemberId, Operation, Outbox, Setting, Suite};
use groupkey_mqtt::keyring::{Keyring, Secret};
use groupkey_mqtt::member::MemberSettings;
use groupkey_mqtt::runtime::{Fatal, Runtime};
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{Input, Policy, Senders};

use minicbor::bytes::{ByteArray, ByteVec};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng, TryCryptoRng, TryRng};

use crate::machines::virtual_group::{VirtualGroup, key, name, schemes_of_services};

#[test]
fn hostile_payloads_are_refused_and_counted_and_life_goes_on() {
    for (scheme, parameters) in [("lkh-group", &[][..]), ("igkmp", &[("subgroups", 2)])] {
        let mut room = VirtualGroup::new(scheme, parameters, 4);
        (0..4).for_each(|number| room.arrive(number));
        room.settle();
        let before = room.epoch();
        let genuine = room.published.clone();
        let prefix = room.policy.prefix.clone();
        let topics = [
            "join",
            "requests",
            "all",
            "to/m000000",
            "to/s000000",
            "epoch",
            "talk",
            "set/0000000000",
        ];
        let topics = topics.map(|topic| format!("{prefix}/{topic}"));
        let topics = topics.into_iter().chain([format!("{prefix}/welcome/{}", name(0))]);
        for topic in topics {
            for bytes in [&[][..], &[0xff; 40], &[0x80], &vec![0x41; (1 << 20) + 1]] {
                room.publish(topic.clone(), bytes.to_vec());
            }
            // All earlier publishes of the service on this topic, unchanged and with a flipped bit.
            for publish in &genuine {
                let mut forged = publish.payload.clone();
                let middle = forged.len() / 2;
                forged[middle] ^= 1;
                room.publish(topic.clone(), publish.payload.clone());
                room.publish(topic.clone(), forged);
            }
        }
        room.settle();
        assert_eq!(room.epoch(), before, "{scheme}");
        room.assert_group(&[0, 1, 2, 3]);
        let counters = room.service.counters();
        assert!(counters.malformed > 0 && counters.oversized > 0, "{counters:?}");
        let counters = room.members[&name(0)].member.counters();
        assert!(
            counters.malformed > 0
                && counters.oversized > 0
                && counters.replayed > 0
                && counters.forged > 0,
            "{counters:?}"
        );
        room.arrive(4);
        room.settle();
        room.assert_group(&[0, 1, 2, 3, 4]);
    }
}

#[test]
fn a_service_counts_each_message_that_it_refuses() {
    let mut room = VirtualGroup::new("lkh-group", &[], 2);
    (0..2).for_each(|number| room.arrive(number));
    room.settle();
    let longest = 1 << 20;
    for (reason, topic, length) in [
        ("malformed", "join", 40),
        ("malformed", "requests", 0),
        ("malformed", "talk", 40),
        ("malformed", "join", longest),
        ("oversized", "join", longest + 1),
        ("forged", "epoch", 40),
    ] {
        let (topic, payload) = (format!("{}/{topic}", room.policy.prefix), vec![0xff; length]);
        for _ in 0..2 {
            let before = room.service.counters();
            let input = Input::Arrived { topic: &topic, payload: &payload };
            room.service.handle(input, room.now, &mut room.rng).unwrap();
            let after = room.service.counters();
            let counted = before.by_reason().into_iter().zip(after.by_reason());
            let counted = counted.filter(|(before, after)| before != after);
            let counted: Vec<_> = counted.map(|(_, (name, _))| name).collect();
            assert_eq!((&counted[..], after.refusals()), (&[reason][..], before.refusals() + 1));
        }
    }
}

/// Its welcome was lost. One that may still be on its way is not repeated.
#[test]
fn who_missed_its_welcome_gets_it_again_in_time() {
    let mut room = VirtualGroup::new("lkh-group", &[], 2);
    (0..2).for_each(|number| room.arrive(number));
    room.settle();
    room.keep_back = |sent| {
        sent.topic.contains("/welcome/") && minicbor::decode::<Offer>(&sent.payload).is_err()
    };
    room.patience = 500_000_000;
    room.arrive(2);
    room.run_for(8);
    assert_eq!(room.kept_back.len(), 1);
    room.run_for(30);
    assert!((2..=4).contains(&room.kept_back.len()), "{}", room.kept_back.len());
    room.let_go();
    room.settle();
    room.assert_group(&[0, 1, 2]);
}

#[test]
fn devices_that_come_together_take_one_epoch_where_the_scheme_can() {
    for (scheme, epochs) in [("lkh-group", 1), ("skdc", 2)] {
        let mut room = VirtualGroup::new(scheme, &[], 2);
        (0..2).for_each(|number| room.arrive(number));
        room.settle();
        let before = room.epoch();
        (2..4).for_each(|number| room.arrive(number));
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        assert_eq!(room.epoch().0 - before.0, epochs, "{scheme}");
    }
}

#[test]
fn nobody_joins_under_a_name_that_is_not_its_own() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    // A wrong key, no key, and an unknown identity without a key.
    for shared in [Some(key(9)), None] {
        room.arrive_with(MemberSettings {
            shared,
            name: name(4),
            identity: Secret::from_bytes([9; 32]),
            ..room.settings(4)
        });
        room.settle();
        room.assert_group(&[0, 1, 2]);
    }
    assert!(room.service.counters().refused > 0);
}

/// The proof shows that a device has a token; the signature, that the identity is its own.
#[test]
fn who_has_a_token_signs_with_the_identity_that_it_joins_under() {
    let mut room = VirtualGroup::of(with_tokens(3).policy);
    room.keep_back = |publish| publish.topic.ends_with("/join");
    room.intrude(MemberSettings { shared: Some(token(0)), ..room.settings(70) });
    room.settle();
    let kept_back = std::mem::take(&mut room.kept_back);
    let [genuine] = &kept_back[..] else { panic!("{kept_back:?}") };
    room.keep_back = |_| false;
    type Request = (ByteVec, ByteVec, ByteArray<64>);
    let mut request: Request = minicbor::decode(&genuine.payload).unwrap();
    request.2[0] ^= 1;
    room.publish(genuine.topic.clone(), minicbor::to_vec(request).unwrap());
    room.settle();
    let counters = room.service.counters();
    assert_eq!((counters.forged, counters.taken), (1, 0));
    room.publish(genuine.topic.clone(), genuine.payload.clone());
    room.settle();
    assert_eq!(room.service.counters().taken, 1);
}

/// A token admits an unknown device. It does not give the device another one's name.
#[test]
fn who_has_a_token_cannot_take_the_name_of_another_device() {
    let mut room = with_tokens(3);
    let listed = room.settings(70).identity.public();
    room.policy.identities.insert(name(70), listed);
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    // Listed, and not a member yet.
    assert!(!steals(&mut room, 70, token(0)));
    room.arrive_with(room.settings(70));
    room.arrive_with(MemberSettings { shared: Some(token(0)), ..room.settings(71) });
    room.settle();
    for number in [70, 71] {
        let epoch = room.epoch();
        assert!(!steals(&mut room, number, token(1)));
        assert_eq!(room.epoch(), epoch);
        room.assert_group(&[0, 1, 2, 70, 71]);
        // It may use its own token, and need not.
        for shared in [(number == 71).then(|| token(0)), None] {
            room.now += 60_000_000_000;
            room.arrive_with(MemberSettings { shared, ..room.settings(number) });
            room.settle();
            room.assert_group(&[0, 1, 2, 70, 71]);
        }
    }
    // Readmitting a current member does not free its name.
    room.service.readmit(&name(71), room.now).unwrap();
    room.now += 60_000_000_000;
    assert!(!steals(&mut room, 71, token(2)));
    room.assert_group(&[0, 1, 2, 70, 71]);
}

#[test]
fn who_has_a_token_does_not_push_away_who_waits() {
    let mut room = VirtualGroup::of(with_tokens(3).policy);
    room.arrive_with(MemberSettings { shared: Some(token(0)), ..room.settings(70) });
    room.settle();
    let refused = room.service.counters().refused;
    assert!(!steals(&mut room, 70, token(1)));
    assert!(room.service.counters().refused > refused);
    (0..2).for_each(|number| room.arrive(number));
    room.settle();
    room.assert_group(&[0, 1, 70]);
}

#[test]
fn new_hardware_gets_an_old_name_when_the_operator_says_so() {
    let mut room = VirtualGroup::of(with_tokens(3).policy);
    (0..3).for_each(|number| room.arrive(number));
    room.arrive_with(MemberSettings { shared: Some(token(0)), ..room.settings(70) });
    room.settle();
    room.evict(70);
    room.now += 60_000_000_000;
    assert!(!steals(&mut room, 70, token(1)), "not yet");
    room.service.readmit(&name(70), room.now).unwrap();
    // The readmission is durable.
    room.revive(&Fatal::Crashed);
    room.now += 60_000_000_000;
    let new = Secret::from_bytes([9; 32]);
    room.arrive_with(MemberSettings {
        shared: Some(token(1)),
        identity: new.clone(),
        ..room.settings(70)
    });
    room.settle();
    room.assert_group(&[0, 1, 2, 70]);
    // The former device, with its token or without, and another token are refused.
    let seat = room.members.remove(&name(70)).unwrap();
    for shared in [Some(token(0)), Some(token(2)), None] {
        room.now += 60_000_000_000;
        room.arrive_with(MemberSettings { shared, ..room.settings(70) });
        room.settle();
        assert_eq!(room.members[&name(70)].member.group_key(), None);
    }
    room.members.insert(name(70), seat);
    room.assert_group(&[0, 1, 2, 70]);
}

/// A room with three tokens, so far only in its policy.
fn with_tokens(founders: usize) -> VirtualGroup {
    let mut room = VirtualGroup::new("lkh-group", &[], founders);
    room.policy.tokens.extend((0..3).map(token));
    room
}

fn token(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 77; 32])
}

/// Whether another identity with this token is admitted under this name.
fn steals(room: &mut VirtualGroup, number: u32, token: Secret) -> bool {
    let seat = room.members.remove(&name(number));
    room.now += 1_000_000_000;
    room.arrive_with(MemberSettings {
        shared: Some(token),
        identity: Secret::from_bytes([9; 32]),
        ..room.settings(number)
    });
    room.settle();
    let thief = room.members.remove(&name(number)).unwrap();
    room.members.extend(seat.map(|seat| (name(number), seat)));
    thief.member.number().is_some()
}

/// A stranger who hears a request answers it first, again and again, with any number.
#[test]
fn forged_offers_do_not_use_up_an_attempt_to_join() {
    for knows_the_service in [true, false] {
        let mut room = VirtualGroup::new("lkh-group", &[], 3);
        (0..3).for_each(|number| room.arrive(number));
        room.settle();
        room.keep_back = |publish| minicbor::decode::<Offer>(&publish.payload).is_ok();
        let service = Some(room.service.public()).filter(|_| knows_the_service);
        let settings = MemberSettings { shared: Some(key(3)), service, ..room.settings(3) };
        room.arrive_with(settings);
        // The device asks again after two seconds at the earliest.
        room.patience = 1_500_000_000;
        room.settle();
        let kept_back = std::mem::take(&mut room.kept_back);
        let [genuine] = &kept_back[..] else { panic!("{kept_back:?}") };
        room.keep_back = |_| false;
        for number in 1_000..1_020 {
            let mut offer: Offer = minicbor::decode(&genuine.payload).unwrap();
            match number % 4 {
                0 => offer.0.0 = number,
                1 => offer.1 += u64::from(number),
                2 => offer.3 += u64::from(number),
                _ => offer.7 += u64::from(number),
            }
            room.publish(genuine.topic.clone(), minicbor::to_vec(offer).unwrap());
        }
        room.publish(genuine.topic.clone(), genuine.payload.clone());
        room.settle();
        let member = &room.members[&name(3)].member;
        assert_eq!(member.counters().forged, 20, "knows the service: {knows_the_service}");
        // It followed the genuine offer, at once.
        assert_eq!(member.number(), Some(MemberId(3)));
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
    }
}

/// Number and founding, epoch, resumptions, stamp, hash of the request, proof, signature, active epoch.
pub(crate) type Offer =
    ((u32, ByteArray<16>), u64, Option<u32>, u64, ByteArray<32>, ByteVec, ByteArray<64>, u64);

#[test]
fn a_request_to_join_is_good_once() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    let mut requests = Vec::new();
    for number in 0..3 {
        room.arrive(number);
    }
    room.settle();
    let epoch = room.epoch();
    // All publishes that an eavesdropper at the broker has.
    for publish in room.heard_by_broker() {
        if publish.topic.ends_with("/join") {
            requests.push(publish);
        }
    }
    assert!(requests.len() >= 6);
    for request in requests {
        room.publish(request.topic, request.payload);
    }
    room.settle();
    assert_eq!(room.epoch(), epoch);
    assert!(room.service.counters().replayed >= 6);
    room.assert_group(&[0, 1, 2]);
}

/// One service may have several groups.
#[test]
fn an_epoch_of_another_group_of_the_same_service_says_nothing() {
    let mut rooms = [1, 2].map(|group| {
        let mut room = VirtualGroup::new("lkh-group", &[], 3);
        room.policy.identity = Some(Secret::from_bytes([5; 32]));
        room.policy.form.group = GroupId(group);
        let mut room = VirtualGroup::of(room.policy);
        (0..3).for_each(|number| room.arrive(number));
        room.settle();
        room
    });
    let [room, other] = &mut rooms;
    for number in 3..6 {
        other.arrive(number);
        other.settle();
    }
    let notice = other.published.iter().rfind(|sent| sent.topic.ends_with("/epoch")).unwrap();
    // To three members, and to a device that is joining.
    room.arrive(3);
    room.publish(notice.topic.clone(), notice.payload.clone());
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
    assert!(other.epoch() > room.epoch());
    for (name, seat) in &room.members {
        // It asks once in an hour anyway.
        let soon = seat.member.deadline().is_some_and(|due| due < room.now + 3_000_000_000_000);
        assert!(!soon, "{name} has nothing to catch up with");
    }
    assert_eq!(room.members[&name(0)].member.counters().forged, 1);
}

#[test]
fn a_flood_of_requests_by_strangers_leaves_nothing_behind() {
    const FLOOD: u32 = 1_000;
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let before = (room.epoch(), room.service.stored());
    let refused = room.service.counters().refused;
    for number in 0..FLOOD {
        // Unknown names, and members' names with other keys.
        let name = if number % 2 == 0 { format!("stranger-{number}") } else { name(number % 3) };
        let shared = Some(Secret::from_bytes([99; 32]));
        room.intrude(MemberSettings { name, shared, ..room.settings(0) });
    }
    room.settle();
    assert_eq!((room.epoch(), room.service.stored()), before);
    assert_eq!(room.service.counters().refused, refused + u64::from(FLOOD));
    assert_eq!((room.service.waiting(), room.service.devices(MemberId(0)).count()), (0, 3));
    room.arrive(3);
    room.settle();
    room.assert_group(&[0, 1, 2, 3]);
}

#[test]
fn no_more_wait_than_the_limit_says() {
    let mut room = VirtualGroup::new("lkh-group", &[], 20);
    room.policy.limits.waiting = 8;
    let mut room = VirtualGroup::of(room.policy);
    // Long enough for every device to be offered a number twice.
    room.patience = 10_000_000_000;
    (0..12).for_each(|number| room.arrive(number));
    room.settle();
    assert_eq!(room.service.waiting(), 8);
    assert!(room.service.counters().overflowed >= 4);
}

#[test]
fn a_flood_of_requests_by_a_member_does_not_fill_the_log() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.members.get_mut(&name(0)).unwrap().asleep = true;
    room.evict(1);
    room.reconnect(&name(0));
    room.settle();
    let requests: Vec<_> = (room.heard_by_broker().into_iter())
        .filter(|publish| publish.topic.ends_with("/requests"))
        .collect();
    assert!(!requests.is_empty(), "member 0 caught up");
    let before = room.service.stored().0;
    for _ in 0..1_000 {
        room.publish(requests[0].topic.clone(), requests[0].payload.clone());
    }
    room.settle();
    assert!(room.service.stored().0 <= before + u64::from(room.policy.limits.allowance));
    assert!(room.service.counters().overflowed > 900);
}

/// Neither by the key with which it came, nor by what it has signed as a member.
#[test]
fn who_was_evicted_is_not_heard() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    room.members.get_mut(&name(3)).unwrap().asleep = true;
    room.evict(2);
    room.reconnect(&name(3));
    room.settle();
    let asked = |sent: &Publish| sent.topic.ends_with("/requests");
    let request = room.heard_by_broker().into_iter().find(asked).expect("member 3 caught up");
    room.evict(3);
    let (forged, epoch) = (room.service.counters().forged, room.epoch());
    room.publish(request.topic, request.payload);
    room.settle();
    assert_eq!(room.service.counters().forged, forged + 1);
    let refused = room.service.counters().refused;
    room.now += 60_000_000_000;
    room.arrive(3);
    room.settle();
    assert!(room.service.counters().refused > refused);
    assert_eq!(room.epoch(), epoch);
    room.assert_group(&[0, 1]);
}

/// A stranger recorded the farewell of an evicted device, and says it again when the device is
/// readmitted and has no key yet.
#[test]
fn a_recorded_farewell_does_not_end_a_readmitted_device() {
    let evicts = |scheme: &&Scheme| scheme.operations.contains(&Operation::Remove);
    for scheme in schemes_of_services().filter(evicts).map(|scheme| scheme.id) {
        let mut room = VirtualGroup::new(scheme, &[], 4);
        (0..4).for_each(|number| room.arrive(number));
        room.settle();
        room.evict(2);
        let topic = format!("{}/welcome/{}", room.policy.prefix, name(2));
        let mut heard = room.heard_by_broker().into_iter().rev();
        let farewell = heard.find(|sent| sent.topic == topic).unwrap();
        room.service.readmit(&name(2), room.now).unwrap();
        // The rekey message is late; the welcome is not.
        room.keep_back =
            |sent| ["/all", "/to/", "/set/"].iter().any(|part| sent.topic.contains(part));
        room.arrive(2);
        room.settle();
        let member = &room.members[&name(2)].member;
        assert!(member.number().is_some() && member.group_key().is_none(), "{scheme}");
        room.publish(farewell.topic.clone(), farewell.payload.clone());
        room.settle();
        room.let_go();
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        // A genuine one counts.
        room.evict(2);
        assert!(room.members[&name(2)].member.is_out(), "{scheme}");
    }
}

/// Requests with secrets that the service does not know, and forged ones in the name of a device that
/// it knows. Neither costs a proof for each token, or a signature for each request.
#[test]
fn a_flood_of_requests_to_join_costs_few_verifications() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    room.policy.tokens = (0..1_000_u32).map(token_of).collect();
    let listed = room.settings(70).identity.public();
    room.policy.identities.insert(name(70), listed);
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let unknown = request_of(&mut room, 71, Some(Secret::from_bytes([0xee; 32])));
    let known = request_of(&mut room, 72, Some(token_of(500)));
    let signed = request_of(&mut room, 70, None);
    let flood = |room: &mut VirtualGroup, request: &Publish, spoilt: bool| {
        let mut payload = request.payload.clone();
        // The last byte is the signature's, and the one before it and its head the proof's.
        let last = payload.len() - if spoilt { 70 } else { 1 };
        payload[last] ^= 1;
        let before = room.service.counters();
        for _ in 0..20_000 {
            let input = Input::Arrived { topic: &request.topic, payload: &payload };
            room.service.handle(input, room.now, &mut room.rng).unwrap();
        }
        let after = room.service.counters();
        let verified = after.forged - before.forged;
        (after.refused - before.refused, verified, after.overflowed - before.overflowed)
    };
    assert_eq!(flood(&mut room, &unknown, true), (20_000, 0, 0), "no token is tried");
    let (refused, verified, overflowed) = flood(&mut room, &known, true);
    assert!((verified, refused + overflowed) == (0, 20_000) && refused <= 4_000, "{refused}");
    room.now += 10_000_000_000;
    let (_, verified, overflowed) = flood(&mut room, &signed, false);
    assert!(verified + overflowed == 20_000 && verified <= 4_000, "{verified}");
    // No member is kept from catching up, and a second later devices join.
    room.members.get_mut(&name(1)).unwrap().asleep = true;
    room.evict(0);
    room.reconnect(&name(1));
    room.settle();
    room.assert_group(&[1, 2]);
    room.now += 1_000_000_000;
    room.arrive_with(MemberSettings { shared: Some(token_of(500)), ..room.settings(72) });
    room.arrive_with(room.settings(70));
    room.settle();
    room.assert_group(&[1, 2, 70, 72]);
}

fn token_of(number: u32) -> Secret {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Secret::from_bytes(bytes)
}

/// The first request of a device.
fn request_of(room: &mut VirtualGroup, number: u32, shared: Option<Secret>) -> Publish {
    room.keep_back = |sent| sent.topic.ends_with("/join");
    room.intrude(MemberSettings { shared, ..room.settings(number) });
    room.settle();
    room.keep_back = |_| false;
    room.kept_back.pop().expect("it asks")
}

/// An insider has the group key, its own identity and certificate, and the victim's certificate.
#[test]
fn who_speaks_in_anothers_name_is_heard_where_messages_rest_on_the_group_key() {
    for senders in Senders::ALL {
        let mut room = of_senders(senders);
        (0..3).for_each(|number| room.arrive(number));
        room.settle();
        let [insider, victim] = [0, 1].map(|number| {
            let member = room.members[&name(number)].member.number().unwrap();
            (member, room.settings(number).identity)
        });
        let own = certificate(&room, insider.0, &insider.1);
        let stolen = certificate(&room, victim.0, &victim.1);
        // Before the victim was heard, and after.
        for turn in 1..=2_usize {
            let lies = [
                spoken(&room, victim.0, None),
                spoken(&room, victim.0, Some((&insider.1, None))),
                spoken(&room, victim.0, Some((&insider.1, Some(&own)))),
                spoken(&room, victim.0, Some((&insider.1, Some(&stolen)))),
            ];
            let before = room.members[&name(2)].member.counters();
            for lie in lies {
                room.publish(format!("{}/talk", room.policy.prefix), lie);
            }
            room.settle();
            let heard = |room: &VirtualGroup| {
                let heard = &room.members[&name(2)].heard;
                let lies = heard.iter().filter(|heard| *heard == b"a lie").count();
                (lies, heard.len() - lies)
            };
            let lies = if senders == Senders::Signed { 0 } else { turn };
            assert_eq!(heard(&room), (lies, turn - 1));
            // Now all of them are judged.
            say(&mut room, 1, b"true");
            assert_eq!(heard(&room), (lies, turn));
            let counters = room.members[&name(2)].member.counters();
            let refused = counters.refusals() - before.refusals();
            assert_eq!(refused, if senders == Senders::Signed { 4 } else { 3 });
        }
        // In its own name it is heard, of course.
        let said = spoken(&room, insider.0, Some((&insider.1, Some(&own))));
        room.publish(format!("{}/talk", room.policy.prefix), said);
        room.settle();
        let heard = room.members[&name(2)].heard.last().unwrap() == b"a lie";
        assert_eq!(heard, senders == Senders::Signed);
    }
}

/// It slept while a newcomer said its first words. What follows waits until the newcomer introduces
/// itself again, and nothing else is lost.
#[test]
fn who_missed_an_introduction_hears_what_follows_a_little_later() {
    let mut room = of_senders(Senders::Signed);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    room.members.get_mut(&name(2)).unwrap().asleep = true;
    say(&mut room, 3, b"first");
    room.reconnect(&name(2));
    room.settle();
    for number in 1..16 {
        say(&mut room, 3, &[number]);
        assert!(room.members[&name(2)].heard.is_empty());
    }
    say(&mut room, 3, &[16]);
    let expected: Vec<_> = (1..=16).map(|number| vec![number]).collect();
    assert_eq!(room.members[&name(2)].heard, expected);
    assert_eq!(room.members[&name(1)].heard.len(), 17);
}

/// The evicted hardware still has its identity and certificate, and an insider gives it the key.
#[test]
fn an_old_certificate_does_not_speak_for_new_hardware() {
    let mut room = with_tokens(3);
    room.policy.identity = Some(SERVICE);
    let mut room = VirtualGroup::of(room.policy);
    (0..3).for_each(|number| room.arrive(number));
    room.arrive_with(MemberSettings { shared: Some(token(0)), ..room.settings(70) });
    room.settle();
    let former = room.members[&name(70)].member.number().unwrap();
    let identity = room.settings(70).identity;
    let certificate = certificate(&room, former, &identity);
    room.evict(70);
    room.service.readmit(&name(70), room.now).unwrap();
    room.now += 60_000_000_000;
    let new = Secret::from_bytes([9; 32]);
    room.arrive_with(MemberSettings { shared: Some(token(1)), identity: new, ..room.settings(70) });
    room.settle();
    room.assert_group(&[0, 1, 2, 70]);
    let number = room.members[&name(70)].member.number().unwrap();
    assert_ne!(number, former);
    let lie = spoken(&room, number, Some((&identity, Some(&certificate))));
    room.publish(format!("{}/talk", room.policy.prefix), lie);
    room.settle();
    assert!(room.members[&name(2)].heard.is_empty());
    say(&mut room, 70, b"true");
    assert_eq!(room.members[&name(2)].heard, [b"true"]);
    // In its own former name it is heard: whoever gives the key away can say what it likes.
    let lie = spoken(&room, former, Some((&identity, Some(&certificate))));
    room.publish(format!("{}/talk", room.policy.prefix), lie);
    room.settle();
    assert_eq!(room.members[&name(2)].heard.last().unwrap(), b"a lie");
    // It survives a restart of the service that nobody else gets the former number.
    room.revive(&Fatal::Crashed);
    room.arrive_with(MemberSettings { shared: Some(token(2)), ..room.settings(71) });
    room.settle();
    let other = room.members[&name(71)].member.number().unwrap();
    assert!(other != former && other != number);
}

/// Messages rest on the group key here. An insider sends many in another member's name, each as if that
/// had started again.
#[test]
fn forged_sessions_silence_no_member() {
    let mut room = of_senders(Senders::GroupKey);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let victim = room.members[&name(1)].member.number().unwrap();
    for number in 0..100_u64 {
        let mut rng = ChaCha20Rng::seed_from_u64(1_000 + number);
        let forged = forged_talk(&room, victim, &mut rng, 1);
        room.publish(format!("{}/talk", room.policy.prefix), forged);
    }
    room.settle();
    assert_eq!(room.members[&name(2)].heard.len(), 100);
    let now = room.now;
    room.members.get_mut(&name(1)).unwrap().member.say(b"genuine", now, &mut room.rng).unwrap();
    room.settle();
    assert_eq!(room.members[&name(2)].heard.last().unwrap(), b"genuine");
    // Nothing that was heard is heard again.
    for sent in room.heard_by_broker().into_iter().filter(|sent| sent.topic.ends_with("/talk")) {
        room.publish(sent.topic, sent.payload);
    }
    room.settle();
    assert_eq!(room.members[&name(2)].heard.len(), 101);
}

/// Any member can put another one's session and a late counter into a message.
#[test]
fn a_forged_counter_silences_no_member() {
    let mut room = of_senders(Senders::GroupKey);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    let victim = room.members[&name(1)].member.number().unwrap();
    for turn in 1..=3 {
        say(&mut room, 1, b"before");
        let last = room.heard_by_broker().pop().unwrap();
        let forged = forged_talk(&room, victim, &mut Repeated(session_before(&last.payload)), 100);
        room.publish(last.topic, forged);
        room.settle();
        say(&mut room, 1, b"after");
        let heard = room.members[&name(2)].heard.iter().map(Vec::as_slice);
        let heard: Vec<_> = heard.filter(|heard| *heard != b"made up").collect();
        assert_eq!(heard, [&b"before"[..], b"after"].repeat(turn));
    }
}

/// The service's identity, where a test must know it.
const SERVICE: Secret = Secret::from_bytes([200; 32]);

/// A group of three whose service has a known identity.
fn of_senders(senders: Senders) -> VirtualGroup {
    let mut policy = VirtualGroup::new("lkh-group", &[], 3).policy;
    policy.form.senders = senders;
    VirtualGroup::of(Policy { identity: Some(SERVICE), ..policy })
}

fn certificate(room: &VirtualGroup, member: MemberId, identity: &Secret) -> Vec<u8> {
    let public = identity.public();
    let context: &[u8] = room.service.context().as_bytes();
    let parts = [context, &member.0.to_be_bytes(), &public];
    [&public[..], &SERVICE.sign("groupkey sender 1", &parts)].concat()
}

/// A group message in the name of a member: unsigned, or signed with this identity and with this
/// certificate.
fn spoken(
    room: &VirtualGroup,
    member: MemberId,
    signer: Option<(&Secret, Option<&[u8]>)>,
) -> Vec<u8> {
    let (epoch, key) = room.service.group_key().unwrap();
    let mut keyring = Keyring::default();
    let guard = match signer {
        Some((identity, _)) => {
            keyring.own(member.into(), identity);
            Guard::Signature
        }
        None => Guard::None,
    };
    let protection = keyring.protection(guard, member.into()).unwrap();
    let setting = Setting::new(GroupId(1), Suite::Standard).with_context(*room.service.context());
    let mut rng = ChaCha20Rng::seed_from_u64(room.heard_by_broker().len() as u64);
    rng.set_stream(
        signer.map_or(0, |(_, certificate)| 1 + certificate.map_or(0, |bytes| bytes[0].into())),
    );
    let (mut outbox, mut probe) = (Outbox::new(), ());
    let mut cx =
        Context::new(setting, member.into(), protection, &mut rng, 0, &mut outbox, &mut probe);
    let settings =
        messages::MessageSettings { signed: Some(signer.is_some()), ..Default::default() };
    let mut messenger = Messenger::new(&cx, settings).unwrap();
    if let Some((_, Some(certificate))) = signer {
        messenger.introduce(certificate.to_vec());
    }
    messenger.rekeyed(&mut cx, epoch, key);
    messenger.seal(&mut cx, b"a lie").unwrap()
}

fn say(room: &mut VirtualGroup, number: u32, content: &[u8]) {
    let (now, rng) = (room.now, &mut room.rng);
    room.members.get_mut(&name(number)).unwrap().member.say(content, now, rng).unwrap();
    room.settle();
}

/// The last of so many group messages that a member makes up in another one's name.
fn forged_talk(
    room: &VirtualGroup,
    victim: MemberId,
    rng: &mut impl CryptoRng,
    count: u64,
) -> Vec<u8> {
    let (epoch, key) = room.service.group_key().unwrap();
    let setting = Setting::new(GroupId(1), Suite::Standard).with_context(*room.service.context());
    let (mut outbox, mut probe, none) = (Outbox::new(), (), Protection::None);
    let mut cx = Context::new(setting, victim.into(), none, rng, 0, &mut outbox, &mut probe);
    let settings = messages::MessageSettings { signed: Some(false), ..Default::default() };
    let mut messenger = Messenger::new(&cx, settings).unwrap();
    messenger.rekeyed(&mut cx, epoch, key);
    (0..count).map(|_| messenger.seal(&mut cx, b"made up").unwrap()).last().unwrap()
}

/// The number from which a sender comes to the session of this message with its first key. The session
/// follows the sender's number in the header.
fn session_before(bytes: &[u8]) -> [u8; 8] {
    let from = bytes.windows(2).position(|pair| pair == [10, 0x4c]).unwrap() + 6;
    let session = u64::from_be_bytes(bytes[from..from + 8].try_into().unwrap());
    session.wrapping_sub(1).to_be_bytes()
}

/// Draws the same bytes over and over.
struct Repeated([u8; 8]);

impl TryRng for Repeated {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.try_next_u64()? as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_be_bytes(self.0))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.iter_mut().zip(self.0.iter().cycle()).for_each(|(byte, drawn)| *byte = *drawn);
        Ok(())
    }
}

impl TryCryptoRng for Repeated {}
