//! Connections that end in the middle of an operation, and what becomes of the members behind them.

use groupkey_sim::group::{GroupSettings, GroupSimulation, OperationResult, Rest};
use groupkey_sim::{
    ClientId, Duration, LinkProfile, LinkSettings, Loss, MessageId, Network, NetworkConfig,
    NetworkEvent, Outages, Processing, Qos, Reconnection, SessionState, Time, Topic,
};

use crate::group::{MS, settings};
use crate::network::{clean, drain, idle};

const KEEP_ALIVE: Duration = Duration::from_secs(20);
const DELAY: Duration = Duration::from_millis(10);

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

fn ending(qos: Qos, session: SessionState) -> NetworkConfig {
    let reconnection = Reconnection { keep_alive: KEEP_ALIVE, session, ..Reconnection::default() };
    NetworkConfig { reconnection: Some(reconnection), ..idle(qos) }
}

/// A link that loses everything from one time to another.
fn cut(from: u64, until: u64) -> LinkProfile {
    let whole = LinkSettings { delay: DELAY, ..LinkSettings::default() };
    let dead = LinkSettings { loss: Loss::Random(1.0), ..whole };
    LinkProfile::changing(vec![(Time::ZERO, whole), (seconds(from), dead), (seconds(until), whole)])
}

/// A group of five whose member 1 is cut off from second 30 to another second. Its key changes at
/// second 60, and again later.
fn changed(
    scheme: &str,
    qos: Qos,
    session: SessionState,
    until: u64,
) -> (OperationResult, OperationResult) {
    let rest = Rest::Idle(Duration::from_secs(60));
    let mut settings = GroupSettings { rest, ..settings(scheme, 10, 0.0) };
    settings.network = ending(qos, session);
    let mut cut_off = settings.member.clone();
    (cut_off.up, cut_off.down) = (cut(30, until), cut(30, until));
    settings.exceptions = vec![(1..2, cut_off)];
    let mut group = GroupSimulation::new(settings);
    assert_eq!(group.create(5).unwrap().behind, 0);
    (group.remove(Some(3)).unwrap(), group.add().unwrap())
}

/// Before this, the member is not there; after that, its longest pause and attempt are over.
fn is_recovery(result: &OperationResult, until: u64) -> bool {
    let away = (until - 60) * 1_000 * MS;
    (away..away + 36_000 * MS).contains(&result.total_ns)
}

#[test]
fn a_kept_session_brings_what_was_missed() {
    for qos in [Qos::AtLeastOnce, Qos::ExactlyOnce] {
        let (removed, next) = changed("skdc", qos, SessionState::Kept, 200);
        assert!(is_recovery(&removed, 200), "{removed:?}");
        assert_eq!((removed.behind, removed.catch_ups), (0, 0), "{removed:?}");
        assert_eq!((next.behind, next.catch_ups), (0, 0), "{next:?}");
    }
}

#[test]
fn without_a_session_a_member_asks_for_what_it_missed() {
    for scheme in ["skdc", "lkh-group", "ofct"] {
        for qos in [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce] {
            let (removed, next) = changed(scheme, qos, SessionState::Clean, 200);
            assert!(is_recovery(&removed, 200), "{scheme}: {removed:?}");
            assert_eq!((removed.behind, removed.catch_ups), (0, 1), "{scheme}: {removed:?}");
            assert_eq!((next.behind, next.catch_ups), (0, 0), "{scheme}: {next:?}");
        }
    }
}

#[test]
fn what_is_lost_at_qos_0_is_missed_until_the_next_change() {
    let (removed, next) = changed("skdc", Qos::AtMostOnce, SessionState::Kept, 200);
    assert_eq!((removed.behind, removed.catch_ups), (1, 0), "{removed:?}");
    assert_eq!(removed.total_ns, 20 * MS, "the others have it at once");
    // The next change tells it that it is behind. It waits, asks, and is answered.
    assert_eq!((next.behind, next.catch_ups), (0, 1), "{next:?}");
    assert!((240 * MS..500 * MS).contains(&next.total_ns), "{next:?}");
}

