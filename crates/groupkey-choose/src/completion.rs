//! How long an operation takes until it is complete: until the last current member has the new key.
//!
//! The messages of an operation go in [stages](crate::evidence::Stage). A stage takes the
//! computation of its slowest sender, the way of its messages to the broker, and the way of the
//! last of them to its receiver. The latencies of both ways come from simulations of single
//! [flights](Flight); of many flights the latest counts. What is left (queues at the broker, windows
//! of TCP, losses among many packets) are terms with weights, which were fitted to simulated groups.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::device::DevicePrices;
use crate::evidence::{DeviceRole, Sample, Stage};
use crate::requirements::NetworkConditions;

/// A model of completion times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Model {
    /// Latencies of single flights.
    pub latencies: Latencies,
    /// What was fitted, by class of schemes and quality of service: `hybrid 2`.
    pub fits: BTreeMap<String, CompletionFit>,
}

/// Latencies of single flights, from simulations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Latencies {
    /// Losses of the tables (%), ascending.
    pub losses: Vec<f64>,
    /// One-way delays of the tables (ms), ascending.
    pub delays: Vec<f64>,
    /// Decimal digits of the share of flights that takes longer: 2 means 1 %. Ascending from 0.
    pub rarities: Vec<f64>,
    /// By quality of service, then [flight](Flight) and [way](Way).
    pub tables: Vec<Vec<Vec<LatencyTable>>>,
}

/// Latencies (ms) by loss, delay and rarity.
pub type LatencyTable = Vec<Vec<Vec<f64>>>;

/// What leaves a connection's end at once. TCP notices the loss of a packet after two round-trip
/// times if another packet is on its way, and after its timeout of 200 ms and more if none is (RFC
/// 8985, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// A message in one packet.
    Alone,
    /// Two messages, each in one packet.
    Pair,
    /// A message in two packets.
    Long,
}

/// The way of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the broker, until it forwards the message.
    Up,
    /// To the broker, as the first message of a connection.
    FirstUp,
    /// From the broker, until the message is handed over.
    Down,
    /// From the broker, as the first message of a connection.
    FirstDown,
}

/// What was fitted to simulated groups of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CompletionFit {
    /// The weights of the [terms](Terms::values) in the mean.
    pub mean: [f64; TERMS],
    /// The weight of the [spread](Terms::spread) in the 99th percentile.
    pub spread: f64,
    /// Errors of the mean among groups that were not fitted with: the median, and what 95 % do not
    /// exceed (share of the simulated value).
    pub error: (f64, f64),
    /// The same of the 99th percentile.
    pub error_of_99: (f64, f64),
    /// The groups that the errors are from.
    pub held_out: u32,
    /// The largest group that was fitted with (members).
    pub members: u32,
}

/// An operation in a network.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Class of the scheme: `centralized`, `hybrid` or `distributed`.
    pub class: &'a str,
    /// The operation's counts, with the protection of messages.
    pub sample: &'a Sample,
    /// The suite's name.
    pub suite: &'a str,
    /// The members' device.
    pub member: &'a DevicePrices,
    /// The subgroup controllers' device.
    pub gateway: &'a DevicePrices,
    /// The device of the controller and of the broker.
    pub controller: &'a DevicePrices,
    /// What lies between each party and the broker. Its quality of service does not count.
    pub network: &'a NetworkConditions,
    /// Quality of service: 0, 1 or 2.
    pub qos: u8,
}

/// How long an operation takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    /// The mean (ms).
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// What 99 % of operations do not exceed (ms).
    pub of_99: f64,
    /// Its 95 % interval.
    pub interval_of_99: (f64, f64),
    /// The median error of the mean among groups that were not fitted with (share).
    pub error: f64,
    /// Whether the network or the group lies outside what was simulated.
    pub is_extrapolated: bool,
}

/// What adds up to the time of an operation, before it is weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Latencies of flights, if delays on parallel ways do not add up; computation; packets at
    /// clients; packets at the broker, beyond the time that bandwidth takes; bandwidth; growth of
    /// TCP's window; losses among many packets; what latencies are more if all delays add up (ms).
    pub values: [f64; TERMS],
    /// How far the 99th percentile is above the mean (ms): the root of the sum of squares over the
    /// stages.
    pub spread: f64,
    /// Whether the network lies outside the tables.
    pub is_extrapolated: bool,
}

