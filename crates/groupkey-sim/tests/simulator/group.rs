//! Groups on a network whose times can be worked out by hand.

use std::sync::Arc;

use groupkey::catalogue::{Profile, SCHEMES, scheme};
use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};
use groupkey_sim::group::{GroupError, GroupSettings, GroupSimulation, Rest, Station};
use groupkey_sim::{Duration, LinkProfile, NetworkConfig, Processing};

pub(super) const MS: u64 = 1_000_000;

pub(super) fn settings(id: &str, delay_ms: u64, loss: f64) -> GroupSettings {
    let link = LinkProfile::delay_and_loss(Duration::from_millis(delay_ms), loss);
    let station = Station {
        up: link.clone(),
        down: link,
        outages: None,
        processing: Processing::default(),
        computation: Arc::new(|_| 0),
    };
    GroupSettings {
        configuration: scheme(id).unwrap().configuration(Profile::Sound),
        suite: Suite::Standard,
        protection: Guard::Mac,
        seed: 1,
        network: NetworkConfig { broker: Processing::default(), ..NetworkConfig::default() },
        controller: station.clone(),
        subgroup_controller: station.clone(),
        subgroup_exceptions: Vec::new(),
        member: station,
        exceptions: Vec::new(),
        request_bytes: None,
        rest: Rest::Idle(Duration::from_secs(60)),
    }
}

#[test]
fn a_hybrid_scheme_takes_two_message_times() {
    let mut settings = settings("igkmp", 100, 0.0);
    settings.configuration.set("subgroups", 3).unwrap();
    let slow = LinkProfile::delay_and_loss(Duration::from_millis(300), 0.0);
    let station = Station { up: slow.clone(), down: slow, ..settings.member.clone() };
    let mut group = GroupSimulation::new(settings.clone());
    let created = group.create(9).unwrap();
    // The controller to the subgroups' controllers, and those to their members.
    assert_eq!((created.total_ns, created.messages), (1_200 * MS, 3 + 9));
    let added = group.add().unwrap();
    assert_eq!((added.total_ns, added.messages), (1_200 * MS, 3 + 1 + 3));
    assert_eq!(group.remove(Some(0)).unwrap().total_ns, 1_200 * MS);
    assert_eq!(group.rekey().unwrap().messages, 3 + 3);

    // One subgroup's controller sits further away: three delays of each message are its own.
    settings.subgroup_exceptions.push((1..2, station));
    let created = GroupSimulation::new(settings).create(9).unwrap();
    assert_eq!(created.total_ns, 2_400 * MS);
}

#[test]
fn a_star_takes_one_message_time() {
    let mut group = GroupSimulation::new(settings("skdc", 100, 0.0));
    let created = group.create(5).unwrap();
    // Six one-way delays of QoS 2, all members at the same time.
    assert_eq!(created.total_ns, 600 * MS);
    assert_eq!(created.transmission_ns, 600 * MS);
    assert_eq!(created.messages, 5);
    assert_eq!(created.deliveries, 5);
    assert_eq!(created.member_mean_ns, 600.0 * MS as f64);
    assert_eq!(group.add().unwrap().messages, 6);
    assert_eq!(group.remove(None).unwrap().messages, 5);
    assert_eq!(group.members(), 5);
}

#[test]
fn a_request_comes_first() {
    let settings = GroupSettings { request_bytes: Some(40), ..settings("lkh-group", 100, 0.0) };
    let mut group = GroupSimulation::new(settings);
    assert_eq!(group.create(16).unwrap().total_ns, 600 * MS);
    let added = group.add().unwrap();
    assert_eq!((added.total_ns, added.messages), (1200 * MS, 3));
    let removed = group.remove(Some(4)).unwrap();
    assert_eq!((removed.total_ns, removed.messages), (1200 * MS, 2));
}

#[test]
fn computation_on_the_way_to_the_last_member_is_told_apart() {
    let mut settings = settings("skdc", 100, 0.0);
    let per_wrap: fn(&Meter) -> u64 = |meter| meter.tally(Primitive::Wrap).calls * MS;
    let per_unwrap: fn(&Meter) -> u64 = |meter| meter.tally(Primitive::Unwrap).calls * 10 * MS;
    settings.controller.computation = Arc::new(per_wrap);
    settings.member.computation = Arc::new(per_unwrap);
    let created = GroupSimulation::new(settings).create(7).unwrap();
    assert_eq!(created.computation_ns, (7 + 10) * MS);
    assert_eq!(created.transmission_ns, 600 * MS);
    assert_eq!(created.total_ns, created.computation_ns + created.transmission_ns);
}

