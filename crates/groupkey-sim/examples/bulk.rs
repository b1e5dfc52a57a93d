use groupkey_sim::*;
use std::time::Instant;
fn main() {
    let members: u32 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(5000);
    let bytes: u32 = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(2_300_000);
    let threads: usize = std::env::args().nth(3).and_then(|s| s.parse().ok()).unwrap_or(1);
    let loss: f64 = std::env::args().nth(4).and_then(|s| s.parse().ok()).unwrap_or(0.1);
    let mut network = Network::new(NetworkConfig { threads, ..NetworkConfig::default() });
    let link = LinkProfile::delay_and_loss(Duration::from_millis(100), loss);
    let from = network.add_client(link.clone(), link.clone());
    let topic = network.add_topic();
    for _ in 0..members {
        let c = network.add_client(link.clone(), link.clone());
        network.subscribe(topic, c);
    }
    network.publish(from, Topic::Shared(topic), MessageId(0), bytes, 10);
    let t = Instant::now();
    while network.poll().is_some() {}
    let s = t.elapsed().as_secs_f64();
    let tr = network.traffic();
    println!(
        "{s:.3} s, {:.1} ns/segment, end {}, {tr:?}",
        s * 1e9 / tr.segments as f64,
        network.now().as_nanos()
    );
}