/// The number of terms.
pub const TERMS: usize = 8;

impl Model {
    /// Returns the model that comes with the program.
    pub fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Model> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            serde_json::from_str(include_str!("../data/completion.json")).expect("a test reads it")
        })
    }

    /// Returns how long an operation takes. `None` if a device has no price for one of its
    /// primitives, or the class and quality of service were not fitted.
    pub fn completion(&self, situation: &Situation<'_>) -> Option<Completion> {
        let fit = self.fits.get(&format!("{} {}", situation.class, situation.qos))?;
        let terms = self.latencies.terms(situation)?;
        let mean = terms.mean(&fit.mean);
        let of_99 = fit.spread.mul_add(terms.spread, mean);
        let members = situation.sample.members;
        let widening = widening(members, fit.members);
        let around = |value: f64, error: f64| {
            (value * (1.0 - error).max(0.0) / widening, value * (1.0 + error) * widening)
        };
        Some(Completion {
            mean,
            interval: around(mean, fit.error.1),
            of_99,
            interval_of_99: around(of_99, fit.error_of_99.1),
            error: fit.error.0,
            is_extrapolated: terms.is_extrapolated || members > fit.members,
        })
    }
}

/// Returns by which factor both ends of an interval move away from the value, in a group beyond the
/// fitted sizes: by 2 for each factor of 32. Simulated groups of 20,000 members, 14 times as many as
/// were fitted with, took up to 1.8 times as long as modelled; `tests/choice.rs` has the numbers.
fn widening(members: u32, fitted: u32) -> f64 {
    (f64::from(members) / f64::from(fitted.max(1))).max(1.0).powf(0.2)
}

impl Terms {
    /// Returns the weighted sum of the values (ms).
    pub fn mean(&self, weights: &[f64; TERMS]) -> f64 {
        self.values.iter().zip(weights).map(|(value, weight)| value * weight).sum()
    }
}

