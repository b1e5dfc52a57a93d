//! Cuts live connections, and compares what becomes of a message with the simulator.
//!
//! ```sh
//! cargo build -p groupkey-testbed --example measure_recovery
//! sudo target/debug/examples/measure_recovery 4     # rounds, of six minutes each; 0: none is live
//! ```
//!
//! Subscribers with the live driver (`groupkey_mqtt::driver`) reach a Mosquitto through the emulator's
//! device, which loses every packet for the length of a cut. A message is published five seconds after
//! the cut began. For each QoS this prints how many subscribers got it, and how long after the end of
//! the cut. The simulator does the same, with the driver's keep-alive and sessions. Needs `mosquitto`
//! and the right to create a TUN device.

use std::collections::VecDeque;
use std::error::Error;
use std::time::{Duration, Instant};

use groupkey_mqtt::Connection;
use groupkey_mqtt::driver::{self, Quality, Running};
use groupkey_mqtt::runtime::{Fatal, Input, Output, Runtime};
use groupkey_mqtt::store::Publish;
use groupkey_sim::{
    LinkProfile, MessageId, Network, NetworkConfig, NetworkEvent, Qos, Reconnection, SessionState,
    Topic,
};
use groupkey_testbed::impairment::{Emulator, ImpairedLink, Impairment, Mosquitto};
use rand_chacha::ChaCha20Rng;
use tokio::time::{sleep, timeout};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long links are cut, in s.
const CUTS: [u64; 4] = [10, 15, 30, 60];
const SUBSCRIBERS: u32 = 40;
/// The driver's keep-alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// When the message is published, after the beginning of the cut.
const PUBLISHED: Duration = Duration::from_secs(5);
/// The longest pause of the driver, its attempt, and TCP's longest wait within a cut.
const PATIENCE: Duration = Duration::from_secs(75);
const DELAY: Duration = Duration::from_millis(25);
const SIMULATED_ROUNDS: u64 = 200;
const TOPIC: &str = "g/1/all";

fn main() -> Outcome<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(1), |rounds| rounds.parse())?;
    println!("cut s  QoS  side       subscribers  got it %  p10 s  p50 s  p90 s  mean s");
    for cut in CUTS.map(Duration::from_secs) {
        let mut live: [Vec<Option<f64>>; 2] = Default::default();
        for _ in 0..rounds {
            for (all, new) in live.iter_mut().zip(measure(cut)?) {
                all.extend(new);
            }
        }
        for (qos, live) in live.iter().enumerate() {
            if rounds > 0 {
                print(cut, qos, "live", live);
            }
            let simulated: Vec<_> =
                (0..SIMULATED_ROUNDS).flat_map(|seed| simulate(cut, qos, seed)).collect();
            print(cut, qos, "simulated", &simulated);
        }
    }
    Ok(())
}

fn print(cut: Duration, qos: usize, side: &str, recoveries: &[Option<f64>]) {
    let mut got: Vec<f64> = recoveries.iter().flatten().copied().collect();
    got.sort_by(f64::total_cmp);
    let share = 100.0 * got.len() as f64 / recoveries.len() as f64;
    let at = |share: f64| {
        let rank = (share * got.len() as f64).ceil() as usize;
        got.get(rank.saturating_sub(1))
            .map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
    };
    let mean = got.iter().sum::<f64>() / got.len() as f64;
    let mean = if got.is_empty() { "-".to_owned() } else { format!("{mean:.2}") };
    println!(
        "{:>5}  {qos:>3}  {side:<9}  {:>11}  {share:>8.1}  {:>5}  {:>5}  {:>5}  {mean:>6}",
        cut.as_secs(),
        recoveries.len(),
        at(0.1),
        at(0.5),
        at(0.9),
    );
}

