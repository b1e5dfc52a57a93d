//! A blocking connection to a broker, packet by packet. A check decides which packets are sent,
//! which are acknowledged, and when the connection is cut.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use groupkey_mqtt::Version;
use groupkey_mqtt::tls::explained;

use super::check::Stop;
use super::target::ProbeTarget;
use super::transport::{ProbeConnection, is_silence};
use crate::packet::{Abilities, Acknowledgement, Connack, Connect, Packet, PublishPacket, Qos};

/// A connection. It sends only the packets for which a check asks.
#[derive(Debug)]
pub(crate) struct ProbeClient {
    line: ProbeConnection,
    version: Version,
    timeout: Duration,
    /// What the broker can do. Nothing else is asked of it.
    abilities: Abilities,
    unread: Vec<u8>,
    /// Messages that arrived while another packet was awaited.
    waiting: VecDeque<PublishPacket>,
    last_id: u16,
}

impl ProbeClient {
    /// Opens a connection and sends nothing on it.
    pub(crate) fn dial(target: &ProbeTarget, version: Version) -> io::Result<Self> {
        let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
        for address in &target.addresses {
            match ProbeConnection::open(address, target) {
                Ok(line) => {
                    let timeout = target.timeout;
                    let (unread, waiting) = (Vec::new(), VecDeque::new());
                    let abilities = Abilities::default();
                    return Ok(Self {
                        line,
                        version,
                        timeout,
                        abilities,
                        unread,
                        waiting,
                        last_id: 0,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Asks only what a broker with these abilities can do.
    pub(crate) fn with_abilities(self, abilities: Abilities) -> Self {
        Self { abilities, ..self }
    }

    /// Returns what the broker can do.
    pub(crate) const fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Sends CONNECT and waits for the answer.
    pub(crate) fn connect(&mut self, connect: Connect) -> Result<Connack, Stop> {
        self.send(&Packet::Connect(Box::new(connect)))?;
        match self.receive("CONNACK")? {
            Packet::Connack(connack) => {
                if self.version == Version::V5 {
                    self.abilities = connack.abilities;
                }
                Ok(connack)
            }
            other => Err(unexpected(&other, "CONNACK")),
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    ///
    /// [`Stop::Skipped`] if the broker has announced that a client may not send it.
    pub(crate) fn send(&mut self, packet: &Packet) -> Result<(), Stop> {
        self.abilities.allow(packet).map_err(Stop::Skipped)?;
        let bytes = packet.encode(self.version).map_err(|e| Stop::Broken(e.to_string()))?;
        self.send_bytes(&bytes)
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.line
            .write_all(bytes)
            .map_err(|error| Stop::Broken(format!("the connection broke while sending: {error}")))
    }

    pub(crate) fn acknowledge(&mut self, kind: Acknowledgement, id: u16) -> Result<(), Stop> {
        self.send(&Packet::Acknowledge(kind, id))
    }

    /// Waits for the next packet of any kind.
    pub(crate) fn receive(&mut self, awaited: &str) -> Result<Packet, Stop> {
        match self.receive_within(self.timeout)? {
            Incoming::Packet(packet) => Ok(packet),
            Incoming::Closed => Err(Stop::Broken(format!(
                "the broker closed the connection where {awaited} was due"
            ))),
            Incoming::Silence => {
                Err(Stop::Broken(format!("no {awaited} within {} s", self.timeout.as_secs_f64())))
            }
        }
    }

    /// Waits for this acknowledgement. Keeps the messages that arrive before it.
    pub(crate) fn await_acknowledgement(
        &mut self,
        kind: Acknowledgement,
        id: u16,
    ) -> Result<(), Stop> {
        let awaited = format!("{} for {id}", kind.name());
        self.receive_beside_messages(&awaited, |packet| match packet {
            Packet::Acknowledge(got, for_id) if (*got, *for_id) == (kind, id) => Some(()),
            _ => None,
        })
    }

    /// Subscribes. Fails if the broker grants another quality of service.
    pub(crate) fn subscribe(&mut self, filter: &str, qos: Qos) -> Result<(), Stop> {
        let id = self.next_id();
        self.send(&Packet::Subscribe(id, vec![(filter.to_owned(), qos)]))?;
        let granted = self.receive_beside_messages("SUBACK", |packet| match packet {
            Packet::Suback(for_id, granted) if *for_id == id => {
                Some(granted.first().copied().flatten())
            }
            _ => None,
        })?;
        match granted {
            Some(granted) if granted == qos => Ok(()),
            Some(granted) => {
                Err(Stop::Skipped(format!("the broker grants no more than QoS {}", granted as u8)))
            }
            None => Err(Stop::Skipped("the broker refuses the subscription".to_owned())),
        }
    }

    /// Publishes a message, and completes the exchange.
    pub(crate) fn publish(&mut self, topic: &str, qos: Qos, payload: &str) -> Result<(), Stop> {
        let id = self.next_id();
        self.publish_whole(&PublishPacket::new(topic, qos, id, payload))
    }

    /// Publishes this message as it is, and completes the exchange.
    pub(crate) fn publish_whole(&mut self, message: &PublishPacket) -> Result<(), Stop> {
        self.send(&Packet::Publish(message.clone()))?;
        match message.qos {
            Qos::Level0 => Ok(()),
            Qos::Level1 => self.await_acknowledgement(Acknowledgement::Puback, message.id),
            Qos::Level2 => {
                self.await_acknowledgement(Acknowledgement::Pubrec, message.id)?;
                self.release(message.id)
            }
        }
    }

    /// Completes the second half of QoS 2: sends PUBREL and waits for PUBCOMP.
    pub(crate) fn release(&mut self, id: u16) -> Result<(), Stop> {
        self.acknowledge(Acknowledgement::Pubrel, id)?;
        self.await_acknowledgement(Acknowledgement::Pubcomp, id)
    }

    /// Waits for the next message. Does not acknowledge it.
    pub(crate) fn message(&mut self) -> Result<PublishPacket, Stop> {
        if let Some(message) = self.waiting.pop_front() {
            return Ok(message);
        }
        match self.receive("message")? {
            Packet::Publish(message) => Ok(message),
            other => Err(unexpected(&other, "a message")),
        }
    }

    /// Waits for the next message, and completes its acknowledgement.
    pub(crate) fn take(&mut self) -> Result<PublishPacket, Stop> {
        let message = self.message()?;
        self.acknowledge_whole(&message)?;
        Ok(message)
    }

    /// Completes the receiver's side of the exchange.
    pub(crate) fn acknowledge_whole(&mut self, message: &PublishPacket) -> Result<(), Stop> {
        match message.qos {
            Qos::Level0 => Ok(()),
            Qos::Level1 => self.acknowledge(Acknowledgement::Puback, message.id),
            Qos::Level2 => {
                self.acknowledge(Acknowledgement::Pubrec, message.id)?;
                self.await_acknowledgement(Acknowledgement::Pubrel, message.id)?;
                self.acknowledge(Acknowledgement::Pubcomp, message.id)
            }
        }
    }

    /// Returns all messages before the message with the payload `last`. Acknowledges all of them
    /// completely.
    pub(crate) fn take_until(&mut self, last: &str) -> Result<Vec<PublishPacket>, Stop> {
        let mut messages = Vec::new();
        while messages.len() < MOST_MESSAGES {
            let message = self.take()?;
            if message.payload == last.as_bytes() {
                return Ok(messages);
            }
            messages.push(message);
        }
        Err(Stop::Broken(format!("more than {MOST_MESSAGES} messages, and still no {last:?}")))
    }

    /// Returns the next message if it arrives within this time. Does not acknowledge it.
    pub(crate) fn message_within(&mut self, time: Duration) -> Result<Option<PublishPacket>, Stop> {
        if let Some(message) = self.waiting.pop_front() {
            return Ok(Some(message));
        }
        match self.receive_within(time.min(self.timeout))? {
            Incoming::Packet(Packet::Publish(message)) => Ok(Some(message)),
            Incoming::Packet(other) => Err(unexpected(&other, "silence")),
            Incoming::Closed => Err(Stop::Broken("the broker closed the connection".to_owned())),
            Incoming::Silence => Ok(None),
        }
    }

    /// Sends PINGREQ and waits for the answer.
    pub(crate) fn ping(&mut self) -> Result<(), Stop> {
        self.send(&Packet::Pingreq)?;
        self.receive_beside_messages("PINGRESP", |packet| {
            (*packet == Packet::Pingresp).then_some(())
        })
    }

    /// Waits until the broker closes the connection. Ignores the packets before that.
    pub(crate) fn await_close(&mut self) -> Result<(), Stop> {
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.receive_within(deadline.saturating_duration_since(Instant::now())) {
                Ok(Incoming::Packet(_)) => {}
                Ok(Incoming::Closed) => return Ok(()),
                Ok(Incoming::Silence) => {
                    let seconds = self.timeout.as_secs_f64();
                    return Err(Stop::Broken(format!(
                        "the broker still keeps the connection after {seconds} s"
                    )));
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Closes the connection without DISCONNECT, like a client that loses its network.
    pub(crate) fn cut(self) {
        // It does no harm if the broker closed the connection first.
        let _ = self.line.tcp().shutdown(Shutdown::Both);
    }

    /// Sends DISCONNECT, and waits until the broker closes the connection.
    pub(crate) fn leave(mut self) -> Result<(), Stop> {
        self.send(&Packet::Disconnect)?;
        // Once the broker has closed its side, too, it has handled the DISCONNECT. It should close
        // its side, but need not (section 3.14.4).
        self.line.finish();
        let _ = self.await_close();
        Ok(())
    }

    pub(crate) const fn stream(&self) -> &TcpStream {
        self.line.tcp()
    }

    pub(crate) fn next_id(&mut self) -> u16 {
        self.last_id = self.last_id % u16::MAX + 1;
        self.last_id
    }

    fn receive_beside_messages<T>(
        &mut self,
        awaited: &str,
        mut pick: impl FnMut(&Packet) -> Option<T>,
    ) -> Result<T, Stop> {
        for _ in 0..MOST_MESSAGES {
            let packet = self.receive(awaited)?;
            if let Some(picked) = pick(&packet) {
                return Ok(picked);
            }
            match packet {
                Packet::Publish(message) => self.waiting.push_back(message),
                other => return Err(unexpected(&other, awaited)),
            }
        }
        Err(Stop::Broken(format!("more than {MOST_MESSAGES} messages, and still no {awaited}")))
    }

    fn receive_within(&mut self, time: Duration) -> Result<Incoming, Stop> {
        let deadline = Instant::now() + time;
        loop {
            let decoded = Packet::decode(self.version, &self.unread)
                .map_err(|error| Stop::Broken(format!("the broker sent {error}")))?;
            if let Some((packet, length)) = decoded {
                self.unread.drain(..length);
                return Ok(Incoming::Packet(packet));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Incoming::Silence);
            }
            let mut chunk = [0; 16 << 10];
            match self.line.read(&mut chunk, left) {
                Ok(0) => return Ok(Incoming::Closed),
                Ok(length) => self.unread.extend_from_slice(&chunk[..length]),
                Err(error) if is_silence(&error) => {}
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    let why = explained(&error).unwrap_or_else(|| error.to_string());
                    return Err(Stop::Broken(format!("TLS ended: {why}")));
                }
                // Any other error means that the connection is gone.
                Err(_) => return Ok(Incoming::Closed),
            }
        }
    }
}

impl Abilities {
    /// Refuses a packet that a client must not send ([MQTT-3.2.2-11], [MQTT-3.2.2-12],
    /// [MQTT-3.2.2-14]).
    fn allow(&self, packet: &Packet) -> Result<(), String> {
        let (qos, retain) = match packet {
            Packet::Publish(message) => (message.qos, message.retain),
            Packet::Connect(connect) if connect.will.is_some() => (Qos::Level1, false),
            _ => return Ok(()),
        };
        if qos > self.maximum_qos {
            return Err(format!("the broker announces QoS {} at most", self.maximum_qos as u8));
        }
        if retain && !self.retains {
            return Err("the broker announces that it retains no messages".to_owned());
        }
        Ok(())
    }
}

impl fmt::Display for Abilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no = |has: bool| if has { "" } else { "no " };
        write!(f, "QoS {} at most, ", self.maximum_qos as u8)?;
        write!(f, "{}retained messages, {}wildcards, ", no(self.retains), no(self.wildcards))?;
        write!(f, "{}shared subscriptions, ", no(self.shared_subscriptions))?;
        write!(f, "{} messages under way, ", self.receive_maximum)?;
        match self.maximum_packet {
            Some(bytes) => write!(f, "packets of {bytes} bytes, ")?,
            None => f.write_str("packets of any length, ")?,
        }
        write!(f, "{} topic aliases", self.topic_aliases)?;
        if let Some(seconds) = self.keep_alive {
            write!(f, ", keep alive {seconds} s")?;
        }
        if let Some(seconds) = self.session_expiry {
            write!(f, ", sessions of {seconds} s")?;
        }
        f.write_str(if self.assigns_client { ", another client identifier" } else { "" })
    }
}

impl Acknowledgement {
    fn name(self) -> &'static str {
        match self {
            Self::Puback => "PUBACK",
            Self::Pubrec => "PUBREC",
            Self::Pubrel => "PUBREL",
            Self::Pubcomp => "PUBCOMP",
        }
    }
}

#[derive(Debug)]
enum Incoming {
    Closed,
    Packet(Packet),
    Silence,
}

fn unexpected(packet: &Packet, awaited: &str) -> Stop {
    let came = match packet {
        Packet::Acknowledge(kind, id) => format!("{} for {id}", kind.name()),
        Packet::Connack(_) => "CONNACK".to_owned(),
        Packet::Connect(_) => "CONNECT".to_owned(),
        Packet::Disconnect => "DISCONNECT".to_owned(),
        Packet::Pingreq => "PINGREQ".to_owned(),
        Packet::Pingresp => "PINGRESP".to_owned(),
        Packet::Publish(message) => {
            let dup = if message.dup { ", repeated" } else { "" };
            format!("a message at QoS {}{dup}", message.qos as u8)
        }
        Packet::Suback(..) => "SUBACK".to_owned(),
        Packet::Subscribe(..) => "SUBSCRIBE".to_owned(),
        Packet::Unsuback(_) => "UNSUBACK".to_owned(),
        Packet::Unsubscribe(..) => "UNSUBSCRIBE".to_owned(),
    };
    Stop::Broken(format!("{came} came where {awaited} was due"))
}

/// The maximum number of messages to read before an awaited packet, so that a flood of messages
/// ends the check.
const MOST_MESSAGES: usize = 1_000;