impl Latencies {
    /// Returns the terms of an operation's time, or `None` if a device lacks a price.
    pub fn terms(&self, situation: &Situation<'_>) -> Option<Terms> {
        let Situation { sample, suite, member, gateway, controller, network, qos, .. } = *situation;
        let qos_index = usize::from(qos.min(2));
        let is_first = sample.operation == "create";
        let (up, down) = match is_first {
            true => (Way::FirstUp, Way::FirstDown),
            false => (Way::Up, Way::Down),
        };
        let [ups, downs] = [up, down]
            .map(|way| FLIGHTS.map(|flight| self.column(qos_index, flight, way, network)));
        let device = |role: DeviceRole| match role {
            DeviceRole::Controller => controller,
            DeviceRole::Gateway => gateway,
            DeviceRole::Member => member,
        };
        // Acknowledgements that an end takes in for a message that it sends, or that it receives
        // before it hands it over.
        let (of_sender, of_receiver) = [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0)][qos_index];
        let mut terms = Terms { is_extrapolated: self.is_beyond(network), ..Terms::default() };
        let mut squares = 0.0;
        // Ways on which the present delay may be: those since all parties last waited for one.
        let mut parallel: Vec<Leg<'_>> = Vec::new();
        let mut last_receivers = 0.0;
        let mut add_up = |parallel: &mut Vec<Leg<'_>>, repeats: f64, terms: &mut Terms| {
            let (mean, far) = latest(parallel);
            let sum = |leg: &Leg<'_>| leg.times * leg.way.of_latest(leg.flights).0;
            let sum: f64 = parallel.iter().map(sum).sum();
            terms.values[0] += repeats * mean;
            terms.values[7] += repeats * (sum - mean).clamp(0.0, mean);
            squares += repeats * (far - mean).powi(2);
            parallel.clear();
        };
        for stage in &sample.stages {
            let Stage { repeats, senders, messages, bytes, deliveries, awaited, receivers, .. } =
                stage;
            if *awaited == 0.0 {
                continue;
            }
            let each = awaited / receivers.max(1.0);
            // Branches go on by themselves if each sender had waited for its own message, and each
            // receiver waits for one sender.
            let is_narrow = *senders > 1.5 && each < 1.5;
            let go_on = |receivers: f64| is_narrow && (0.4..2.5).contains(&(receivers / senders));
            if !go_on(last_receivers) {
                add_up(&mut parallel, 1.0, &mut terms);
            }
            let up = Leg::new(&ups, *senders, *messages, *bytes);
            let down = match each <= 1.01 * messages {
                true => Leg::new(&downs, *receivers, each, *bytes),
                false => Leg::from_several(&downs, *receivers, each),
            };
            if *repeats > 1.5 && go_on(*receivers) {
                parallel.extend([up, down].map(|leg| Leg {
                    flights: leg.flights * repeats,
                    times: *repeats,
                    ..leg
                }));
            } else {
                parallel.push(up);
                // What one sender sends is late for all receivers.
                if *senders < 1.5 {
                    add_up(&mut parallel, *repeats, &mut terms);
                }
                parallel.push(down);
                if *repeats > 1.5 {
                    add_up(&mut parallel, *repeats, &mut terms);
                }
            }
            last_receivers = *receivers;
            let sender = device(stage.sender);
            let (publish, acknowledgement) = member.packets;
            let (at_broker, acknowledged) = controller.packets;
            let rate = network.bandwidth.map_or(0.0, |kilobits| 8.0 / kilobits);
            let round_trip = 2.0 * network.delay;
            let (sent, received) =
                (Burst::of(*messages, *bytes, qos), Burst::of(each, *bytes, qos));
            let losses = (network.loss / 100.0).sqrt() * round_trip;
            // Of what the broker takes in, only the acknowledgements of QoS 2 let messages go on.
            let let_go_on = f64::from(qos / 2) * acknowledged;
            let at_broker_in_all = (senders * messages).min(*deliveries) * (at_broker + let_go_on)
                + deliveries * let_go_on;
            let values = [
                0.0,
                sender.time(suite, &stage.uses)? / 1e6,
                (messages * of_sender * sender.packets.1
                    + each * (of_receiver * acknowledgement + publish))
                    / 1e6,
                (at_broker_in_all / 1e6 - rate * sent.bytes).max(0.0),
                rate * (sent.bytes + received.bytes),
                round_trip * (sent.rounds + received.rounds),
                losses * (sent.segments + received.segments - 2.0).max(0.0),
                0.0,
            ];
            for (term, value) in terms.values.iter_mut().zip(values) {
                *term += repeats * value;
            }
        }
        add_up(&mut parallel, 1.0, &mut terms);
        terms.values[1] += member.time(suite, &sample.finish)? / 1e6;
        terms.spread = squares.sqrt();
        Some(terms)
    }

    fn is_beyond(&self, network: &NetworkConditions) -> bool {
        let last = |values: &[f64]| values.last().copied().unwrap_or_default();
        network.loss > last(&self.losses) || network.delay > last(&self.delays)
    }

    /// Returns the latencies of a flight on a way in a network, by rarity.
    fn column(
        &self,
        qos: usize,
        flight: Flight,
        way: Way,
        network: &NetworkConditions,
    ) -> LatencyColumn<'_> {
        let table = &self.tables[qos][flight as usize][way as usize];
        // Beyond the table, latencies grow with the delay: the noise of its ends says less.
        let last = self.delays.last().copied().unwrap_or_default();
        let stretched = if network.delay > last { network.delay / last } else { 1.0 };
        let (delay, delay_share) = between(&self.delays, network.delay.min(last));
        let (loss, loss_share) = between(&self.losses, network.loss);
        let mix = |low: f64, high: f64, share: f64| (high - low).mul_add(share, low);
        let at = |loss: usize, rarity: f64| {
            let (index, share) = between(&self.rarities, rarity);
            let of_delay = |delay: usize| {
                let row = &table[loss][delay];
                mix(row[index], row[index + 1], share)
            };
            mix(of_delay(delay), of_delay(delay + 1), delay_share)
        };
        // Packets of a way: the message, and with QoS 2 an acknowledgement and its release.
        let packets: f64 = if qos == 2 { 3.0 } else { 1.0 };
        let jitter = network.jitter * packets.sqrt();
        let values = self.rarities.iter().map(|rarity| {
            // The rarity of a delay goes with that of losses.
            let shifted = |loss: usize| rarity + (network.loss / self.losses[loss]).log10();
            let value = if network.loss == 0.0 {
                at(0, *rarity)
            } else if loss == 0 {
                at(1, shifted(1).max(0.0))
            } else {
                let low = at(loss, shifted(loss).max(0.0));
                mix(low, at(loss + 1, shifted(loss + 1).max(0.0)), loss_share.min(1.0))
            };
            // A packet's delay is uniform around its mean.
            let late = 1.0 - 2.0 * 10f64.powf(-rarity);
            late.mul_add(jitter, value * stretched).max(0.0)
        });
        // Noise must not let rarer latencies be shorter.
        let mut longest = 0.0_f64;
        let values = values.map(|value| {
            longest = longest.max(value);
            longest
        });
        LatencyColumn { rarities: &self.rarities, values: values.collect() }
    }
}

