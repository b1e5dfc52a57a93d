//! Measures how long a message takes from a publisher to a subscriber, one message at a time. This
//! is the live counterpart of the simulator's probe.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use groupkey_mqtt::Version;
use groupkey_sim::HandOver;
use socket2::SockRef;

use crate::client::Client;
use crate::packet::{Acknowledgement, Connect, Packet, PublishPacket, Qos};

/// The settings of a measurement. Both clients connect to the same address.
#[derive(Clone, Copy, Debug)]
pub struct LatencySettings {
    /// The broker's address for clients.
    pub broker: SocketAddr,
    /// The QoS of the publications and of the subscription: 0, 1 or 2.
    pub qos: u8,
    /// The packet at which a QoS 2 message counts as delivered. At QoS 0 and 1 it is always the
    /// PUBLISH.
    pub until: HandOver,
    /// The total number of messages.
    pub messages: u32,
    /// The number of messages after which new connections are made.
    pub messages_per_connection: u32,
    /// The payload of a message, in bytes.
    pub payload_bytes: usize,
    /// The longest time for a message. A message that takes longer ends its connections, and has no
    /// latency.
    pub patience: Duration,
}

/// The result of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredLatencies {
    /// The times from publishing to hand-over, in the order of publishing.
    pub latencies: Vec<Duration>,
    /// The congestion control that the kernel reports for the last connection.
    pub congestion: String,
}

impl LatencySettings {
    /// Returns the simulator's settings: 100 bytes, 200 messages for each connection, until PUBREL.
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

/// Publishes messages one by one, each after the delivery of the message before. Calls `delivered`
/// after each delivery. If a connection cannot be set up, fails with a description of the broker's
/// error.
pub fn measure(
    settings: &LatencySettings,
    mut delivered: impl FnMut(),
) -> Result<MeasuredLatencies, String> {
    let mut measured = MeasuredLatencies::default();
    let mut left = settings.messages;
    while left > 0 {
        let messages = left.min(settings.messages_per_connection.max(1));
        measure_connection(settings, messages, &mut measured, &mut delivered)
            .map_err(|error| format!("the broker or the connection to it fails: {error}"))?;
        left -= messages;
    }
    Ok(measured)
}

fn measure_connection(
    settings: &LatencySettings,
    messages: u32,
    measured: &mut MeasuredLatencies,
    delivered: &mut impl FnMut(),
) -> io::Result<()> {
    let qos = Qos::from_u8(settings.qos).map_err(io::Error::other)?;
    let mut subscriber = connect(settings, "subscriber")?;
    subscriber.send(&Packet::Subscribe(1, vec![(TOPIC.to_owned(), qos)]))?;
    let granted = subscriber.receive()?;
    if granted != Packet::Suback(1, vec![Some(qos)]) {
        return Err(io::Error::other(format!("it answers the subscription with {granted:?}")));
    }
    let mut publisher = connect(settings, "publisher")?;
    let mut line = publisher.stream().try_clone()?;
    let congestion = SockRef::from(&line).tcp_congestion()?;
    measured.congestion = String::from_utf8_lossy(&congestion).trim_end_matches('\0').to_owned();

    // The publisher answers PUBREC while the next message is already on its way.
    let answering = thread::spawn(move || {
        while let Ok(packet) = publisher.receive() {
            if let Packet::Acknowledge(Acknowledgement::Pubrec, id) = packet
                && publisher.send(&Packet::Acknowledge(Acknowledgement::Pubrel, id)).is_err()
            {
                break;
            }
        }
    });
    for number in 0..messages {
        let id = number as u16 % u16::MAX + 1;
        let message = PublishPacket::new(TOPIC, qos, id, vec![b'x'; settings.payload_bytes]);
        let bytes = Packet::Publish(message).encode(Version::V3);
        let bytes = bytes.map_err(io::Error::other)?;
        let published = Instant::now();
        // A connection that breaks here or below ends early, as in the simulator.
        if line.write_all(&bytes).is_err() || hand_over(&mut subscriber, settings.until).is_err() {
            break;
        }
        measured.latencies.push(published.elapsed());
        delivered();
    }
    let _ = line.shutdown(std::net::Shutdown::Both);
    subscriber.cut();
    // The thread returns nothing. If it panicked, its message was printed.
    let _ = answering.join();
    Ok(())
}

fn connect(settings: &LatencySettings, name: &str) -> io::Result<Client> {
    let client = format!("groupkey-latency-{}-{name}", std::process::id());
    let hello = Connect { client, clean: true, ..Connect::default() };
    Ok(Client::connect(settings.broker, Version::V3, hello, settings.patience)?.0)
}

/// Receives one message up to the packet `until`, and answers the packets on the way.
fn hand_over(subscriber: &mut Client, until: HandOver) -> io::Result<()> {
    loop {
        match subscriber.receive()? {
            Packet::Publish(message) => match message.qos {
                Qos::Level0 => return Ok(()),
                Qos::Level1 => {
                    return subscriber
                        .send(&Packet::Acknowledge(Acknowledgement::Puback, message.id));
                }
                Qos::Level2 => {
                    subscriber.send(&Packet::Acknowledge(Acknowledgement::Pubrec, message.id))?;
                    if until == HandOver::Publish {
                        return Ok(());
                    }
                }
            },
            Packet::Acknowledge(Acknowledgement::Pubrel, id) => {
                subscriber.send(&Packet::Acknowledge(Acknowledgement::Pubcomp, id))?;
                if until == HandOver::PubRel {
                    return Ok(());
                }
            }
            _ => {}
        }
    }
}

/// A topic that is as long as the simulator's.
const TOPIC: &str = "probe-topi";
