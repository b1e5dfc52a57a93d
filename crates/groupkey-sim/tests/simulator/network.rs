//! What the network promises its caller.

use groupkey_sim::{
    ClientId, Direction, Duration, HandOver, LinkProfile, LinkSettings, Loss, MessageId, Network,
    NetworkConfig, NetworkEvent, Processing, Qos, Time, Topic,
};

const DELAY: Duration = Duration::from_millis(10);

/// No processing time, so that latencies are delays alone.
pub(super) fn idle(qos: Qos) -> NetworkConfig {
    let none = Processing::default();
    NetworkConfig { qos, broker: none, client: none, ..NetworkConfig::default() }
}

pub(super) fn clean() -> LinkProfile {
    LinkProfile::delay_and_loss(DELAY, 0.0)
}

pub(super) fn drain(network: &mut Network) -> Vec<(Time, NetworkEvent)> {
    core::iter::from_fn(|| network.poll().map(|event| (network.now(), event))).collect()
}

#[test]
fn without_loss_latency_is_the_sum_of_delays() {
    let cases = [
        (Qos::AtMostOnce, HandOver::PubRel, HandOver::PubRel, 2),
        (Qos::AtLeastOnce, HandOver::PubRel, HandOver::PubRel, 2),
        (Qos::ExactlyOnce, HandOver::PubRel, HandOver::PubRel, 6),
        (Qos::ExactlyOnce, HandOver::Publish, HandOver::PubRel, 4),
        (Qos::ExactlyOnce, HandOver::PubRel, HandOver::Publish, 4),
        (Qos::ExactlyOnce, HandOver::Publish, HandOver::Publish, 2),
    ];
    for (qos, hand_over, broker_forwards_on, delays) in cases {
        let config = NetworkConfig { hand_over, broker_forwards_on, ..idle(qos) };
        let mut network = Network::new(config);
        let from = network.add_client(clean(), clean());
        let client = network.add_client(clean(), clean());
        let message = MessageId(3);
        network.publish(from, Topic::Client(client), message, 100, 10);
        let delivered =
            (Time::ZERO + DELAY * delays, NetworkEvent::Delivered { client, from, message });
        assert_eq!(drain(&mut network), [delivered]);
    }
}

#[test]
fn processing_adds_up_along_the_exchange() {
    let node = |publish, acknowledgement| Processing {
        publish: Duration::from_micros(publish),
        acknowledgement: Duration::from_micros(acknowledgement),
        payload_handling: Duration::ZERO,
    };
    let config =
        NetworkConfig { broker: node(1_000, 100), client: node(10, 1), ..NetworkConfig::default() };
    let mut network = Network::new(config);
    let from = network.add_client(clean(), clean());
    let client = network.add_client(clean(), clean());
    network.publish(from, Topic::Client(client), MessageId(0), 100, 10);
    network.poll();
    // Each node serves one PUBLISH; broker and clients serve two acknowledgements each.
    assert_eq!(network.now(), Time::ZERO + DELAY * 6 + Duration::from_micros(1_010 + 202));
}

#[test]
fn payload_handling_runs_beside_the_exchange() {
    for (handling_ms, expected_ms) in [(15, 60), (35, 75)] {
        let mut network = Network::new(idle(Qos::ExactlyOnce));
        let from = network.add_client(clean(), clean());
        let client = network.add_client(clean(), clean());
        let payload_handling = Duration::from_millis(handling_ms);
        network.set_processing(client, Processing { payload_handling, ..Processing::default() });
        network.publish(from, Topic::Client(client), MessageId(0), 100, 10);
        network.poll();
        // PUBLISH is received at 40 ms, PUBREL at 60 ms.
        assert_eq!(network.now(), Time::ZERO + Duration::from_millis(expected_ms));
    }
}

#[test]
fn a_broker_serves_one_packet_after_the_other() {
    let mut config = idle(Qos::AtMostOnce);
    config.broker.publish = Duration::from_millis(1);
    let mut network = Network::new(config);
    let clients: Vec<_> = (0..5).map(|_| network.add_client(clean(), clean())).collect();
    for &from in &clients {
        network.publish(from, Topic::Client(clients[0]), MessageId(0), 100, 10);
    }
    let times: Vec<_> = drain(&mut network).iter().map(|(time, _)| time.as_nanos()).collect();
    assert_eq!(times, [21_000_000, 22_000_000, 23_000_000, 24_000_000, 25_000_000]);
}