#[test]
fn a_connection_that_outlasts_the_cut_loses_nothing() {
    // It is cut from 58 s to 62 s: TCP sends again.
    let rest = Rest::Idle(Duration::from_secs(60));
    for qos in [Qos::AtMostOnce, Qos::AtLeastOnce] {
        let mut settings = GroupSettings { rest, ..settings("skdc", 10, 0.0) };
        settings.network = ending(qos, SessionState::Kept);
        let mut cut_off = settings.member.clone();
        (cut_off.up, cut_off.down) = (cut(58, 62), cut(58, 62));
        settings.exceptions = vec![(1..2, cut_off)];
        let mut group = GroupSimulation::new(settings);
        group.create(5).unwrap();
        let removed = group.remove(Some(3)).unwrap();
        assert_eq!((removed.behind, removed.catch_ups), (0, 0));
        assert!((2_000 * MS..5_000 * MS).contains(&removed.total_ns), "{removed:?}");
    }
}

#[test]
fn a_controller_that_is_cut_off_holds_up_its_group() {
    let rest = Rest::Idle(Duration::from_secs(60));
    for (qos, session) in
        [(Qos::AtLeastOnce, SessionState::Kept), (Qos::AtLeastOnce, SessionState::Clean)]
    {
        let mut settings = GroupSettings { rest, ..settings("lkh-group", 10, 0.0) };
        settings.network = ending(qos, session);
        let link = cut(30, 200);
        (settings.controller.up, settings.controller.down) = (link.clone(), link);
        let mut group = GroupSimulation::new(settings);
        group.create(5).unwrap();
        let removed = group.remove(Some(3)).unwrap();
        assert_eq!(removed.behind, 0);
        assert!(is_recovery(&removed, 200), "{session:?}: {removed:?}");
    }
}

#[test]
fn a_request_that_was_lost_is_sent_again() {
    let rest = Rest::Idle(Duration::from_secs(60));
    let mut settings = GroupSettings { rest, ..settings("skdc", 10, 0.0) };
    settings.network = ending(Qos::AtMostOnce, SessionState::Kept);
    settings.request_bytes = Some(40);
    let mut leaver = settings.member.clone();
    (leaver.up, leaver.down) = (cut(59, 200), cut(59, 200));
    settings.exceptions = vec![(1..2, leaver)];
    let mut group = GroupSimulation::new(settings);
    group.create(5).unwrap();
    let removed = group.remove(Some(1)).unwrap();
    assert_eq!((removed.behind, group.members()), (0, 4));
    assert!(is_recovery(&removed, 200), "{removed:?}");
}

/// An outage of a link that nothing goes over is found by keep-alives.
#[test]
fn a_client_closes_when_its_ping_is_not_answered_until_the_next_one() {
    let mut closed = Vec::new();
    for seed in 0..200 {
        let config = NetworkConfig { seed, ..ending(Qos::AtLeastOnce, SessionState::Kept) };
        let mut network = Network::new(config);
        let client = network.add_client(clean(), clean());
        network.set_outage(client, true);
        assert_eq!(network.wait(), Some(NetworkEvent::Disconnected { client }));
        closed.push(network.now().since(Time::ZERO).as_millis_f64() / 1_000.0);
    }
    // Its first ping that is lost is due within one keep-alive.
    assert!(closed.iter().all(|at| (20.0..40.0).contains(at)), "{closed:?}");
    let mean = closed.iter().sum::<f64>() / closed.len() as f64;
    assert!((29.0..31.0).contains(&mean), "{mean}");
}

#[test]
fn all_clients_of_a_broker_that_restarts_come_back_one_by_one() {
    let mut network = Network::new(ending(Qos::AtLeastOnce, SessionState::Kept));
    let clients: Vec<_> = (0..100).map(|_| network.add_client(clean(), clean())).collect();
    network.set_broker_outage(true);
    let mut gone = Vec::new();
    network.wake_at(seconds(20), 0);
    while let Some(event) = network.wait() {
        match event {
            NetworkEvent::Disconnected { .. } => gone.push(network.now()),
            event => {
                assert_eq!(event, NetworkEvent::Wake { token: 0 });
                break;
            }
        }
    }
    assert_eq!(gone, vec![Time::ZERO + DELAY; 100], "they are told at once");
    network.set_broker_outage(false);
    let mut back = Vec::new();
    while back.len() < clients.len() {
        if let Some(NetworkEvent::Connected { session_present, .. }) = network.wait() {
            assert!(session_present);
            back.push(network.now().since(seconds(20)).as_millis_f64());
        }
    }
    assert!(clients.iter().all(|client| network.is_connected(*client)));
    assert!(back[0] < 2_000.0 && back[99] < 31_000.0, "{back:?}");
    let at_once = back.windows(20).map(|some| some[19] - some[0]).fold(f64::MAX, f64::min);
    assert!(back[99] - back[0] > 10_000.0 && at_once > 500.0, "{back:?}");
}

