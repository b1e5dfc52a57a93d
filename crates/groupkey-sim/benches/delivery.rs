//! The cost of a delivered QoS 2 message, processor time of the simulation itself.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use groupkey_sim::{
    ClientId, Duration, LinkProfile, MessageId, Network, NetworkConfig, Topic, TopicId,
};

fn fleet(members: u32, loss: f64) -> (Network, ClientId, TopicId) {
    let mut network = Network::new(NetworkConfig::default());
    let link = LinkProfile::delay_and_loss(Duration::from_millis(10), loss);
    let publisher = network.add_client(link.clone(), link.clone());
    let topic = network.add_topic();
    for _ in 0..members {
        let client = network.add_client(link.clone(), link.clone());
        network.subscribe(topic, client);
    }
    (network, publisher, topic)
}

fn delivery(criterion: &mut Criterion) {
    for (name, loss) in [("clean", 0.0), ("lossy", 0.1)] {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for members in [100, 1_000, 10_000] {
            group.throughput(Throughput::Elements(u64::from(members)));
            group.bench_function(BenchmarkId::new("unicast", members), |bencher| {
                let unicast = |(mut network, publisher, _): (Network, ClientId, TopicId)| {
                    for number in 0..members {
                        let topic = Topic::Client(ClientId::from_index(number + 1));
                        network.publish(publisher, topic, MessageId(number), 100, 10);
                    }
                    while network.poll().is_some() {}
                    network
                };
                bencher.iter_batched(|| fleet(members, loss), unicast, BatchSize::LargeInput);
            });
            group.bench_function(BenchmarkId::new("broadcast", members), |bencher| {
                let broadcast = |(mut network, publisher, topic): (Network, ClientId, TopicId)| {
                    network.publish(publisher, Topic::Shared(topic), MessageId(0), 100, 10);
                    while network.poll().is_some() {}
                    network
                };
                bencher.iter_batched(|| fleet(members, loss), broadcast, BatchSize::LargeInput);
            });
        }
        group.finish();
    }
}

criterion_group!(benches, delivery);
criterion_main!(benches);
