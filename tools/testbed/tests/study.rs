//! The simulator and a real broker carry the same messages of the same group.
#![cfg(target_os = "linux")]

use std::env;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::thread;

use groupkey::catalogue::{self, Profile, SCHEMES, Scheme};
use groupkey::crypto::meter::Meter;
use groupkey::{Operation, Suite};
use groupkey_sim::group::{
    Carrier, GroupError, GroupSettings, GroupSimulation, OperationResult, Rest, SimulatedGroup,
    Station,
};
use groupkey_sim::{Duration, HandOver, LinkProfile, NetworkConfig, Processing, Qos};
use groupkey_testbed::broker;
use groupkey_testbed::impairment::{Mosquitto, Relay};
use groupkey_testbed::study::{LiveNetwork, StudySettings};

#[test]
fn simulated_and_live_groups_send_the_same_bytes() {
    for (broker, levels, _running) in brokers() {
        // Groups wait most of the time until TCP is at rest.
        thread::scope(|scope| {
            for schemes in SCHEMES.chunks(4) {
                scope.spawn(move || {
                    let cases = schemes
                        .iter()
                        .flat_map(|scheme| levels.iter().map(move |&qos| (scheme, qos)));
                    cases.for_each(|(scheme, qos)| assert_same_bytes(scheme, broker, qos));
                });
            }
        });
    }
}

fn assert_same_bytes(scheme: &Scheme, broker: SocketAddr, qos: Qos) {
    let settings = settings(scheme.id, |_| 0);
    let simulated = lives(scheme, GroupSimulation::new(settings.clone()));
    let live = lives(scheme, SimulatedGroup::on(network(broker, qos), settings));
    assert_eq!(simulated, live, "{} at {qos:?}", scheme.id);
}

/// Computation is a pause before sending, in the live study as in the simulator.
#[test]
fn computation_takes_as_long_as_the_device_takes() {
    let address = broker::start().expect("the embedded broker starts");
    let settings = settings("skdc", |_| 20_000_000);
    let mut group = SimulatedGroup::on(network(address, Qos::AtLeastOnce), settings);
    let created = group.create(4).expect("it is created");
    assert_eq!(created.computation_ns, 40_000_000);
    assert!(created.total_ns >= 40_000_000, "{created:?}");
    assert_eq!(created.transmission_ns, created.total_ns - created.computation_ns);
    assert!(created.member_mean_ns >= 40e6, "{created:?}");
}

/// Members ask, and a broker may be behind a relay.
#[test]
fn a_request_goes_over_the_network() {
    let broker = broker::start().expect("the embedded broker starts");
    let SocketAddr::V4(place) = free_address() else { unreachable!("it is asked for") };
    let _relay = Relay::start(place, broker).expect("the address is free");
    let settings = GroupSettings { request_bytes: Some(40), ..settings("lkh-group", |_| 0) };
    let mut group = SimulatedGroup::on(network(place.into(), Qos::AtLeastOnce), settings.clone());
    group.create(4).expect("it is created");
    let added = group.add().expect("a member is added");
    let mut simulated = GroupSimulation::new(settings);
    simulated.create(4).expect("it is created");
    let expected = simulated.add().expect("a member is added");
    assert_eq!(
        (added.messages, added.payload_bytes, added.deliveries),
        (expected.messages, expected.payload_bytes, expected.deliveries)
    );
}

#[test]
fn a_broker_that_is_not_there_is_told() {
    let mut group =
        SimulatedGroup::on(network(free_address(), Qos::AtMostOnce), settings("skdc", |_| 0));
    let Err(GroupError::Broken(told)) = group.create(3) else { panic!("nobody is there") };
    assert!(told.contains("no connection to the broker"), "{told}");
}

/// All messages of a group, and their amount.
fn lives<C: Carrier>(
    scheme: &Scheme,
    mut group: SimulatedGroup<C>,
) -> Vec<(Vec<String>, u64, u64)> {
    let has = |operation| scheme.operations.contains(&operation);
    let mut sent = Vec::new();
    for (operation, act) in [
        (Operation::Create, (|group| group.create(6)) as Act<C>),
        (Operation::Add, SimulatedGroup::add),
        (Operation::Remove, |group| group.remove(Some(2))),
        (Operation::Rekey, SimulatedGroup::rekey),
        (Operation::Send, SimulatedGroup::send_message),
    ] {
        if !has(operation) {
            continue;
        }
        let result = act(&mut group).unwrap_or_else(|error| panic!("{}: {error}", scheme.id));
        let mut messages: Vec<String> =
            group.sent().map(|(to, bytes)| format!("{to:?}: {bytes:02x?}")).collect();
        if (scheme.id, operation) == LETS_THE_NETWORK_DECIDE {
            continue;
        }
        // Live, parties that do not wait for each other send in any order.
        messages.sort();
        sent.push((messages, result.messages, result.payload_bytes));
    }
    sent
}

/// Who hears a key late there tells two levels of the tree in one message.
const LETS_THE_NETWORK_DECIDE: (&str, Operation) = ("dh-lkh", Operation::Create);

type Act<C> = fn(&mut SimulatedGroup<C>) -> Result<OperationResult, GroupError>;

fn network(broker: SocketAddr, qos: Qos) -> LiveNetwork<'static> {
    let settings = StudySettings { broker, qos, hand_over: HandOver::PubRel, impaired: None };
    LiveNetwork::new(settings).expect("the system has an event queue")
}

fn settings(id: &str, computation: fn(&Meter) -> u64) -> GroupSettings {
    let scheme = catalogue::scheme(id).expect("it is in the catalogue");
    let mut configuration = scheme.configuration(Profile::Sound);
    if scheme.parameters.iter().any(|parameter| parameter.name == "subgroups") {
        configuration.set("subgroups", 3).expect("it is in range");
    }
    let link = LinkProfile::delay_and_loss(Duration::from_millis(1), 0.0);
    let station = Station {
        up: link.clone(),
        down: link,
        outages: None,
        processing: Processing::default(),
        computation: Arc::new(computation),
    };
    GroupSettings {
        configuration,
        suite: Suite::Standard,
        protection: scheme.default_protection(Profile::Sound),
        seed: 7,
        network: NetworkConfig::default(),
        controller: station.clone(),
        subgroup_controller: station.clone(),
        subgroup_exceptions: Vec::new(),
        member: station,
        exceptions: Vec::new(),
        request_bytes: None,
        rest: Rest::Idle(Duration::from_millis(1)),
    }
}

/// The brokers that are there.
fn brokers() -> Vec<(SocketAddr, &'static [Qos], Option<Mosquitto>)> {
    let all = &[Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce];
    let embedded = broker::start().expect("the embedded broker starts");
    let mut brokers: Vec<(_, &[_], _)> = vec![(embedded, all, None)];
    let SocketAddr::V4(place) = free_address() else { unreachable!("it is asked for") };
    match Mosquitto::start(place, place) {
        Ok(mosquitto) => {
            brokers.push((place.into(), all, Some(mosquitto)));
        }
        Err(error) => {
            let missing = format!("NOT TESTED against Mosquitto: {error}");
            assert!(env::var_os("GROUPKEY_REQUIRE_ALL").is_none(), "{missing}");
            eprintln!("{missing}");
        }
    }
    brokers
}

fn free_address() -> SocketAddr {
    let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let listener = TcpListener::bind(any).expect("there is a free port");
    listener.local_addr().expect("it is bound")
}