#[test]
fn messages_wait_for_a_client_only_where_sessions_are_kept() {
    for (qos, session, arrives) in [
        (Qos::AtMostOnce, SessionState::Kept, false),
        (Qos::AtLeastOnce, SessionState::Kept, true),
        (Qos::ExactlyOnce, SessionState::Kept, true),
        (Qos::AtLeastOnce, SessionState::Clean, false),
    ] {
        let mut network = Network::new(ending(qos, session));
        let from = network.add_client(clean(), clean());
        let client = network.add_client(clean(), clean());
        network.set_outage(client, true);
        assert_eq!(network.wait(), Some(NetworkEvent::Disconnected { client }));
        network.publish(from, Topic::Client(client), MessageId(7), 100, 10);
        network.wake_at(network.now() + Duration::from_secs(1), 0);
        assert_eq!(network.poll(), Some(NetworkEvent::Wake { token: 0 }));
        network.set_outage(client, false);
        let session_present = session == SessionState::Kept;
        let connected = NetworkEvent::Connected { client, session_present };
        assert_eq!(network.wait(), Some(connected));
        let delivered = NetworkEvent::Delivered { client, from, message: MessageId(7) };
        let rest: Vec<_> = drain(&mut network).into_iter().map(|(_, event)| event).collect();
        assert_eq!(rest, if arrives { vec![delivered] } else { vec![] }, "{qos:?} {session:?}");
    }
}

const OFTEN: Outages =
    Outages { between: Duration::from_secs(300), length: Duration::from_secs(60) };

/// In the steady state a sixth of all links has failed, and clients come back later than links.
#[test]
fn a_network_settles_with_clients_that_are_away() {
    let mut away = 0;
    for seed in 0..20 {
        let mut network = Network::new(ending(Qos::AtLeastOnce, SessionState::Kept));
        let clients: Vec<_> = (0..100).map(|_| network.add_client(clean(), clean())).collect();
        clients.iter().for_each(|client| network.set_outages(*client, OFTEN));
        network.settle(Time::ZERO, seed);
        away += clients.iter().filter(|client| !network.is_connected(**client)).count();
    }
    assert!((360..480).contains(&away), "{away} of 2,000");
}

/// Outages of links and of the broker while a long message is under way to many clients.
fn broken_broadcast(ahead_bytes: u32, threads: usize) -> Vec<(Time, NetworkEvent)> {
    let none = Processing::default();
    let mut config = NetworkConfig {
        ahead_bytes,
        threads,
        broker: none,
        client: none,
        ..ending(Qos::AtLeastOnce, SessionState::Kept)
    };
    let between = Duration::from_secs(20);
    let length = Duration::from_secs(2);
    if let Some(reconnection) = &mut config.reconnection {
        reconnection.broker = Some(Outages { between: Duration::from_secs(15), length });
    }
    let mut network = Network::new(config);
    let topic = network.add_topic();
    for client in 0..200 {
        let delay = Duration::from_micros(20_000 + client * 17);
        let link = LinkProfile::constant(LinkSettings {
            delay,
            bandwidth: Some(200_000),
            loss: Loss::Random(0.02),
            ..LinkSettings::default()
        });
        let client = network.add_client(link.clone(), link);
        network.set_outages(client, Outages { between, length });
        network.subscribe(topic, client);
    }
    network.publish(ClientId::from_index(0), Topic::Shared(topic), MessageId(0), 150_000, 10);
    let mut events = drain(&mut network);
    events.sort_by_key(|(time, event)| (*time, format!("{event:?}")));
    events
}

#[test]
fn the_number_of_threads_makes_no_difference() {
    let one = broken_broadcast(8_000, 1);
    let delivered =
        |(_, event): &&(Time, NetworkEvent)| matches!(event, NetworkEvent::Delivered { .. });
    // Some get it twice, because their acknowledgement was lost.
    assert!(one.iter().filter(delivered).count() >= 200, "{}", one.len());
    assert!(one.len() > 300, "connections end meanwhile: {}", one.len());
    assert_eq!(one, broken_broadcast(8_000, 4));
}