/// Cuts live subscribers off. Returns by QoS how long after the end of the cut each got the message.
fn measure(cut: Duration) -> Outcome<[Vec<Option<f64>>; 2]> {
    let whole = Impairment { delay: DELAY, loss: 0.0 };
    let dead = Impairment { loss: 1.0, ..whole };
    let link = |direction| ImpairedLink { up: direction, down: direction };
    let emulator = Emulator::start(1883, link(whole), 1, "cubic")?;
    let addresses = emulator.addresses();
    let _mosquitto = Mosquitto::start(addresses.broker, addresses.clients)?;
    let connection = |host: String, name: String, qos| Connection {
        qos,
        ..Connection::new(host, addresses.broker.port(), name)
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        // Without an impairment.
        let host = addresses.broker.ip().to_string();
        let mut publisher = driver::run(
            Relay::default(),
            connection(host, "publisher".to_owned(), Quality::AtLeastOnce),
        );
        let mut subscribers: [Vec<Running<Relay>>; 2] = Default::default();
        // Pings are at any time within a keep-alive.
        for number in 0..SUBSCRIBERS {
            for (level, running) in subscribers.iter_mut().enumerate() {
                let qos = Quality::from_level(level as u8).expect("0 or 1");
                let name = format!("subscriber-{level}-{number}");
                let host = addresses.clients.ip().to_string();
                running.push(driver::run(Relay::subscribed(), connection(host, name, qos)));
            }
            sleep(KEEP_ALIVE / SUBSCRIBERS).await;
        }
        sleep(KEEP_ALIVE).await;
        let begun = Instant::now();
        emulator.set_all(link(dead));
        sleep(PUBLISHED).await;
        let said = publisher.handle.call(|relay, _, _| relay.say()).await;
        said.ok_or("the publisher has ended")?;
        timeout(Duration::from_secs(1), publisher.events.recv()).await?;
        sleep(cut.saturating_sub(begun.elapsed())).await;
        let ended = Instant::now();
        emulator.set_all(link(whole));
        let mut recoveries: [Vec<Option<f64>>; 2] = Default::default();
        for (recoveries, running) in recoveries.iter_mut().zip(&mut subscribers) {
            for subscriber in running {
                let left = (ended + PATIENCE).saturating_duration_since(Instant::now());
                let got = timeout(left, subscriber.events.recv()).await.ok().flatten();
                recoveries.push(got.map(|at| at.saturating_duration_since(ended).as_secs_f64()));
            }
        }
        let lateness = emulator.take_lateness();
        eprintln!(
            "cut of {} s: packets were late by {} ms in the mean",
            cut.as_secs(),
            lateness.mean().as_secs_f64() * 1e3
        );
        Ok(recoveries)
    })
}

/// Publishes, or tells when a message arrives.
#[derive(Default)]
struct Relay(VecDeque<Output<Instant>>);

impl Relay {
    fn subscribed() -> Self {
        Self([Output::Subscribe(TOPIC.to_owned())].into())
    }

    fn say(&mut self) {
        let (topic, payload) = (TOPIC.to_owned(), vec![b'x'; 100]);
        let publish = Publish { id: 1, topic, payload, retain: false, expiry: None };
        self.0.push_back(Output::Publish(publish));
    }
}

impl Runtime for Relay {
    type Event = Instant;

    fn handle(&mut self, input: Input<'_>, _: u64, _: &mut ChaCha20Rng) -> Result<(), Fatal> {
        if matches!(input, Input::Arrived { .. } | Input::Acknowledged(_)) {
            self.0.push_back(Output::Event(Instant::now()));
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<Instant>>, Fatal> {
        Ok(self.0.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        None
    }
}

/// Does the same in virtual time.
fn simulate(cut: Duration, qos: usize, seed: u64) -> Vec<Option<f64>> {
    let span = |span: Duration| groupkey_sim::Duration::from_nanos(span.as_nanos() as u64);
    let session = if qos == 0 { SessionState::Clean } else { SessionState::Kept };
    let keep_alive = span(KEEP_ALIVE);
    let mut network = Network::new(NetworkConfig {
        qos: Qos::from_number(qos as u8).expect("0 or 1"),
        reconnection: Some(Reconnection { keep_alive, session, ..Reconnection::default() }),
        seed,
        ..NetworkConfig::default()
    });
    let link = LinkProfile::delay_and_loss(span(DELAY), 0.0);
    let perfect = LinkProfile::delay_and_loss(groupkey_sim::Duration::ZERO, 0.0);
    let publisher = network.add_client(perfect.clone(), perfect);
    let topic = network.add_topic();
    let subscribers: Vec<_> =
        (0..SUBSCRIBERS).map(|_| network.add_client(link.clone(), link.clone())).collect();
    for subscriber in &subscribers {
        network.subscribe(topic, *subscriber);
    }
    let mut began = network.now() + span(KEEP_ALIVE * 2);
    for (token, after) in [Duration::ZERO, PUBLISHED, cut, cut + PATIENCE].into_iter().enumerate() {
        network.wake_at(began + span(after), token as u64);
    }
    let mut recoveries = vec![None; subscribers.len()];
    while let Some(event) = network.wait() {
        match event {
            NetworkEvent::Wake { token: token @ (0 | 2) } => {
                subscribers.iter().for_each(|client| network.set_outage(*client, token == 0));
                began = network.now();
            }
            NetworkEvent::Wake { token: 1 } => {
                network.publish(publisher, Topic::Shared(topic), MessageId(0), 100, 7);
            }
            NetworkEvent::Wake { .. } | NetworkEvent::Unsettled => break,
            NetworkEvent::Delivered { client, .. } => {
                let after = network.now().since(began).as_millis_f64() / 1e3;
                recoveries[client.index() - 1].get_or_insert(after);
            }
            NetworkEvent::Connected { .. } | NetworkEvent::Disconnected { .. } => {}
        }
    }
    recoveries
}
