//! Delivery under any mixture of loss, delay, jitter, reordering, bandwidth and bursts.

use std::collections::BTreeMap;

use groupkey_sim::{
    ClientId, Duration, HandOver, LinkProfile, LinkSettings, Loss, MessageId, Network,
    NetworkConfig, NetworkEvent, Qos, TcpProfile, Time, Topic, Traffic,
};
use proptest::prelude::*;

fn loss() -> impl Strategy<Value = Loss> {
    let share = |most: f64| (0.0..1.0).prop_map(move |part: f64| part * most);
    prop_oneof![
        Just(Loss::None),
        share(0.3).prop_map(Loss::Random),
        (share(0.5), 1_u64..200, share(0.05), share(0.9)).prop_map(|(share, length, good, bad)| {
            Loss::Burst { share, length: Duration::from_millis(length), good, bad }
        }),
    ]
}

fn settings() -> impl Strategy<Value = LinkSettings> {
    (0_u64..200, 0_u64..100, any::<bool>(), loss(), any::<Option<u16>>()).prop_map(
        |(delay, jitter, reorders, loss, bandwidth)| LinkSettings {
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
            reorders,
            loss,
            bandwidth: bandwidth.map(|kilobits| 50_000 + u64::from(kilobits) * 100),
            queue_bytes: bandwidth.map(|_| 30_000),
        },
    )
}

/// A link that changes after a second.
fn link() -> impl Strategy<Value = LinkProfile> {
    let change = Time::ZERO + Duration::from_secs(1);
    (settings(), settings()).prop_map(move |(first, then)| {
        LinkProfile::changing(vec![(Time::ZERO, first), (change, then)])
    })
}

fn config() -> impl Strategy<Value = NetworkConfig> {
    let qos = prop_oneof![
        Just(Qos::AtMostOnce),
        Just(Qos::AtLeastOnce),
        Just(Qos::ExactlyOnce),
        Just(Qos::ExactlyOnce)
    ];
    let hand_over = || prop_oneof![Just(HandOver::PubRel), Just(HandOver::Publish)];
    // However bad the luck, no connection is given up.
    let tcp = TcpProfile { give_up_after: Duration::from_secs(1_000_000), ..TcpProfile::default() };
    (qos, hand_over(), hand_over(), 1_u16..50, any::<u64>()).prop_map(
        move |(qos, hand_over, broker_forwards_on, max_in_flight, seed)| NetworkConfig {
            tcp,
            qos,
            hand_over,
            broker_forwards_on,
            max_in_flight,
            seed,
            max_events: 10_000_000,
            ..NetworkConfig::default()
        },
    )
}

/// A message: after how many ms since the one before, from whom, to whom (beyond the clients: the
/// shared topic), and its length.
type Message = (u64, usize, usize, u32);

fn messages(clients: usize) -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec((0_u64..300, 0..clients, 0..=clients, 0_u32..3_000), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_message_arrives_once_and_in_order(
        config in config(),
        links in prop::collection::vec((link(), link()), 4),
        messages in messages(4),
    ) {
        let mut network = Network::new(config);
        let clients: Vec<_> =
            links.into_iter().map(|(up, down)| network.add_client(up, down)).collect();
        let topic = network.add_topic();
        for &client in &clients[..3] {
            network.subscribe(topic, client);
        }
        let mut expected: BTreeMap<(usize, ClientId, ClientId), Vec<MessageId>> = BTreeMap::new();
        let mut at = Time::ZERO;
        for (number, &(gap, from, to, _)) in messages.iter().enumerate() {
            at = at + Duration::from_millis(gap);
            network.wake_at(at, number as u64);
            let subscribers = if to < clients.len() { &clients[to..=to] } else { &clients[..3] };
            for &subscriber in subscribers {
                let key = (to, clients[from], subscriber);
                expected.entry(key).or_default().push(MessageId(number as u32));
            }
        }

        let mut delivered: BTreeMap<_, Vec<MessageId>> = BTreeMap::new();
        let mut deliveries = 0;
        let mut before = (network.now(), network.traffic());
        while let Some(event) = network.poll() {
            match event {
                NetworkEvent::Delivered { client, from, message } => {
                    let (_, _, to, _) = messages[message.0 as usize];
                    delivered.entry((to, from, client)).or_default().push(message);
                    deliveries += 1;
                }
                NetworkEvent::Wake { token } => {
                    let (_, from, to, length) = messages[token as usize];
                    let topic = clients.get(to).map_or(Topic::Shared(topic), |to| Topic::Client(*to));
                    network.publish(clients[from], topic, MessageId(token as u32), length, 12);
                }
                other => prop_assert!(false, "{other:?}"),
            }
            prop_assert!(network.now() >= before.0, "time went backward");
            assert_grown(before.1, network.traffic());
            before = (network.now(), network.traffic());
        }
        prop_assert_eq!(&delivered, &expected);

        let traffic = network.traffic();
        prop_assert_eq!(traffic.deliveries, deliveries);
        prop_assert!(traffic.lost + traffic.retransmissions <= traffic.segments * 2);
        prop_assert!(traffic.lost <= traffic.segments);
        prop_assert!(traffic.retransmissions <= traffic.segments);
        prop_assert!(traffic.wire_bytes >= traffic.segments * 52);
        let payload: u64 = messages.iter().map(|(.., length)| u64::from(*length)).sum();
        prop_assert!(traffic.wire_bytes >= payload * 2);
    }
}

/// No counter ever falls; the difference would overflow.
fn assert_grown(before: Traffic, after: Traffic) {
    assert_eq!(before + (after - before), after);
}

#[test]
fn what_is_sent_after_all_was_quiet_is_delivered_too() {
    for seed in 0..20 {
        let mut network = Network::new(NetworkConfig { seed, ..NetworkConfig::default() });
        let link = LinkProfile::delay_and_loss(Duration::from_millis(35), 0.1);
        let [from, to] = [(); 2].map(|()| network.add_client(link.clone(), link.clone()));
        for number in 0..500 {
            let message = MessageId(number);
            network.publish(from, Topic::Client(to), message, 100, 10);
            assert_eq!(network.poll(), Some(NetworkEvent::Delivered { client: to, from, message }));
            assert_eq!(network.poll(), None);
        }
    }
}

/// Four MQTT packets a hop, and nothing else, whatever TCP had to repeat.
#[test]
fn loss_never_adds_mqtt_packets() {
    for loss in [0.0, 0.2] {
        let mut network = Network::new(NetworkConfig::default());
        let link = LinkProfile::delay_and_loss(Duration::from_millis(20), loss);
        let clients = [0; 2].map(|_| network.add_client(link.clone(), link.clone()));
        for number in 0..100 {
            network.publish(clients[0], Topic::Client(clients[1]), MessageId(number), 100, 10);
        }
        while network.poll().is_some() {}
        let traffic = network.traffic();
        assert_eq!((traffic.mqtt_packets, traffic.deliveries), (800, 100));
        assert_eq!(traffic.lost > 0, loss > 0.0);
        assert_eq!(traffic.retransmissions > 0, loss > 0.0);
    }
}
