//! The rules of MQTT on which group keys depend, packet by packet, in both versions.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use groupkey_mqtt::Version;

use super::Broker;
use crate::packet::{Acknowledgement, Connack, Connect, Packet, PublishPacket, Qos};

#[test]
fn a_message_cut_off_at_any_step_is_delivered_once() {
    for version in Version::ALL {
        let broker = Broker::start().expect("it starts");
        let (mut to, _) = connect(&broker, version, "to", false);
        subscribe(&mut to, "t");
        let (mut from, _) = connect(&broker, version, "from", false);
        let message = PublishPacket::new("t", Qos::Level2, 1, "once");
        send(&mut from, Packet::Publish(message.clone()));
        from.cut();
        let (mut from, known) = connect(&broker, version, "from", false);
        assert!(known);
        send(&mut from, Packet::Publish(PublishPacket { dup: true, ..message }));
        expect(&mut from, Packet::Acknowledge(Acknowledgement::Pubrec, 1));
        for _ in 0..2 {
            send(&mut from, Packet::Acknowledge(Acknowledgement::Pubrel, 1));
            expect(&mut from, Packet::Acknowledge(Acknowledgement::Pubcomp, 1));
        }
        // The identifier is free again.
        publish(&mut from, PublishPacket::new("t", Qos::Level2, 1, "last"));

        let first = message_at(&mut to);
        assert_eq!((&first.payload[..], first.dup), (&b"once"[..], false));
        to.cut();
        let (mut to, known) = connect(&broker, version, "to", false);
        assert!(known);
        let repeated = message_at(&mut to);
        assert_eq!((repeated.id, repeated.payload, repeated.dup), (first.id, first.payload, true));
        send(&mut to, Packet::Acknowledge(Acknowledgement::Pubrec, first.id));
        to.cut();
        let (mut to, _) = connect(&broker, version, "to", false);
        let left = [receive(&mut to), receive(&mut to)];
        assert!(left.contains(&Packet::Acknowledge(Acknowledgement::Pubrel, first.id)), "{left:?}");
        let last = |packet: &Packet| matches!(packet, Packet::Publish(it) if it.payload == b"last");
        assert!(left.iter().any(last), "{left:?}");
    }
}

#[test]
fn messages_wait_for_a_session_and_stay_in_order() {
    for version in Version::ALL {
        let broker = Broker::start().expect("it starts");
        let (mut to, known) = connect(&broker, version, "to", false);
        assert!(!known);
        subscribe(&mut to, "a/+");
        to.cut();
        let (mut from, _) = connect(&broker, version, "from", true);
        for number in 0..20_u8 {
            let qos = if number % 2 == 0 { Qos::Level1 } else { Qos::Level2 };
            publish(&mut from, PublishPacket::new("a/b", qos, 9, [number]));
        }
        publish(&mut from, PublishPacket::new("a", Qos::Level1, 9, "no subscriber"));
        let (mut to, known) = connect(&broker, version, "to", false);
        assert!(known);
        for number in 0..20_u8 {
            assert_eq!(message_at(&mut to).payload, [number]);
        }
        let (_, known) = connect(&broker, version, "to", true);
        assert!(!known, "a clean start ends the session");
    }
}

#[test]
fn retained_messages_wills_and_expiry() {
    for version in Version::ALL {
        let broker = Broker::start().expect("it starts");
        let (mut from, _) = connect(&broker, version, "from", true);
        let retained = |topic: &str, text: &str| PublishPacket {
            retain: true,
            ..PublishPacket::new(topic, Qos::Level1, 1, text)
        };
        for (topic, text) in [("r/a", "old"), ("r/a", "new"), ("r/b", "gone"), ("r/b", "")] {
            publish(&mut from, retained(topic, text));
        }
        // MQTT 3.1.1 has no expiry.
        if version == Version::V5 {
            publish(&mut from, PublishPacket { expiry: Some(0), ..retained("r/c", "stale") });
        }
        let (mut to, _) = connect(&broker, version, "to", true);
        subscribe(&mut to, "r/#");
        let message = message_at(&mut to);
        assert_eq!((&message.payload[..], message.retain), (&b"new"[..], true));

        for leaves in [true, false] {
            let text = if leaves { "left" } else { "cut" };
            let will = Some(("r/will".to_owned(), text.into()));
            let hello = Connect { client: "w".to_owned(), will, ..Connect::default() };
            let (mut client, _) = Client::connect(broker.address(), version, hello, PATIENCE)
                .expect("the broker answers");
            if leaves {
                send(&mut client, Packet::Disconnect);
                assert!(client.receive().is_err(), "it closes");
            }
            client.cut();
        }
        assert_eq!(message_at(&mut to).payload, b"cut");
    }
}

