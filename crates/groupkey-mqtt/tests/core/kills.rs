//! The service dies at every place where dying makes a difference.

use crate::room::Room;

/// What happens to a group, after three have founded it (which is the first).
fn life(room: &mut Room) {
    (0..4).for_each(|number| room.arrive(number));
    room.settle();
    room.arrive(4);
    room.settle();
    room.evict(1);
    room.arrive(5);
    room.settle();
    room.evict(0);
}

#[test]
fn killed_anywhere_it_goes_on_and_no_epoch_is_used_twice() {
    let mut kills = 0;
    for (scheme, parameters) in [
        ("lkh-group", &[][..]),
        ("skdc", &[]),
        ("dep", &[("subgroups", 2)]),
        ("igkmp", &[("subgroups", 2)]),
    ] {
        let mut room = Room::new(scheme, parameters, 4);
        life(&mut room);
        room.assert_group(&[2, 3, 4, 5]);
        let points = room.service.fault_points();
        assert!(points > 30, "{scheme}: {points}");
        for point in 0..points {
            let mut room = Room::new(scheme, parameters, 4);
            room.service.crash_at(point);
            life(&mut room);
            assert_eq!(room.crashes, 1, "{scheme}, point {point}");
            room.assert_group(&[2, 3, 4, 5]);
            kills += room.crashes;
        }
    }
    println!("{kills} kills");
    assert!(kills >= 200, "{kills}");
}

#[test]
fn after_a_kill_the_state_is_the_one_that_was_stored() {
    let mut room = Room::new("lkh-group", &[], 4);
    life(&mut room);
    let before = (room.service.members(), room.service.stored());
    let key = room.service.group_key().map(|(epoch, key)| (epoch, key.clone()));
    room.revive(&groupkey_mqtt::runtime::Fatal::Crashed);
    assert_eq!(room.service.members(), before.0);
    assert_eq!(room.service.stored().0, before.1.0);
    let again = room.service.group_key().map(|(epoch, key)| (epoch, key.clone()));
    assert_eq!(again, key);
}

#[test]
fn a_full_log_refuses_operations_and_says_what_to_do() {
    let mut room = Room::new("lkh-group", &[], 3);
    (0..3).for_each(|number| room.arrive(number));
    room.settle();
    room.policy.limits.log = room.service.stored().0;
    room.revive(&groupkey_mqtt::runtime::Fatal::Crashed);
    let error = room.service.evict("device-0", room.now, &mut room.rng).unwrap_err();
    assert!(error.to_string().contains("begin a new group"), "{error}");
    room.arrive(3);
    room.settle();
    room.assert_group(&[0, 1, 2]);
}
