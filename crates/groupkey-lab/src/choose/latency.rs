//! Latencies of single flights between a client and the broker, simulated.

use groupkey_choose::completion::{Flight, Latencies, Way};
use groupkey_sim::{
    Duration, LinkProfile, MessageId, Network, NetworkConfig, NetworkEvent, Processing, Qos, Topic,
};

/// Losses (%) and one-way delays (ms) of the tables.
const LOSSES: [f64; 7] = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
const DELAYS: [f64; 7] = [0.0, 5.0, 20.0, 50.0, 100.0, 200.0, 400.0];
/// Flights of a connection. TCP knows its round-trip time after the first few.
const IN_ALL: u32 = 8;
const FIRST: u32 = 2;

/// Simulates single flights. `connections` is how many carry flights in each network and way.
pub(super) fn latencies(connections: u32, seed: u64) -> Latencies {
    let rarities: Vec<f64> = (0..=40).map(|tenth| f64::from(tenth) / 10.0).collect();
    let of_network = |qos: Qos, flight: Flight, way: Way, loss: f64, delay: f64| {
        let connections = if loss == 0.0 { 1 } else { connections };
        let mut latencies: Vec<f64> = (0..connections)
            .flat_map(|connection| connect(qos, flight, way, loss, delay, mixed(seed, connection)))
            .collect();
        latencies.sort_by(f64::total_cmp);
        let of_rarity = |rarity: &f64| {
            let beyond = 10f64.powf(-rarity) * latencies.len() as f64;
            let place = latencies.len().saturating_sub(beyond.ceil() as usize);
            let value = latencies.get(place.min(latencies.len() - 1)).copied().unwrap_or_default();
            (value * 10.0).round() / 10.0
        };
        rarities.iter().map(of_rarity).collect::<Vec<f64>>()
    };
    let of_way = |qos: Qos, flight: Flight, way: Way| {
        let of_loss = |loss: &f64| {
            let of_delay = |delay: &f64| of_network(qos, flight, way, *loss, *delay);
            DELAYS.iter().map(of_delay).collect::<Vec<_>>()
        };
        LOSSES.iter().map(of_loss).collect::<Vec<_>>()
    };
    let tables = [0, 1, 2].map(|number| {
        let qos = Qos::from_number(number).expect("there are three");
        let ways = [Way::Up, Way::FirstUp, Way::Down, Way::FirstDown];
        let flights = [Flight::Alone, Flight::Pair, Flight::Long];
        flights.map(|flight| ways.map(|way| of_way(qos, flight, way)).to_vec()).to_vec()
    });
    Latencies {
        losses: LOSSES.to_vec(),
        delays: DELAYS.to_vec(),
        rarities: rarities.clone(),
        tables: tables.to_vec(),
    }
}

/// Sends flights over a connection, one after the other, and returns the latencies (ms) of those
/// that the way asks for. The other end's link is perfect.
fn connect(qos: Qos, flight: Flight, way: Way, loss: f64, delay: f64, seed: u64) -> Vec<f64> {
    let none = Processing::default();
    let config =
        NetworkConfig { qos, broker: none, client: none, seed, ..NetworkConfig::default() };
    let mut network = Network::new(config);
    let delay = Duration::from_nanos((delay * 1e6) as u64);
    let link = LinkProfile::delay_and_loss(delay, loss / 100.0);
    let perfect = LinkProfile::delay_and_loss(Duration::ZERO, 0.0);
    let is_up = matches!(way, Way::Up | Way::FirstUp);
    let [publishing, hearing] = if is_up { [&link, &perfect] } else { [&perfect, &link] };
    let publisher = network.add_client(publishing.clone(), publishing.clone());
    let subscriber = network.add_client(hearing.clone(), hearing.clone());
    let is_first = matches!(way, Way::FirstUp | Way::FirstDown);
    let flights = if is_first { 1 } else { IN_ALL };
    let (messages, bytes) = match flight {
        Flight::Alone => (1, 100),
        Flight::Pair => (2, 100),
        Flight::Long => (1, 2_000),
    };
    let mut latencies = Vec::new();
    for number in 0..flights {
        let published = network.now();
        for message in 0..messages {
            let message = MessageId(messages * number + message);
            network.publish(publisher, Topic::Client(subscriber), message, bytes, 14);
        }
        let mut missing: Vec<u32> = (0..messages).map(|one| messages * number + one).collect();
        while let Some(event) = network.poll() {
            match event {
                NetworkEvent::Delivered { message, .. } => {
                    let before = missing.len();
                    missing.retain(|one| *one != message.0);
                    let is_last = missing.is_empty() && before > 0;
                    if is_last && (is_first || number >= FIRST) {
                        latencies.push(network.now().since(published).as_millis_f64());
                    }
                }
                NetworkEvent::Connected { .. } | NetworkEvent::Wake { .. } => {}
                NetworkEvent::Disconnected { .. } | NetworkEvent::Unsettled => return latencies,
            }
        }
    }
    latencies
}

/// Returns a seed for each connection (SplitMix64).
pub(super) const fn mixed(seed: u64, number: u32) -> u64 {
    let mut mixed = seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