fn connect(broker: &Broker, version: Version, name: &str, clean: bool) -> (Client, bool) {
    let client = name.to_owned();
    let hello = Connect { client, clean, session_expiry: 60, ..Connect::default() };
    Client::connect(broker.address(), version, hello, PATIENCE).expect("the broker answers")
}

fn subscribe(client: &mut Client, filter: &str) {
    send(client, Packet::Subscribe(1, vec![(filter.to_owned(), Qos::Level2)]));
    expect(client, Packet::Suback(1, vec![Some(Qos::Level2)]));
}

fn publish(client: &mut Client, message: PublishPacket) {
    let (qos, id) = (message.qos, message.id);
    send(client, Packet::Publish(message));
    if qos == Qos::Level1 {
        return expect(client, Packet::Acknowledge(Acknowledgement::Puback, id));
    }
    expect(client, Packet::Acknowledge(Acknowledgement::Pubrec, id));
    send(client, Packet::Acknowledge(Acknowledgement::Pubrel, id));
    expect(client, Packet::Acknowledge(Acknowledgement::Pubcomp, id));
}

fn message_at(client: &mut Client) -> PublishPacket {
    match receive(client) {
        Packet::Publish(message) => message,
        other => panic!("{other:?}"),
    }
}

fn expect(client: &mut Client, packet: Packet) {
    assert_eq!(receive(client), packet);
}

fn send(client: &mut Client, packet: Packet) {
    client.send(&packet).expect("the broker reads");
}

fn receive(client: &mut Client) -> Packet {
    client.receive().expect("the broker answers")
}

const PATIENCE: Duration = Duration::from_secs(20);

/// A blocking connection to a broker. It sends only what it is asked to.
#[derive(Debug)]
struct Client {
    stream: TcpStream,
    version: Version,
    unread: Vec<u8>,
}

impl Client {
    /// Connects. Also returns whether the broker still has the client's session. No later wait is
    /// longer than `patience`.
    fn connect(
        broker: SocketAddr,
        version: Version,
        connect: Connect,
        patience: Duration,
    ) -> io::Result<(Self, bool)> {
        let stream = TcpStream::connect_timeout(&broker, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let mut client = Self { stream, version, unread: Vec::new() };
        client.send(&Packet::Connect(Box::new(connect)))?;
        match client.receive()? {
            Packet::Connack(Connack { code: 0, session_present }) => Ok((client, session_present)),
            other => Err(io::Error::other(format!("the broker refuses the connection: {other:?}"))),
        }
    }

    fn send(&mut self, packet: &Packet) -> io::Result<()> {
        let bytes = packet.encode(self.version).map_err(io::Error::other)?;
        self.stream.write_all(&bytes)
    }

    fn receive(&mut self) -> io::Result<Packet> {
        loop {
            let decoded = Packet::decode(self.version, &self.unread).map_err(io::Error::other)?;
            if let Some((packet, length)) = decoded {
                self.unread.drain(..length);
                return Ok(packet);
            }
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.unread.extend_from_slice(&chunk[..length]),
            }
        }
    }

    /// Closes the connection without DISCONNECT, like a client that loses its network.
    fn cut(self) {
        // It does no harm if the broker closed the connection first.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