/// The flights of the tables, in their order.
const FLIGHTS: [Flight; 3] = [Flight::Alone, Flight::Pair, Flight::Long];
/// The last messages of several whose loss is not seen by messages after them.
const LAST: f64 = 1.5;
/// The most pairs of packets of one end that count: what is lost earlier has arrived before the last.
const PAIRS: f64 = 3.0;
/// Bytes of headers of a PUBLISH with its topic, and of TCP and IP.
const PUBLISH: f64 = 21.0;
const SEGMENT_HEADERS: f64 = 52.0;
/// Bytes of an acknowledgement of MQTT with its headers.
pub(crate) const ACKNOWLEDGEMENT: f64 = 56.0;
/// TCP's initial window (segments), and the most bytes in a segment.
const WINDOW: f64 = 10.0;
const SEGMENT: f64 = 1_448.0;

/// Messages that leave a connection's end at once.
struct Burst {
    segments: f64,
    /// Bytes with all headers, and with the acknowledgements that QoS 2 waits for.
    bytes: f64,
    /// Round-trip times in which TCP's window grows.
    rounds: f64,
}

impl Burst {
    fn of(messages: f64, bytes: f64, qos: u8) -> Self {
        let message = bytes + PUBLISH;
        let alone = messages * (message / SEGMENT).max(1.0);
        // What waits for the window leaves in full segments.
        let waiting = (1.0 - WINDOW / alone).max(0.0) * messages * message / SEGMENT;
        let segments = alone.min(WINDOW) + waiting;
        let rounds = match waiting > 0.0 {
            true => (waiting / (2.0 * WINDOW) + 1.0).log2().ceil(),
            false => 0.0,
        };
        let acknowledgements = f64::from(qos / 2) * 2.0 * ACKNOWLEDGEMENT * messages.min(WINDOW);
        let bytes = messages * message + segments * SEGMENT_HEADERS + acknowledgements;
        Self { segments, bytes, rounds }
    }
}

/// Flights that go a way at the same time, some times one after the other.
struct Leg<'a> {
    way: Cow<'a, LatencyColumn<'a>>,
    flights: f64,
    times: f64,
}

impl<'a> Leg<'a> {
    /// Each of some ends has this many messages, of as many bytes.
    fn new(ways: &'a [LatencyColumn<'a>; 3], ends: f64, messages: f64, bytes: f64) -> Self {
        let [alone, pair, long] = ways;
        let packets = messages.max(1.0) * ((bytes + PUBLISH) / SEGMENT).ceil();
        let way = match messages {
            _ if packets <= 1.0 => Cow::Borrowed(alone),
            // On average: some ends have one, some have two.
            1.0..2.0 if packets < 2.0 => Cow::Owned(alone.mixed(pair, messages - 1.0)),
            ..=1.0 => Cow::Borrowed(long),
            _ => Cow::Borrowed(pair),
        };
        Self { way, flights: ends * (packets / 2.0).clamp(1.0, PAIRS), times: 1.0 }
    }

    /// Each of some ends has this many messages, which come from several senders: not at once, but
    /// those that follow show what was lost before, so that the last few count.
    fn from_several(ways: &'a [LatencyColumn<'a>; 3], ends: f64, messages: f64) -> Self {
        let flights = ends * messages.min(LAST);
        Self { way: Cow::Borrowed(&ways[0]), flights, times: 1.0 }
    }
}

