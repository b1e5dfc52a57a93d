//! How long one message takes from a publisher to a subscriber, one message at a time: the live
//! counterpart of the simulator's probe.

use std::io::Write;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::packet::{Acknowledgement, Connack, Connect, Packet, Publish, Qos};
use crate::probe::client::Client;
use crate::probe::{Stop, Target};
use crate::version::Version;

/// The packet at which the subscriber delivers a QoS 2 message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandOver {
    /// Deliver on PUBREL, like the papers' clients: exactly once.
    #[default]
    PubRel,
    /// Deliver on PUBLISH.
    Publish,
}

/// What to measure. Both clients connect to the same address.
#[derive(Clone, Copy, Debug)]
pub struct LatencySettings {
    /// Where the broker is for clients.
    pub broker: SocketAddr,
    /// Of publications and of the subscription: 0, 1 or 2.
    pub qos: u8,
    /// For QoS 2; at the others it is always the PUBLISH.
    pub until: HandOver,
    /// Messages in all.
    pub messages: u32,
    /// Messages after which fresh connections are made.
    pub messages_per_connection: u32,
    /// Bytes of a message.
    pub payload_bytes: usize,
    /// A message that takes longer ends its connections, and has no latency.
    pub patience: Duration,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// From publishing to hand-over, in the order of publishing.
    pub latencies: Vec<Duration>,
    /// The congestion control that the kernel says it used for the last connection.
    pub congestion: String,
}

impl LatencySettings {
    /// The simulator's settings: 100 bytes, 200 messages a connection, to PUBREL.
    pub const fn new(broker: SocketAddr, qos: u8, messages: u32) -> Self {
        Self {
            broker,
            qos,
            until: HandOver::PubRel,
            messages,
            messages_per_connection: 200,
            payload_bytes: 100,
            patience: Duration::from_secs(60),
        }
    }
}

/// Publishes message after message, each when the one before was delivered; calls `delivered`
/// after each. Fails with what the broker did wrong if a connection cannot be set up.
pub fn measure(
    settings: &LatencySettings,
    mut delivered: impl FnMut(),
) -> Result<Measured, String> {
    let mut measured = Measured::default();
    let mut left = settings.messages;
    while left > 0 {
        let messages = left.min(settings.messages_per_connection.max(1));
        measure_connection(settings, messages, &mut measured, &mut delivered)
            .map_err(|(Stop::Broken(seen) | Stop::Skipped(seen))| seen)?;
        left -= messages;
    }
    Ok(measured)
}

fn measure_connection(
    settings: &LatencySettings,
    messages: u32,
    measured: &mut Measured,
    delivered: &mut impl FnMut(),
) -> Result<(), Stop> {
    let qos = Qos::from_u8(settings.qos).map_err(|error| Stop::Broken(error.to_string()))?;
    let mut subscriber = connect(settings, "subscriber")?;
    subscriber.subscribe(TOPIC, qos)?;
    let mut publisher = connect(settings, "publisher")?;
    let broke = |error: std::io::Error| Stop::Broken(format!("a connection broke: {error}"));
    let mut line = publisher.stream().try_clone().map_err(broke)?;
    let congestion = SockRef::from(&line).tcp_congestion().map_err(broke)?;
    measured.congestion = String::from_utf8_lossy(&congestion).trim_end_matches('\0').to_owned();

    // PUBREC is answered while the next message is on its way already.
    let answering = thread::spawn(move || {
        while let Ok(packet) = publisher.receive("acknowledgement") {
            if let Packet::Acknowledge(Acknowledgement::Pubrec, id) = packet
                && publisher.acknowledge(Acknowledgement::Pubrel, id).is_err()
            {
                break;
            }
        }
    });
    for number in 0..messages {
        let id = number as u16 % u16::MAX + 1;
        let message = Publish::new(TOPIC, qos, id, vec![b'x'; settings.payload_bytes]);
        let bytes = Packet::Publish(message).encode(Version::V3);
        let bytes = bytes.map_err(|error| Stop::Broken(error.to_string()))?;
        let published = Instant::now();
        // A connection that breaks here or below ends early, as the simulator's do.
        if line.write_all(&bytes).is_err() || hand_over(&mut subscriber, settings.until).is_err() {
            break;
        }
        measured.latencies.push(published.elapsed());
        delivered();
    }
    let _ = line.shutdown(std::net::Shutdown::Both);
    subscriber.cut();
    // It has nothing to say, and what it may have panicked about was printed.
    let _ = answering.join();
    Ok(())
}

fn connect(settings: &LatencySettings, name: &str) -> Result<Client, Stop> {
    let target = Target::at(settings.broker, settings.patience);
    let mut client = Client::dial(&target, Version::V3)
        .map_err(|error| Stop::Broken(format!("cannot connect to the broker: {error}")))?;
    let client_id = format!("groupkey-latency-{}-{name}", std::process::id());
    match client.connect(Connect { client: client_id, clean: true, ..Connect::default() })? {
        Connack { code: 0, .. } => Ok(client),
        Connack { code, .. } => {
            Err(Stop::Broken(format!("the broker refuses the connection with code {code}")))
        }
    }
}

/// Receives one message up to the packet that counts, and answers what comes on the way.
fn hand_over(subscriber: &mut Client, until: HandOver) -> Result<(), Stop> {
    loop {
        match subscriber.receive("message")? {
            Packet::Publish(message) => match message.qos {
                Qos::Level0 => return Ok(()),
                Qos::Level1 => {
                    return subscriber.acknowledge(Acknowledgement::Puback, message.id);
                }
                Qos::Level2 => {
                    subscriber.acknowledge(Acknowledgement::Pubrec, message.id)?;
                    if until == HandOver::Publish {
                        return Ok(());
                    }
                }
            },
            Packet::Acknowledge(Acknowledgement::Pubrel, id) => {
                subscriber.acknowledge(Acknowledgement::Pubcomp, id)?;
                if until == HandOver::PubRel {
                    return Ok(());
                }
            }
            _ => {}
        }
    }
}

/// As long as the simulator's.
const TOPIC: &str = "probe-topi";