#[test]
fn every_check_of_a_tag_takes_its_time() {
    // Not all are computed, but all are counted.
    for (protection, check) in [(Guard::Mac, Primitive::Mac), (Guard::Signature, Primitive::Verify)]
    {
        let mut settings = settings("lkh-group", 100, 0.0);
        settings.protection = protection;
        settings.member.computation = Arc::new(move |meter| meter.tally(check).calls * 10 * MS);
        let created = GroupSimulation::new(settings).create(7).unwrap();
        assert_eq!(created.member_mean_ns, (600 + 10) as f64 * MS as f64, "{protection:?}");
    }
}

#[test]
fn rest_brings_the_initial_window_back() {
    let times = |rest| {
        let mut group = GroupSimulation::new(GroupSettings { rest, ..settings("skdc", 100, 0.0) });
        [group.create(100).unwrap(), group.add().unwrap()].map(|operation| operation.total_ns)
    };
    let [created, added] = times(Rest::Idle(Duration::from_secs(60)));
    assert_eq!(created, added);
    let [created, added] = times(Rest::Idle(Duration::ZERO));
    assert!(added < created, "the window has grown");
}

#[test]
fn a_slow_member_holds_up_the_group() {
    let mut settings = settings("skdc", 0, 0.0);
    let mut slow = settings.member.clone();
    slow.down = LinkProfile::delay_and_loss(Duration::from_millis(50), 0.0);
    settings.exceptions = vec![(2..3, slow)];
    let created = GroupSimulation::new(settings).create(4).unwrap();
    // PUBLISH and PUBREL come down to it.
    assert_eq!(created.total_ns, 100 * MS);
    assert_eq!(created.member_mean_ns, 25.0 * MS as f64);
}

#[test]
fn every_scheme_gets_through_loss() {
    for scheme in SCHEMES {
        let mut group = GroupSimulation::new(settings(scheme.id, 20, 0.1));
        let created = group.create(9).unwrap();
        assert!(created.retransmissions > 0, "{}", scheme.id);
        for &operation in &scheme.operations[1..] {
            let result = match operation {
                Operation::Add => group.add(),
                Operation::Remove => group.remove(None),
                Operation::Rekey => group.rekey(),
                Operation::Send => group.send_message(),
                // It is for applications, not for studies.
                Operation::Batch | Operation::Merge | Operation::Partition => continue,
                other => panic!("{}: {other:?}", scheme.id),
            };
            result.unwrap_or_else(|error| panic!("{}, {operation:?}: {error}", scheme.id));
        }
        assert_eq!(group.members(), 9);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut settings = settings("lkh-key", 20, 0.1);
        settings.seed = seed;
        settings.network.seed = seed;
        let mut group = GroupSimulation::new(settings);
        [group.create(20).unwrap(), group.add().unwrap(), group.remove(None).unwrap()]
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn a_dead_link_ends_the_run() {
    let mut settings = settings("skdc", 10, 0.0);
    let mut dead = settings.member.clone();
    dead.down = LinkProfile::delay_and_loss(Duration::from_millis(10), 1.0);
    settings.exceptions = vec![(1..2, dead)];
    let result = GroupSimulation::new(settings).create(3);
    assert!(matches!(result, Err(GroupError::Disconnected(_))), "{result:?}");
}

/// Without loss, what parties sent and what reached them is all the traffic there is, also where
/// connections run ahead of the others.
#[test]
fn the_loads_of_parties_add_up_to_the_traffic() {
    for (ahead_bytes, threads) in [(u32::MAX, 1), (2_000, 1), (2_000, 3)] {
        let mut settings = settings("lkh-group", 20, 0.0);
        settings.network.ahead_bytes = ahead_bytes;
        settings.network.threads = threads;
        settings.member.computation = Arc::new(|_| 5);
        let mut group = GroupSimulation::new(settings);
        for operation in [Operation::Create, Operation::Add, Operation::Remove] {
            let result = match operation {
                Operation::Create => group.create(300),
                Operation::Add => group.add(),
                _ => group.remove(None),
            };
            let loads: Vec<_> = group.loads().collect();
            assert_eq!(loads.len(), group.members() + 1, "the controller is one of them");
            let bytes: u64 = loads.iter().map(|load| load.sent.bytes + load.received.bytes).sum();
            let context = format!("{operation:?}, {ahead_bytes} bytes, {threads} threads");
            assert_eq!(bytes, result.unwrap().wire_bytes, "{context}");
            assert!(loads.iter().skip(1).all(|load| load.computation_ns > 0), "{context}");
        }
    }
}