#[test]
fn subscribers_of_a_topic_get_it_the_publisher_too() {
    let mut network = Network::new(NetworkConfig::default());
    let clients: Vec<_> = (0..4).map(|_| network.add_client(clean(), clean())).collect();
    let topic = network.add_topic();
    for &client in &clients {
        network.subscribe(topic, client);
    }
    network.unsubscribe(topic, clients[2]);
    network.publish(clients[0], Topic::Shared(topic), MessageId(9), 100, 10);
    let mut got: Vec<_> = drain(&mut network)
        .into_iter()
        .filter_map(|(_, event)| match event {
            NetworkEvent::Delivered { client, .. } => Some(client.index()),
            _ => None,
        })
        .collect();
    got.sort_unstable();
    assert_eq!(got, [0, 1, 3]);
}

#[test]
fn wake_ups_come_in_order_and_the_clock_stops_with_the_last_event() {
    let mut network = Network::new(NetworkConfig::default());
    for (ms, token) in [(7, 1), (5, 2), (7, 3)] {
        network.wake_at(Time::ZERO + Duration::from_millis(ms), token);
    }
    let tokens: Vec<_> = drain(&mut network).into_iter().map(|(_, event)| event).collect();
    assert_eq!(tokens, [2, 1, 3].map(|token| NetworkEvent::Wake { token }));
    assert_eq!(network.now(), Time::ZERO + Duration::from_millis(7));
}

#[test]
fn a_dead_link_ends_the_connection() {
    let mut network = Network::new(NetworkConfig::default());
    let from = network.add_client(clean(), clean());
    let client = network.add_client(clean(), clean());
    let dead = LinkProfile::delay_and_loss(DELAY, 1.0);
    network.set_link(client, Direction::Down, dead);
    for number in 0..3 {
        network.publish(from, Topic::Client(client), MessageId(number), 100, 10);
    }
    let events = drain(&mut network);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].1, NetworkEvent::Disconnected { client });
    let minutes = events[0].0.as_nanos() / 60_000_000_000;
    assert!((15..18).contains(&minutes), "Linux gives up after 15.4 minutes or somewhat later");
    // What is published to it or by it from now on goes nowhere.
    network.publish(from, Topic::Client(client), MessageId(3), 100, 10);
    network.publish(client, Topic::Client(from), MessageId(4), 100, 10);
    assert_eq!(drain(&mut network), []);
}

#[test]
fn a_run_that_does_not_settle_is_stopped() {
    let mut network = Network::new(NetworkConfig { max_events: 1_000, ..NetworkConfig::default() });
    network.wake_at(Time::ZERO, 0);
    let mut events = 0;
    let last = loop {
        match network.poll() {
            Some(NetworkEvent::Wake { token }) => network.wake_at(network.now(), token),
            event => break event,
        }
        events += 1;
    };
    assert_eq!((last, events), (Some(NetworkEvent::Unsettled), 1_000));
    assert_eq!(network.poll(), None);
}

#[test]
fn messages_beyond_the_in_flight_limit_wait_but_arrive() {
    let mut network = Network::new(NetworkConfig { max_in_flight: 3, ..NetworkConfig::default() });
    let from = network.add_client(clean(), clean());
    let client = network.add_client(clean(), clean());
    for number in 0..20 {
        network.publish(from, Topic::Client(client), MessageId(number), 100, 10);
    }
    let expected =
        (0..20).map(|number| NetworkEvent::Delivered { client, from, message: MessageId(number) });
    assert!(drain(&mut network).into_iter().map(|(_, event)| event).eq(expected));
}

#[test]
fn a_broadcast_reaches_fifty_five_thousand_members_under_loss() {
    let members = 55_000;
    let mut network = Network::new(NetworkConfig::default());
    let link = LinkProfile::delay_and_loss(Duration::from_millis(100), 0.1);
    let from = network.add_client(link.clone(), link.clone());
    let topic = network.add_topic();
    for _ in 0..members {
        let client = network.add_client(link.clone(), link.clone());
        network.subscribe(topic, client);
    }
    network.publish(from, Topic::Shared(topic), MessageId(0), 100, 10);
    let events = drain(&mut network);
    assert_eq!(events.len(), members);
    assert!(events.iter().all(|(_, event)| matches!(event, NetworkEvent::Delivered { .. })));
}

