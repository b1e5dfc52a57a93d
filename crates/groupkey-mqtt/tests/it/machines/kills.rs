//! The service crashes at every fault point.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::machines::virtual_group::VirtualGroup;

/// How often the service crashed during each kind of operation.
#[derive(Debug, Default)]
struct Kills {
    create: u64,
    add: u64,
    remove: u64,
}

fn life(room: &mut VirtualGroup) -> Kills {
    let mut kills = Kills::default();
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    kills.create += room.crashes;
    let mut before = room.crashes;
    let mut since =
        |room: &VirtualGroup| room.crashes - std::mem::replace(&mut before, room.crashes);
    room.arrive(4);
    room.settle();
    kills.add += since(room);
    room.evict(1);
    kills.remove += since(room);
    room.arrive(5);
    room.settle();
    kills.add += since(room);
    room.evict(0);
    kills.remove += since(room);
    kills
}

/// Crashes at every fault point, one run for each. The room asserts that no epoch has two keys.
#[test]
fn killed_anywhere_it_goes_on_and_no_epoch_is_used_twice() {
    let mut kills = Kills::default();
    for (index, (scheme, parameters)) in SCHEMES.into_iter().enumerate() {
        let open = || with_checkpoints(scheme, parameters, 2 + index as u64);
        let mut room = open();
        life(&mut room);
        room.assert_group(&[2, 3, 4, 5]);
        let points = room.service.fault_points();
        for point in 0..points {
            let mut room = open();
            room.service.crash_at(point);
            let here = life(&mut room);
            assert_eq!(room.crashes, 1, "{scheme}, point {point}");
            room.assert_group(&[2, 3, 4, 5]);
            kills.create += here.create;
            kills.add += here.add;
            kills.remove += here.remove;
        }
    }
    println!("{kills:?}");
    assert!(kills.create + kills.add + kills.remove >= 200, "{kills:?}");
    assert!(kills.create.min(kills.add).min(kills.remove) >= 40, "{kills:?}");
}

#[test]
fn killed_again_and_again_it_goes_on_all_the_same() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let mut kills = 0;
    for round in 0..40 {
        let (scheme, parameters) = SCHEMES[round % SCHEMES.len()];
        let mut room = with_checkpoints(scheme, parameters, 1 + round as u64);
        // Devices whose requests were lost in the crash ask again, up to 17 s later.
        room.patience = 20_000_000_000;
        room.deaths = (0..8).map(|_| rng.next_u64() % 12).collect();
        room.service.crash_at(rng.next_u64() % 12);
        life(&mut room);
        room.assert_group(&[2, 3, 4, 5]);
        kills += room.crashes;
    }
    println!("{kills} kills");
    assert!(kills >= 200, "{kills}");
}

#[test]
fn after_a_kill_the_state_is_the_one_that_was_stored() {
    let mut room = VirtualGroup::new("lkh-group", &[], 4);
    life(&mut room);
    let before = (room.service.members(), room.service.stored());
    let key = room.service.group_key().map(|(epoch, key)| (epoch, key.clone()));
    room.revive(&groupkey_mqtt::runtime::Fatal::Crashed);
    assert_eq!(room.service.members(), before.0);
    // That it began anew is one entry more, and its record.
    assert_eq!(room.service.stored().0, before.1.0 + 2);
    let again = room.service.group_key().map(|(epoch, key)| (epoch, key.clone()));
    assert_eq!(again, key);
}

#[test]
fn a_full_log_refuses_operations_and_says_what_to_do() {
    let mut room = VirtualGroup::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.policy.limits.log = room.service.stored().0;
    room.revive(&groupkey_mqtt::runtime::Fatal::Crashed);
    let error = room.service.evict("device-0", room.now, &mut room.rng).unwrap_err();
    assert!(error.to_string().contains("start a new group"), "{error}");
    room.arrive(3);
    room.settle();
    room.assert_group(&[0, 1, 2]);
}

/// A room whose service makes a checkpoint after so many entries.
fn with_checkpoints(scheme: &str, parameters: &[(&str, u32)], entries: u64) -> VirtualGroup {
    let mut room = VirtualGroup::new(scheme, parameters, 4);
    room.policy.limits.checkpoint = entries;
    VirtualGroup::of(room.policy)
}

const SCHEMES: [(&str, &[(&str, u32)]); 4] = [
    ("lkh-group", &[]),
    ("skdc", &[]),
    ("dep", &[("subgroups", 2)]),
    ("igkmp", &[("subgroups", 2)]),
];