#[derive(Clone)]
struct LatencyColumn<'a> {
    rarities: &'a [f64],
    values: Vec<f64>,
}

impl LatencyColumn<'_> {
    fn mixed(&self, other: &Self, share: f64) -> Self {
        let pairs = self.values.iter().zip(&other.values);
        let values = pairs.map(|(own, others)| (others - own).mul_add(share, *own));
        Self { rarities: self.rarities, values: values.collect() }
    }

    /// Returns the mean and the 99th percentile of the latest of this many flights (ms).
    fn of_latest(&self, flights: f64) -> (f64, f64) {
        let flights = flights.max(1.0);
        let steps = 50;
        let share = |step: i32| (f64::from(step) + 0.5) / f64::from(steps);
        let sum: f64 = (0..steps).map(|step| self.quantile(share(step), flights)).sum();
        (sum / f64::from(steps), self.quantile(0.99, flights))
    }

    /// Returns the share of flights that take longer than usual by more than this (ms).
    fn beyond(&self, excess: f64) -> f64 {
        let value = self.values[0] + excess;
        let upper = self.values.partition_point(|other| *other <= value);
        if upper == self.values.len() {
            return 0.0;
        }
        let upper = upper.max(1);
        let (low, high) = (self.values[upper - 1], self.values[upper]);
        let share = (value - low) / (high - low);
        let (rarity, next) = (self.rarities[upper - 1], self.rarities[upper]);
        10f64.powf(-(next - rarity).mul_add(share, rarity))
    }

    /// Returns what the latest of some flights does not exceed with this probability (ms).
    fn quantile(&self, probability: f64, flights: f64) -> f64 {
        // 1 - probability^(1/flights), without loss of digits.
        let rarer = -(probability.ln() / flights).exp_m1();
        let (index, share) = between(self.rarities, -rarer.log10());
        let (low, high) = (self.values[index], self.values[index + 1]);
        (high - low).mul_add(share, low)
    }
}

