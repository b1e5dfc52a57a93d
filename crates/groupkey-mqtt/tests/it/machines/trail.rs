//! The trail says who did what, survives kills and stops, and cannot be changed unnoticed.

use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::trail::{Actor, TrailOperation, TrailRecord};
use groupkey_mqtt::store::{MemoryStore, Store, StoredLog, Transaction};
use groupkey_mqtt::{Policy, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::machines::virtual_group::{VirtualGroup, name};

/// A group in which an operator and a token did something, and one thing was refused.
fn with_a_trail() -> VirtualGroup {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    let alice = Actor::Token("alice".to_owned());
    room.service.acting_for(alice).evict(&name(1), room.now, &mut room.rng).unwrap();
    let terminal = room.service.acting_for(Actor::Terminal);
    assert!(terminal.evict("nobody", room.now, &mut room.rng).is_err());
    room.service.readmit(&name(1), room.now).unwrap();
    room.settle();
    room
}

#[test]
fn each_operation_is_on_record_with_actor_and_result_also_after_a_kill_and_a_stop() {
    let mut room = with_a_trail();
    let before: Vec<TrailRecord> = room.service.trail().since(0).cloned().collect();
    let all: Vec<_> = before
        .iter()
        .map(|record| {
            let subject = record.subject.as_deref().unwrap_or_default();
            (record.actor.to_string(), record.operation, subject, record.refusal.is_some())
        })
        .collect();
    let evict = TrailOperation::Evict;
    assert!(all.contains(&("token:alice".to_owned(), evict, "device-1", false)), "{all:?}");
    assert!(all.contains(&("terminal".to_owned(), evict, "nobody", true)), "{all:?}");
    let readmit = TrailOperation::Readmit;
    assert!(all.contains(&("program".to_owned(), readmit, "device-1", false)), "{all:?}");
    let joined = |(actor, operation, subject, _): &(String, TrailOperation, &str, bool)| {
        actor == "devices" && *operation == TrailOperation::Join && subject.contains("device-2")
    };
    assert!(all.iter().any(joined), "{all:?}");
    let numbers: Vec<_> = before.iter().map(|record| record.number).collect();
    assert_eq!(numbers, (0..before.len() as u64).collect::<Vec<_>>());

    room.revive(&Fatal::Crashed);
    let again: Vec<TrailRecord> = room.service.trail().since(0).cloned().collect();
    assert_eq!(again[..before.len()], before);
    room.service.stop(room.now).unwrap();
    room.revive(&Fatal::Crashed);
    let again: Vec<TrailRecord> = room.service.trail().since(0).cloned().collect();
    assert_eq!(again[..before.len()], before);
    assert!(again.iter().any(|record| record.operation == TrailOperation::Stop));
}

#[test]
fn a_flipped_byte_or_a_missing_record_in_the_store_is_noticed() {
    let mut room = with_a_trail();
    for stopped in [false, true] {
        if stopped {
            room.service.stop(room.now).unwrap();
        }
        let saved = room.store.clone().load().unwrap();
        assert!(opens(&room.policy, saved.clone()));
        let mut tried = 0;
        for (at, entry) in saved.entries.iter().enumerate() {
            // The names of the trail's actors and subjects.
            let places = |word: &[u8]| entry.windows(word.len()).position(|window| window == word);
            for place in [places(b"alice"), places(b"nobody")].into_iter().flatten() {
                let mut flipped = saved.clone();
                flipped.entries[at][place] ^= 1;
                assert!(!opens(&room.policy, flipped), "entry {at}, byte {place}");
                tried += 1;
                if !stopped {
                    let mut without = saved.clone();
                    without.entries.remove(at);
                    assert!(!opens(&room.policy, without), "without entry {at}");
                }
            }
        }
        assert_eq!(tried, 2, "stopped: {stopped}");
    }
}

fn opens(policy: &Policy, saved: StoredLog) -> bool {
    let mut store = MemoryStore::default();
    let StoredLog { first, entries, .. } = saved;
    store
        .commit(&Transaction { first, entries, replaces: true, ..Transaction::default() })
        .unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    Service::open(policy.clone(), Box::new(store), 0, &mut rng).is_ok()
}
