//! A connection that is simulated ahead of the others takes the same course as among them.

use groupkey_sim::{
    ClientId, Direction, Duration, LinkProfile, LinkSettings, Loss, MessageId, Network,
    NetworkConfig, NetworkEvent, Processing, Time, Topic, Traffic,
};

/// Never ahead.
const TOGETHER: u32 = u32::MAX;
/// Ahead from a few segments on.
const AHEAD: u32 = 8_000;

type Course = (Vec<(Time, NetworkEvent)>, Traffic);

fn config(seed: u64, ahead_bytes: u32) -> NetworkConfig {
    NetworkConfig { seed, ahead_bytes, ..NetworkConfig::default() }
}

fn drain(network: &mut Network) -> Course {
    let events = core::iter::from_fn(|| network.poll().map(|event| (network.now(), event)));
    let mut events: Vec<_> = events.collect();
    // What happens in the same nanosecond may come in another order.
    events.sort_by_key(|(time, event)| (*time, format!("{event:?}")));
    (events, network.traffic())
}

/// The links under test: loss, its absence, bursts, jitter that reorders, and little bandwidth.
fn links() -> Vec<LinkProfile> {
    let random =
        |delay_ms, loss| LinkProfile::delay_and_loss(Duration::from_millis(delay_ms), loss);
    let rough = LinkSettings {
        delay: Duration::from_millis(30),
        jitter: Duration::from_millis(20),
        reorders: true,
        loss: Loss::Burst { share: 0.15, length: Duration::from_millis(50), good: 0.01, bad: 0.7 },
        bandwidth: Some(5_000_000),
        queue_bytes: Some(20_000),
    };
    let later = Time::ZERO + Duration::from_secs(3);
    let changing = LinkProfile::changing(vec![
        (Time::ZERO, rough),
        (later, LinkSettings { reorders: false, ..rough }),
    ]);
    vec![
        random(100, 0.1),
        random(0, 0.1),
        random(3, 0.3),
        random(50, 0.0),
        LinkProfile::constant(rough),
        changing,
    ]
}

/// A long message to one client, over one link; what else happens is up to `meanwhile`.
fn alone(
    link: &LinkProfile,
    seed: u64,
    ahead_bytes: u32,
    meanwhile: impl FnOnce(&mut Network, [ClientId; 2]),
) -> Course {
    let mut network = Network::new(config(seed, ahead_bytes));
    let clean = LinkProfile::delay_and_loss(Duration::from_micros(700), 0.0);
    let from = network.add_client(clean.clone(), clean);
    let client = network.add_client(link.clone(), link.clone());
    network.publish(from, Topic::Client(client), MessageId(0), 150_000, 10);
    meanwhile(&mut network, [from, client]);
    drain(&mut network)
}

#[test]
fn a_long_message_takes_the_same_course() {
    for (number, link) in links().iter().enumerate() {
        for seed in 0..40 {
            let [together, ahead] =
                [TOGETHER, AHEAD].map(|bytes| alone(link, seed, bytes, |_, _| {}));
            assert_eq!(together, ahead, "link {number}, seed {seed}");
            assert!(together.1.segments > 200);
        }
    }
}

#[test]
fn whoever_writes_meanwhile_finds_the_connection_where_it_was() {
    let act = |network: &mut Network, [from, client]: [ClientId; 2]| {
        for turn in 1..30_u32 {
            // Odd times, so that nothing else happens in the same nanosecond.
            let at = Time::from_nanos(u64::from(turn) * 130_007_013 + 11);
            network.wake_at(at, 0);
            while !matches!(network.poll(), Some(NetworkEvent::Wake { .. }) | None) {}
            let (to, bytes) = if turn % 5 == 0 { (client, 40_000) } else { (client, 200) };
            let (from, to) = if turn % 3 == 0 { (client, from) } else { (from, to) };
            network.publish(from, Topic::Client(to), MessageId(turn), bytes, 10);
            if turn == 7 {
                let delay = Duration::from_millis(11);
                let link = LinkProfile::delay_and_loss(delay, 0.05);
                network.set_link(client, Direction::Down, link);
            }
        }
    };
    for (number, link) in links().iter().enumerate() {
        for seed in 0..20 {
            let [together, ahead] = [TOGETHER, AHEAD].map(|bytes| alone(link, seed, bytes, act));
            assert_eq!(together, ahead, "link {number}, seed {seed}");
        }
    }
}

#[test]
fn a_link_that_dies_meanwhile_ends_the_connection_at_the_same_time() {
    let alive = LinkSettings { delay: Duration::from_millis(20), ..LinkSettings::default() };
    let dead = LinkSettings { loss: Loss::Random(1.0), ..alive };
    let death = Time::ZERO + Duration::from_millis(150);
    let link = LinkProfile::changing(vec![(Time::ZERO, alive), (death, dead)]);
    let [together, ahead] = [TOGETHER, AHEAD].map(|bytes| alone(&link, 1, bytes, |_, _| {}));
    assert!(matches!(together.0[..], [(_, NetworkEvent::Disconnected { .. })]), "{together:?}");
    assert_eq!(together, ahead);
}

/// A broadcast to many clients, which have no processing times that would pass ties on.
fn broadcast(ahead_bytes: u32, threads: usize) -> Course {
    let none = Processing::default();
    let config = NetworkConfig { threads, broker: none, client: none, ..config(5, ahead_bytes) };
    let mut network = Network::new(config);
    let topic = network.add_topic();
    let from = ClientId::from_index(0);
    for client in 0..300 {
        let delay = Duration::from_micros(20_000 + client * 17);
        let link = LinkProfile::delay_and_loss(delay, 0.1);
        let client = network.add_client(link.clone(), link);
        network.subscribe(topic, client);
    }
    for number in 0..3 {
        network.publish(from, Topic::Shared(topic), MessageId(number), 60_000, 10);
    }
    drain(&mut network)
}

#[test]
fn a_broadcast_takes_the_same_course_on_any_number_of_threads() {
    let together = broadcast(TOGETHER, 1);
    assert_eq!(together.0.len(), 900);
    for threads in [1, 2, 3] {
        assert_eq!(broadcast(AHEAD, threads), together, "{threads} threads");
    }
}

#[test]
fn a_run_that_does_not_settle_is_stopped_ahead_too() {
    let link = LinkProfile::delay_and_loss(Duration::from_millis(10), 0.1);
    let config = NetworkConfig { max_events: 500, ..config(1, AHEAD) };
    let mut network = Network::new(config);
    let from = network.add_client(link.clone(), link.clone());
    let client = network.add_client(link.clone(), link);
    network.publish(from, Topic::Client(client), MessageId(0), 5_000_000, 10);
    assert_eq!(network.poll(), Some(NetworkEvent::Unsettled));
    assert_eq!(network.poll(), None);
}
