//! Times one publisher's unicast to each of many members, and one broadcast to all.
//!
//! `cargo run --release -p groupkey-sim --example fleet [members] [loss] [delay_ms]`

use std::time::Instant;

use groupkey_sim::{Duration, LinkProfile, MessageId, Network, NetworkConfig, NetworkEvent, Topic};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let members: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(55_000);
    let loss: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0.1);
    let delay = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100);

    let started = Instant::now();
    let mut network = Network::new(NetworkConfig::default());
    let link = LinkProfile::delay_and_loss(Duration::from_millis(delay), loss);
    let publisher = network.add_client(link.clone(), link.clone());
    let topic = network.add_topic();
    let clients: Vec<_> = (0..members)
        .map(|_| {
            let client = network.add_client(link.clone(), link.clone());
            network.subscribe(topic, client);
            client
        })
        .collect();
    println!("{members} members made in {:.3} s", started.elapsed().as_secs_f64());

    report("unicast to each", &mut network, |network| {
        for (client, number) in clients.iter().zip(0..) {
            network.publish(publisher, Topic::Client(*client), MessageId(number), 100, 10);
        }
    });
    report("broadcast to all", &mut network, |network| {
        network.publish(publisher, Topic::Shared(topic), MessageId(0), 100, 10);
    });
}

fn report(name: &str, network: &mut Network, publish: impl FnOnce(&mut Network)) {
    let before = network.traffic();
    let (started, virtual_start) = (Instant::now(), network.now());
    publish(network);
    let mut last = virtual_start;
    while let Some(event) = network.poll() {
        assert!(matches!(event, NetworkEvent::Delivered { .. }), "{event:?}");
        last = network.now();
    }
    let seconds = started.elapsed().as_secs_f64();
    let traffic = network.traffic() - before;
    println!(
        "{name}: {seconds:.3} s of work, {:.2} µs a message; last delivery after {}; {traffic:?}",
        seconds * 1e6 / traffic.deliveries as f64,
        last.since(virtual_start),
    );
}
