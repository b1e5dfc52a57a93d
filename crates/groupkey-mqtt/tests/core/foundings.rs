//! A service that lost its store founds its group anew, with the same name, number and identities.
//! Whoever recorded the earlier group can send all of it again.

use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::runtime::Publish;

use crate::room::{Room, name};

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

/// A room whose service keeps its identity when it loses its store.
fn with_identity(scheme: &str, members: usize) -> Room {
    let mut room = Room::new(scheme, &[], members);
    room.policy.identity = Some(Secret::from_bytes([200; 32]));
    Room::of(room.policy)
}

const SECOND: u64 = 1_000_000_000;
