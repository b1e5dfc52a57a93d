//! A new key for the same members: on demand, after a period, and without grace for the key before.

use std::time::Duration;

use groupkey::error::Misbehaviour;
use groupkey::{Epoch, Error};
use groupkey_mqtt::Service;
use groupkey_mqtt::service::OperationError;
use groupkey_mqtt::store::Publish;

use crate::machines::virtual_group::{VirtualGroup, name, schemes_of_services};

#[test]
fn every_scheme_of_a_service_changes_its_key_on_demand_and_after_a_period() {
    for scheme in schemes_of_services() {
        let mut room = VirtualGroup::new(scheme.id, &[], 4);
        room.policy.period = Some(Duration::from_secs(600));
        let mut room = VirtualGroup::of(room.policy);
        (0..4).for_each(|number| room.arrive(number));
        room.settle();
        let first = room.epoch();
        room.service.rekey(room.now, &mut room.rng).unwrap();
        room.settle();
        room.assert_group(&[0, 1, 2, 3]);
        assert_eq!(room.epoch(), first.next(), "{}", scheme.id);
        room.run_for(601);
        room.assert_group(&[0, 1, 2, 3]);
        assert_eq!(room.epoch(), first.next().next(), "{}", scheme.id);
    }
}

/// A message under the old key arrives after the change: nobody takes it after a hard one.
#[test]
fn after_a_hard_rekey_nothing_under_the_key_before_counts() {
    for (is_hard, scheme) in [(false, "lkh-group"), (true, "lkh-group"), (true, "skdc")] {
        let mut room = group(scheme);
        room.keep_back = is_talk;
        say(&mut room, 2, b"under the old key").unwrap();
        room.settle();
        rekey(&mut room, is_hard).unwrap();
        room.settle();
        room.let_go();
        room.settle();
        let heard = usize::from(!is_hard);
        assert_eq!(room.members[&name(0)].heard.len(), heard, "{scheme} {is_hard}");
        say(&mut room, 2, b"under the new key").unwrap();
        room.settle();
        assert_eq!(room.members[&name(0)].heard.len(), heard + 1, "{scheme} {is_hard}");
        room.assert_group(&[0, 1, 2]);
    }
}

/// The notice arrives, and the message with the new key does not: whoever has the old key alone
/// neither speaks nor listens under it.
#[test]
fn a_member_without_the_new_key_stops_at_once() {
    let mut room = group("skdc");
    room.keep_back = is_talk;
    say(&mut room, 2, b"under the old key").unwrap();
    room.settle();
    // Device 1 is member 2.
    let is_to_1 = |sent: &Publish| sent.topic.ends_with("/to/m000002");
    room.keep_back = |sent| is_talk(sent) || sent.topic.ends_with("/to/m000002");
    room.patience = 0;
    rekey(&mut room, true).unwrap();
    room.settle();
    let (got, current) = (Epoch(2), Epoch(1));
    let refused = Err(Misbehaviour::SkippedEpoch { got, current }.into());
    assert_eq!(say(&mut room, 1, b"under the old key, too"), refused);
    room.keep_back = is_to_1;
    let talk: Vec<_> = room.kept_back.extract_if(.., |sent| is_talk(sent)).collect();
    talk.into_iter().for_each(|sent| room.publish(sent.topic, sent.payload));
    room.settle();
    assert!(room.members[&name(1)].heard.is_empty());
    room.let_go();
    room.patience = 5 * SECOND;
    room.settle();
    room.assert_group(&[0, 1, 2]);
    say(&mut room, 1, b"under the new key").unwrap();
}

/// From its log, and from a checkpoint.
#[test]
fn a_service_that_restarts_still_refuses_the_key_before() {
    for is_stopped in [false, true] {
        let mut room = group("lkh-group");
        rekey(&mut room, true).unwrap();
        room.settle();
        if is_stopped {
            room.service.stop(room.now).unwrap();
        }
        let store = Box::new(room.store.clone());
        room.service = Service::open(room.policy.clone(), store, room.now, &mut room.rng).unwrap();
        room.connect().unwrap();
        room.settle();
        let before = room.heard_by_broker().len();
        // A member that was not there learns it from the notice.
        room.keep_back = is_talk;
        say(&mut room, 2, b"under the present key").unwrap();
        room.settle();
        rekey(&mut room, false).unwrap();
        room.settle();
        room.let_go();
        room.settle();
        assert_eq!(room.members[&name(0)].heard.len(), 1, "the next change has grace again");
        let notices = &room.heard_by_broker()[before..];
        assert!(notices.iter().any(|sent| sent.topic.ends_with("/epoch")));
        room.assert_group(&[0, 1, 2]);
    }
}

fn group(scheme: &str) -> VirtualGroup {
    let mut room = VirtualGroup::new(scheme, &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    assert_eq!(room.epoch(), Epoch(1));
    room
}

fn rekey(room: &mut VirtualGroup, is_hard: bool) -> Result<Epoch, OperationError> {
    let rekey = if is_hard { Service::rekey_hard } else { Service::rekey };
    rekey(&mut room.service, room.now, &mut room.rng)
}

fn is_talk(sent: &Publish) -> bool {
    sent.topic.ends_with("/talk")
}

fn say(room: &mut VirtualGroup, number: u32, content: &[u8]) -> Result<(), Error> {
    let now = room.now;
    room.members.get_mut(&name(number)).unwrap().member.say(content, now, &mut room.rng)
}

const SECOND: u64 = 1_000_000_000;