/// Returns the mean and the 99th percentile of the sum of the legs' usual latencies and the largest
/// delay beyond them (ms).
fn latest(legs: &[Leg<'_>]) -> (f64, f64) {
    match legs {
        [] => return (0.0, 0.0),
        [Leg { way, flights, times: 1.0 }] => return way.of_latest(*flights),
        _ => {}
    }
    let usual: f64 = legs.iter().map(|leg| leg.times * leg.way.values[0]).sum();
    let levels = legs.iter().flat_map(|leg| leg.way.values.iter().map(|v| v - leg.way.values[0]));
    let mut levels: Vec<f64> = levels.collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    // The probability that no flight is later.
    let none_beyond = |excess: f64| {
        let beyond = |leg: &Leg<'_>| leg.flights.max(1.0) * leg.way.beyond(excess);
        (-legs.iter().map(beyond).sum::<f64>()).exp()
    };
    let shares: Vec<f64> = levels.iter().map(|level| none_beyond(*level)).collect();
    let mut mean = 0.0;
    let mut far = None;
    for index in 1..levels.len() {
        let (low, high) = (levels[index - 1], levels[index]);
        mean += (high - low) * (1.0 - f64::midpoint(shares[index - 1], shares[index]));
        if far.is_none() && shares[index] >= 0.99 {
            far = Some(high);
        }
    }
    let last = levels.last().copied().unwrap_or_default();
    (usual + mean, usual + far.unwrap_or(last))
}

/// Returns the index of the value below, and how far it is from there to the next one. Beyond the
/// last value that share is above one.
fn between(values: &[f64], value: f64) -> (usize, f64) {
    let upper = values.partition_point(|other| *other < value).clamp(1, values.len() - 1);
    let (low, high) = (values[upper - 1], values[upper]);
    (upper - 1, (value - low) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Variant;
    use crate::evidence::Evidence;
    use crate::moment::Moment;

    fn completion(
        scheme: &str,
        operation: &str,
        network: &NetworkConditions,
        qos: u8,
    ) -> Completion {
        let variant = Variant {
            scheme: scheme.to_owned(),
            parameters: BTreeMap::new(),
            suite: "standard".to_owned(),
            guard: "signature".to_owned(),
        };
        let sample = Evidence::shipped()
            .counts(&variant, operation, Moment::fresh(16))
            .expect("it was counted");
        let device = |name: &str| DevicePrices::named(name).expect("it is shipped");
        let class = match scheme {
            "tgdh" => "distributed",
            "igkmp" => "hybrid",
            _ => "centralized",
        };
        let situation = Situation {
            class,
            sample: &sample.value,
            suite: "standard",
            member: device("cortex-m4"),
            gateway: device("host"),
            controller: device("host"),
            network,
            qos,
        };
        Model::shipped().completion(&situation).expect("it was fitted")
    }

    #[test]
    fn more_loss_and_more_delay_never_hurry_a_group() {
        let at = |scheme: &str, qos: u8, loss: f64, delay: f64| {
            completion(
                scheme,
                "add",
                &NetworkConditions { loss, delay, ..NetworkConditions::default() },
                qos,
            )
        };
        for scheme in ["lkh-group", "skdc", "tgdh"] {
            for qos in 0..=2 {
                let losses = [0.0, 0.3, 1.0, 3.0, 8.0, 20.0, 30.0];
                let delays = [0.0, 10.0, 70.0, 300.0, 1_000.0];
                let by_loss = losses.map(|loss| at(scheme, qos, loss, 50.0));
                let by_delay = delays.map(|delay| at(scheme, qos, 2.0, delay));
                for times in [&by_loss[..], &by_delay[..]] {
                    for pair in times.windows(2) {
                        assert!(pair[0].mean <= pair[1].mean * 1.02, "{scheme} {qos} {pair:?}");
                        assert!(pair[0].mean <= pair[0].of_99, "{scheme} {qos} {pair:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn far_beyond_the_tables_times_still_grow() {
        for qos in 0..=2 {
            for loss in [0.0, 2.0, 20.0, 50.0] {
                let times = [100.0, 400.0, 1_000.0, 60_000.0].map(|delay| {
                    let network = NetworkConditions { loss, delay, ..NetworkConditions::default() };
                    completion("lkh-user", "remove", &network, qos).mean
                });
                let grow = |pair: &[f64]| 0.0 < pair[0] && pair[0] <= pair[1] * 1.02;
                assert!(times.windows(2).all(grow), "{qos} {loss}: {times:?}");
            }
        }
    }

    #[test]
    fn a_network_beyond_the_tables_is_told() {
        let network = |loss: f64, delay: f64| NetworkConditions {
            loss,
            delay,
            ..NetworkConditions::default()
        };
        assert!(!completion("skdc", "add", &network(20.0, 400.0), 2).is_extrapolated);
        assert!(completion("skdc", "add", &network(21.0, 10.0), 2).is_extrapolated);
        assert!(completion("skdc", "add", &network(1.0, 401.0), 2).is_extrapolated);
    }

    #[test]
    fn intervals_widen_beyond_the_fitted_sizes_only() {
        assert_eq!([2, 1_472].map(|members| widening(members, 1_472)), [1.0, 1.0]);
        assert!((widening(32 * 1_472, 1_472) - 2.0).abs() < 1e-9);
        // Of the fit whose intervals are narrowest: a simulation took 1.8 times as long.
        for fit in Model::shipped().fits.values() {
            assert!((1.0 + fit.error.1) * widening(20_000, fit.members) > 1.8, "{fit:?}");
        }
    }

    #[test]
    fn quality_of_service_costs_its_packets() {
        let network = NetworkConditions { delay: 100.0, ..NetworkConditions::default() };
        let [at_most_once, exactly_once] =
            [0, 2].map(|qos| completion("skdc", "remove", &network, qos).mean);
        // One way and three ways on each side of the broker.
        assert!(at_most_once > 150.0 && exactly_once > 2.0 * at_most_once);
    }
}