/// A fleet under loss in bursts, jitter and scarce bandwidth.
fn rough_run(seed: u64, members: u32) -> (Vec<(Time, NetworkEvent)>, Network) {
    let mut network = Network::new(NetworkConfig { seed, ..NetworkConfig::default() });
    let link = LinkProfile::constant(LinkSettings {
        delay: Duration::from_millis(30),
        jitter: Duration::from_millis(20),
        reorders: true,
        loss: Loss::Burst { share: 0.15, length: Duration::from_millis(50), good: 0.01, bad: 0.7 },
        bandwidth: Some(1_000_000),
        queue_bytes: Some(20_000),
    });
    let topic = network.add_topic();
    for _ in 0..members {
        let client = network.add_client(link.clone(), link.clone());
        network.subscribe(topic, client);
    }
    let from = ClientId::from_index(0);
    for number in 0..20 {
        network.publish(from, Topic::Shared(topic), MessageId(number), 700, 10);
    }
    (drain(&mut network), network)
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_does_not() {
    let (events, network) = rough_run(1, 20);
    assert_eq!(events.len(), 400);
    let (again, same) = rough_run(1, 20);
    assert_eq!(events, again);
    assert_eq!(network.traffic(), same.traffic());
    assert_ne!(events, rough_run(2, 20).0);
}

/// A fleet on slow links that lose packets, and its publisher on a perfect one.
fn fleet(seed: u64) -> (Network, ClientId, Topic) {
    let mut network = Network::new(NetworkConfig { seed, ..idle(Qos::AtLeastOnce) });
    let perfect = LinkProfile::delay_and_loss(Duration::ZERO, 0.0);
    let publisher = network.add_client(perfect.clone(), perfect);
    let slow = LinkProfile::constant(LinkSettings {
        delay: Duration::from_millis(60),
        jitter: Duration::from_millis(20),
        loss: Loss::Random(0.05),
        bandwidth: Some(300_000),
        ..LinkSettings::default()
    });
    let topic = network.add_topic();
    for _ in 0..400 {
        let client = network.add_client(slow.clone(), slow.clone());
        network.subscribe(topic, client);
    }
    (network, publisher, Topic::Shared(topic))
}

/// How long after its publication each client has a message of `bytes` (ms).
fn latencies((network, publisher, topic): &mut (Network, ClientId, Topic), bytes: u32) -> Vec<f64> {
    let begun = network.now();
    network.publish(*publisher, *topic, MessageId(0), bytes, 7);
    let delivered = drain(network).into_iter();
    delivered.map(|(at, _)| at.since(begun).as_millis_f64()).collect()
}

/// A long message inflates TCP's estimates. Once the network has settled, nothing of it is felt.
#[test]
fn what_went_before_is_not_felt_by_a_network_that_has_settled() {
    let (mut new, mut used) = (fleet(1), fleet(2));
    latencies(&mut used, 20_000);
    for network in [&mut new, &mut used] {
        network.0.settle(Time::ZERO, 3);
    }
    assert_eq!(latencies(&mut new, 500), latencies(&mut used, 500));
    used.0.settle(Time::ZERO, 4);
    assert_ne!(latencies(&mut new, 500), latencies(&mut used, 500));
}

/// Settled is what short messages, such as keep-alives, leave after some time.
#[test]
fn a_network_settles_as_short_messages_leave_it() {
    let mean = |settle: &dyn Fn(&mut (Network, ClientId, Topic))| {
        let runs = (0..6).map(|seed| {
            let mut network = fleet(seed);
            latencies(&mut network, 20_000);
            settle(&mut network);
            latencies(&mut network, 500)
        });
        let all: Vec<f64> = runs.flatten().collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let rest = |network: &mut Network| {
        network.wake_at(network.now() + Duration::from_secs(60), 0);
        drain(network);
    };
    let settled = mean(&|network| network.0.settle(Time::ZERO, 9));
    let kept_alive = mean(&|network| {
        for _ in 0..40 {
            rest(&mut network.0);
            latencies(network, 2);
        }
        rest(&mut network.0);
    });
    let idle = mean(&|network| rest(&mut network.0));
    assert!((settled / kept_alive - 1.0).abs() < 0.03, "{settled} and {kept_alive} ms");
    assert!(idle > 1.1 * settled, "{idle} and {settled} ms");
}
