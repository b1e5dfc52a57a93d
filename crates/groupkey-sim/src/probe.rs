//! The one-message probe: how long a message takes from one publisher to one subscriber, one
//! message at a time.

use crate::config::NetworkConfig;
use crate::link::{LinkProfile, LinkSettings, Loss};
use crate::mqtt::{HandOver, Qos};
use crate::name::{MessageId, Topic};
use crate::network::{Network, NetworkEvent};
use crate::time::{Duration, Time};
use crate::traffic::Traffic;

/// The parameters of a probe. Start from [`ProbeSettings::new`].
#[derive(Clone, Debug)]
pub struct ProbeSettings {
    /// Both clients' links towards the broker.
    pub up: LinkSettings,
    /// Both clients' links from the broker.
    pub down: LinkSettings,
    /// The packet at which the subscriber takes a QoS 2 message as delivered.
    pub until: HandOver,
    /// Total number of messages.
    pub messages: u32,
    /// Messages after which the probe makes a new connection.
    pub messages_per_connection: u32,
    /// Payload of a message.
    pub payload_bytes: u32,
    /// Length of the topic name.
    pub topic_bytes: u16,
    /// All other parameters. `until` replaces its `hand_over`, and each connection
    /// changes its seed.
    pub network: NetworkConfig,
}

impl ProbeSettings {
    /// Returns a probe with the same loss (0 to 1) and one-way delay on both directions of both
    /// links. It sends 2,000 messages of 100 bytes, 200 per connection, and measures to PUBREL.
    pub fn new(loss: f64, delay: Duration, qos: Qos) -> Self {
        let loss = if loss > 0.0 { Loss::Random(loss) } else { Loss::None };
        let link = LinkSettings { delay, loss, ..LinkSettings::default() };
        Self {
            up: link,
            down: link,
            until: HandOver::default(),
            messages: 2_000,
            messages_per_connection: 200,
            payload_bytes: 100,
            topic_bytes: 10,
            network: NetworkConfig { qos, ..NetworkConfig::default() },
        }
    }
}

/// The results of a probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeResult {
    /// Times from publication to hand-over, in the order of publication.
    pub latencies: Vec<Duration>,
    /// Traffic of all connections, including packets after the last delivery.
    pub traffic: Traffic,
}

impl ProbeResult {
    /// Returns the mean latency in nanoseconds; zero without a message.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.latencies.iter().map(|latency| latency.as_nanos() as f64).sum();
        sum / self.latencies.len().max(1) as f64
    }

    /// Returns the standard deviation of a single latency in nanoseconds.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let square = |latency: &Duration| (latency.as_nanos() as f64 - mean).powi(2);
        let squares: f64 = self.latencies.iter().map(square).sum();
        (squares / self.latencies.len().saturating_sub(1).max(1) as f64).sqrt()
    }

    /// Returns the standard error of the mean in nanoseconds, taking messages as independent.
    pub fn standard_error(&self) -> f64 {
        self.standard_deviation() / (self.latencies.len().max(1) as f64).sqrt()
    }

    /// Returns the latency that a `share` (0 to 1) of messages does not exceed, by nearest rank.
    pub fn percentile(&self, share: f64) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Publishes message after message, each when the one before was delivered.
///
/// A connection that breaks ends early, and its message has no latency.
pub fn probe(settings: &ProbeSettings) -> ProbeResult {
    let mut result = ProbeResult::default();
    let mut left = settings.messages;
    for connection in 0.. {
        if left == 0 {
            break;
        }
        let messages = left.min(settings.messages_per_connection.max(1));
        let seed = mixed(settings.network.seed, connection);
        probe_connection(settings, seed, messages, &mut result);
        left -= messages;
    }
    result
}

/// Returns a seed for each connection, so that connections of different seeds have different random
/// numbers (SplitMix64, Steele, Lea and Flood 2014).
const fn mixed(seed: u64, connection: u64) -> u64 {
    let mut mixed = seed;
    let mut round = 0;
    while round < 2 {
        mixed = mixed.wrapping_add(connection.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        round += 1;
    }
    mixed
}

fn probe_connection(settings: &ProbeSettings, seed: u64, messages: u32, result: &mut ProbeResult) {
    let config = NetworkConfig { hand_over: settings.until, seed, ..settings.network.clone() };
    let mut network = Network::new(config);
    let [up, down] = [settings.up, settings.down].map(LinkProfile::constant);
    let publisher = network.add_client(up.clone(), down.clone());
    let subscriber = network.add_client(up, down);
    let publish = |network: &mut Network, number| {
        let ProbeSettings { payload_bytes, topic_bytes, .. } = *settings;
        let topic = Topic::Client(subscriber);
        network.publish(publisher, topic, MessageId(number), payload_bytes, topic_bytes);
    };
    let mut published: Time = network.now();
    publish(&mut network, 0);
    while let Some(event) = network.poll() {
        let NetworkEvent::Delivered { message: MessageId(number), .. } = event else {
            break;
        };
        result.latencies.push(network.now().since(published));
        published = network.now();
        if number + 1 < messages {
            publish(&mut network, number + 1);
        }
    }
    result.traffic = result.traffic + network.traffic();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_seeds_share_a_connection() {
        let all: BTreeSet<_> =
            (0..40).flat_map(|seed| (0..40).map(move |number| mixed(seed, number))).collect();
        assert_eq!(all.len(), 1_600);
    }
}
